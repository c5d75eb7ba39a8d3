"""Whether a linear unit exists that gives all labels and hides all environments, on the data of 20 seeds.

In environment e an example's shortcut is ``y x_e`` with its label y, 1 or -1. A unit w with ``w x_e = 1`` for
every e has the output y everywhere. So it gives the labels, and nothing about the environment is left.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch

from lab.data import Environments, make_spirals
from lab.data.spirals import MECHANISM_DIMENSIONS
from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.domains import SEPARATING
from lab.machine.seeding import seed_for

DIGITS = 6
"""Outputs that agree to so many digits are the same to every classifier that works in float32."""


def parts(seeds: int = 20) -> Parts:
    """Return a part per seed of ``spirals/separating_unit.csv``. The data are those of the runs of a seed.

    Args:
        seeds: the number of data sets. Their seeds begin with 0.
    """
    return {f"seed{seed}": partial(_measure, seed) for seed in range(seeds)}


def _measure(seed: int) -> Tables:
    spirals = make_spirals(seed_for(seed, "data"))
    row = {"seed": seed, **separating_unit(spirals), "data_source": spirals.source}
    return {SEPARATING.as_posix(): pd.DataFrame([row])}


def separating_unit(spirals: Environments) -> dict[str, float | int]:
    """Return what the separating unit of the least length does on the training data.

    Returns:
        The number of environments, the unit's length, the largest difference of an output from the label,
        the accuracy of the sign as a label, and the highest accuracy that any classifier of environments can
        have that sees the output alone.
    """
    inputs, targets = spirals.inputs[..., MECHANISM_DIMENSIONS:].double(), spirals.targets
    signs = targets.double() * 2 - 1
    # Every example of an environment has the environment's shortcut, up to the sign of its label.
    shortcuts = inputs[:, 0] * signs[:, :1]
    unit = torch.linalg.lstsq(shortcuts, torch.ones(len(shortcuts), 1, dtype=torch.float64)).solution[:, 0]
    outputs = inputs @ unit
    counts = pd.DataFrame(
        {
            "environment": torch.arange(len(outputs)).repeat_interleave(outputs.shape[1]).tolist(),
            "output": outputs.flatten().round(decimals=DIGITS).tolist(),
        }
    ).value_counts()
    best = counts.groupby(level="output").max().sum() / counts.sum()
    return {
        "n_environments": len(outputs),
        "length": float(unit.norm()),
        "largest_error": float((outputs - signs).abs().max()),
        "label_accuracy": float(((outputs > 0) == (targets > 0)).double().mean()),
        "best_domain_accuracy": float(best),
    }
