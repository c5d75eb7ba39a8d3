"""The behavioural cloning dataset: frames of on-policy play with the expert's action distribution.

Each level is played by games pinned to it, episode after episode, for ``HORIZON`` steps; the states
to keep are positions in that play drawn beforehand, uniformly and without replacement. Training and
test states therefore have the same distribution, from disjoint levels (paper, appendix to section
3.3: "sampled randomly from trajectories").
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from ilc.atomic import write_json
from ilc.coinrun.expert import Expert
from ilc.coinrun.game import FRAME_SHAPE, N_ACTIONS, frames_of, make_pinned_game
from ilc.coinrun.levels import CLONING_TEST, CLONING_TRAIN
from ilc.coinrun.play import draw_actions
from ilc.errors import UserError
from ilc.seeding import seed_for

HORIZON = 128
"""Steps that each game plays: a few episodes."""
GAMES_AT_ONCE = 256
STATES_PER_WORKER = 20_000

_memmap: Any = open_memmap  # Numpy left it without types.


@dataclass(frozen=True)
class CollectionOptions:
    """What to collect.

    Attributes:
        n_levels: training levels, one environment each (64 in the paper).
        states_per_level: states of each (1,000 in the paper).
        n_test: test states, each from a level of its own (2,000 in the paper).
        seed: of the actions and of the choice of states.

    Raises:
        UserError: a number out of range.
    """

    n_levels: int
    states_per_level: int
    n_test: int
    seed: int

    def __post_init__(self) -> None:
        if not (
            1 <= self.n_levels <= len(CLONING_TRAIN)
            and self.states_per_level >= 1
            and 1 <= self.n_test <= len(CLONING_TEST)
            and self.seed >= 0
        ):
            raise UserError(
                f"CoinRun has {len(CLONING_TRAIN)} training and {len(CLONING_TEST)} test levels and needs "
                f"states and a seed from 0, got {self}"
            )


@dataclass(frozen=True)
class _Shard:
    """Games that are played together: their levels, and what to keep of each.

    ``steps[i]`` are the positions in game i's play whose states go to ``rows[i]`` of the split.
    """

    split: str
    levels: list[int]
    steps: list[NDArray[np.int64]]
    rows: list[NDArray[np.int64]]


def collect(folder: Path, options: CollectionOptions, expert: Expert) -> Path:
    """Make sure that the dataset is in ``folder``; return its own folder below.

    Arrays ``train_frames.npy`` ``[E, N, 3, 64, 64]`` and ``test_frames.npy`` ``[M, 3, 64, 64]`` (uint8),
    ``*_distributions.npy`` ``[..., 15]`` (float32) and ``manifest.json``. Until all is there it lies in
    a folder ``.part``, from which an interrupted collection continues. Says what it does.

    Raises:
        UserError: the folder cannot be written to.
    """
    mode = expert.sheet["mode"]
    wanted = {**asdict(options), "mode": mode, "expert_sha256": expert.sha256, "horizon": HORIZON}
    name = f"{mode}-{options.n_levels}x{options.states_per_level}-{options.n_test}"
    path = folder / f"{name}-seed{options.seed}-{expert.sha256[:8]}"
    if (path / "manifest.json").exists():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder / f"{path.name}.lock"):
            if not (path / "manifest.json").exists():
                _collect(path, options, expert, wanted)
    except OSError as error:
        raise UserError(
            f"cannot write the CoinRun states below {folder}: {error.strerror}. Make room or choose another "
            "folder with data_dir=..., then give the same command again: it continues"
        ) from error
    return path


def _collect(path: Path, options: CollectionOptions, expert: Expert, wanted: dict[str, Any]) -> None:
    part = path.with_name(f"{path.name}.part")
    part.mkdir(exist_ok=True)
    shards = list(_shards(options))
    n_states = options.n_levels * options.states_per_level + options.n_test
    done = _shards_done(part / "progress.json")
    waiting = [i for i in range(len(shards)) if i not in done]
    Console().print(
        f"collecting {n_states:,} CoinRun states with the expert into {path}"
        + (f", continuing after {len(done)} of {len(shards)} parts" if done else ""),
        highlight=False,
        soft_wrap=True,
    )
    if not done:
        for split, n in (("train", options.n_levels * options.states_per_level), ("test", options.n_test)):
            _memmap(part / f"{split}_frames.npy", "w+", np.uint8, (n, *FRAME_SHAPE))
            _memmap(part / f"{split}_distributions.npy", "w+", np.float32, (n, N_ACTIONS))
    # Processes of one thread each, because games and network take turns; they take seconds to start.
    workers = Parallel(
        min(n_cores(), math.ceil(n_states / STATES_PER_WORKER)), return_as="generator_unordered"
    )
    played = workers(
        delayed(_play)(i, shards[i], expert, seed_for(options.seed, f"shard {i}"), part) for i in waiting
    )
    for i in track(played, total=len(waiting), description="CoinRun states"):
        done.append(i)
        write_json(part / "progress.json", {"shards_done": done})
    test_levels = np.empty(options.n_test, dtype=np.int64)
    for shard in shards:
        if shard.split == "test":
            test_levels[np.concatenate(shard.rows)] = shard.levels
    train_levels = list(CLONING_TRAIN[: options.n_levels])
    manifest = {**wanted, "train_levels": train_levels, "test_levels": test_levels.tolist()}
    write_json(part / "manifest.json", manifest)
    part.rename(path)


def _shards(options: CollectionOptions) -> Iterator[_Shard]:
    """The work in portions; what is drawn here depends on the seed alone."""
    random = np.random.default_rng(seed_for(options.seed, "positions"))
    n = options.states_per_level
    # Twice as many states are seen as kept, so that neighbours are rarely both kept.
    copies = math.ceil(2 * n / HORIZON)
    at_once = max(1, GAMES_AT_ONCE // copies)
    for start in range(0, options.n_levels, at_once):
        shard = _Shard("train", [], [], [])
        for e in range(start, min(start + at_once, options.n_levels)):
            chosen = random.choice(copies * HORIZON, n, replace=False)
            rows = np.arange(e * n, (e + 1) * n)
            for copy in range(copies):
                here = chosen // HORIZON == copy
                shard.levels.append(CLONING_TRAIN[e])
                shard.steps.append(chosen[here] % HORIZON)
                shard.rows.append(rows[here])
        yield shard
    # One state per test level. Those that are due early are played together, and not longer.
    due = random.integers(0, HORIZON, options.n_test)
    for rows in np.split(np.argsort(due, kind="stable"), range(GAMES_AT_ONCE, options.n_test, GAMES_AT_ONCE)):
        levels = [CLONING_TEST[int(row)] for row in rows]
        yield _Shard("test", levels, [due[[row]] for row in rows], [rows[[i]] for i in range(len(rows))])


def _play(number: int, shard: _Shard, expert: Expert, seed: int, folder: Path) -> int:
    """Play the shard's games and write what is to be kept; return its number."""
    random = np.random.default_rng(seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    game = make_pinned_game(shard.levels, expert.sheet["mode"], seed)
    frames_out = _memmap(folder / f"{shard.split}_frames.npy", "r+")
    distributions_out = _memmap(folder / f"{shard.split}_distributions.npy", "r+")
    steps, rows = np.concatenate(shard.steps), np.concatenate(shard.rows)
    games = np.repeat(np.arange(len(shard.levels)), [len(kept) for kept in shard.steps])
    for step in range(int(steps.max()) + 1):
        frames = frames_of(game)[1]
        distributions = expert.network.distribution(torch.from_numpy(np.ascontiguousarray(frames)))
        now = np.flatnonzero(steps == step)
        frames_out[rows[now]] = frames[games[now]]
        distributions_out[rows[now]] = distributions.numpy()[games[now]]
        game.act(draw_actions(distributions, random))
    game.close()
    frames_out.flush()
    distributions_out.flush()
    torch.set_num_threads(threads)
    return number


def _shards_done(path: Path) -> list[int]:
    return list(json.loads(path.read_text())["shards_done"]) if path.exists() else []


def n_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """One process at a time; the system lets go of the lock when a process dies."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
