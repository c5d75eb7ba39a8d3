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


class Note(NamedTuple):
    """The shape of what a layer gave, and its largest absolute value."""

    shape: torch.Size
    size: float


class LayerPass:
    """A pass in which the outputs of trained layers are noted, and in which they may be made large.

    Args:
        layers: the trained layers.
        change: makes another tensor of what a layer gave; None changes nothing.
    """

    def __init__(
        self, layers: Iterable[nn.Module], change: Callable[[Place, Tensor], Tensor | None] | None = None
    ) -> None:
        self._layers, self._change = list(layers), change
        self._calls: dict[nn.Module, int] = {}
        self.notes: dict[Place, Note] = {}
        """What each layer gave before a change."""

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
        self.notes[place] = Note(first.shape, _size(first))
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
    plain = LayerPass(layers)
    as_it_is = one_pass(plain)
    large = {place: _LARGE * max(1.0, note.size) for place, note in plain.notes.items()}
    own: dict[Place, float] = {}

    def changed(which: slice | None, sign: float, with_own: bool) -> Found:
        """A pass with large rows, but for the rows of ``which``, or with these made as large as before."""

        def change(place: Place, output: Tensor) -> Tensor | None:
            axis = axis_of(place, output.shape)
            if axis is None or place not in large:
                return None
            others = torch.ones(count, dtype=torch.bool)
            if which is not None:
                others[which] = False
            rows = output.detach().movedim(axis, 0)
            factors = torch.full((count,), sign * large[place] / (_size(rows[others.to(rows.device)]) or 1.0))
            if which is None:
                own[place] = float(factors[0])
            else:
                factors[which] = own.get(place, 1.0) if with_own else 1.0
            shape = [-1 if one == axis else 1 for one in range(output.ndim)]
            return output * factors.to(output).view(shape)

        return one_pass(LayerPass(layers, change))

    for i, which in enumerate(kept):
        if as_it_is.differs(changed(which, 1.0, False), i, tolerance):
            return True
    all_large = changed(None, 1.0, True)
    return any(all_large.differs(changed(which, -1.0, True), i, tolerance) for i, which in enumerate(kept))


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
