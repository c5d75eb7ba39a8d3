"""Buffers over several passes: every environment starts from the same values, and the mean remains."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ilc._precision import wide_type, widened
from ilc.errors import UserError


class MeanOfBuffers:
    """Lets every environment update the model's buffers from the same start, and leaves the mean in them.

    A pass may write a buffer in place or assign a new tensor. Afterwards the model has the same tensor as
    before, with new values. A tensor that occurs in several places, and tensors that share memory, stay so
    during the passes. Means of whole numbers and of truth values are rounded. In evaluation mode buffers are
    not expected to change. A value that no pass changes stays the same to the bit.
    """

    def __init__(self, model: nn.Module) -> None:
        modules = list(model.named_modules()) if model.training else []
        places: dict[int, list[tuple[str, dict[str, Tensor | None], str]]] = {}
        self._buffers: list[Tensor] = []
        for name, module in modules:
            for key, buffer in module._buffers.items():
                if buffer is None:
                    continue
                if id(buffer) not in places:
                    self._buffers.append(buffer)
                where = places.setdefault(id(buffer), [])
                where.append((f"{name}.{key}".lstrip("."), module._buffers, key))
        self._places = list(places.values())
        self._overlapping = bool(overlapping(self._buffers))
        self._start = self._copies(self._buffers)
        self._sums = [torch.zeros_like(buffer, dtype=_sum_type(buffer)) for buffer in self._buffers]
        self._moved = [
            torch.zeros_like(buffer, dtype=torch.bool) if _can_compare(buffer) else None
            for buffer in self._buffers
        ]
        self._n = 0

    def __enter__(self) -> MeanOfBuffers:
        return self

    def restart(self) -> None:
        """Give the next environment the buffers as they were at the start.

        They are copies, because the graph of an earlier pass may still hold the buffers that it had.
        """
        self._put(self._copies(self._start))

    def collect(self, n_environments: int = 1) -> None:
        """Add the buffers after a pass over some environments; they are the mean of these environments.

        Raises:
            UserError: a buffer has another shape than before, or two modules no longer share one.
        """
        self._n += n_environments
        for places, buffer, start, total, moved in zip(
            self._places, self._buffers, self._start, self._sums, self._moved, strict=True
        ):
            name, buffers, key = places[0]
            now = buffers[key]
            check_still_one({name: buffers[key] for name, buffers, key in places})
            if now is None or now.shape != buffer.shape:
                raise UserError(
                    f"the forward pass changes the shape of the buffer {name}, so that it has no mean over "
                    "environments: give it its final shape from the start, or keep it outside the model"
                )
            total.add_(change_of(start, now.detach()), alpha=n_environments)
            if moved is not None:
                moved.logical_or_(has_moved(start, now.detach()))

    def __exit__(self, error: type[BaseException] | None, *details: object) -> None:
        self._put(self._buffers)
        means = self._start
        if error is None:
            means = [
                mean_of(start, total, self._n) for start, total in zip(self._start, self._sums, strict=True)
            ]
            means = [
                mean if moved is None else where_moved(moved, start, mean)
                for moved, start, mean in zip(self._moved, self._start, means, strict=True)
            ]
        with torch.no_grad():
            for buffer, mean in zip(self._buffers, means, strict=True):
                buffer.copy_(mean)

    def _copies(self, tensors: list[Tensor]) -> list[Tensor]:
        if self._overlapping:  # deepcopy keeps shared memory shared.
            return copy.deepcopy([tensor.detach() for tensor in tensors])
        return [tensor.clone() for tensor in tensors]

    def _put(self, tensors: list[Tensor]) -> None:
        for places, tensor in zip(self._places, tensors, strict=True):
            for _, buffers, key in places:
                buffers[key] = tensor


def check_still_one(values: dict[str, Tensor | None]) -> None:
    """Raise UserError unless these buffers, which were one tensor, still are one."""
    if len(set(map(id, values.values()))) > 1:
        raise UserError(
            f"{' and '.join(values)} are one buffer, but the forward pass assigns a new tensor to one of "
            "them: write the new values in place (buffer.copy_(...)), so that they stay one buffer"
        )


def overlapping(buffers: Iterable[Tensor]) -> set[int]:
    """The ``id`` of every buffer that shares its memory with another one."""
    owners: dict[tuple[torch.device, int], list[Tensor]] = {}
    for buffer in buffers:
        if buffer.layout == torch.strided and buffer.numel():
            owners.setdefault((buffer.device, buffer.untyped_storage().data_ptr()), []).append(buffer)
    return {id(buffer) for group in owners.values() if len(group) > 1 for buffer in group}


def is_continuous(buffer: Tensor) -> bool:
    """Whether the mean needs no rounding. Means of whole numbers and truth values do."""
    return buffer.is_floating_point() or buffer.is_complex()


def _can_compare(buffer: Tensor) -> bool:
    return is_continuous(buffer) and buffer.layout == torch.strided


def has_moved(start: Tensor, now: Tensor) -> Tensor:
    """Where continuous values differ from those at the start."""
    return widened(now) != widened(start)


def where_moved(moved: Tensor, start: Tensor, mean: Tensor) -> Tensor:
    """The mean where values have moved, and elsewhere the start, which sums would round or make infinite."""
    return torch.where(moved, mean, widened(start))


def difference(start: Tensor, now: Tensor) -> Tensor:
    """How far values have moved, 0 where they have not. ``moved_by`` adds the mean over environments.

    A value that is infinite or NaN at the start counts from 0. A running minimum, for example, begins so.
    """
    if not is_continuous(start):
        return change_of(start, now)
    if not _can_compare(start):
        return widened(now) - widened(start)
    unmoved = ~has_moved(start, now) & start.isfinite()
    return (widened(now) - _finite_part(start)).masked_fill(unmoved, 0)


def moved_by(start: Tensor, total: Tensor, n: int) -> Tensor:
    """The mean of ``n`` buffers from the sum of their differences from the start."""
    if not is_continuous(start):
        return mean_of(start, total, n)
    return (_finite_part(start) if _can_compare(start) else widened(start)) + total / n


def _finite_part(start: Tensor) -> Tensor:
    return widened(start).masked_fill(~start.isfinite(), 0)


def _sum_type(buffer: Tensor) -> torch.dtype:
    return wide_type(buffer.dtype) if is_continuous(buffer) else torch.int64


def change_of(start: Tensor, now: Tensor) -> Tensor:
    """What is summed over environments: continuous values, or the change of whole numbers."""
    if is_continuous(start):
        return now.to(_sum_type(start))
    return now.to(start.dtype).long() - start.long()


def mean_of(start: Tensor, total: Tensor, n: int) -> Tensor:
    """The mean of ``n`` buffers from the sum of ``change_of``. Whole numbers are rounded, halves upwards."""
    if is_continuous(start):
        return total / n
    return (start.long() + torch.div(2 * total + n, 2 * n, rounding_mode="floor")).to(start.dtype)
