"""Whether the votes of examples are what they are said to be: seen from sums and from a few examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import differentiated, trainable_parameters
from ilc.gradients._example_terms.batch_norm import mixes_examples
from ilc.gradients._example_terms.rules import RULES
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._trials.findings import verdicts
from ilc.gradients._trials.reference_loop import ALSO, Tolerance, as_statistics, first_difference
from ilc.gradients._trials.trial_parameters import moderate_parameters, nudged_parameters, zeros_replaced
from ilc.gradients._trials.trial_passes import Trial, buffers_untouched, copied, trial
from ilc.gradients._ways.example_share import example_share
from ilc.objectives import ObjectiveFunction

# Relative to the parameter's gradient and to all: rounding, in half precision too, against a term left out.
_OF_THE_PARAMETER, _OF_ALL = 0.05, 1e-3


def check_shares(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor) -> bool:
    """When model and loss are first met or no longer what they were, hold the votes against autograd.

    Votes are rebuilt from what passes through layers. What uses a parameter otherwise (an output layer by
    ``F.linear`` with the embedding's weight, a hook that changes an output) is in the gradient alone, and
    whose row is whose cannot be seen from a sum. So two things are compared: the sum of all examples' shares
    with the gradient, and, where BatchNorm mixes nothing, the shares of two or three examples, another number
    than the step has, with the gradients of their own risks. Examples whose risk is NaN or infinite are left
    out of this.

    Returns:
        Whether there was enough to compare; else the exact way is what remains.

    Raises:
        UserError: they differ, a layer has no rule, or a hook on a parameter acts on its gradient.
    """
    known = verdicts(model, loss_fn)
    question = ("shares", inputs.shape[1:], inputs.dtype)
    if question in known or sum(asked[0] == "shares" for asked in known) >= _ENOUGH:
        return True
    for name, p in trainable_parameters(model).items():
        if p._backward_hooks:
            raise UserError(
                f"a hook on {name} acts on its gradient, and the votes per example do not pass through it: "
                "use gradients='per_example_loss'"
            )
    with trial(model, loss_fn, inputs) as passes:
        there = _finite_examples(model, loss_fn, inputs, targets, passes)
        if not len(there):
            return False
        inputs, targets = inputs[there], targets[there]
    # Where the parameters at hand give no gradients, or rounding makes them, smaller ones are tried.
    agree = _agree(model, loss_fn, inputs, targets, doubt=True)
    if not agree:
        with moderate_parameters(model):
            agree = _agree(model, loss_fn, inputs, targets, doubt=False)
    # Of examples that are all alike nothing is learnt for the next batch, in which they may differ.
    if agree and _different_examples(inputs, targets):
        known[question] = True
    return agree


_ENOUGH = 8
"""Sizes of examples that all passed: further sizes pass."""


def _agree(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, doubt: bool
) -> bool:
    """Compare sums and votes; False if they show nothing with these parameters.

    With ``doubt`` a difference that rounding may have made shows nothing, too.
    """
    with trial(model, loss_fn, inputs) as passes:
        if not _sums_agree(model, loss_fn, inputs, targets, passes, doubt):
            return False
    with (
        zeros_replaced(model),
        batch_norm_mixing_nothing(model),
        trial(model, loss_fn, inputs) as passes,
    ):
        return _votes_agree(model, loss_fn, inputs, targets, passes, doubt)


def _finite_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, passes: Trial
) -> Tensor:
    """The indices of those with a finite risk."""
    passes.start()
    x, y = (torch.stack(copied(values, range(len(values)))) for values in (inputs, targets))
    with buffers_untouched(model):
        losses = losses_of_examples(model, loss_fn, model(x.flatten(0, 1)), y).loss
    return losses.detach().isfinite().nonzero().flatten().to("cpu")


def _sums_agree(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, passes: Trial, doubt: bool
) -> bool:
    """Compare sums; False if they are not finite or made by rounding, so that there is nothing to compare."""
    everything = range(len(inputs))
    parameters = trainable_parameters(model)

    def summed() -> list[Tensor]:
        with buffers_untouched(model):
            passes.start()
            x, y = (torch.stack(copied(values, everything)) for values in (inputs, targets))
            loss = losses_of_examples(model, loss_fn, model(x.flatten(0, 1)), y).loss.sum()
            return list(differentiated(loss, model, parameters))

    with buffers_untouched(model):
        passes.start()
        x, y = (torch.stack(copied(values, everything)) for values in (inputs, targets))
        shares = example_share(model, loss_fn, x, y).statistics
    gradients = summed()
    if not all(bool(gradient.isfinite().all()) for gradient in gradients):
        return False
    totals = [share.total for share in shares.values()]
    differs = _first_that_differs(totals, gradients)
    if differs is None:
        return True
    if doubt:
        with nudged_parameters(model, seed=0):
            if _first_that_differs(summed(), gradients) is not None:
                return False
    raise UserError(
        f"the votes per example for {list(shares)[differs]} do not add up to its gradient: the model uses it "
        "outside the layer that has it, or a hook changes what passes. Use gradients='per_example_loss'"
    )


def _first_that_differs(found: Sequence[Tensor], gradients: Sequence[Tensor]) -> int | None:
    of_all = torch.stack([gradient.double().norm() for gradient in gradients]).norm()
    for i, (ours, gradient) in enumerate(zip(found, gradients, strict=True)):
        missing = (ours.double() - gradient.double()).norm()
        if not missing <= _OF_THE_PARAMETER * gradient.double().norm() + _OF_ALL * of_all:
            return i
    return None


def _votes_agree(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, passes: Trial, doubt: bool
) -> bool:
    """Compare the votes of a few examples, which share one pass; False if none of them show anything."""
    n, others = len(inputs), _different_examples(inputs, targets)
    pairs = list(pairwise([0, *others])) or [(0, n - 1)]
    for one, other in pairs:
        few = [one, other] if n != 2 else [one, other, one]
        if _votes_of_few_agree(model, loss_fn, inputs, targets, passes, few, doubt):
            return True
    return False


def _votes_of_few_agree(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor,
    targets: Tensor,
    passes: Trial,
    few: list[int],
    doubt: bool,
) -> bool:
    """Of these examples; False where a gradient is not finite or made by rounding, or an example has none."""
    parameters = trainable_parameters(model)
    x, y = (torch.stack(copied(values, few)) for values in (inputs, targets))
    mixed = torch.is_autocast_enabled(inputs.device.type)
    narrow = [torch.empty(0, dtype=torch.bfloat16)] if mixed else []
    tolerance = Tolerance.of([*parameters.values(), inputs, *narrow])
    for seed in range(_DRAWS):  # One draw of a random mixing may leave every example in its place.
        rows, draws = _rows_of_examples(model, loss_fn, x, y, passes, seed)
        if not all(bool(value.isfinite().all()) for value in rows.values()):
            return False
        if not bool(torch.stack([value.flatten(1).any(1) for value in rows.values()]).any(0).all()):
            return False  # An example without any gradient, as where its labels are masked, shows nothing.
        with buffers_untouched(model):
            passes.start(seed)
            shares = example_share(model, loss_fn, x.clone(), y.clone(), ALSO).statistics
        different = first_difference(shares, rows, tolerance)
        if different is not None:
            if doubt:
                with nudged_parameters(model, seed):
                    nudged, _ = _rows_of_examples(model, loss_fn, x, y, passes, seed)
                if first_difference(as_statistics(nudged), rows, tolerance) is not None:
                    return False
            raise UserError(
                f"the votes per example for {different} are not the gradients of the examples' own risks: "
                "examples mix other than by BatchNorm, or a layer's first axis is not the examples (time "
                "first, positions or a query looked up once). Use gradients='per_example_loss'"
            )
        if not draws:
            break
    return True


def _rows_of_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, x: Tensor, y: Tensor, passes: Trial, seed: int
) -> tuple[dict[str, Tensor], bool]:
    """Each example's own gradient ``[N, ...]`` by parameter, and whether the pass drew random numbers."""
    parameters = trainable_parameters(model)
    with buffers_untouched(model):
        passes.start(seed)
        before = torch.get_rng_state()
        losses = losses_of_examples(model, loss_fn, model(x.clone().flatten(0, 1)), y.clone()).loss
        draws = not torch.equal(before, torch.get_rng_state())
        rows = [
            torch.autograd.grad(
                loss, list(parameters.values()), retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for loss in losses
        ]
    stacked = (torch.stack(each) for each in zip(*rows, strict=True))
    return dict(zip(parameters, stacked, strict=True)), draws


_DRAWS = 6
"""Trials of a model that draws random numbers."""


def _different_examples(inputs: Tensor, targets: Tensor) -> list[int]:
    """A few examples that differ from the first one; none where all are alike."""
    differ = (inputs != inputs[:1]).flatten(1).any(1)
    if targets.shape[0] == len(inputs):
        differ |= (targets != targets[:1]).flatten(1).any(1)
    others: list[int] = differ.nonzero().flatten().tolist()
    return others[:: -max(1, len(others) // 3)]


@contextmanager
def batch_norm_mixing_nothing(model: nn.Module) -> Iterator[None]:
    """Every BatchNorm that normalises by the batch takes its statistics as given, so none has a gradient."""
    layers: list[Any] = [part for part in model.modules() if mixes_examples(part) and type(part) in RULES]

    def give_statistics(layer: Any, arguments: tuple[Tensor, ...]) -> None:
        x = arguments[0].detach()
        axes = [axis for axis in range(x.ndim) if axis != 1]
        like = x if layer.weight is None else layer.weight
        layer._buffers["running_mean"] = x.mean(axes).to(like.dtype)
        layer._buffers["running_var"] = x.var(axes, correction=0).to(like.dtype)

    were = [(layer, layer.training, dict(layer._buffers)) for layer in layers]
    handles = [layer.register_forward_pre_hook(give_statistics) for layer in layers]
    try:
        for layer in layers:
            layer.training = False
        yield
    finally:
        for handle in handles:
            handle.remove()
        for layer, training, buffers in were:
            layer.training = training
            layer._buffers.update(buffers)
