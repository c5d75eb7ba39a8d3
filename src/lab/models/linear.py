"""The linear model of Invariant Risk Minimization's Example 1."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    """Weighted sums without a bias, ``[N, in_features]`` to ``[N, out_features]``, weights start at 1.

    The start is the explainer's. It matters: the penalty alone is zero on a whole circle of
    weights, and where training begins decides which of them it reaches first.
    """

    takes: ClassVar[tuple[str, ...]] = ("vectors",)
    """The kinds of inputs, for whoever puts data and model together."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(out_features, in_features))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the predictions ``[N, out_features]``."""
        return inputs @ self.weight.T

    def reported_metrics(self) -> dict[str, float]:
        """``weight/i``: the weights in the order of the inputs, for every evaluation of a run."""
        return {f"weight/{i}": weight for i, weight in enumerate(self.weight.flatten().tolist())}
