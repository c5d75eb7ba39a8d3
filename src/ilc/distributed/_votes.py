"""Sums of signs as messages: whole numbers in the fewest bytes that hold them."""

from __future__ import annotations

import torch
from torch import Tensor

BYTE, HALF = 2**7 - 1, 2**15 - 1
"""The largest sums that one byte and two bytes hold."""


def packed(sign_sums: Tensor, n_environments: int) -> Tensor:
    """Whole numbers from -E to E, flat, as something that processes can add up.

    Up to 127 environments a number takes one byte, up to 32,767 two, beyond that four. Two bytes are pairs
    ``a + 65536 b`` in 32 bits, because neither gloo nor NCCL adds 16-bit integers; as every sum fits into
    its half, nothing is lost.

    Args:
        sign_sums: ``[P]``, floating point; NaN, from a gradient that is NaN, counts as no vote.
        n_environments: E over all processes.
    """
    whole = sign_sums.nan_to_num(0.0)
    if n_environments <= BYTE:
        return whole.to(torch.int8)
    if n_environments > HALF:
        return whole.to(torch.int32)
    pairs = torch.nn.functional.pad(whole.to(torch.int32), (0, len(whole) % 2)).view(2, -1)
    return pairs[0] + 65536 * pairs[1]


def unpacked(message: Tensor, n: int, n_environments: int) -> Tensor:
    """The ``n`` sums of a message ``[n]``, as int8 or int32."""
    if not BYTE < n_environments <= HALF:
        return message[:n]
    low = ((message + 32768) & 65535) - 32768
    high = (message - low) >> 16
    return torch.cat([low, high])[:n]
