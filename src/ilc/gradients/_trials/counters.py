"""Buffers in which a forward pass counts, set far ahead for a trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ilc.gradients._passes.calls import outputs_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.same_values import same
from ilc.gradients._trials.trial_passes import trial_passes

_FAR = 10**6
"""So many passes ahead a counter is set."""


@contextmanager
def counters_far_ahead(model: nn.Module, loss_fn: Any, inputs: Values) -> Iterator[bool]:
    """Set every buffer of one element that a pass changes to about where it will be after a million passes.

    The strength of a part that brings examples together may grow from zero with such a buffer. The buffers
    of BatchNorm are left out. Afterwards all buffers are as they were.

    Args:
        model: the model.
        loss_fn: the objective.
        inputs: ``[E, N, ...]`` for one pass.

    Yields:
        Whether there is such a buffer.
    """
    before = [buffer.detach().clone() for buffer in _single_buffers(model)]
    after = _after_a_pass(model, loss_fn, inputs) if before else []
    ahead = [
        (buffer, old, _ahead(old, new))
        for buffer, old, new in zip(_single_buffers(model), before, after, strict=False)
        if len(after) == len(before) and not same(old, new)
    ]
    try:
        with torch.no_grad():
            for buffer, _, value in ahead:
                buffer.copy_(value)
        yield bool(ahead)
    finally:
        with torch.no_grad():
            for buffer, old, _ in ahead:
                buffer.copy_(old)


def _single_buffers(model: nn.Module) -> list[Tensor]:
    """The buffers of one element outside of BatchNorm."""
    return [
        buffer
        for module in model.modules()
        if not isinstance(module, _BatchNorm)
        for buffer in module._buffers.values()
        if buffer is not None
        and buffer.numel() == 1
        and buffer.layout == torch.strided
        and not buffer.is_meta
    ]


def _after_a_pass(model: nn.Module, loss_fn: Any, inputs: Values) -> list[Tensor]:
    """What the buffers of one element hold after a pass; nothing if the pass fails."""
    with trial_passes(model, loss_fn, inputs) as passes:
        passes.reset()
        try:
            outputs_of(model, inputs.detach().clone().flatten(0, 1))
        except Exception:
            return []
        return [buffer.detach().clone() for buffer in _single_buffers(model)]


def _ahead(before: Tensor, after: Tensor) -> Tensor:
    """The value after many steps of the same size."""
    if after.dtype != before.dtype or before.is_complex() or after.dtype == torch.bool:
        return after
    if not before.is_floating_point():
        limits = torch.iinfo(before.dtype)
        value = int(before) + _FAR * (int(after) - int(before))
        return torch.full_like(before, min(max(value, limits.min), limits.max))
    found = before + _FAR * (after - before)
    return found if bool(found.isfinite().all()) else after
