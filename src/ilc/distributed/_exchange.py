"""Sums of statistics over processes."""

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
    """Add statistics and other tensors over the processes; every process gets the same bits.

    There is one message for each data type, and all are sent at the same time. Sums of gradients, and the
    sums on request, are sent in their own type. Sums of signs take one or two bytes (``packed``). Sums that
    the aggregator does not use are not sent. In single precision this makes 4 bytes per component for a mean,
    5 or 6 for the masks, and 9 or 10 for a geometric mean.

    Args:
        statistics: the statistics of each parameter over this process's environments.
        n_environments: E, the number of environments of all processes.
        aggregator: the aggregator that will use the sums.
        others: other tensors to add, such as risks.
        processes: the processes that add.

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
        name: GradientStatistics(n_environments, total, sign, kept_share=statistics[name].kept_share)
        for name, total, sign in zip(statistics, totals, signs, strict=True)
    }
    for which in also:
        for one in found.values():
            setattr(one, which, next(in_order))
    return found, summed_others


def _views(flat: Tensor, like: Sequence[Tensor]) -> Iterator[Tensor]:
    """The parts of a message in their original shapes."""
    for part, tensor in zip(torch.split(flat, [t.numel() for t in like]), like, strict=True):
        yield part.view(tensor.shape)


def among_all(own: Tensor, counts: Sequence[int], rank: int) -> Tensor:
    """The columns ``[2, E_r]`` of this process in their places among all ``[2, E]``, with zeros elsewhere."""
    every = own.new_zeros(2, sum(counts))
    every[:, sum(counts[:rank]) : sum(counts[: rank + 1])] = own
    return every
