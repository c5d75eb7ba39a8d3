"""Buffers over several passes: every environment starts from the same, and they end as the mean."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ilc._precision import wide_type
from ilc.errors import UserError


class MeanOfBuffers:
    """Lets environments update the model's buffers from the same start; leaves their mean over environments.

    A buffer may be written in place or assigned anew: afterwards the model has the tensor it had before, with
    new values. One tensor in several places, or several in the same memory, stay so during the passes. Means
    of whole numbers and of truth values are rounded. In evaluation mode nothing is expected to move.
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
        self._n = 0

    def __enter__(self) -> MeanOfBuffers:
        return self

    def restart(self) -> None:
        """Give the pass of an environment buffers as they were at the start.

        Copies, because the graph of an earlier pass may still hold the ones that it had.
        """
        self._put(self._copies(self._start))

    def collect(self, n_environments: int = 1) -> None:
        """Add what a pass over some environments left, which is their mean.

        Raises:
            UserError: a buffer of another shape than before, or one of two modules that is no longer shared.
        """
        self._n += n_environments
        for places, buffer, start, total in zip(
            self._places, self._buffers, self._start, self._sums, strict=True
        ):
            name, buffers, key = places[0]
            now = buffers[key]
            check_still_one({name: buffers[key] for name, buffers, key in places})
            if now is None or now.shape != buffer.shape:
                raise UserError(
                    f"the forward pass changes the shape of the buffer {name}, so that there is no mean over "
                    "environments: give it its final shape from the start, or keep it outside the model"
                )
            total.add_(change_of(start, now.detach()), alpha=n_environments)

    def __exit__(self, error: type[BaseException] | None, *details: object) -> None:
        self._put(self._buffers)
        means = self._start
        if error is None:
            means = [
                mean_of(start, total, self._n) for start, total in zip(self._start, self._sums, strict=True)
            ]
        with torch.no_grad():
            for buffer, mean in zip(self._buffers, means, strict=True):
                buffer.copy_(mean)

    def _copies(self, tensors: list[Tensor]) -> list[Tensor]:
        if self._overlapping:  # Copies overlap alike.
            return copy.deepcopy([tensor.detach() for tensor in tensors])
        return [tensor.clone() for tensor in tensors]

    def _put(self, tensors: list[Tensor]) -> None:
        for places, tensor in zip(self._places, tensors, strict=True):
            for _, buffers, key in places:
                buffers[key] = tensor


def check_still_one(values: dict[str, Tensor | None]) -> None:
    """Raise UserError unless these buffers, which were one, still are."""
    if len(set(map(id, values.values()))) > 1:
        raise UserError(
            f"{' and '.join(values)} are one buffer, and the forward pass assigns one of them anew: write it "
            "in place (buffer.copy_(...)), so that they stay one"
        )


def overlapping(buffers: Iterable[Tensor]) -> set[int]:
    """The ``id`` of those whose memory another one has too."""
    owners: dict[tuple[torch.device, int], list[Tensor]] = {}
    for buffer in buffers:
        if buffer.layout == torch.strided and buffer.numel():
            owners.setdefault((buffer.device, buffer.untyped_storage().data_ptr()), []).append(buffer)
    return {id(buffer) for group in owners.values() if len(group) > 1 for buffer in group}


def is_continuous(buffer: Tensor) -> bool:
    """Whether a mean of such buffers is one too; that of whole numbers and truth values has to be rounded."""
    return buffer.is_floating_point() or buffer.is_complex()


def _sum_type(buffer: Tensor) -> torch.dtype:
    return wide_type(buffer.dtype) if is_continuous(buffer) else torch.int64


def change_of(start: Tensor, now: Tensor) -> Tensor:
    """What is added up over environments: continuous values, or the difference of whole numbers."""
    if is_continuous(start):
        return now.to(_sum_type(start))
    return now.to(start.dtype).long() - start.long()


def mean_of(start: Tensor, total: Tensor, n: int) -> Tensor:
    """The mean of ``n`` buffers from the sum of ``change_of``; whole numbers rounded, a half upwards."""
    if is_continuous(start):
        return total / n
    return (start.long() + torch.div(2 * total + n, 2 * n, rounding_mode="floor")).to(start.dtype)
