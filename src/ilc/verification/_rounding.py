"""How much of a gradient may be nothing but rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ilc.verification._plain_loop import Row


class Rounding(NamedTuple):
    """How much rounding may change a component of a gradient. Every number is a fraction.

    Attributes:
        own: of the parameter's largest component in the same environment, and of a risk.
        of_all: of the largest component of all parameters.
        of_risk: of the environment's risk and of the largest component in any environment. It counts for
            gradients that are nothing but rounding.
        makes_zeros: whether rounding may give zero where another order of sums gives another number.
    """

    own: float
    of_all: float
    of_risk: float
    makes_zeros: bool


def rounding(dtype: torch.dtype) -> Rounding:
    """The rounding of a small model that computes in this type."""
    eps = torch.finfo(dtype).eps
    half = eps > 1e-4
    own = 0.2 if half else eps**0.5
    return Rounding(own, own / 30, 0.02 if half else 10 * eps, half)


def floors(rows: Sequence[Row], allowed: Rounding) -> list[dict[str, float]]:
    """For each environment, the size by name up to which a component may be nothing but rounding.

    If an environment is fitted, its gradient is a small difference of numbers of about one. Its rounding is
    as large as that of other environments. So the largest gradient of any environment counts too.
    """
    sizes = [{name: largest(g) for name, g in row.gradients.items()} for row in rows]
    of_any = max((size for each in sizes for size in each.values()), default=0.0)
    found = []
    for row, each in zip(rows, sizes, strict=True):
        common = allowed.of_all * max(each.values(), default=0.0)
        common += allowed.of_risk * (abs(float(row.risk.nan_to_num(0, 0, 0))) + of_any)
        found.append({name: allowed.own * size + common for name, size in each.items()})
    return found


def largest(gradient: Tensor) -> float:
    """The largest finite component's size; 0 if there is none."""
    return float(gradient.abs().nan_to_num(0, 0, 0).max()) if gradient.numel() else 0.0
