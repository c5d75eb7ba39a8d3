"""Whether two tensors hold the same values, of any layout."""

import torch
from torch import Tensor


def same(one: Tensor, other: Tensor) -> bool:
    """Whether both hold the same values. NaN equals NaN."""
    if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
        return False
    if one.is_meta:  # There are no values.
        return True
    if one.layout != torch.strided:
        one, other = one.to_dense(), other.to_dense()
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
