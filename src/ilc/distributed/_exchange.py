"""Sums over processes: the statistics of each become those of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ilc._processes import Processes
from ilc.aggregators import Aggregator, GradientStatistics
from ilc.distributed._votes import packed, unpacked

Statistics = dict[str, GradientStatistics]


def summed(
    statistics: Statistics,
    n_environments: int,
    aggregator: Aggregator,
    others: Sequence[Tensor],
    processes: Processes,
) -> tuple[Statistics, list[Tensor]]:
    """Statistics and other tensors, added up over the processes: the same bits in all of them.

    One message for each data type, all under way at once. Sums of gradients, and those on request, travel in
    their own type, those of signs in one or two bytes (``packed``), what the aggregator does not look at not
    at all: 4 bytes per component in single precision for a mean, 5 or 6 for the masks, 9 or 10 for a
    geometric mean.

    Args:
        statistics: of each parameter, over this process's environments.
        n_environments: E over all processes.
        aggregator: who will look at them.
        others: to be added up with them, such as risks.
        processes: who add.

    Raises:
        UserError: a process has died.
    """
    each = list(statistics.values())
    also = aggregator.sums_on_request
    requested = [s.requested[name] for name in also for s in each]
    plain = [*others, *(s.total for s in each), *requested]
    messages = {t.dtype: torch.cat([u.flatten() for u in plain if u.dtype == t.dtype]) for t in plain}
    votes = []
    if aggregator.needs_votes:
        votes = [packed(torch.cat([s.sign_sum.flatten() for s in each]), n_environments)]
    processes.sum_(*messages.values(), *votes)
    received = {
        dtype: _views(flat, [t for t in plain if t.dtype == dtype]) for dtype, flat in messages.items()
    }
    in_order = iter([next(received[t.dtype]) for t in plain])
    summed_others = [next(in_order) for _ in others]
    totals = [next(in_order) for _ in each]
    signs = [s.total.new_full((), torch.nan) for s in each]
    if votes:
        like = [s.sign_sum for s in each]
        whole = unpacked(votes[0], sum(t.numel() for t in like), n_environments)
        signs = [view.to(t.dtype) for view, t in zip(_views(whole, like), like, strict=True)]
    found = {
        name: GradientStatistics(n_environments, total, sign)
        for name, total, sign in zip(statistics, totals, signs, strict=True)
    }
    for which in also:
        for one in found.values():
            setattr(one, which, next(in_order))
    return found, summed_others


def _views(flat: Tensor, like: Sequence[Tensor]) -> Iterator[Tensor]:
    """The parts of a message, in the shapes they had."""
    for part, tensor in zip(torch.split(flat, [t.numel() for t in like]), like, strict=True):
        yield part.view(tensor.shape)
