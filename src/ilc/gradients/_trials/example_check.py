"""Whether the votes of examples are the gradients that they are said to be."""

from __future__ import annotations

from contextlib import suppress

from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import trainable_parameters
from ilc.gradients._example_terms.batch_norm import normalises_by_batch
from ilc.gradients._example_terms.outline import SHOWS_SHAPES
from ilc.gradients._passes.example_losses import pass_of_examples
from ilc.gradients._tensor_tree import Values, sizes_of
from ilc.gradients._trials.counters import counters_far_ahead
from ilc.gradients._trials.example_sums import sums_agree, sums_scale
from ilc.gradients._trials.example_votes import different_examples, examples_mix, votes_agree
from ilc.gradients._trials.findings import Findings, findings
from ilc.gradients._trials.fixed_batch_norm import batch_norm_mixing_nothing
from ilc.gradients._trials.gradient_hooks import COUNTS, HOOKS_ON_TENSORS, HooksInPass
from ilc.gradients._trials.large_rows_of_others import large_rows_reach_others
from ilc.gradients._trials.linear_backward import NOT_LINEAR
from ilc.gradients._trials.routes import VotesDifferError, routes
from ilc.gradients._trials.rows_of_others import layer_that_reaches_others
from ilc.gradients._trials.trial_parameters import moderate_parameters, zeros_replaced
from ilc.gradients._trials.trial_passes import (
    TrialPasses,
    buffers_untouched,
    trial_passes,
    without_dropout,
)
from ilc.objectives import ObjectiveFunction

_QUESTION = "whether terms of examples are right"

_ENOUGH_SIZES = 8
"""If so many sizes of examples passed the check, further sizes pass without it."""


def check_example_terms(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> bool:
    """Compare the votes with autograd, when model and loss are new or have changed.

    The votes are rebuilt from what passes through the layers. Autograd also sees a parameter that is used in
    another way, such as an output layer by ``F.linear`` with the embedding's weight, or a hook that changes
    an output. A sum over examples does not show which row belongs to which example. So the check compares:

    - the sum of all examples' terms with the gradient of the batch;
    - while BatchNorm mixes nothing, the terms of two or three examples with the gradients of their own risks.
      The number of these examples is another one than in the step.

    Examples whose risk is NaN or infinite are left out.

    Returns:
        Whether there was enough to compare. If not, only the exact way is safe.

    Raises:
        UserError: the two differ whatever the route of the votes, or a hook on a parameter acts on its
            gradient.
    """
    known = findings(model, loss_fn)
    question = (_QUESTION, sizes_of(inputs), inputs.dtype)
    if question in known or sum(asked[0] == _QUESTION for asked in known) >= _ENOUGH_SIZES:
        return True
    for name, p in trainable_parameters(model).items():
        if p._backward_hooks:
            raise UserError(
                f"a hook on {name} changes its gradient, but the votes per example do not pass through "
                "hooks: use gradients='per_example_loss'"
            )
    with trial_passes(model, loss_fn, inputs) as passes:
        finite = _finite_examples(model, loss_fn, inputs, targets, passes)
        if not len(finite):
            return False
        inputs, targets = inputs[finite], targets[finite]
    agree = None
    while agree is None:
        try:
            agree = _agree_with_some_parameters(model, loss_fn, inputs, targets)
        except VotesDifferError as error:
            if not _other_routes(error.names, model, loss_fn, inputs, targets):
                raise UserError(str(error)) from None
    if agree:
        _refuse_mixed_examples(model, loss_fn, inputs, targets)
    # Equal examples show nothing about the next batch, in which examples may differ.
    if agree and different_examples(inputs, targets):
        known[question] = True
    return agree


def forget_check(known: Findings) -> None:
    """Let ``check_example_terms`` compare again."""
    for question in [asked for asked in known if asked[0] == _QUESTION]:
        del known[question]


def _refuse_mixed_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> None:
    """Refuse a model in which something other than BatchNorm mixes the examples above a trained layer.

    Raises:
        UserError: it does.
    """
    hooks = HooksInPass()
    with batch_norm_mixing_nothing(model), zeros_replaced(model), hooks:
        name = _what_mixes(model, loss_fn, inputs, targets)
        if name is None:
            name = _what_mixes_later(model, loss_fn, inputs, targets)
    if name:
        raise UserError(
            f"the risk of one example depends on the output of {name} for other examples, so something other "
            "than BatchNorm mixes the examples: use gradients='per_example_loss'"
        )
    if name is not None:
        raise UserError(
            "something other than BatchNorm mixes the examples: an operation of the model brings them "
            "together, such as a mean over the batch. Use gradients='per_example_loss'"
        )
    if hooks.found == HOOKS_ON_TENSORS:
        raise UserError(
            "the forward pass puts a hook on a tensor, and the hook would get the gradient of all examples "
            "together: use gradients='per_example_loss'"
        )
    if hooks.found == COUNTS:
        raise UserError(
            "a look-up divides its gradient by how often an index occurs in the batch, so examples mix: use "
            "gradients='per_example_loss', or look up with scale_grad_by_freq=False"
        )
    with zeros_replaced(model), trial_passes(model, loss_fn, inputs) as passes:
        if not sums_scale(model, loss_fn, inputs, targets, passes):
            raise UserError(
                f"{NOT_LINEAR}, so the votes per example cannot come from one pass: use "
                "gradients='per_example_loss'"
            )


def _what_mixes(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values) -> str | None:
    """The name of a layer whose output reaches other examples' risks; empty if only something shows that."""
    with trial_passes(model, loss_fn, inputs) as passes:
        name = layer_that_reaches_others(model, loss_fn, inputs, targets, passes)
    if name is not None:
        return name
    with without_dropout(model), trial_passes(model, loss_fn, inputs) as passes:
        return "" if large_rows_reach_others(model, loss_fn, inputs, targets, passes) else None


def _what_mixes_later(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> str | None:
    """What mixes once the buffers in which the model counts its passes are far ahead."""
    few = inputs[[0, len(inputs) - 1]]
    # The model may not bear so large a number.
    with counters_far_ahead(model, loss_fn, few) as ahead, suppress(Exception):
        return _what_mixes(model, loss_fn, inputs, targets) if ahead else None
    return None


def _agree_with_some_parameters(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> bool:
    """Compare; where the present parameters give no gradients but rounding, smaller ones are tried."""
    if _agree(model, loss_fn, inputs, targets, rounding_may_differ=True):
        return True
    with moderate_parameters(model):
        return _agree(model, loss_fn, inputs, targets, rounding_may_differ=False)


def _other_routes(
    names: list[str], model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> bool:
    """Choose another way to make the votes for these parameters; return False if there is none.

    The rule of a layer is right only if the model uses the layer's parameters nowhere else. The operations
    that use a parameter do not show whose row is whose if, say, time comes first. A backward pass for each
    example is always right, but if examples mix, every parameter below may be wrong, seen or not.
    """
    known = routes(model, loss_fn)
    new = set(names) - known.without_rule()
    if new and SHOWS_SHAPES:
        known.uses |= new
        return True
    if set(names) <= known.passes or any(normalises_by_batch(layer) for layer in model.modules()):
        return False
    with zeros_replaced(model), trial_passes(model, loss_fn, inputs) as passes:
        if examples_mix(model, loss_fn, inputs, targets, passes):
            return False
    known.need_passes(names, "the operations that use them do not show which example is which")
    return True


def _agree(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, rounding_may_differ: bool
) -> bool:
    """Compare sums and votes; return False if they show nothing with these parameters.

    With ``rounding_may_differ`` a difference that rounding may have made shows nothing, too.
    """
    with trial_passes(model, loss_fn, inputs) as passes:
        if not sums_agree(model, loss_fn, inputs, targets, passes, rounding_may_differ):
            return False
    with (
        zeros_replaced(model),
        batch_norm_mixing_nothing(model),
        trial_passes(model, loss_fn, inputs) as passes,
    ):
        return votes_agree(model, loss_fn, inputs, targets, passes, rounding_may_differ)


def _finite_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> Tensor:
    """The indices of the examples with a finite risk."""
    passes.reset()
    x, y = inputs.detach().clone(), targets.detach().clone()
    with buffers_untouched(model):
        losses = pass_of_examples(model, loss_fn, x, y).loss
    return losses.detach().isfinite().nonzero().flatten().to("cpu")
