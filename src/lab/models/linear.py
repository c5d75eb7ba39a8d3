"""The linear model of Invariant Risk Minimization's Example 1."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    """Weighted sums without a bias, ``[N, in_features]`` to ``[N, out_features]``; all weights start at 1.

    The explainer has the same initial weights. They matter, because the penalty by itself is zero on a whole
    circle of weights, and the initial weights decide which point of the circle training reaches first.
    """

    takes: ClassVar[tuple[str, ...]] = ("vectors",)
    """The kinds of inputs that the model accepts."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(out_features, in_features))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the predictions ``[N, out_features]``."""
        return inputs @ self.weight.T

    def reported_metrics(self) -> dict[str, float]:
        """Return the weights as ``weight/i``, in the order of the inputs, for every evaluation of a run."""
        return {f"weight/{i}": weight for i, weight in enumerate(self.weight.flatten().tolist())}
