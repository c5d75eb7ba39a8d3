"""Whether an example's risk depends on what layers computed for other examples."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_passes import TrialPasses, buffers_untouched
from ilc.objectives import ObjectiveFunction


def layer_that_reaches_others(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> str | None:
    """The name of a trained layer whose output for one example changes another's risk; None if none does.

    Votes of a few examples may agree by chance although examples mix, for example where a layer is not
    active for them. The gradient of one risk with respect to a layer's output shows it directly: it is
    zero in the rows of all other examples. Two and then three examples pass, because only an axis whose
    length follows their number holds the examples.
    """
    names = {layer: name for name, layer in model.named_modules() if _is_trained(layer)}
    found = [_reached(model, loss_fn, inputs, targets, passes, names, count) for count in (2, 3)]
    return next((name for name in found[0] if name in found[1]), None)


def _is_trained(layer: nn.Module) -> bool:
    return any(p.requires_grad for p in layer.parameters(recurse=False))


def _reached(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    names: dict[nn.Module, str],
    count: int,
) -> list[str]:
    """The layers of which the first example's risk depends on the rows of others."""
    outputs: list[tuple[str, Tensor]] = []

    def keep(layer: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad and output.ndim and len(output) == count:
            outputs.append((names[layer], output))

    which = [position % len(inputs) for position in range(count)]
    passes.reset()  # It would also take back hooks.
    # The user's own hooks may mix, so what the layer itself computed is kept.
    handles = [layer.register_forward_hook(keep, prepend=True) for layer in names]
    try:
        with buffers_untouched(model):
            result = outputs_of(model, inputs[which].detach().clone().flatten(0, 1))
            losses = losses_of_examples(model, loss_fn, result, targets[which].clone()).loss
    finally:
        for handle in handles:
            handle.remove()
    if not outputs or not losses[0].requires_grad:
        return []
    gradients = torch.autograd.grad(losses[0], [output for _, output in outputs], allow_unused=True)
    return [
        name
        for (name, _), gradient in zip(outputs, gradients, strict=True)
        if gradient is not None and bool((gradient[1:].isfinite() & (gradient[1:] != 0)).any())
    ]
