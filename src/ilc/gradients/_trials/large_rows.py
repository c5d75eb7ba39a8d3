"""Whether outputs for some examples change when trained layers give large rows to the others.

A part that brings examples together may be off for small numbers, such as ``relu(h.flip(0) - 0.9)``. No
gradient passes through it then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

Place = tuple[nn.Module, int]
"""A layer, and which of its calls in a pass."""

_LARGE = 1e3
"""How large the rows become, beside the largest number that the layer gives without a change."""


class LayerPass:
    """A pass in which the shapes of trained layers' outputs are noted, and in which these are changed.

    Args:
        layers: the trained layers.
        change: makes another tensor of what a layer gave; None changes nothing.
    """

    def __init__(
        self, layers: Iterable[nn.Module], change: Callable[[Place, Tensor], Tensor | None] | None = None
    ) -> None:
        self._layers, self._change = list(layers), change
        self._calls: dict[nn.Module, int] = {}
        self.shapes: dict[Place, torch.Size] = {}
        """The shape of what each layer gave."""

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Surround the pass. The user's own hooks may mix, so they come later."""
        handles = [layer.register_forward_hook(self._look, prepend=True) for layer in self._layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _look(self, layer: nn.Module, arguments: Any, output: Any) -> Any:
        first = output[0] if type(output) is tuple and output else output
        if not isinstance(first, Tensor) or not first.is_floating_point():
            return None
        place = layer, self._calls.get(layer, 0)
        self._calls[layer] = place[1] + 1
        self.shapes[place] = first.shape
        changed = None if self._change is None else self._change(place, first)
        if changed is None:
            return None
        return (changed, *output[1:]) if type(output) is tuple else changed


class Found(NamedTuple):
    """What a pass gave.

    Attributes:
        kept: for each part of the examples what has to stay as it is.
        kind: passes of another kind, such as those with other operations, cannot be compared.
    """

    kept: Sequence[list[Tensor]]
    kind: object = None

    def differs(self, other: Found, part: int, tolerance: float) -> bool:
        """Whether finite values of a part differ by more than this share of the largest one."""
        before, after = self.kept[part], other.kept[part]
        if self.kind != other.kind or len(before) != len(after):
            return False
        return any(_differ(one, two, tolerance) for one, two in zip(before, after, strict=True))


OnePass = Callable[[LayerPass], Found]
"""Makes a pass, always from the same state."""


def others_change(
    one_pass: OnePass,
    layers: Iterable[nn.Module],
    axis_of: Callable[[Place, torch.Size], int | None],
    count: int,
    kept: Sequence[slice],
    tolerance: float,
) -> bool:
    """Whether what belongs to some examples changes with the rows of the others.

    First only the rows of the others are large. Then all are, and those of the others change their sign,
    because a part may depend on the distance between two rows. Values that are not finite show nothing.

    Args:
        one_pass: makes a pass.
        layers: the trained layers.
        axis_of: the axis of the examples in what a layer gave; None to leave it as it is.
        count: the number of examples in a pass.
        kept: parts of the examples.
        tolerance: the difference that counts, beside the largest number.
    """
    layers = list(layers)
    large: dict[Place, float] = {}
    factors: dict[Place, float] = {}
    values: dict[Place, Tensor] = {}

    def pass_with(change: Callable[[Place, Tensor, int], Tensor]) -> Found:
        """A pass with this change. All passes have it, so that they have the same operations."""

        def where_examples_are(place: Place, output: Tensor) -> Tensor | None:
            axis = axis_of(place, output.shape)
            return None if axis is None else change(place, output, axis)

        return one_pass(LayerPass(layers, where_examples_are))

    def nothing(place: Place, output: Tensor, axis: int) -> Tensor:
        large[place] = _LARGE * max(1.0, _size(output))
        return _rows(output, torch.ones(count), axis)

    def others_large(which: slice) -> Found:
        others = torch.ones(count, dtype=torch.bool)
        others[which] = False

        def change(place: Place, output: Tensor, axis: int) -> Tensor:
            size = _size(output.detach().movedim(axis, 0)[others.to(output.device)]) or 1.0
            return _rows(output, torch.where(others, large[place] / size, 1.0), axis)

        return pass_with(change)

    def every_row_large(place: Place, output: Tensor, axis: int) -> Tensor:
        factors[place] = large[place] / (_size(output) or 1.0)
        found = _rows(output, torch.full((count,), factors[place]), axis)
        values[place] = found.detach()
        return found

    def others_turned(which: slice) -> Found:
        own = torch.zeros(count)
        own[which] = 1.0

        def change(place: Place, output: Tensor, axis: int) -> Tensor:
            turned = _rows(values[place], own - 1, axis)
            return _rows(output, factors[place] * own, axis, turned)

        return pass_with(change)

    as_it_is = pass_with(nothing)
    if any(as_it_is.differs(others_large(which), i, tolerance) for i, which in enumerate(kept)):
        return True
    all_large = pass_with(every_row_large)
    return any(all_large.differs(others_turned(which), i, tolerance) for i, which in enumerate(kept))


def _rows(output: Tensor, factors: Tensor, axis: int, added: Tensor | float = 0.0) -> Tensor:
    """The rows along an axis, each with its factor, plus another tensor."""
    shape = [-1 if one == axis else 1 for one in range(output.ndim)]
    return output * factors.to(output).view(shape) + added


def _size(values: Tensor) -> float:
    """The largest finite absolute value; 0 if there is none."""
    sizes = values.detach().abs()
    sizes = sizes[sizes.isfinite()]
    return float(sizes.max()) if sizes.numel() else 0.0


def _differ(one: Tensor, other: Tensor, tolerance: float) -> bool:
    if one.shape != other.shape or not one.is_floating_point():
        return False
    finite = one.isfinite() & other.isfinite()
    before, after = one.detach()[finite].double(), other.detach()[finite].double()
    if not before.numel():
        return False
    return bool((before - after).abs().max() > tolerance * before.abs().max())
