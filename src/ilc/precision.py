"""In which type numbers are added up: single precision at least, whatever the model's own type is.

Half-precision sums stop early: in bfloat16 256 + 1 is 256, and in float16 anything above 65,504 is infinite.
"""

from __future__ import annotations

import torch
from torch import Tensor


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """The type itself, or float32 if it is narrower."""
    return torch.promote_types(dtype, torch.float32)


def widened(values: Tensor) -> Tensor:
    """The values themselves, or in float32 if their type is narrower."""
    return values.to(wide_type(values.dtype))


def is_narrow(dtype: torch.dtype) -> bool:
    """Whether numbers of this type are added up in a wider one."""
    return wide_type(dtype) != dtype
