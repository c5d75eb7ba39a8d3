"""The sum of all examples' terms beside the gradient of the batch."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from ilc.gradients._environment import differentiated, trainable_parameters
from ilc.gradients._passes.example_losses import pass_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.linear_backward import FACTOR, scales
from ilc.gradients._trials.routes import VotesDifferError
from ilc.gradients._trials.tolerance import Tolerance, unequal
from ilc.gradients._trials.trial_parameters import nudged_parameters
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.gradients._ways.example_share import shares
from ilc.objectives import ObjectiveFunction


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
        VotesDifferError: they differ by more than rounding.
    """
    parameters = trainable_parameters(model)
    gradient_of_batch = partial(_gradient_of_batch, model, loss_fn, inputs, targets, passes)

    with buffers_untouched(model):
        passes.reset()
        x, y = inputs.detach().clone(), targets.detach().clone()
        statistics = shares(model, loss_fn, x, y).statistics
    gradients = gradient_of_batch()
    tolerance = Tolerance.of_pass([*parameters.values(), inputs])
    if not all(bool(gradient.isfinite().all()) for gradient in gradients):
        return False
    totals = [one.total for one in statistics.values()]
    differ = unequal(totals, gradients, tolerance)
    if not differ:
        return True
    if rounding_may_differ:
        with nudged_parameters(model, seed=0):
            if unequal(gradient_of_batch(), gradients, tolerance):
                return False
    names = [list(statistics)[i] for i in differ]
    raise VotesDifferError(
        names,
        f"the votes per example for {names[0]} do not add up to its gradient, because a hook changes a value "
        "on its way through the layers, or because each pass draws other random numbers: use "
        "gradients='per_example_loss'",
    )


def sums_scale(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> bool:
    """Whether the gradient of the batch has the factor of the risks, as in ``linear_backward``."""
    plain = _gradient_of_batch(model, loss_fn, inputs, targets, passes)
    scaled = _gradient_of_batch(model, loss_fn, inputs, targets, passes, FACTOR)
    return scales(plain, scaled, Tolerance.of_pass([*trainable_parameters(model).values(), inputs]))


def _gradient_of_batch(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    factor: float = 1.0,
) -> list[Tensor]:
    with buffers_untouched(model):
        passes.reset()
        x, y = inputs.detach().clone(), targets.detach().clone()
        loss = pass_of_examples(model, loss_fn, x, y).loss.sum()
        return list(differentiated(factor * loss, model, trainable_parameters(model)))
