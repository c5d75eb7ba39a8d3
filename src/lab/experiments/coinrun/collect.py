"""The behavioural cloning dataset: frames of the expert's play with the expert's action distributions."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from rich.console import Console
from rich.progress import track

from ilc.errors import UserError
from lab.experiments.coinrun.collection_plan import HORIZON, CollectionOptions, Shard, shards
from lab.experiments.coinrun.expert import Expert
from lab.experiments.coinrun.game import FRAME_SHAPE, N_ACTIONS, frames_of, make_pinned_game
from lab.experiments.coinrun.levels import CLONING_TEST, CLONING_TRAIN, CLONING_VALIDATION
from lab.experiments.coinrun.manifest import MANIFEST, damaged, hashes, read_manifest
from lab.experiments.coinrun.play import draw_actions
from lab.files.atomic import write_json
from lab.files.locked import locked
from lab.machine.seeding import seed_for
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import run_jobs

STATES_PER_WORKER = 20_000

_memmap: Any = open_memmap  # numpy gives it no types.


def collect(folder: Path, options: CollectionOptions, expert: Expert) -> Path:
    """Collect the dataset below ``folder``, unless it is already there, and return the dataset's own folder.

    The dataset consists of ``train_frames.npy`` ``[E * N, 3, 64, 64]``, ``test_frames.npy``
    ``[M, 3, 64, 64]`` and, if validation states are wanted, ``validation_frames.npy`` (all uint8);
    ``*_distributions.npy`` ``[..., 15]`` (float32) for each of them; and ``manifest.json``, with the hash of
    each file. Until the dataset is complete, it lies in a folder whose name ends in ``.part``. An interrupted
    collection continues from that folder. If the manifest of an existing dataset has no hashes, the states
    are collected again. The function prints what it does.

    Raises:
        UserError: the folder cannot be written to, has no room, or holds a damaged dataset.
    """
    mode = expert.sheet["mode"]
    wanted = {**asdict(options), "mode": mode, "expert_sha256": expert.sha256, "horizon": HORIZON}
    name = f"{mode}-{options.n_levels}x{options.states_per_level}-{options.n_test}"
    if options.n_validation:
        name += f"-{options.n_validation}"
    path = folder / f"{name}-seed{options.seed}-{expert.sha256[:8]}"
    if (path / MANIFEST).exists() and "sha256" in read_manifest(path, wanted):
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f"{path.name}.lock"):
            if (path / MANIFEST).exists() and "sha256" not in read_manifest(path, wanted):
                print(f"{path} has no hashes of its files, so they are not trusted and are collected again")
                shutil.rmtree(path)
            if not (path / MANIFEST).exists():
                if path.exists():
                    raise UserError(damaged(path, MANIFEST, "not there"))
                _collect(path, options, expert, wanted)
    except OSError as error:
        raise UserError(
            f"cannot write the CoinRun states below {folder}: {error.strerror}. Make room or choose another "
            "folder with data_dir=..., then give the same command again: it continues"
        ) from error
    return path


def _collect(path: Path, options: CollectionOptions, expert: Expert, wanted: dict[str, Any]) -> None:
    part = path.with_name(f"{path.name}.part")
    _check_room(part, options)
    part.mkdir(exist_ok=True)
    portions = list(shards(options))
    n_states = sum(_rows(options).values())
    done = _shards_done(part / "progress.json")
    waiting = [i for i in range(len(portions)) if i not in done]
    Console().print(
        f"collecting {n_states:,} CoinRun states with the expert into {path}"
        + (f", continuing after {len(done)} of {len(portions)} parts" if done else ""),
        highlight=False,
        soft_wrap=True,
    )
    if not done:
        for name, (kind, shape) in arrays(options).items():
            _memmap(part / name, "w+", kind, shape)
            _take_room(part / name)
    log = path.with_name(f"{path.name}.log")
    jobs = [
        Job(str(i), partial(_play, i, portions[i], expert, seed_for(options.seed, f"shard {i}"), part), log)
        for i in waiting
    ]
    n_workers = min(n_cores(), math.ceil(n_states / STATES_PER_WORKER))
    with closing(_played(jobs, n_workers)) as played:
        for i in track(
            played, total=len(waiting), description="CoinRun states", disable=not sys.stdout.isatty()
        ):
            done.append(i)
            write_json(part / "progress.json", {"shards_done": done})
    levels = {
        "train_levels": list(CLONING_TRAIN[: options.n_levels]),
        "test_levels": list(CLONING_TEST[: options.n_test]),
        "validation_levels": list(CLONING_VALIDATION[: options.n_validation]),
    }
    write_json(part / MANIFEST, {**wanted, **levels, "sha256": hashes(part, arrays(options))})
    part.rename(path)


def _played(jobs: list[Job[int]], n_workers: int) -> Generator[int, None, None]:
    """Run the jobs and yield each shard's number when the shard has been played.

    With one worker the jobs run in this process, because other processes take seconds to start.

    Raises:
        UserError: a shard cannot be written.
    """
    if n_workers == 1:
        for job in jobs:
            yield job.call()
        return
    ended = run_jobs(jobs, n_workers)
    with closing(ended):
        for _, result in ended:
            if isinstance(result, UserError):
                raise result
            yield result


def _play(number: int, shard: Shard, expert: Expert, seed: int, folder: Path) -> int:
    """Play the shard's games, write the states to keep into the arrays, and return the shard's number."""
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


def arrays(options: CollectionOptions) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
    """Return the type and the shape of each file of a dataset, by file name."""
    files: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {}
    for split, n in _rows(options).items():
        files[f"{split}_frames.npy"] = np.uint8, (n, *FRAME_SHAPE)
        files[f"{split}_distributions.npy"] = np.float32, (n, N_ACTIONS)
    return files


def _rows(options: CollectionOptions) -> dict[str, int]:
    """Return the number of states of each split; splits without states are left out."""
    train = options.n_levels * options.states_per_level
    rows = {"train": train, "test": options.n_test, "validation": options.n_validation}
    return {split: n for split, n in rows.items() if n}


def _check_room(part: Path, options: CollectionOptions) -> None:
    """Check that the disk has room for the states, unless an earlier collection has already taken the room.

    Raises:
        UserError: the disk has too little room.
    """
    if part.exists():
        return
    needed = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape in arrays(options).values())
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise UserError(
            f"the CoinRun states of this size take {needed / 1e9:,.1f} GB below {part.parent}, but only "
            f"{free / 1e9:,.1f} GB are free there: make room, or choose another folder with data_dir=... or "
            "a smaller dataset.examples_per_environment"
        )


def _take_room(path: Path) -> None:
    """Reserve the disk space of a mapped file now.

    If the disk turned out to be full at a later write, the process would be killed without a message.
    """
    with path.open("rb+") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _shards_done(path: Path) -> list[int]:
    if not path.exists():
        return []
    try:
        return [int(number) for number in json.loads(path.read_text())["shards_done"]]
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(damaged(path.parent, path.name, error)) from error


def n_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
