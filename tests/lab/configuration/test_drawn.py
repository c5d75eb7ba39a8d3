"""Random options of a config are DomainBed's draws."""

from __future__ import annotations

from typing import Any

import pytest
from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.drawn import N_DRAWS, drawn, seed_hash

RANGES: dict[str, tuple[float, str, float, float]] = {
    "lr": (1e-3, "power_of_10", -4.5, -2.5),
    "batch_size": (64, "power_of_2", 3, 9),
    "irm_lambda": (100.0, "power_of_10", -1, 5),
    "irm_penalty_anneal_iters": (500, "power_of_10", 0, 4),
    "tau": (1.0, "uniform", 0.5, 1),
    "penalty_anneal_iters": (1500, "uniform", 0, 5000),
}
PRINTED = {
    (1, 0): (0.00011906162909279594, 372, 65030.52212762795, 2, 0.6967161137765769, 4072),
    (7, 2): (0.00023154786715251881, 95, 7588.718308724006, 26, 0.9980987162153869, 4374),
    (19, 1): (0.0002939271675355117, 18, 809.3934690675875, 3, 0.9216564941313279, 2403),
}
"""Draw and trial, and what ``random_hparams`` of m-Just/DomainBed (c8cb6d5) gave for them, in this order."""


def value(name: str, seed: Any) -> float:
    return drawn(name, *RANGES[name], _root_=OmegaConf.create({"seed": seed}))


@pytest.mark.parametrize(("draw", "trial"), PRINTED)
def test_draws_are_domainbeds(draw: int, trial: int) -> None:
    found = [value(name, N_DRAWS * trial + draw) for name in RANGES]
    assert found == pytest.approx(PRINTED[draw, trial], rel=1e-12)
    assert [isinstance(each, int) for each in found] == [isinstance(v[0], int) for v in RANGES.values()]


@pytest.mark.parametrize("trial", range(3))
def test_draw_0_takes_the_defaults(trial: int) -> None:
    assert [value(name, N_DRAWS * trial) for name in RANGES] == [default for default, *_ in RANGES.values()]


def test_the_hash_is_that_of_the_printed_tuple() -> None:
    import hashlib

    assert seed_hash(3, "lr") == int(hashlib.md5(b"(3, 'lr')").hexdigest(), 16) % 2**31
    assert seed_hash(3, "lr") != seed_hash("lr", 3)


@pytest.mark.parametrize("seed", ["one", 1.5, -1, True, None])
def test_a_seed_that_names_no_draw_is_refused(seed: Any) -> None:
    with pytest.raises(UserError, match="seed must be a whole number of at least 0"):
        value("lr", seed)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UserError, match="needs one of power_of_10, power_of_2, uniform, got 'log'"):
        drawn("lr", 1.0, "log", 0, 1, _root_=OmegaConf.create({"seed": 1}))
