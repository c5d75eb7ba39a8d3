"""Examples of trajectories and the accuracy of shortcuts, for figures 2.5 and 2.6 and a table."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import torch

from lab.configuration.compose import compose_experiment
from lab.configuration.section import Section
from lab.experiments.measurement import Parts, Tables
from lab.experiments.skip_intervals.domain import Domain
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.files.atomic import in_memory

SHOWN = 6
DOMAINS = {"room_runner": (), "funnel_board": ("dataset.perturbed=true",)}


def parts(data_dir: str = "data") -> Parts:
    """Return one part per domain; the funnel board takes a minute if its trajectories are not kept already.

    ``skip_intervals/DOMAIN.npz`` holds ``frames``, ``lengths`` and ``labels`` of validation trajectories. The
    frames are uint8 ``[6, T, 3, h, w]``, and the last frame of each trajectory is repeated.
    ``skip_intervals/data.csv`` has a row per domain.

    Args:
        data_dir: folder in which trajectories are kept.
    """
    return {name: partial(_measure, name, data_dir) for name in DOMAINS}


def _measure(name: str, data_dir: str) -> Tables:
    content = compose_experiment(["experiment=skip_intervals", f"dataset={name}", *DOMAINS[name]])
    domain: Domain = Section.of("dataset", content["dataset"]).build(data_dir=data_dir)
    validation = domain.data.validation
    rows = torch.arange(SHOWN)
    lengths = validation.lengths[:SHOWN]
    times = torch.arange(int(lengths.max())).minimum(lengths[:, None] - 1)
    shown = {
        "frames": validation.at(rows[:, None], times).to(torch.uint8).numpy(),
        "lengths": lengths.numpy(),
        "labels": validation.labels[:SHOWN].numpy(),
    }
    return {
        f"skip_intervals/{name}.npz": in_memory(lambda file: np.savez_compressed(file, **shown)),
        "skip_intervals/data.csv": pd.DataFrame([_described(name, domain)]),
    }


def _described(name: str, domain: Domain) -> dict[str, object]:
    data = domain.data
    every = (data.training, data.validation)
    lengths = torch.cat([part.lengths for part in every]).float()
    same = float("nan")
    if data.perturbed is not None:
        same = float((data.perturbed.labels == data.training.labels).float().mean())
    height, width = data.training.frames.shape[-2:]
    shortcuts = sorted(data.shortcuts.items())
    return {
        "dataset": name,
        "data_source": data.source,
        "data_sha256": data.fingerprint(),
        "height": height,
        "width": width,
        "n_train": len(data.training),
        "n_validation": len(data.validation),
        "frames_median": float(lengths.median()),
        "frames_least": float(lengths.min()),
        "frames_most": float(lengths.max()),
        "psi_right": min(_psi_right(domain, part) for part in every),
        "shortcuts": "; ".join(f"{shortcut}: {value:.4f}" for shortcut, value in shortcuts),
        "same_label_when_perturbed": same,
    }


def _psi_right(domain: Domain, trajectories: Trajectories) -> float:
    """Return the share of true last frames from which the classifier reads the right label."""
    rows = torch.arange(len(trajectories))
    first = trajectories.at(rows, torch.zeros_like(rows))
    evidence = domain.evidence(trajectories.at(rows, trajectories.lengths - 1), first)
    return float((evidence.argmax(1) == trajectories.labels).float().mean())
