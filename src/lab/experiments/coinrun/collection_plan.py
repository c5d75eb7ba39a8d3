"""The plan of which CoinRun states to collect: the options, and the work cut into shards.

Each level is played by games that stay on that level, episode after episode, for ``HORIZON`` steps. The
states to keep are positions in that play. They are drawn before the play, uniformly and without
replacement. Training, test and validation states therefore have the same distribution and come from
disjoint levels.
Deviation: the paper says no more than "sampled randomly from trajectories" (appendix to section 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ilc.errors import UserError
from lab.experiments.coinrun.levels import CLONING_TEST, CLONING_TRAIN, CLONING_VALIDATION
from lab.machine.seeding import seed_for

HORIZON = 128
"""The number of steps that each game plays, which is a few episodes."""
GAMES_AT_ONCE = 256


@dataclass(frozen=True)
class CollectionOptions:
    """Options that say which states to collect.

    Attributes:
        n_levels: number of training levels; each is one environment (64 in the paper).
        states_per_level: number of states of each training level (1,000 in the paper).
        n_test: number of test states, each from a level of its own (2,000 in the paper).
        n_validation: number of validation states, each from a level of its own; 0 for none, as in the paper.
        seed: seed of the actions and of the choice of states.

    Raises:
        UserError: a number is out of range.
    """

    n_levels: int
    states_per_level: int
    n_test: int
    n_validation: int
    seed: int

    def __post_init__(self) -> None:
        if not (
            1 <= self.n_levels <= len(CLONING_TRAIN)
            and self.states_per_level >= 1
            and 1 <= self.n_test <= len(CLONING_TEST)
            and 0 <= self.n_validation <= len(CLONING_VALIDATION)
            and self.seed >= 0
        ):
            raise UserError(
                f"CoinRun has {len(CLONING_TRAIN)} training levels, {len(CLONING_TEST)} test levels and "
                f"{len(CLONING_VALIDATION)} validation levels: choose no more than these, at least one state "
                f"per level and a seed of at least 0, got {self}"
            )


@dataclass(frozen=True)
class Shard:
    """Games that are played together: their levels, and the states to keep of each game.

    ``steps[i]`` are positions in the play of game i. The states at these positions are written to the rows
    ``rows[i]`` of the split.
    """

    split: str
    levels: list[int]
    steps: list[NDArray[np.int64]]
    rows: list[NDArray[np.int64]]


def shards(options: CollectionOptions) -> Iterator[Shard]:
    """Yield the work as shards; everything that is drawn here depends only on the options and their seed."""
    random = np.random.default_rng(seed_for(options.seed, "positions"))
    n = options.states_per_level
    # The games show twice as many states as are kept, so that two successive states are rarely both kept.
    copies = math.ceil(2 * n / HORIZON)
    at_once = max(1, GAMES_AT_ONCE // copies)
    for start in range(0, options.n_levels, at_once):
        shard = Shard("train", [], [], [])
        for e in range(start, min(start + at_once, options.n_levels)):
            chosen = random.choice(copies * HORIZON, n, replace=False)
            rows = np.arange(e * n, (e + 1) * n)
            for copy in range(copies):
                here = chosen // HORIZON == copy
                shard.levels.append(CLONING_TRAIN[e])
                shard.steps.append(chosen[here] % HORIZON)
                shard.rows.append(rows[here])
        yield shard
    yield from _one_each("test", CLONING_TEST[: options.n_test], random)
    yield from _one_each("validation", CLONING_VALIDATION[: options.n_validation], random)


def _one_each(split: str, levels: range, random: np.random.Generator) -> Iterator[Shard]:
    """Yield shards that keep one state of each level.

    Levels whose states come early in the play are put together, so that these games can end early.
    """
    due = random.integers(0, HORIZON, len(levels))
    order = np.argsort(due, kind="stable")
    for rows in np.split(order, range(GAMES_AT_ONCE, len(levels), GAMES_AT_ONCE)):
        if len(rows):
            played = [levels[int(row)] for row in rows]
            yield Shard(split, played, [due[[row]] for row in rows], [rows[[i]] for i in range(len(rows))])
