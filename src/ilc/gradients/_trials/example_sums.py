"""The sum of all examples' terms beside the gradient of the batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import differentiated, trainable_parameters
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_parameters import nudged_parameters
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.gradients._ways.example_share import example_share
from ilc.objectives import ObjectiveFunction

# Relative to the parameter's gradient and to all gradients. Rounding, also in half precision, stays below;
# a term that is left out does not.
_OF_THE_PARAMETER, _OF_ALL = 0.05, 1e-3


def sums_agree(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    rounding_may_differ: bool,
) -> bool:
    """Compare the sums; return False if the gradients are not finite or made by rounding.

    Raises:
        UserError: they differ by more than rounding.
    """
    parameters = trainable_parameters(model)

    def gradient_of_batch() -> list[Tensor]:
        with buffers_untouched(model):
            passes.reset()
            x, y = inputs.detach().clone(), targets.detach().clone()
            loss = losses_of_examples(model, loss_fn, outputs_of(model, x.flatten(0, 1)), y).loss.sum()
            return list(differentiated(loss, model, parameters))

    with buffers_untouched(model):
        passes.reset()
        x, y = inputs.detach().clone(), targets.detach().clone()
        statistics = example_share(model, loss_fn, x, y).statistics
    gradients = gradient_of_batch()
    if not all(bool(gradient.isfinite().all()) for gradient in gradients):
        return False
    totals = [one.total for one in statistics.values()]
    differs = _first_that_differs(totals, gradients)
    if differs is None:
        return True
    if rounding_may_differ:
        with nudged_parameters(model, seed=0):
            if _first_that_differs(gradient_of_batch(), gradients) is not None:
                return False
    raise UserError(
        f"the votes per example for {list(statistics)[differs]} do not add up to its gradient, because the "
        "model uses it outside the layer that owns it, or because a hook changes a value on its way through "
        "the layers: use gradients='per_example_loss'"
    )


def _first_that_differs(found: Sequence[Tensor], gradients: Sequence[Tensor]) -> int | None:
    of_all = torch.stack([gradient.double().norm() for gradient in gradients]).norm()
    for i, (ours, gradient) in enumerate(zip(found, gradients, strict=True)):
        missing = (ours.double() - gradient.double()).norm()
        # The condition is negated so that NaN counts as a difference.
        if not missing <= _OF_THE_PARAMETER * gradient.double().norm() + _OF_ALL * of_all:
            return i
    return None
