"""Random options of a config, drawn as in DomainBed: the seed of the run says which draw of which trial.

DomainBed (github.com/facebookresearch/DomainBed) hashes the number of the draw and that of the trial. A
second hash, with the name of the option, seeds the generator of this option. So an option has the same value
for every method that has it. Draw 0 takes the defaults.
"""

from __future__ import annotations

import hashlib

from omegaconf import DictConfig

from ilc.errors import UserError

N_DRAWS = 20
"""The number of draws of a trial. Seed s is draw ``s % N_DRAWS`` of trial ``s // N_DRAWS``."""

KINDS = ("power_of_10", "power_of_2", "uniform")


def drawn(
    name: str, default: float, kind: str, low: float, high: float, *, _root_: DictConfig
) -> float | int:
    """Return the value of an option: ``10 ** u``, ``2 ** u`` or ``u``, with u uniform between low and high.

    Args:
        name: DomainBed's name of the option.
        default: the value of draw 0. If it is a whole number, draws are rounded down to whole numbers.
        kind: one of ``KINDS``.
        low: the smallest u.
        high: the largest u.

    Raises:
        UserError: the kind is unknown, or the seed of the run is no whole number of at least 0.
    """
    seed = _root_.seed
    if kind not in KINDS:
        raise UserError(f"${{drawn:{name},...}} needs one of {', '.join(KINDS)}, got {kind!r}")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise UserError(f"seed must be a whole number of at least 0, got {seed!r}")
    trial, draw = divmod(seed, N_DRAWS)
    if draw == 0:
        return default
    # Imported here because most configs draw nothing, and the command line's help should be fast.
    from numpy.random import RandomState

    u = RandomState(seed_hash(seed_hash(draw, trial), name)).uniform(low, high)
    value = u if kind == "uniform" else {"power_of_10": 10.0, "power_of_2": 2.0}[kind] ** u
    return int(value) if isinstance(default, int) else float(value)


def seed_hash(*values: int | str) -> int:
    """Return DomainBed's hash of some values, below ``2 ** 31``."""
    return int(hashlib.md5(str(values).encode()).hexdigest(), 16) % 2**31
