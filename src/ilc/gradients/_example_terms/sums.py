"""Statistics of a parameter's shares, a few examples and rows at a time."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ilc._precision import wide_type
from ilc.aggregators import ON_REQUEST, GradientStatistics
from ilc.gradients._example_terms.batch_norm_correction import Mixing
from ilc.gradients._example_terms.rank_one import summed_outer_products
from ilc.gradients._example_terms.terms import RankOne, Shares
from ilc.kernels._compiled import usable
from ilc.kernels._votes import add_sums

# Elements of shares held at once. On a CPU they stay in its cache, on a GPU they keep it busy.
_ELEMENTS_AT_ONCE = {False: 2**20, True: 2**26}

# From as many on the sums, read and written once for all of them, no longer count beside the shares.
_ENOUGH_EXAMPLES = 16

_ENOUGH_ROWS = 16


def summed(
    shares: Shares | RankOne,
    parameter: Tensor,
    n: int,
    also: Sequence[str],
    mixing: Mixing | None = None,
    in_order: bool = False,
) -> GradientStatistics:
    """Statistics over the shares of all ``n`` examples, less what batch statistics take off them.

    With ``mixing`` the caller knows the total better, and a kernel does not gather it. ``in_order`` takes no
    kernel, whose sums have another order.
    """
    if isinstance(shares, RankOne):
        assert mixing is None, "less something, an outer product is none"
        return summed_outer_products(shares, parameter, also)
    if shares.signs is not None and mixing is not None and not also and not in_order:
        statistics = GradientStatistics.zeros(parameter)
        statistics.n_environments = n
        statistics.sign_sum = shares.signs(mixing.ones, mixing.normed, mixing.normalised)
        mixing.rescale(statistics)
        return statistics
    budget = _ELEMENTS_AT_ONCE[parameter.device.type == "cuda"]
    row = parameter.numel() // shares.n_rows
    fitting = min(_ENOUGH_EXAMPLES, budget // max(row, shares.extra))
    few = min(n, max(2, fitting, budget // (parameter.numel() + shares.extra)))
    if few == n and shares.n_rows == 1 and mixing is None and not in_order:
        return _summed_at_once(shares, parameter, n, also)
    # A tile that leaves the cache room for the sums; but a product of few rows is a slow one.
    rows = min(shares.n_rows, max(_ENOUGH_ROWS, budget // 4 // (few * row)))
    scratch = parameter.new_empty(few * rows * row if shares.n_rows > 1 else 0)
    statistics = GradientStatistics.zeros(parameter.detach().flatten(), also)
    statistics.n_environments = n
    for start in range(0, n, few):
        rows_of = shares.of(slice(start, start + few))
        for first in range(0, shares.n_rows, rows):
            votes = rows_of(slice(first, first + rows), scratch).to(statistics.total.dtype)
            votes = votes.flatten(1).contiguous()
            part = slice(first * row, first * row + votes.shape[1])
            channels = slice(first, first + rows) if shares.n_rows > 1 else slice(None)
            if also or in_order or not usable(votes):
                if mixing is not None:
                    mixing.take_off(votes, slice(start, start + few), channels)
                _add_and_overwrite(statistics, part, votes)
            elif mixing is not None:
                mixing.add_signs(votes, slice(start, start + few), channels, statistics.sign_sum[part])
            else:
                add_sums(votes, statistics.total[part], statistics.sign_sum[part])
    if mixing is not None:
        mixing.rescale(statistics)
    return _restored(statistics, shares, parameter)


def _summed_at_once(shares: Shares, parameter: Tensor, n: int, also: Sequence[str]) -> GradientStatistics:
    """The same for small ones, such as biases, where a handful of calls is what costs."""
    votes = (
        shares.of(slice(0, n))(slice(0, 1), parameter.new_empty(0)).to(wide_type(parameter.dtype)).flatten(1)
    )
    statistics = GradientStatistics(n, votes.sum(0), votes.sign().sum(0))
    for name in also:
        setattr(statistics, name, ON_REQUEST[name](votes).sum(0))
    return _restored(statistics, shares, parameter)


def _restored(statistics: GradientStatistics, shares: Shares, parameter: Tensor) -> GradientStatistics:
    """Flat sums in the parameter's own layout."""
    statistics.total = shares.restore(statistics.total).view(parameter.shape)
    statistics.sign_sum = shares.restore(statistics.sign_sum).view(parameter.shape)
    for name, running in statistics.requested.items():
        setattr(statistics, name, shares.restore(running).view(parameter.shape))
    return statistics


def _add_and_overwrite(statistics: GradientStatistics, where: slice, votes: Tensor) -> None:
    """Add votes ``[E, columns]`` to that part of the flat sums, spoiling them.

    Sums over the first axis are products with ones: one pass over the memory, two columns side by
    side, because such a product keeps only one of a CPU's cores busy.
    """
    sides = 2 if votes.shape[1] % 2 == 0 else 1
    columns = votes.view(len(votes), sides, -1).transpose(0, 1)
    for name, running in statistics.requested.items():
        _add_sum(running[where], ON_REQUEST[name](columns))
    _add_sum(statistics.total[where], columns)
    votes.sign_()
    _add_sum(statistics.sign_sum[where], columns)


def _add_sum(total: Tensor, columns: Tensor) -> None:
    """Add ``[sides, E, columns]``, summed over E."""
    ones = columns.new_ones(1, 1, columns.shape[1]).expand(len(columns), -1, -1)
    total.view(len(columns), 1, -1).baddbmm_(ones, columns)
