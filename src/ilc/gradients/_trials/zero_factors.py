"""Parts of a pass that a factor of zero switches off, such as ``h + 0.0 * h.flip(0)``.

The factor may be a number that no fingerprint sees and that grows later. No gradient passes through it now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node

Gradients = tuple[Tensor | None, ...]


@contextmanager
def zero_factors_as_ones(nodes: Iterable[Node]) -> Iterator[None]:
    """Let backward passes go on where one number, which is zero, is the factor of a tensor."""
    handles = [node.register_hook(_passed_on) for node in nodes if _has_zero_factor(node)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _has_zero_factor(node: Any) -> bool:
    if node.name() == "MulBackward0":
        factors = (node._saved_self, node._saved_other)
        return any(one is not None and one.numel() == 1 and not bool(one.any()) for one in factors)
    return bool(node.name() in ("AddBackward0", "SubBackward0") and node._saved_alpha == 0)


def _passed_on(to_operands: Gradients, of_outputs: Gradients) -> Gradients:
    whole = of_outputs[0]
    if whole is None:
        return to_operands
    return tuple(
        whole if one is not None and one.shape == whole.shape and not bool(torch.any(one)) else one
        for one in to_operands
    )
