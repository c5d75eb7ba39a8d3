"""The objective of one environment: its risk, to which a penalty may be added."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Objective(NamedTuple):
    """Scalars of one environment: ``loss`` is differentiated, ``risk`` and ``penalty`` are reported.

    Risk and penalty are reported without the weights that they have in the loss.
    """

    loss: Tensor
    risk: Tensor
    penalty: Tensor


RiskFunction = Callable[[Tensor, Tensor], Tensor]
"""``loss_fn(outputs, targets)``: the mean risk of one environment, a scalar."""

ObjectiveFunction = Callable[[Tensor, Tensor], "Tensor | Objective"]
"""``objective(outputs, targets)``: a risk, or an ``Objective`` with a penalty."""
