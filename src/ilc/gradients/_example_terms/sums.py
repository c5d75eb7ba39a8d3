"""Statistics of a parameter's terms, computed for a few examples and rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ilc._precision import wide_type
from ilc.aggregators import ON_REQUEST, GradientStatistics
from ilc.gradients._example_terms.batch_norm_correction import BatchNormCorrection
from ilc.gradients._example_terms.rank_one import sums_of_outer_products
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms
from ilc.kernels._compiled import usable
from ilc.kernels._votes import add_sums

# Elements of terms that are held at once: few enough for a CPU's cache, enough to keep a GPU busy.
_ELEMENTS_AT_ONCE = {False: 2**20, True: 2**26}

# The sums are read and written once for so many examples. With more, that cost is small beside the terms.
_ENOUGH_EXAMPLES = 16

_ENOUGH_ROWS = 16


def summed(
    terms: ExampleTerms | RankOneTerms,
    parameter: Tensor,
    n: int,
    also: Sequence[str],
    correction: BatchNormCorrection | None = None,
    in_order: bool = False,
) -> GradientStatistics:
    """Statistics over the terms of all ``n`` examples, after the correction for batch statistics.

    With ``correction`` the caller computes the total itself, so a kernel does not sum it. ``in_order`` uses
    no kernel, because a kernel adds in another order.
    """
    if isinstance(terms, RankOneTerms):
        assert correction is None, "a corrected outer product is no outer product"
        return sums_of_outer_products(terms, parameter, also)
    if not also and not in_order:
        if correction is None and terms.sums is not None:
            return GradientStatistics(n, *terms.sums())
        if correction is not None and terms.corrected_signs is not None:
            return _by_kernel(terms.corrected_signs, parameter, n, correction)
    budget = _ELEMENTS_AT_ONCE[parameter.device.type == "cuda"]
    row = max(1, parameter.numel() // terms.n_rows)  # Even a parameter without components is one.
    fitting = min(_ENOUGH_EXAMPLES, budget // max(row, terms.extra))
    few = min(n, max(2, fitting, budget // (row * terms.n_rows + terms.extra)))
    if few == n and terms.n_rows == 1 and correction is None and not in_order:
        return _summed_at_once(terms, parameter, n, also)
    # The tile leaves room in the cache for the sums. A product of very few rows would be slow.
    rows = min(terms.n_rows, max(_ENOUGH_ROWS, budget // 4 // (few * row)))
    scratch = parameter.new_empty(few * rows * row if terms.n_rows > 1 else 0)
    statistics = GradientStatistics.zeros(parameter.detach().flatten(), also)
    statistics.n_environments = n
    for start in range(0, n, few):
        rows_of = terms.of(slice(start, start + few))
        for first in range(0, terms.n_rows, rows):
            votes = rows_of(slice(first, first + rows), scratch).to(statistics.total.dtype)
            votes = votes.reshape(len(votes), -1).contiguous()
            part = slice(first * row, first * row + votes.shape[1])
            channels = slice(first, first + rows) if terms.n_rows > 1 else slice(None)
            if also or in_order or not usable(votes):
                if correction is not None:
                    correction.subtract_from(votes, slice(start, start + few), channels)
                _add_and_overwrite(statistics, part, votes)
            elif correction is not None:
                correction.add_signs(votes, slice(start, start + few), channels, statistics.sign_sum[part])
            else:
                add_sums(votes, statistics.total[part], statistics.sign_sum[part])
    if correction is not None:
        correction.rescale(statistics)
    return _restored(statistics, terms, parameter)


def _by_kernel(
    corrected_signs: Callable[[Tensor, Tensor, Tensor], Tensor],
    parameter: Tensor,
    n: int,
    correction: BatchNormCorrection,
) -> GradientStatistics:
    """Signs only: the caller computes the total itself."""
    statistics = GradientStatistics.zeros(parameter)
    statistics.n_environments = n
    statistics.sign_sum = corrected_signs(correction.ones, correction.normed, correction.of_normed())
    correction.rescale(statistics)
    return statistics


def _summed_at_once(
    terms: ExampleTerms, parameter: Tensor, n: int, also: Sequence[str]
) -> GradientStatistics:
    """Do the same for small parameters such as biases, where the number of calls decides the cost."""
    votes = terms.of(slice(0, n))(slice(0, 1), parameter.new_empty(0)).to(wide_type(parameter.dtype))
    votes = votes.reshape(n, -1)
    statistics = GradientStatistics(n, votes.sum(0), votes.sign().sum(0))
    for name in also:
        setattr(statistics, name, ON_REQUEST[name](votes).sum(0))
    return _restored(statistics, terms, parameter)


def _restored(statistics: GradientStatistics, terms: ExampleTerms, parameter: Tensor) -> GradientStatistics:
    """Bring flat sums into the parameter's own layout."""
    statistics.total = terms.restore(statistics.total).view(parameter.shape)
    statistics.sign_sum = terms.restore(statistics.sign_sum).view(parameter.shape)
    for name, running in statistics.requested.items():
        setattr(statistics, name, terms.restore(running).view(parameter.shape))
    return statistics


def _add_and_overwrite(statistics: GradientStatistics, where: slice, votes: Tensor) -> None:
    """Add votes ``[E, columns]`` to that part of the flat sums, and overwrite the votes.

    A sum over the first axis is computed as a product with ones, in one pass over the memory. The columns are
    divided in two halves, because one such product uses only one core of a CPU.
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
