"""A case: the choices of which a test is written down, as plain data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from differential.changes import CHANGES, FEATURES
from differential.losses import LOSSES
from differential.pieces import PIECES
from differential.shape import Shape
from ilc.errors import UserError

WAYS = ("vectorized", "sequential", "per_example", "per_example_share", "per_example_loss")
SOURCES = ("vector", "sequence", "sequence", "tokens", "signal", "image", "volume")
FINISHES = ("mean", "last", "flat", "first", "amax", "sum")

Chosen = tuple[int, str]
"""A number that stays with a choice, whatever else goes, and its name."""


@dataclass(frozen=True)
class Step:
    """One call: what is changed before it, and the batch.

    Attributes:
        changes: of ``CHANGES``.
        n: examples of each environment.
        t: positions or side of space.
        odd: what is odd about the batch: ``""``, ``nan``, ``ignored`` or ``same``.
    """

    changes: tuple[Chosen, ...]
    n: tuple[int, ...]
    t: int
    odd: str = ""


@dataclass(frozen=True)
class Case:
    """All that is drawn; ``written.source`` makes code of it.

    Attributes:
        way: of ``WAYS``.
        aggregator: its class's name.
        mode: ``train``, ``eval`` or ``autocast`` (in training).
        dtype: of the model.
        source: kind of inputs.
        c: features or channels of the inputs, words of tokens.
        pieces: of ``PIECES``; one that does not fit its input is left out.
        finish: how outputs get one row per example.
        loss: of ``LOSSES``.
        k: number of outputs.
        features: of ``FEATURES``.
        steps: at least one.
    """

    way: str
    aggregator: str
    mode: str
    dtype: str
    source: str
    c: int
    pieces: tuple[Chosen, ...]
    finish: str
    loss: str
    k: int
    features: tuple[Chosen, ...]
    steps: tuple[Step, ...]


def check_known(without: Iterable[str]) -> None:
    """Check that what is left out exists.

    Raises:
        UserError: no piece, loss or change has such a name.
    """
    known = {*PIECES, *LOSSES, *CHANGES}
    for name in without:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "leave it out of --without"
            raise UserError(f"no piece, loss or change is called {name!r}: {hint}")


def drawn(random: Random, without: frozenset[str] = frozenset()) -> Case:
    """A random case.

    Args:
        random: where draws come from.
        without: names of pieces, losses, features and changes that are left out.
    """
    e, n = random.randint(1, 5), random.randint(1, 5)
    way = random.choice(WAYS)
    lengths = [random.randint(1, 6), n, e, e * n, 2 * n]
    c, t = random.choice(lengths), random.choice(lengths)
    source = random.choice(SOURCES)
    if source in ("image", "volume"):
        c, t = min(c, 6), min(t, 5 if source == "image" else 3)
    n_pieces = random.choice([0, 1, 1, 2, 2, 3, 4, 5])
    dtype, mode = (
        random.choice(["float64"] * 5 + ["float32"]),
        random.choice(["train"] * 4 + ["eval"] * 2 + ["autocast"]),
    )
    if mode == "autocast":
        dtype = "float32"
    elif random.random() < 0.03:
        dtype = random.choice(["bfloat16", "float16"])
    features = _some(random, FEATURES, random.choice([0, 0, 0, 1, 1, 2]), without)
    return Case(
        way=way,
        aggregator=random.choice(["AndMask", "AndMask", "AndMask", "AndMask", "Mean", "GeometricMean"]),
        mode=mode,
        dtype=dtype,
        source=source,
        c=max(c, 2),
        pieces=_fitting(random, source, max(c, 2), t, n_pieces, without),
        finish=random.choice(FINISHES),
        loss=_some(random, LOSSES, 1, without)[0][1] if random.random() < 0.6 else "cross-entropy",
        k=random.choice([2, 3, max(2, n), max(2, e)]),
        features=features,
        steps=(_step(random, way, e, n, t, ()), *_later(random, way, e, n, t, without)),
    )


def _fitting(
    random: Random, source: str, c: int, t: int, number: int, without: frozenset[str]
) -> tuple[Chosen, ...]:
    """Pieces that take what the one before gives."""
    shape, found = Shape(source, c, t, ()), []
    known = [name for name in PIECES if name not in without]
    for _ in range(number):
        any_ = Random(0)
        written = {name: PIECES[name](shape, 0, any_) for name in known}
        fits = {name: one[2] for name, one in written.items() if one is not None}
        if not fits:
            break
        name = random.choice([*fits, *(name for name in _RARE if name in fits for _ in range(5))])
        found.append((random.randint(0, 99), name))
        shape = fits[name]
    return tuple(found)


_RARE = ("to time first", "positions, time first", "LSTM, time first", "MultiheadAttention, time first")
"""Drawn more often, because they fit so few inputs."""


def _later(random: Random, way: str, e: int, n: int, t: int, without: frozenset[str]) -> list[Step]:
    steps = []
    for _ in range(random.choice([0, 0, 0, 1, 1, 2])):
        if random.random() < 0.3:
            e, n = random.randint(1, 5), random.randint(1, 5)
        if random.random() < 0.2:
            t = random.choice([t, max(1, t - 1), t + 1, n])
        steps.append(
            _step(random, way, e, n, t, _some(random, CHANGES, random.choice([0, 1, 1, 2]), without))
        )
    return steps


def _step(random: Random, way: str, e: int, n: int, t: int, changes: tuple[Chosen, ...]) -> Step:
    odd = random.choice([""] * 12 + ["nan", "nan", "ignored", "ignored", "same"])
    if way.startswith("per_example"):
        return Step(changes, (1,) * min(25, e * n), t, odd)
    if random.random() < 0.15:
        return Step(changes, tuple(random.randint(1, 5) for _ in range(e)), t, odd)
    return Step(changes, (n,) * e, t, odd)


def _some(random: Random, names: object, number: int, without: frozenset[str]) -> tuple[Chosen, ...]:
    known = [name for name in names if name not in without]  # type: ignore[attr-defined]
    return tuple((random.randint(0, 99), random.choice(known)) for _ in range(number))
