"""Sums of signs as messages: whole numbers in as few bytes as possible."""

from __future__ import annotations

import torch
from torch import Tensor

BYTE, HALF = 2**7 - 1, 2**15 - 1
"""The largest sums that fit into one byte and into two bytes."""


def packed(sign_sums: Tensor, n_environments: int) -> Tensor:
    """Pack flat whole numbers from -E to E into a message that processes can add.

    A number takes one byte for up to 127 environments, two bytes for up to 32,767, and four bytes for more.
    Two numbers of two bytes form a pair ``a + 65536 b`` in 32 bits, because neither gloo nor NCCL adds 16-bit
    integers. Every sum fits into its half, so nothing is lost.

    Args:
        sign_sums: ``[P]``, floating point. NaN comes from a gradient that is NaN, and counts as no vote.
        n_environments: E, the number of environments of all processes.
    """
    whole = sign_sums.nan_to_num(0.0)
    if n_environments <= BYTE:
        return whole.to(torch.int8)
    if n_environments > HALF:
        return whole.to(torch.int32)
    pairs = torch.nn.functional.pad(whole.to(torch.int32), (0, len(whole) % 2)).view(2, -1)
    return pairs[0] + 65536 * pairs[1]


def unpacked(message: Tensor, n: int, n_environments: int) -> Tensor:
    """Unpack the ``n`` sums of a message, as int8 or int32."""
    if not BYTE < n_environments <= HALF:
        return message[:n]
    low = ((message + 32768) & 65535) - 32768
    high = (message - low) >> 16
    return torch.cat([low, high])[:n]
