"""What the trials found out about a model, valid while the model and the loss stay as they were then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ilc.gradients._tensor_tree import version_of
from ilc.gradients._trials.fingerprint import fingerprint

Findings = dict[Any, Any]
"""Answers by question. A question names the types and sizes of the tensors for which its answer holds."""

_MOST_FINGERPRINTS = 16


class Step(NamedTuple):
    """The step under way, with what is known about its model and loss."""

    model: ref[nn.Module]
    loss_fn: Any
    known: Findings


_found: WeakKeyDictionary[nn.Module, dict[object, Findings]] = WeakKeyDictionary()
_versions_after_step: WeakKeyDictionary[nn.Module, tuple[tuple[int, int], ...]] = WeakKeyDictionary()
_now: ContextVar[Step | None] = ContextVar("now", default=None)


def findings(model: nn.Module, loss_fn: Any) -> Findings:
    """What is known about the model with this loss as they are now. Callers add their own findings."""
    step = current_step(model)
    return _of(model, loss_fn) if step is None else step.known


def current_step(model: nn.Module) -> Step | None:
    """The step under way if it belongs to this model, else None."""
    step = _now.get()
    return step if step is not None and step.model() is model else None


@contextmanager
def training_step(model: nn.Module, loss_fn: Any) -> Iterator[Findings]:
    """Surround a step: model and loss are examined once, before it."""
    if _versions_after_step.get(model) != _versions(model):
        _found.pop(model, None)
    known = _of(model, loss_fn)
    token = _now.set(Step(ref(model), loss_fn, known))
    try:
        yield known
    finally:
        _now.reset(token)
        remember_buffers(model)


def remember_buffers(model: nn.Module) -> None:
    """Accept the buffers and frozen switches as they are now, after a step.

    A later change to them was made by somebody else, so that the findings are no longer valid.
    """
    _versions_after_step[model] = _versions(model)


def all_findings(model: nn.Module) -> list[Findings]:
    """The findings for every state of the model so far."""
    return list(_found.get(model, {}).values())


def _of(model: nn.Module, loss_fn: Any) -> Findings:
    by_fingerprint = _found.setdefault(model, {})
    now = fingerprint(model, loss_fn)
    if now not in by_fingerprint and len(by_fingerprint) >= _MOST_FINGERPRINTS:
        del by_fingerprint[next(iter(by_fingerprint))]
    return by_fingerprint.setdefault(now, {})


def _versions(model: nn.Module) -> tuple[tuple[int, int], ...]:
    """Identity and number of writes of the tensors that steps do not change.

    Loading a state or setting a switch that is a buffer changes them. The statistics of BatchNorm are left
    out: every step changes them, and no decision depends on them.
    """
    return tuple(
        (id(tensor), version_of(tensor))
        for module in model.modules()
        if not isinstance(module, _BatchNorm)
        for tensor in _fixed(module)
    )


def _fixed(module: nn.Module) -> Iterator[Tensor]:
    for p in module._parameters.values():
        # A frozen parameter of one element is a switch. A larger one is a frozen part of a network.
        if p is not None and not p.requires_grad and p.numel() == 1:
            yield p
    for buffer in module._buffers.values():
        if buffer is not None:
            yield buffer
