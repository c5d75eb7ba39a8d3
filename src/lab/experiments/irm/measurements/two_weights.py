"""Colored MNIST with two numbers for a digit: what a sign vote does to two weights, without a sample.

The inputs are the digit and the colour, each 1 or -1. Given the label, which is 1 or -1, the digit is the
other one with probability 0.25 and the colour with the environment's noise, independently. The model is a
logistic regression with one weight for each. Its risks are sums over four cases. The best weight on the digit
is the same in every environment, the logarithm of 0.75 / 0.25. The best weight on the colour is that of
(1 - noise) / noise.
"""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor

from lab.experiments.irm.color_votes import LABEL_NOISE, TWO_WEIGHTS
from lab.experiments.measurement import Parts, Tables

N_NOISES = 39
STEPS, LR = 10_000, 0.1


def parts() -> Parts:
    """Return the one part of ``irm/two_weights.csv``, which takes seconds.

    There is a row per pair of colour noises and method, with the weights after gradient descent from zero.
    """
    return {"grid": _measure}


def _measure() -> Tables:
    noises = torch.linspace(0.025, 0.975, N_NOISES, dtype=torch.float64)
    pairs = torch.cartesian_prod(noises, noises)
    tables = []
    for method in ("mean", "and_mask"):
        shape, color = descended(pairs, masked=method == "and_mask").unbind(-1)
        columns = {"first_noise": pairs[:, 0], "second_noise": pairs[:, 1], "shape": shape, "color": color}
        tables.append(pd.DataFrame({name: values.numpy() for name, values in columns.items()}))
        tables[-1].insert(0, "method", method)
    return {TWO_WEIGHTS.as_posix(): pd.concat(tables, ignore_index=True)}


def descended(noises: Tensor, masked: bool, steps: int = STEPS) -> Tensor:
    """Return the weights on shape and colour ``[P, 2]`` after gradient descent from zero.

    Args:
        noises: the colour noise of each environment, ``[P, E]`` for P problems.
        masked: whether a component moves only where the signs of all environments agree.
        steps: the number of steps.
    """
    weights = torch.zeros(len(noises), 2, dtype=torch.float64)
    for _ in range(steps):
        of_each = gradients(weights, noises)
        kept = (of_each.sign().sum(1).abs() == noises.shape[1]) if masked else 1.0
        weights = weights - LR * of_each.mean(1) * kept
    return weights


def gradients(weights: Tensor, noises: Tensor) -> Tensor:
    """Return the gradient of every environment's risk, ``[P, E, 2]``, at weights ``[P, 2]``."""
    total = torch.zeros(*noises.shape, 2, dtype=torch.float64)
    # The label is 1: the other label has the same risk, by symmetry.
    for digit, of_digit in ((1, 1 - LABEL_NOISE), (-1, LABEL_NOISE)):
        for color, of_color in ((1, 1 - noises), (-1, noises)):
            case = torch.tensor([digit, color], dtype=torch.float64)
            slope = -torch.sigmoid(-(weights @ case))
            total += (of_digit * of_color * slope[:, None])[..., None] * case
    return total
