"""Rollouts of a study's trained run on the first validation trajectories, and the skips that it chooses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from lab.experiments.measurement import Parts, Tables
from lab.experiments.skip_intervals.rollouts import roll_out
from lab.experiments.skip_intervals.task import SHOWN, SkipIntervalsTask
from lab.files.atomic import in_memory
from lab.runs import load_run
from lab.runs.sweep.sweep import WORKER, plan, train


def parts(
    dataset: str, runs: str, method: str = "adaptive", seed: int = 0, settings: Sequence[str] = ()
) -> Parts:
    """Return one part: rollouts of a run at its last step.

    The run is that of the study if it lies in ``runs``; otherwise it is made there.
    ``skip_intervals/DATASET_rollouts.npz`` holds for all N validation trajectories ``lengths``, ``labels``,
    ``calls`` until the last frame is matched, and ``times`` ``[N, D]`` of the matched frames. For the first
    six it holds ``frames``, uint8 ``[6, T, C, h, w]`` with the last frame of each repeated, and
    ``predicted`` ``[6, D, C, h, w]``, in units of 1 / 255. It also holds ``method``, ``seed`` and ``step``.

    Args:
        dataset: ``room_runner`` or ``funnel_board``.
        runs: folder of a study's runs.
        method: method of the run.
        seed: seed of the run.
        settings: further overrides of the run.
    """
    named = ("experiment=skip_intervals", f"dataset={dataset}", f"method={method}", f"seed={seed}")
    overrides = (*named, *settings)
    return {f"{dataset}-{method}-{seed}": partial(_measure, dataset, runs, overrides)}


def _measure(dataset: str, runs: str, overrides: tuple[str, ...]) -> Tables:
    ((folder, own),) = plan([*overrides, *WORKER], Path(runs)).items()
    train(own, folder, sweep=True)
    loaded = load_run(folder)
    task = loaded.task
    assert isinstance(task, SkipIntervalsTask)
    rollouts = roll_out(loaded.model, task.domain, task.validation, task.method, SHOWN)
    lengths = task.validation.lengths
    times = torch.arange(int(lengths[:SHOWN].max())).minimum(lengths[:SHOWN, None] - 1)
    kept = {
        "lengths": lengths.numpy(),
        "labels": task.validation.labels.numpy(),
        "calls": rollouts.calls.numpy(),
        "times": rollouts.times.to(torch.uint8).numpy(),
        "frames": task.validation.at(torch.arange(len(times))[:, None], times).to(torch.uint8).numpy(),
        "predicted": (255 * rollouts.frames).round().to(torch.uint8).numpy(),
        "method": np.array(loaded.config["method"]),
        "seed": np.array(loaded.config["seed"]),
        "step": np.array(task.step),
    }
    path = f"skip_intervals/{dataset}_rollouts.npz"
    return {path: in_memory(lambda file: np.savez_compressed(file, **kept))}
