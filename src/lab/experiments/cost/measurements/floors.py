"""The least that a step with votes can cost by counting multiply-adds, relative to a plain step.

The floor says nothing of memory traffic, of allocation and of Python. So a measured step is above it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from ilc.distributed import mixes_examples
from lab.experiments.cost.workloads import WORKLOADS, batch, model_of, votes_of
from lab.experiments.measurement import Parts, Tables

OF_SIGN_BITS = 1 / 64
"""What a vote costs where the gradient is one product per weight: its sign bits are counted 64 at a time."""


def parts(steps: int | None = None, device: str | None = None) -> Parts:
    """Return the parts of ``cost/floors.csv``: one part per network. Nothing is timed.

    Args:
        steps: has no effect; every measurement of this room takes it.
        device: has no effect either.
    """
    return {name.replace(" ", "_"): partial(_count, name) for name in WORKLOADS}


def _count(name: str) -> Tables:
    rows = [
        {
            "model": name,
            "environments": e,
            "examples": n,
            "way": votes_of(n),
            "floor": round(floor(name, e, n), 4),
        }
        for e, n in WORKLOADS[name].grid
    ]
    return {"cost/floors.csv": pd.DataFrame(rows)}


def floor(name: str, n_environments: int, n_examples: int) -> float:
    """Return the least cost of a step with a vote per environment, as a multiple of a plain step.

    Everything that a plain step multiplies is needed. Each vote of a weight adds one operation, as long as
    a multiply-add: its sign, counted. Under BatchNorm a vote per example (N = 1) needs one more backward
    pass, because the gradient with the other examples held fixed is not a part of the plain gradient.

    Args:
        name: a network of ``WORKLOADS``.
        n_environments: E, the number of votes.
        n_examples: N, the number of examples in each environment.
    """
    model: Any = model_of(name, "cpu")
    inputs, targets = batch(name, n_environments, n_examples, "cpu")
    examples = inputs.flatten(0, 1)
    votes = 0.0

    def count(layer: nn.Module, _: Any, output: Tensor) -> None:
        nonlocal votes
        weight: Any = layer.weight
        positions = output.numel() // len(examples) // len(weight)
        each = OF_SIGN_BITS if positions * n_examples == 1 else 1.0
        votes += each * n_environments * weight.numel()

    for layer in model.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            layer.register_forward_hook(count)
    with FlopCounterMode(display=False) as flops:
        loss = F.cross_entropy(model(examples), targets.flatten())
        forward = flops.get_total_flops() / 2
        loss.backward()  # type: ignore[no-untyped-call]
    plain: float = flops.get_total_flops() / 2
    again = plain - forward if n_examples == 1 and mixes_examples(model) else 0.0
    return (plain + again + votes) / plain
