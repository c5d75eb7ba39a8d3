"""In which type numbers are added up: single precision at least, whatever the model's own type is.

Half-precision sums stop early: in bfloat16 256 + 1 is 256, and in float16 anything above 65,504 is infinite.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """The type itself, or float32 if it is narrower."""
    return torch.promote_types(dtype, torch.float32)


def widened(values: Tensor) -> Tensor:
    """The values themselves, or in float32 if their type is narrower."""
    return values.to(wide_type(values.dtype))


def as_autocast_would(outputs: Any) -> Any:
    """What losses get under ``vmap``, which hides from autocast that they are to be in float32."""
    if isinstance(outputs, Tensor):
        mixed = outputs.is_floating_point() and torch.is_autocast_enabled(outputs.device.type)
        return widened(outputs) if mixed else outputs
    return tree_map(as_autocast_would, outputs) if isinstance(outputs, (tuple, list, dict)) else outputs


def is_narrow(dtype: torch.dtype) -> bool:
    """Whether numbers of this type are added up in a wider one."""
    return wide_type(dtype) != dtype
