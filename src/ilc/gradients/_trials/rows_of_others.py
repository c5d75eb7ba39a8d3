"""Whether an example's risk depends on what layers computed for other examples."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.utils._pytree import tree_leaves

from ilc.gradients._example_terms.outline import (
    SHOWS_SHAPES,
    Outline,
    examples_meet,
    operations,
)
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_parameters import trained_layers
from ilc.gradients._trials.trial_passes import DRAWS, TrialPasses, buffers_untouched
from ilc.gradients._trials.zero_factors import zero_factors_as_ones
from ilc.objectives import ObjectiveFunction

_FEW = (3, 4)
"""How many examples pass first."""


def layer_that_reaches_others(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> str | None:
    """The name of a trained layer whose output for one example changes another's risk; None if none does.

    Votes of a few examples may agree by chance although examples mix, for example where a layer is not
    active for them. The gradient of one risk with respect to a layer's output shows it directly: it is
    zero in the rows of all other examples. Three and then four examples pass, because only an axis whose
    length follows their number holds the examples. If the model has other operations when all pass, all
    pass and then one more. The name is empty if only the operations show that examples meet.
    """
    names = trained_layers(model)

    def in_two_passes(counts: tuple[int, int], draws: int) -> tuple[str | None, list[str]]:
        """The layer, and the names of the operations."""
        one, other = (
            _reached(model, loss_fn, inputs, targets, passes, names, count, draws) for count in counts
        )
        found = next((name for name in names.values() if name in one.layers & other.layers), None)
        if found is None and SHOWS_SHAPES:
            meet = examples_meet(one.nodes, counts[0], Outline.of(other.nodes, counts[1]))
            found = "" if meet else None
        return found, one.names

    found, few = in_two_passes(_FEW, DRAWS)
    n = len(inputs)
    if found is not None or few == operations_of_pass(model, inputs, passes):
        return found
    try:
        return in_two_passes((n, n + 1), 1)[0]
    except Exception:  # The model may need a multiple of some number of examples.
        reached = _reached(model, loss_fn, inputs, targets, passes, names, n, 1).layers
        return next((name for name in names.values() if name in reached), None)


def operations_of_pass(model: nn.Module, inputs: Values, passes: TrialPasses) -> list[str]:
    """The names of the operations when these examples pass."""
    passes.reset()
    with buffers_untouched(model):
        found = outputs_of(model, inputs.detach().clone().flatten(0, 1))
    return [node.name() for node in operations(found)]


class _Pass(NamedTuple):
    """What passes of the same examples showed.

    Attributes:
        layers: those whose rows for others reach the first one's risk or the last one's.
        nodes: the operations behind those outputs that the first one's risk reads.
        names: the names of the operations behind all outputs.
    """

    layers: set[str]
    nodes: list[Node]
    names: list[str]


def _reached(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    names: dict[nn.Module, str],
    count: int,
    draws: int,
) -> _Pass:
    """Look at passes of so many examples: one, or several with other random numbers if it draws any."""
    layers: set[str] = set()
    for seed in range(draws):
        passes.reset(seed)  # It would also take back hooks.
        found = _of_one_pass(model, loss_fn, inputs, targets, names, count)
        layers |= found.layers
        if not passes.has_drawn():
            break
    return found._replace(layers=layers)


def _of_one_pass(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    names: dict[nn.Module, str],
    count: int,
) -> _Pass:
    outputs: list[tuple[str, Tensor]] = []

    def keep(layer: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad and output.ndim and len(output) == count:
            outputs.append((names[layer], output))

    which = [position % len(inputs) for position in range(count)]
    # The user's own hooks may mix, so what the layer itself computed is kept.
    handles = [layer.register_forward_hook(keep, prepend=True) for layer in names]
    try:
        with buffers_untouched(model):
            x, y = inputs[which].detach().clone(), targets[which].clone()
            found = outputs_of(model, x.flatten(0, 1))
            losses = losses_of_examples(model, loss_fn, found, y).loss
    finally:
        for handle in handles:
            handle.remove()
    every = [node.name() for node in operations(found)]
    if not losses[0].requires_grad:
        return _Pass(set(), [], every)
    first, last = (
        partial(torch.autograd.grad, loss, retain_graph=True, allow_unused=True)
        for loss in (losses[0], losses[-1])
    )
    leaves = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor) and leaf.requires_grad]
    read = [leaf for leaf, gradient in zip(leaves, first(leaves), strict=True) if gradient is not None]
    reached: set[str] = set()
    if outputs:  # Rows may reach only those after them, or only those before them.
        for of_risk, others in ((first, slice(1, None)), (last, slice(None, -1))):
            with zero_factors_as_ones(operations(losses)):
                gradients = of_risk([output for _, output in outputs])
            reached |= {
                name
                for (name, _), gradient in zip(outputs, gradients, strict=True)
                if gradient is not None and is_reached(gradient[others])
            }
    return _Pass(reached, operations(read), every)


def is_reached(rows: Tensor) -> bool:
    """Whether a gradient in these rows is finite and not zero somewhere."""
    return bool((rows.isfinite() & (rows != 0)).any())
