"""Gradients that a second ``backward`` overwrites before any optimizer has used them."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._pytree import tree_leaves

from ilc.gradients._batches import plain

_OVERWRITTEN = (
    "this backward overwrites the gradients of the one before, which no optimizer step has used: with "
    "micro-batches only the last would count. Collect them with ilc.accumulate, or, if the earlier gradients "
    "are not needed, call optimizer.zero_grad() first"
)


_FEW = 64


class _Filled(NamedTuple):
    """What the last ``backward`` of a model left.

    Attributes:
        gradients: the tensor in ``.grad`` of each parameter.
        versions: the number of writes to each parameter until then.
        batch: a few numbers of the batch.
        step: the number of optimizer steps until then.
    """

    gradients: list[ref[Tensor]]
    versions: list[int]
    batch: Tensor | None
    step: int


_filled: WeakKeyDictionary[nn.Module, _Filled] = WeakKeyDictionary()
_steps = [0]


def _count(*_: Any) -> None:
    _steps[0] += 1


# Some optimizers write through ``p.data``, which does not count as a write to the parameter.
register_optimizer_step_post_hook(_count)


def warn_of_unused(model: nn.Module, batch: Any, frames: int = 3) -> None:
    """Warn if ``backward`` is about to overwrite gradients that nothing has used.

    They count as used, or as not needed, if an optimizer has made a step, a parameter has changed, or
    ``.grad`` was set to None or zero or has another tensor. Gradients that are not finite count as not
    needed, because ``GradScaler`` leaves out their step. The same batch again counts as a comparison, of two
    ways or of two aggregators, for which overwriting is right.

    Args:
        model: the model of both calls.
        batch: that of the present call; None if there are several.
        frames: the number of frames from here to the user's line.
    """
    before = _filled.get(model)
    if before is None or before.step != _steps[0]:
        return
    parameters = _trainable(model)
    if len(parameters) != len(before.gradients) or _equal(before.batch, _few_numbers(batch)):
        return
    for p, gradient, version in zip(parameters, before.gradients, before.versions, strict=True):
        if p.grad is None or p.grad is not gradient() or _version(p) != version:
            return
    gradients = [p.grad for p in parameters if p.grad is not None]
    finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
    if finite and any(bool(gradient.any()) for gradient in gradients):
        warnings.warn(_OVERWRITTEN, stacklevel=frames)


def note_filled(model: nn.Module, batch: Any) -> None:
    """Remember what a ``backward`` has left in the model."""
    parameters = [p for p in _trainable(model) if p.grad is not None]
    _filled[model] = _Filled(
        [ref(p.grad) for p in parameters if p.grad is not None],
        [_version(p) for p in parameters],
        _few_numbers(batch),
        _steps[0],
    )


def _trainable(model: nn.Module) -> list[nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]


def _few_numbers(batch: Any) -> Tensor | None:
    """Numbers of the first tensor's first part, by which another batch is known; None without a tensor."""
    tensor = next((leaf for leaf in tree_leaves(plain(batch)) if isinstance(leaf, Tensor)), None)
    if tensor is None or not tensor.numel() or tensor.is_nested:
        return None
    while tensor.ndim > 2:
        tensor = tensor[0]
    numbers = tensor.detach().reshape(-1)
    return numbers[:: max(1, len(numbers) // _FEW)].clone()


def _equal(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return False
    alike = one.shape == other.shape and one.dtype == other.dtype and one.device == other.device
    return alike and bool(((one == other) | (one.isnan() & other.isnan())).all())


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version
