"""Whether environments may mix in one pass of all, by what layers computed or by rows in another order."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction

from ilc.gradients._example_terms.outline import operations
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.gradients._ways.by_layers import losses_of_environments
from ilc.objectives import ObjectiveFunction


def environments_mix(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> bool:
    """Whether a trained layer's rows for another environment reach the risk of the first one, or may do so.

    Sums show this only if the effect is large. An auxiliary loss, which a router or a regulariser makes of
    the whole batch, mostly has a small factor. A model that sorts its examples leaves them in their places
    if they come sorted, so all operations count that can move rows.
    """
    shape = inputs.shape[:2]
    outputs: list[Tensor] = []

    def keep(layer: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad and len(output) == shape.numel():
            outputs.append(output)

    passes.reset()  # It would also take back hooks.
    trained = (
        layer for layer in model.modules() if any(p.requires_grad for p in layer.parameters(recurse=False))
    )
    handles = [layer.register_forward_hook(keep, prepend=True) for layer in trained]
    try:
        with buffers_untouched(model):
            found = outputs_of(model, inputs.clone().flatten(0, 1))
            first = losses_of_environments(loss_fn, found, targets.clone(), shape).loss[0]
    finally:
        for handle in handles:
            handle.remove()
    if any(_moves_rows(node) for node in operations(found)):
        return True
    if not outputs or not first.requires_grad:
        return False
    gradients = torch.autograd.grad(first, outputs, allow_unused=True)
    others = [gradient[shape[1] :] for gradient in gradients if gradient is not None]
    return any(bool((rows.isfinite() & (rows != 0)).any()) for rows in others)


_MOVES = re.compile("Index|Gather|Scatter|Sort|Topk|Take|MaskedSelect|Roll")
"""Names of operations that put rows where numbers of the batch say."""


def _moves_rows(node: Any) -> bool:
    """Whether an operation can move rows; one that a user wrote can do anything."""
    return isinstance(node, BackwardCFunction) or _MOVES.match(node.name()) is not None
