"""Whether environments may mix in one pass of all: by operations, by gradients and by values."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import Node

from ilc.gradients._example_terms.outline import (
    SHOWS_SHAPES,
    Outline,
    examples_meet,
    operations,
)
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.held_values import nearly_equal
from ilc.gradients._trials.trial_parameters import trained_layers
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.gradients._ways.by_layers import losses_of_environments
from ilc.objectives import ObjectiveFunction

_LARGE = 1e3
"""The factor of other environments' rows. A part that is off for small numbers may be on for large ones."""


def environments_mix(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> bool:
    """Whether a trained layer's rows for another environment reach the risk of the first one, or may do so.

    Sums show this only if the effect is large. An auxiliary loss, which a router or a regulariser makes of
    the whole batch, mostly has a small factor. A model that sorts its examples leaves them in their places
    if they come sorted, so all operations count that can move rows. A limit, such as ``relu(mean - 2)``, may
    not be reached yet, so an operation counts too if the examples' axis ends there, and the other
    environments pass once more with large rows.
    """
    shape = inputs.shape[:2]
    outputs: list[Tensor] = []

    def keep(layer: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad and len(output) == shape.numel():
            outputs.append(output)

    passes.reset()  # It would also take back hooks.
    handles = [layer.register_forward_hook(keep, prepend=True) for layer in trained_layers(model)]
    try:
        with buffers_untouched(model):
            found = outputs_of(model, inputs.clone().flatten(0, 1))
            first = losses_of_environments(loss_fn, found, targets.clone(), shape).loss[0]
    finally:
        for handle in handles:
            handle.remove()
    nodes = operations(found)
    if any(_moves_rows(node) for node in nodes):
        return True
    try:
        if _examples_meet(model, inputs, nodes, passes) or _rows_reach_the_first(
            model, inputs, found, passes
        ):
            return True
    except Exception:  # A pass of other examples may fail, and then nothing is known.
        return True
    if not outputs or not first.requires_grad:
        return False
    gradients = torch.autograd.grad(first, outputs, allow_unused=True)
    others = [gradient[shape[1] :] for gradient in gradients if gradient is not None]
    return any(bool((rows.isfinite() & (rows != 0)).any()) for rows in others)


def _examples_meet(model: nn.Module, inputs: Values, nodes: list[Node], passes: TrialPasses) -> bool:
    """Whether an operation brings examples together, or depends on their number, so that it may do so."""
    n = inputs.shape[:2].numel()
    if not SHOWS_SHAPES or len(inputs) < 2:
        return False
    fewer = inputs.clone()[:-1]
    passes.reset()
    with buffers_untouched(model):
        other = Outline.of(operations(outputs_of(model, fewer.flatten(0, 1))), fewer.shape[:2].numel())
    return examples_meet(nodes, n, other) is not False


def _rows_reach_the_first(model: nn.Module, inputs: Values, outputs: Tensor, passes: TrialPasses) -> bool:
    """Whether the first environment's outputs change when the others' rows are larger in a layer's output."""
    n, total = inputs.shape[1], inputs.shape[:2].numel()
    done = False

    def enlarge(layer: nn.Module, arguments: Any, output: Any) -> Any:
        nonlocal done
        if done or not isinstance(output, Tensor) or len(output) != total or not output.is_floating_point():
            return None
        done = True
        return torch.cat([output[:n], _LARGE * output[n:]])

    passes.reset()  # It would also take back hooks.
    handles = [layer.register_forward_hook(enlarge, prepend=True) for layer in trained_layers(model)]
    try:
        with buffers_untouched(model), torch.no_grad():
            again = outputs_of(model, inputs.clone().flatten(0, 1))
    finally:
        for handle in handles:
            handle.remove()
    return not nearly_equal(outputs.detach()[:n], again[:n])


_MOVES = re.compile("Index|Gather|Scatter|Sort|Topk|Take|MaskedSelect|Roll")
"""Names of operations that put rows where numbers of the batch say."""


def _moves_rows(node: Any) -> bool:
    """Whether an operation can move rows; one that a user wrote can do anything."""
    return isinstance(node, BackwardCFunction) or _MOVES.match(node.name()) is not None
