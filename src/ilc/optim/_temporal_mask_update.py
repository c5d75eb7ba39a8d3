"""One update of Algorithm 1, for many tensors at once and in few passes over memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

shrink = torch.ops.aten.hardshrink_backward.grad_input
"""For (x, y, limit): x where |y| > limit, else 0. PyTorch has this as the derivative of hardshrink."""

PIECE = 2**18
"""Components that are updated at once on a CPU, so that intermediate results stay in its cache."""


class Row(NamedTuple):
    """A parameter with its gradient, momentum, second moment, sign average and number of steps so far."""

    p: Tensor
    g: Tensor
    m: Tensor
    v: Tensor
    a: Tensor
    steps: float


def bundles(rows: list[Row]) -> Iterator[list[Row]]:
    """What is updated together: everything on an accelerator, pieces that fit into the cache on a CPU."""
    if any(row.p.device.type != "cpu" for row in rows):
        yield rows
        return
    for row in rows:
        tensors = row[:5]
        if row.p.numel() <= PIECE or not all(tensor.is_contiguous() for tensor in tensors):
            yield [row]
            continue
        flat = [torch.split(tensor.view(-1), PIECE) for tensor in tensors]
        for p, g, m, v, a in zip(*flat, strict=True):
            yield [Row(p, g, m, v, a, row.steps)]


def update(rows: list[Row], group: dict[str, Any], limit: float) -> None:
    """Algorithm 1, in place, in the type of the averages, which may be wider than that of the parameters."""
    narrow, gradients, m, v, a, steps = (list(column) for column in zip(*rows, strict=True))
    parameters = [p.to(average.dtype) for p, average in zip(narrow, a, strict=True)]
    gradients = [g.to(average.dtype) for g, average in zip(gradients, a, strict=True)]
    lr, decay, eps = group["lr"], group["weight_decay"], group["eps"]
    beta_1, beta_2, beta_3 = group["betas"]
    if decay and not group["decoupled"]:
        gradients = list(torch._foreach_add(gradients, parameters, alpha=decay))
    torch._foreach_lerp_(m, gradients, 1 - beta_1)
    torch._foreach_mul_(v, beta_2)
    torch._foreach_addcmul_(v, gradients, gradients, value=1 - beta_2)
    signs = torch._foreach_sign(gradients)
    torch._foreach_lerp_(a, signs, 1 - beta_3)
    # m where |a| > limit, 0 elsewhere, in one pass. A comparison and a product with booleans would take as
    # long as all the rest. Where a is NaN, m is NaN too and passes the mask, so that it stays visible.
    masked = [
        shrink(moment, average, limit, grad_input=memory)
        for moment, average, memory in zip(m, a, signs, strict=True)
    ]
    if group["pytorch_form"]:
        # Both sides of the fraction are multiplied by the root of v's correction, which saves a pass.
        roots = [math.sqrt(1 - beta_2**t) for t in steps]
        denominators = torch._foreach_sqrt(v)
        torch._foreach_add_(denominators, [eps * root for root in roots])
        factors = [-lr * root / (1 - beta_1**t) for root, t in zip(roots, steps, strict=True)]
        torch._foreach_addcdiv_(parameters, masked, denominators, factors)
    else:
        denominators = torch._foreach_add(v, eps)
        torch._foreach_sqrt_(denominators)
        torch._foreach_addcdiv_(parameters, masked, denominators, value=-lr)
    if decay and group["decoupled"]:
        torch._foreach_mul_(parameters, 1 - lr * decay)
    for p, wide in zip(narrow, parameters, strict=True):
        if p is not wide:
            p.copy_(wide)


def largest_masked(threshold: float, dtype: torch.dtype) -> float:
    """The largest |a| below the threshold, because the comparison with the threshold is inclusive."""
    if threshold == 0:
        return -1.0
    exact = torch.tensor(threshold, dtype=dtype)
    return torch.nextafter(exact, torch.zeros_like(exact)).item()
