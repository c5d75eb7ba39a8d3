"""Whether an example's risk depends on what layers computed for other examples."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ilc.gradients._passes.example_losses import pass_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_passes import DRAWS, TrialPasses, buffers_untouched
from ilc.objectives import ObjectiveFunction

_COUNTS = (3, 4)
"""How many examples pass."""


def layer_that_reaches_others(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> str | None:
    """The name of a trained layer whose output for one example changes another's risk; None if none does.

    Votes of a few examples may agree by chance although examples mix, for example where a layer is not
    active for them. The gradient of one risk with respect to a layer's output shows it directly: it is
    zero in the rows of all other examples. Three and then four examples pass, because only an axis whose
    length follows their number holds the examples.
    """
    names = {layer: name for name, layer in model.named_modules() if _is_trained(layer)}
    found: list[set[str]] = []
    for count in _COUNTS:
        reached: set[str] = set()
        for seed in range(DRAWS):
            now, draws = _reached(model, loss_fn, inputs, targets, passes, names, count, seed)
            reached |= now
            if not draws:
                break
        found.append(reached)
    return next((name for name in names.values() if all(name in reached for reached in found)), None)


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
    seed: int,
) -> tuple[set[str], bool]:
    """The layers whose rows for others reach the first example's risk, and whether a pass draws numbers."""
    outputs: list[tuple[str, Tensor]] = []

    def keep(layer: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad and output.ndim and len(output) == count:
            outputs.append((names[layer], output))

    which = [position % len(inputs) for position in range(count)]
    passes.reset(seed)  # It would also take back hooks.
    # The user's own hooks may mix, so what the layer itself computed is kept.
    handles = [layer.register_forward_hook(keep, prepend=True) for layer in names]
    try:
        with buffers_untouched(model):
            before = torch.get_rng_state()
            x, y = inputs[which].detach().clone(), targets[which].clone()
            losses = pass_of_examples(model, loss_fn, x, y).loss
    finally:
        for handle in handles:
            handle.remove()
    draws = not torch.equal(before, torch.get_rng_state())
    if not outputs or not losses[0].requires_grad:
        return set(), draws
    gradients = torch.autograd.grad(losses[0], [output for _, output in outputs], allow_unused=True)
    reached = {
        name
        for (name, _), gradient in zip(outputs, gradients, strict=True)
        if gradient is not None and bool((gradient[1:].isfinite() & (gradient[1:] != 0)).any())
    }
    return reached, draws
