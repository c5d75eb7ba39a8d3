"""A score needs risks that are functions of the parameters: random numbers would count as curvature."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ilc.consistency._derivatives import Loss
from ilc.errors import UserError
from ilc.gradients._trials.random_numbers import (
    random_numbers_untouched,
    same_states,
    shared_random_numbers,
)


def check_repeatable(losses: Sequence[Loss], theta_star: Tensor) -> None:
    """Raise UserError if a risk has another value when it is computed again at the same parameters.

    All random numbers that code shares are as before afterwards.
    """
    with random_numbers_untouched(theta_star):
        for e, loss in enumerate(losses):
            first, again = _value(loss, theta_star), _value(loss, theta_star)
            rounding = torch.finfo(theta_star.dtype).eps ** 0.5 * max(abs(first), abs(again))
            # NaN passes here, because the score names it itself.
            if abs(first - again) > rounding:
                raise UserError(
                    f"the risk of environment {e} is {first:.6g} and then {again:.6g} at the same "
                    "parameters, but a score needs a function of the parameters alone: call model.eval() "
                    "before, and draw no random numbers in model or loss"
                )


def check_draws_nothing(losses: Sequence[Loss], theta_star: Tensor) -> None:
    """Raise UserError if a risk of a model in training mode draws random numbers, whatever its value.

    A layer that is left out now and then has the same value most times.
    """
    with random_numbers_untouched(theta_star):
        for e, loss in enumerate(losses):
            before = shared_random_numbers(theta_star)
            _value(loss, theta_star)
            if not same_states(before, shared_random_numbers(theta_star)):
                raise UserError(
                    f"the risk of environment {e} draws random numbers in training mode, but a score needs "
                    "a function of the parameters alone: call model.eval() before, and draw no random "
                    "numbers in model or loss"
                )


def _value(loss: Loss, theta_star: Tensor) -> float:
    """The risk, or 0 of what is no risk and is refused later; with gradients, as a loss may take some."""
    value = loss(theta_star.detach().clone().requires_grad_())
    return float(value.detach()) if isinstance(value, Tensor) and value.numel() == 1 else 0.0
