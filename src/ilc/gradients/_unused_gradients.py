"""Gradients that a second ``backward`` overwrites before any optimizer has used them."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._pytree import tree_leaves

from ilc.gradients._batches import plain
from ilc.gradients._sharded import local_part
from ilc.gradients._tensor_tree import version_of
from ilc.gradients._trials.same_values import same
from ilc.gradients._users_line import stacklevel_of_the_user

_OVERWRITTEN = (
    "this backward overwrites the gradients of the one before, which no optimizer step has used: with "
    "micro-batches only the last would count. Collect them with ilc.accumulate, or, if the earlier gradients "
    "are not needed, call optimizer.zero_grad() first"
)

_TENSORS, _NUMBERS = 8, 64
"""How many tensors of a batch, and numbers of each, tell it from another one. A mask may be equal in both."""


class _Filled(NamedTuple):
    """What the last ``backward`` of a model left.

    Attributes:
        gradients: the tensor in ``.grad`` of each parameter.
        versions: the number of writes to each parameter until then.
        values: a few numbers of the parameters, since a write to ``p.data`` is not counted.
        batch: a few numbers of the batch.
        step: the number of optimizer steps until then.
    """

    gradients: list[ref[Tensor]]
    versions: list[int]
    values: list[Tensor]
    batch: list[Tensor]
    step: int


_filled: WeakKeyDictionary[nn.Module, _Filled] = WeakKeyDictionary()
_steps = [0]


def _count(*_: Any) -> None:
    _steps[0] += 1


# Some optimizers write through ``p.data``, which does not count as a write to the parameter.
register_optimizer_step_post_hook(_count)


def warn_of_unused(model: nn.Module, batch: Any) -> None:
    """Warn if ``backward`` is about to overwrite gradients that nothing has used.

    They count as used, or as not needed, if an optimizer has made a step, a parameter has changed, or
    ``.grad`` was set to None or zero or has another tensor. Gradients that are not finite count as not
    needed, because ``GradScaler`` leaves out their step. The same batch again counts as a comparison, of two
    ways or of two aggregators, for which overwriting is right.

    Args:
        model: the model of both calls.
        batch: that of the present call; None if there are several.
    """
    before = _filled.get(model)
    if before is None or before.step != _steps[0]:
        return
    parameters = _trainable(model)
    if len(parameters) != len(before.gradients) or _equal(before.batch, _few_numbers(batch)):
        return
    for p, gradient, version in zip(parameters, before.gradients, before.versions, strict=True):
        if p.grad is None or p.grad is not gradient() or version_of(p) != version:
            return
    if not _equal(before.values, _ends_of(parameters)):
        return
    gradients = [local_part(p.grad) for p in parameters if p.grad is not None]
    finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
    if finite and any(bool(gradient.any()) for gradient in gradients):
        warnings.warn(_OVERWRITTEN, stacklevel=stacklevel_of_the_user())


def note_filled(model: nn.Module, batch: Any) -> None:
    """Remember what a ``backward`` has left in the model."""
    parameters = [p for p in _trainable(model) if p.grad is not None]
    _filled[model] = _Filled(
        [ref(p.grad) for p in parameters if p.grad is not None],
        [version_of(p) for p in parameters],
        _ends_of(parameters),
        _few_numbers(batch),
        _steps[0],
    )


def _trainable(model: nn.Module) -> list[nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]


def _ends_of(parameters: list[nn.Parameter]) -> list[Tensor]:
    """Numbers of the first and the last parameter, at least one of which an update changes."""
    return _few_numbers([local_part(p) for p in (*parameters[:1], *parameters[-1:])])


def _few_numbers(batch: Any) -> list[Tensor]:
    """Numbers of the first parts of the first tensors, by which other batches and parameters are known."""
    found = []
    tensors = (leaf for leaf in tree_leaves(plain(batch)) if isinstance(leaf, Tensor))
    for tensor in islice((one for one in tensors if one.numel() and _is_plain(one)), _TENSORS):
        part = tensor
        while part.ndim > 2:
            part = part[0]
        numbers = part.detach().reshape(-1)
        found.append(numbers[:: max(1, len(numbers) // _NUMBERS)].clone())
    return found


def _equal(ours: list[Tensor], others: list[Tensor]) -> bool:
    """Whether there are numbers and all are equal."""
    return (
        bool(ours)
        and len(ours) == len(others)
        and all(
            one.device == other.device and same(one, other) for one, other in zip(ours, others, strict=True)
        )
    )


def _is_plain(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested
