"""The masked mean, computed in few passes over memory.

For a perceptron, a mask stored for all parameters would cost as much as its matrix products.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._base import Combined, agreement, masked, votes_required
from ilc.aggregators._statistics import GradientStatistics
from ilc.kernels._compiled import usable
from ilc.kernels._mask import masked_mean

# Elements that are masked at once, so that intermediate results stay in a CPU's cache.
_AT_ONCE = 2**16


def agreeing_mean(statistics: GradientStatistics, agreement_threshold: float, rescale: bool) -> Combined:
    """The mean gradient where ``agreement`` keeps it, zero elsewhere."""
    total = statistics.total
    if total.device.type != "cpu" or total.numel() <= _AT_ONCE:
        mean = total / statistics.n_environments
        return masked(mean, agreement(statistics, agreement_threshold), rescale)
    in_one_pass = _by_kernel if usable(total) and usable(statistics.sign_sum) else _by_rows
    update, n_kept = in_one_pass(statistics, votes_required(statistics.n_environments, agreement_threshold))
    kept_share = (n_kept / total.numel()).to(total.dtype)
    if rescale:
        update.div_(kept_share.where(kept_share > 0, 1.0))
    return Combined(update, kept_share)


def _by_kernel(statistics: GradientStatistics, required: int) -> tuple[Tensor, Tensor]:
    """The update, and the number of kept components."""
    total, sign_sum = statistics.total, statistics.sign_sum
    update = torch.empty_like(total)
    if not total.stride() == sign_sum.stride() == update.stride():
        total, sign_sum = torch.empty_like(update).copy_(total), torch.empty_like(update).copy_(sign_sum)
    totals, signs, updates = (
        values.as_strided((update.numel(),), (1,)) for values in (total, sign_sum, update)
    )
    n_kept = masked_mean(totals, signs, updates, required, statistics.n_environments)
    return update, torch.tensor(n_kept, dtype=torch.float64)


def _by_rows(statistics: GradientStatistics, required: int) -> tuple[Tensor, Tensor]:
    """The same with PyTorch, a few rows at a time."""
    total = statistics.total
    rows = max(1, _AT_ONCE * len(total) // total.numel())
    update, n_kept = torch.empty_like(total), statistics.sign_sum.new_zeros(())
    kept = torch.empty_like(statistics.sign_sum[:rows])
    parts = (torch.split(values, rows) for values in (total, statistics.sign_sum, update))
    for few_total, few_signs, few_updates in zip(*parts, strict=True):
        # The mask of ``agreement`` as 1.0 and 0.0, because these need no conversion.
        keep = torch.abs(few_signs, out=kept[: len(few_signs)]).sub_(required - 1).clamp_(0, 1)
        n_kept += keep.sum()
        torch.mul(few_total, keep, out=few_updates).div_(statistics.n_environments)
    return update, n_kept
