"""The type in which numbers are added: at least single precision, whatever the model's own type is.

Sums in half precision fail early: in bfloat16 256 + 1 is 256, and in float16 sums above 65,504 are infinite.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """The type itself, or float32 if the type is narrower."""
    return torch.promote_types(dtype, torch.float32)


def widened(values: Tensor) -> Tensor:
    """The values themselves, or the values in float32 if their type is narrower."""
    return values.to(wide_type(values.dtype))


def as_autocast_would(outputs: Any) -> Any:
    """Outputs in float32 if autocast is on. Autocast does this for losses itself, but not under ``vmap``."""
    if isinstance(outputs, Tensor):
        mixed = outputs.is_floating_point() and torch.is_autocast_enabled(outputs.device.type)
        return widened(outputs) if mixed else outputs
    return tree_map(as_autocast_would, outputs) if isinstance(outputs, (tuple, list, dict)) else outputs


def is_narrow(dtype: torch.dtype) -> bool:
    """Whether numbers of this type are added in a wider one."""
    return wide_type(dtype) != dtype
