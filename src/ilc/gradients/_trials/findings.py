"""What was found out about a model, for as long as the model and the loss are what they were then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ilc.gradients._trials.fingerprint import ground

Verdicts = dict[Any, Any]
"""By the question, which says the kinds and sizes of tensors that it is about."""

_MOST_GROUNDS = 16


class Step(NamedTuple):
    """The step under way, and what is known of its model and loss."""

    model: ref[nn.Module]
    loss_fn: Any
    known: Verdicts


_found: WeakKeyDictionary[nn.Module, dict[object, Verdicts]] = WeakKeyDictionary()
_left: WeakKeyDictionary[nn.Module, tuple[tuple[int, int], ...]] = WeakKeyDictionary()
_now: ContextVar[Step | None] = ContextVar("now", default=None)


def verdicts(model: nn.Module, loss_fn: Any) -> Verdicts:
    """What is known about the model with this loss as they are now; whoever finds out more puts it in."""
    step = step_of(model)
    return _of(model, loss_fn) if step is None else step.known


def step_of(model: nn.Module) -> Step | None:
    """The step under way, if it is one of this model."""
    step = _now.get()
    return step if step is not None and step.model() is model else None


@contextmanager
def one_step(model: nn.Module, loss_fn: Any) -> Iterator[Verdicts]:
    """Around a step: what the verdicts rest on is looked at once, before it."""
    if _left.get(model) != _versions(model):
        _found.pop(model, None)
    known = _of(model, loss_fn)
    token = _now.set(Step(ref(model), loss_fn, known))
    try:
        yield known
    finally:
        _now.reset(token)
        settled(model)


def settled(model: nn.Module) -> None:
    """Buffers and frozen switches are as a step leaves them: only what comes later is a change by others."""
    _left[model] = _versions(model)


def all_verdicts(model: nn.Module) -> list[Verdicts]:
    """On every ground so far."""
    return list(_found.get(model, {}).values())


def _of(model: nn.Module, loss_fn: Any) -> Verdicts:
    by_ground = _found.setdefault(model, {})
    now = ground(model, loss_fn)
    if now not in by_ground and len(by_ground) >= _MOST_GROUNDS:
        del by_ground[next(iter(by_ground))]
    return by_ground.setdefault(now, {})


def _versions(model: nn.Module) -> tuple[tuple[int, int], ...]:
    """Which tensors, and how often each was written, of those that steps leave alone.

    Whoever loads a state or turns a switch that is a buffer moves them. BatchNorm's statistics, which move
    all the time, decide nothing.
    """
    return tuple(
        (id(tensor), 0 if tensor.is_inference() else tensor._version)
        for module in model.modules()
        if not isinstance(module, _BatchNorm)
        for tensor in _fixed(module)
    )


def _fixed(module: nn.Module) -> Iterator[Tensor]:
    for p in module._parameters.values():
        if p is not None and not p.requires_grad and p.numel() == 1:  # A switch; more is a network at rest.
            yield p
    for buffer in module._buffers.values():
        if buffer is not None:
            yield buffer
