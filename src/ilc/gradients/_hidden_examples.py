"""Masks that hide a whole example or all labels, in batches with the names that Hugging Face uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ilc.errors import UserError
from ilc.gradients._tensor_tree import TensorTree, Values

_IGNORED_LABEL = -100


def check_masks(inputs: Values | Sequence[Values]) -> None:
    """Raise UserError if ``attention_mask`` hides a whole example, or ``labels`` all of an environment.

    A transformer attends to padding then, or its loss is 0 / 0, and neither gradient means anything.
    """
    if isinstance(inputs, Tensor) or not len(inputs):
        return
    batches = [one.content if isinstance(one, TensorTree) else None for one in inputs]
    hidden = [_hidden(batch) for batch in batches]
    ignored = [_ignored(batch) for batch in batches]
    some = [flags for flags in (*hidden, *ignored) if flags is not None]
    if not some or not bool(torch.cat(some).any()):  # One look for all, because each waits for the device.
        return
    for e, (examples, labels) in enumerate(zip(hidden, ignored, strict=True)):
        if examples is not None and bool(examples.any()):
            raise UserError(
                f"attention_mask hides all of example {int(examples.nonzero()[0])} of environment {e}: leave "
                "the example out, or let the mask keep one position"
            )
        if labels is not None and bool(labels):
            raise UserError(
                f"all labels of environment {e} are {_IGNORED_LABEL}, which the loss ignores, so that its "
                "risk is not a number: leave the environment out, or give it a label"
            )


def _hidden(batch: Any) -> Tensor | None:
    """Which examples ``[N]`` the mask ``[N, T]`` hides; None without such a mask."""
    mask = batch.get("attention_mask") if isinstance(batch, dict) else None
    if not isinstance(mask, Tensor) or mask.ndim != 2 or not mask.numel():
        return None
    return ~mask.bool().any(1)


def _ignored(batch: Any) -> Tensor | None:
    """Whether all labels are ignored, ``[1]``; None without labels."""
    labels = batch.get("labels") if isinstance(batch, dict) else None
    return (labels == _IGNORED_LABEL).all()[None] if isinstance(labels, Tensor) and labels.numel() else None
