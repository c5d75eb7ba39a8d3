"""Curves are shortened only as far as the page needs, and keep their ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.report.run_record import Record
from lab.report.thinning import LEAST, thinned


def record(length: int, n_metrics: int) -> Record:
    columns = {f"m{i}": [float(value) for value in range(length)] for i in range(n_metrics)}
    return Record("run", "done", None, None, {}, {}, columns, None)


def size(records: list[Record]) -> int:
    return sum(len(column) for one in records for column in one.curves.values())


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 9)), max_size=12), st.integers(1, 9000))
def test_bounded_ordered_and_with_both_ends(shapes: list[tuple[int, int]], numbers: int) -> None:
    records = [record(length, n) for length, n in shapes]
    shown, n_thinned = thinned(records, numbers)
    least = sum(n * min(length, LEAST) for length, n in shapes)
    assert size(shown) <= max(numbers, least)
    assert n_thinned == sum(before != after for before, after in zip(records, shown, strict=True))
    for before, after in zip(records, shown, strict=True):
        for name, column in after.curves.items():
            assert column == sorted(set(column))
            assert column[:1] == before.curves[name][:1] and column[-1:] == before.curves[name][-1:]


@pytest.mark.parametrize("numbers", [100 * 100 * 8, 10**9])
def test_what_fits_is_left_alone(numbers: int) -> None:
    records = [record(100, 8)] * 100
    assert thinned(records, numbers) == (records, 0)
