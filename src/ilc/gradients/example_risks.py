"""The risk of each example of a batch."""

from __future__ import annotations

from torch import Tensor
from torch.func import vmap

from ilc.errors import UserError
from ilc.gradients.environment import RiskFunction


def example_risks(loss_fn: RiskFunction, outputs: Tensor, targets: Tensor) -> Tensor:
    """Risks ``[E]`` of outputs ``[E, ...]`` against targets ``[E, 1, ...]``, each a batch of one.

    Raises:
        UserError: not one example per environment, not one output row per example, or a risk that
            is no scalar.
    """
    if targets.shape[1] != 1:
        raise UserError(
            f"per_example makes every example an environment: inputs and targets must be [E, 1, ...], got "
            f"N = {targets.shape[1]}; reshape [E, N, ...] to [E * N, 1, ...]"
        )
    if len(outputs) != len(targets):
        raise UserError(f"the model must return one row per example, got {len(outputs)} for {len(targets)}")
    risks: Tensor = vmap(loss_fn)(outputs.unsqueeze(1), targets)
    if risks.ndim != 1:
        raise UserError(
            f"loss_fn must return the mean risk of one environment, a scalar, got shape "
            f"{tuple(risks.shape[1:])}: average over the examples"
        )
    return risks
