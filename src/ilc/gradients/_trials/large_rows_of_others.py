"""Whether an example's outputs change when trained layers give large rows to other examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_leaves

from ilc.gradients._environment import trainable_parameters
from ilc.gradients._example_terms.outline import operations
from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.large_rows import Found, LayerPass, Place, others_change
from ilc.gradients._trials.rows_of_others import operations_of_pass
from ilc.gradients._trials.tolerance import Tolerance
from ilc.gradients._trials.trial_parameters import trained_layers
from ilc.gradients._trials.trial_passes import DRAWS, TrialPasses, buffers_untouched
from ilc.objectives import ObjectiveFunction


def large_rows_reach_others(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, passes: TrialPasses
) -> bool:
    """Whether the first or the last example's outputs depend on other examples' rows once these are large.

    Dropout should be off, and BatchNorm should mix nothing. Only what the example's risk reads is compared. A
    layer's axis counts if its length is the number of examples in a pass, and in another pass with one of
    them twice. Three examples pass, or all if the model has other operations then. Whatever fails shows
    nothing.
    """
    n = len(inputs)
    few, every = [0, n // 2, n - 1], [*range(n)]
    try:
        if _large_rows_show(model, loss_fn, inputs, targets, passes, few):
            return True
        if operations_of_pass(model, inputs[few], passes) == operations_of_pass(model, inputs, passes):
            return False
    except Exception:  # The model may not bear such numbers, or needs another number of examples.
        pass
    try:
        return _large_rows_show(model, loss_fn, inputs, targets, passes, every)
    except Exception:
        return False


def _large_rows_show(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    passes: TrialPasses,
    which: list[int],
) -> bool:
    axes = _axes(model, inputs, which, passes)
    draws = DRAWS if passes.has_drawn() else 1
    return bool(axes) and any(
        _Trial(model, loss_fn, inputs[which], targets[which], passes, axes, seed).shows()
        for seed in range(draws)
    )


def _axes(model: nn.Module, inputs: Values, which: list[int], passes: TrialPasses) -> dict[Place, int]:
    """The axis of the examples in the outputs of the trained layers, where there is just one."""

    def shapes_of(examples: list[int]) -> dict[Place, torch.Size]:
        layers = LayerPass(trained_layers(model))
        passes.reset()  # It would also take back hooks.
        with buffers_untouched(model), layers.hooked():
            outputs_of(model, inputs[examples].detach().clone().flatten(0, 1))
        return layers.shapes

    n, shapes, others = len(which), shapes_of(which), shapes_of([*which, which[0]])
    found = {
        place: [
            axis for axis, pair in enumerate(zip(shape, others[place], strict=False)) if pair == (n, n + 1)
        ]
        for place, shape in shapes.items()
        if place in others
    }
    return {place: axes[0] for place, axes in found.items() if len(axes) == 1}


class _Trial:
    """Passes of the same examples with the same random numbers."""

    def __init__(
        self,
        model: nn.Module,
        loss_fn: ObjectiveFunction,
        inputs: Values,
        targets: Values,
        passes: TrialPasses,
        axes: dict[Place, int],
        seed: int,
    ) -> None:
        self._model, self._loss_fn, self._passes, self._axes = model, loss_fn, passes, axes
        self._inputs, self._targets, self._seed = inputs, targets, seed
        self._read: list[list[int]] | None = None
        self._statistics: list[dict[str, Tensor]] = []

    def shows(self) -> bool:
        """Whether large rows change the first example's outputs or the last one's."""
        n = len(self._inputs)
        first, last = self._one_pass(LayerPass(())).kept
        parameters = trainable_parameters(self._model).values()
        tolerance = Tolerance.of_pass([*parameters, self._inputs, *first, *last])
        return others_change(
            self._one_pass,
            trained_layers(self._model),
            lambda place, shape: self._axes.get(place),
            n,
            [slice(0, 1), slice(n - 1, n)],
            tolerance.of_all,
        )

    def _one_pass(self, layers: LayerPass) -> Found:
        """What the risks of the first and of the last example read.

        If a pass draws more or fewer random numbers, others come to the same examples. If it has other
        operations, a branch on the data did so, and later passes are compared by their operations.
        """
        n = len(self._inputs)
        self._passes.reset(self._seed)  # It would also take back hooks.
        with buffers_untouched(self._model), layers.hooked(), self._same_statistics():
            x, y = self._inputs.detach().clone(), self._targets.clone()
            found = outputs_of(self._model, x.flatten(0, 1))
            random = bytes(torch.get_rng_state().tolist())
            leaves = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)]
            if self._read is None:
                losses = losses_of_examples(self._model, self._loss_fn, found, y).loss
                self._read = [_read(losses[i], leaves) for i in (0, -1)]
        kept = [
            [leaves[one].detach()[which] for one in numbers if leaves[one].ndim and len(leaves[one]) == n]
            for numbers, which in zip(self._read, (slice(0, 1), slice(n - 1, n)), strict=True)
        ]
        return Found(kept, (tuple(node.name() for node in operations(found)), random))

    @contextmanager
    def _same_statistics(self) -> Iterator[None]:
        """Give every BatchNorm the statistics that it had in the first pass, so that they are constants."""
        first, waiting = self._read is None, iter(list(self._statistics))

        def look(layer: Any, arguments: Any) -> None:
            if first:
                self._statistics.append(
                    {key: b.clone() for key, b in layer._buffers.items() if b is not None}
                )
            else:
                layer._buffers.update(next(waiting))

        layers = [layer for layer in self._model.modules() if isinstance(layer, _BatchNorm)]
        handles = [layer.register_forward_pre_hook(look) for layer in layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _read(loss: Tensor, leaves: list[Tensor]) -> list[int]:
    """The numbers of those tensors that a risk depends on."""
    with_gradient = [i for i, leaf in enumerate(leaves) if leaf.requires_grad]
    if not with_gradient or not loss.requires_grad:
        return []
    of_loss = partial(torch.autograd.grad, retain_graph=True, allow_unused=True)
    gradients = of_loss(loss, [leaves[i] for i in with_gradient])
    return [i for i, gradient in zip(with_gradient, gradients, strict=True) if gradient is not None]
