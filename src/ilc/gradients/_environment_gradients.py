"""The gradients of all environments, in the way that the caller names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from torch import nn

from ilc._processes import ONE_PROCESS, Processes
from ilc.aggregators import Aggregator, JointAggregator
from ilc.errors import UserError
from ilc.gradients._batches import Batch, as_batches
from ilc.gradients._compiled_models import as_written
from ilc.gradients._environment import EnvironmentGradients, device_of
from ilc.gradients._groups import in_groups
from ilc.gradients._hidden_examples import check_masks
from ilc.gradients._named_errors import named
from ilc.gradients._passes.calls import are_absent
from ilc.gradients._passes.dense_embeddings import dense_embeddings
from ilc.gradients._passes.example_losses import check_losses
from ilc.gradients._passes.restored_buffers import buffers_restored_after_errors
from ilc.gradients._refusals import (
    Attempt,
    check_aggregator,
    check_gradients_are_on,
    check_loss_function,
    check_model,
    checked_aggregator,
    explained,
    with_a_remedy_that_works,
)
from ilc.gradients._tensor_tree import TensorTree, Values
from ilc.gradients._trials.example_check import check_example_terms
from ilc.gradients._trials.findings import training_step
from ilc.gradients._trials.gradient_hooks import what_acts_on_gradients
from ilc.gradients._trials.later_operations import check_later_operations
from ilc.gradients._trials.random_numbers import shared_random_numbers
from ilc.gradients._trials.state_between_environments import no_state_between_environments
from ilc.gradients._trials.trial_passes import drawing_as
from ilc.gradients._ways.example_local import example_local
from ilc.gradients._ways.example_loss import example_loss
from ilc.gradients._ways.example_share import example_share
from ilc.gradients._ways.example_sum_only import example_sum_only
from ilc.gradients._ways.joint_loss import joint_loss_gradients
from ilc.gradients._ways.of_losses import Loss, check_losses_given, of_losses
from ilc.gradients._ways.pooled import pooled
from ilc.gradients._ways.sequential import sequential
from ilc.gradients._ways.sum_only import sum_only
from ilc.gradients._ways.vectorized import vectorized
from ilc.objectives import ObjectiveFunction

WAYS = {
    "vectorized": vectorized,
    "sequential": sequential,
    "pooled": pooled,
    "per_example": example_local,
    "per_example_share": example_share,
    "per_example_loss": example_loss,
}
"""The ways to obtain environment gradients, by the name used in code and configs."""

PER_EXAMPLE = ("per_example", "per_example_share", "per_example_loss")
"""The ways in which every example is an environment of its own."""

PASS_PER_ENVIRONMENT = ("vectorized", "sequential")
"""The ways in which every environment passes through the model by itself."""

NEEDS_MODEL_AS_WRITTEN = {
    "vectorized": "torch.func does not run compiled code",
    "per_example": "compiled code shows no layers",
    "per_example_share": "compiled code shows no layers",
    "per_example_loss": "compiled code allows one backward pass after a forward pass",
}
"""The ways that run a compiled model as it was written, each with the reason."""


def check_way(gradients: str) -> None:
    """Raise UserError unless this is the name of a way."""
    if not isinstance(gradients, str) or gradients not in WAYS:
        raise UserError(f"gradients must be one of {', '.join(WAYS)}, got {gradients!r}")


def environment_gradients(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch = None,
    targets: Batch = None,
    aggregator: Aggregator | None = None,
    gradients: str = "vectorized",
    counts: Sequence[int] | None = None,
    processes: Processes = ONE_PROCESS,
) -> EnvironmentGradients:
    """Compute what the aggregator looks at: the first half of ``backward``. ``.grad`` stays as it is.

    Args:
        model: as for ``backward``.
        loss_fn: as for ``backward``.
        inputs: as for ``backward``.
        targets: as for ``backward``.
        aggregator: as for ``backward``.
        gradients: as for ``backward``.
        counts: the number of environments of each process. A ``JointAggregator`` needs it, because it
            looks at the environments of all processes.
        processes: the processes that share the step.

    Raises:
        UserError: as for ``backward``.
    """
    aggregator = checked_aggregator(aggregator, inputs, targets)
    return gradients_of_step(model, loss_fn, inputs, targets, aggregator, gradients, counts, processes)


def gradients_of_step(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch,
    targets: Batch,
    aggregator: Aggregator,
    gradients: str,
    counts: Sequence[int] | None = None,
    processes: Processes = ONE_PROCESS,
    votes: bool = True,
    instead: Callable[..., EnvironmentGradients] | None = None,
) -> EnvironmentGradients:
    """Do the same as ``environment_gradients``; without ``votes``, only sum the examples' gradients.

    ``instead`` takes the place of a way per example. Everything that this way checks is checked before.
    """
    check_way(gradients)
    check_gradients_are_on()
    check_aggregator(aggregator)
    check_model(model)
    check_loss_function(loss_fn)
    if gradients == "pooled" and aggregator.needs_environments:
        raise UserError(
            "gradients='pooled' does not tell environments apart, but every aggregator except the mean "
            "needs to: take gradients='vectorized' with this aggregator"
        )
    if not callable(loss_fn):
        check_losses_given(loss_fn, inputs, targets, aggregator, gradients)
        with training_step(model, None), dense_embeddings(model), buffers_restored_after_errors(model):
            return of_losses(model, loss_fn, aggregator.sums_on_request)
    x, y = as_batches(inputs, targets, device_of(model))
    check_masks(x)
    if isinstance(x, list) and gradients not in PASS_PER_ENVIRONMENT:
        raise UserError(
            f"gradients={gradients!r} takes all examples as one batch, not environments of different sizes: "
            "take gradients='vectorized' or 'sequential', or give all examples at once, [E, 1, ...]"
        )
    way: Callable[..., EnvironmentGradients] = partial(WAYS[gradients], also=aggregator.sums_on_request)
    if isinstance(aggregator, JointAggregator):
        way = partial(
            joint_loss_gradients,
            aggregator=aggregator,
            gradients=gradients,
            counts=counts,
            processes=processes,
        )
    elif instead is not None:
        way = instead
    elif not votes and what_acts_on_gradients(model) is None:
        way = example_sum_only
    elif gradients == "vectorized":
        way = way if aggregator.needs_votes else sum_only
        if isinstance(x, list):
            way = _for_unequal_sizes(way, model, aggregator, x if are_absent(y[0]) else [*x, *y])
    attempt = Attempt(gradients, WAYS, model, loss_fn, x, y)
    with (
        _compiled_or_not(model, aggregator, gradients),
        training_step(model, loss_fn),
        dense_embeddings(model),
        buffers_restored_after_errors(model),
    ):
        try:
            return _passed(way, model, loss_fn, x, y, aggregator, gradients, votes)
        except UserError as error:
            raise with_a_remedy_that_works(error, attempt) from error.__cause__
        except Exception as error:
            own = named(error, model, loss_fn, x, y, together=gradients not in PASS_PER_ENVIRONMENT)
            raise (own or explained(error, attempt)) from error


def _compiled_or_not(
    model: nn.Module, aggregator: Aggregator, gradients: str
) -> AbstractContextManager[None]:
    """What surrounds a step so that a compiled model is run as this step needs it."""
    if isinstance(aggregator, JointAggregator):
        what = type(aggregator).__name__
        return as_written(model, what, "it differentiates the risks of all environments together")
    if gradients in NEEDS_MODEL_AS_WRITTEN:
        return as_written(model, f"gradients={gradients!r}", NEEDS_MODEL_AS_WRITTEN[gradients])
    return nullcontext()


def _passed(
    way: Callable[..., EnvironmentGradients],
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    x: Values | list[Values],
    y: Values | list[Values],
    aggregator: Aggregator,
    gradients: str,
    votes: bool,
) -> EnvironmentGradients:
    """Try out what has to be tried out before this way, then go it."""
    if gradients in PER_EXAMPLE:
        assert not isinstance(x, list) and not isinstance(y, list), "lists were refused"
        check_losses(model, loss_fn, x, y)
        if gradients == "per_example_loss":  # It rebuilds no votes, so there is nothing to compare.
            return way(model, loss_fn, x, y)
        drawn = shared_random_numbers(x)
        with drawing_as(drawn):
            comparable = check_example_terms(model, loss_fn, x, y)
        if votes and not comparable:
            # No gradient is finite yet, so nothing can be compared: the exact way needs no comparison.
            way = partial(example_loss, also=aggregator.sums_on_request)
        found = way(model, loss_fn, x, y)
        check_later_operations(model, loss_fn, x, y, drawn)
        return found
    if gradients not in PASS_PER_ENVIRONMENT:
        return way(model, loss_fn, x, y)
    with no_state_between_environments(model, loss_fn, x, y, vectorized=gradients == "vectorized"):
        return way(model, loss_fn, x, y)


def _for_unequal_sizes(
    way: Callable[..., EnvironmentGradients],
    model: nn.Module,
    aggregator: Aggregator,
    values: Sequence[Values],
) -> Callable[..., EnvironmentGradients]:
    """A way for environments of unequal sizes: all of one size at once, or one environment after another.

    Nests go one after another, because they may hold anything.

    A mean of whole numbers is rounded. Groups of equal sizes would round such a buffer twice, so a model
    with one goes one environment after another.
    """
    counts = (b for name, b in model.named_buffers() if not name.endswith("num_batches_tracked"))
    whole = not all(b.is_floating_point() or b.is_complex() for b in counts)
    if (model.training and whole) or any(isinstance(one, TensorTree) for one in values):
        return partial(WAYS["sequential"], also=aggregator.sums_on_request)
    return partial(in_groups, way)
