"""Whether environments may mix in one pass of all: by operations, by gradients and by values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from ilc.gradients._environment import trainable_parameters
from ilc.gradients._example_terms.outline import (
    SHOWS_SHAPES,
    Outline,
    example_axes,
    examples_meet,
    operations,
)
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.large_rows import Found, LayerPass, Place, others_change
from ilc.gradients._trials.moved_rows import moves_along_examples, moves_rows
from ilc.gradients._trials.rows_of_others import is_reached
from ilc.gradients._trials.tolerance import Tolerance
from ilc.gradients._trials.trial_parameters import trained_layers
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.gradients._trials.zero_factors import zero_factors_as_ones
from ilc.gradients._ways.by_layers import losses_of_environments
from ilc.objectives import ObjectiveFunction

_LARGE = 1e3
"""The factor of other environments' inputs."""


def environments_mix(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> bool:
    """Whether a trained layer's rows for other environments reach the risk of one, or may do so.

    Sums show this only if the effect is large. An auxiliary loss, which a router or a regulariser makes of
    the whole batch, mostly has a small factor. A model that sorts its examples leaves them in their places
    if they come sorted, so all operations count that can move rows. A limit, such as ``relu(mean - 2)``, may
    not be reached yet, so an operation counts too if it works along the examples' axis or ends it, and the
    other environments pass once more with large rows. Rows may reach only those after them or before them,
    so the first environment and the last one are looked at. No buffer can count passes here, because a model
    whose passes change one does not go by layers.
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
            losses = losses_of_environments(loss_fn, found, targets.clone(), shape).loss
    finally:
        for handle in handles:
            handle.remove()
    nodes = operations(found)
    if any(map(moves_rows, nodes)):
        return True
    try:
        if _examples_meet(model, inputs, nodes, passes) or _values_change(model, inputs, passes):
            return True
    except Exception:  # A pass of other examples may fail, and then nothing is known.
        return True
    if not outputs or not losses.requires_grad:
        return False
    n = shape[1]
    with zero_factors_as_ones(operations(losses)):
        return _reached(losses[0], outputs, slice(n, None)) or _reached(losses[-1], outputs, slice(None, -n))


def _reached(loss: Tensor, outputs: list[Tensor], others: slice) -> bool:
    """Whether the risk of an environment has a gradient in the rows of the others."""
    gradients = torch.autograd.grad(loss, outputs, allow_unused=True, retain_graph=True)
    return any(is_reached(gradient[others]) for gradient in gradients if gradient is not None)


def _examples_meet(model: nn.Module, inputs: Values, nodes: list[Node], passes: TrialPasses) -> bool:
    """Whether an operation brings examples together, or depends on their number, so that it may do so."""
    n = inputs.shape[:2].numel()
    if not SHOWS_SHAPES or len(inputs) < 2:
        return False
    fewer = inputs.clone()[:-1]
    passes.reset()
    with buffers_untouched(model):
        other = Outline.of(operations(outputs_of(model, fewer.flatten(0, 1))), fewer.shape[:2].numel())
    axes = example_axes(nodes, n, other)
    if axes is None or moves_along_examples(nodes, axes):
        return True
    return examples_meet(nodes, n, other) is not False


def _values_change(model: nn.Module, inputs: Values, passes: TrialPasses) -> bool:
    """Whether the outputs for one environment change when the others' rows or inputs are larger."""
    n, total = inputs.shape[1], inputs.shape[:2].numel()
    kept = [slice(0, n), slice(total - n, total)]
    x = inputs.detach().flatten(0, 1)

    def one_pass(layers: LayerPass, values: Values = x) -> Found:
        passes.reset()  # It would also take back hooks.
        with buffers_untouched(model), layers.hooked():
            found: Tensor = outputs_of(model, values.clone())
        return Found([[found.detach()[which]] for which in kept])

    def first_axis(place: Place, shape: torch.Size) -> int | None:
        return 0 if len(shape) and shape[0] == total else None

    plain = one_pass(LayerPass(()))
    tolerance = Tolerance.of([*trainable_parameters(model).values(), inputs, *plain.kept[0]]).of_all
    if isinstance(x, Tensor) and x.is_floating_point():
        for i, which in enumerate(kept):
            large = _LARGE * x
            large[which] = x[which]
            if plain.differs(one_pass(LayerPass(()), large), i, tolerance):
                return True
    return others_change(one_pass, trained_layers(model), first_axis, total, kept, tolerance)
