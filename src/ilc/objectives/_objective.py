"""What is differentiated in one environment: its risk, and perhaps a term added to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Objective(NamedTuple):
    """Scalars of one environment: ``loss`` is differentiated, ``risk`` and ``penalty`` are reported.

    Risk and penalty are unscaled, whatever weights joined them in the loss.
    """

    loss: Tensor
    risk: Tensor
    penalty: Tensor


RiskFunction = Callable[[Tensor, Tensor], Tensor]
"""``loss_fn(outputs, targets)``: the mean risk of one environment, a scalar."""

ObjectiveFunction = Callable[[Tensor, Tensor], "Tensor | Objective"]
"""The same, or with a penalty: ``objective(outputs, targets)``."""
