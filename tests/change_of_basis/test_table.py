"""The table in docs/transformers.md of what a change of basis moves."""

from __future__ import annotations

import pytest

from change_of_basis import page
from change_of_basis.movement import IN_BASIS, ROWS, row


def share(cell: str) -> float:
    return 0.0 if cell == page.cell(0.0) else float(cell.removesuffix(" %")) / 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_the_page_has_what_is_measured(name: str) -> None:
    for found, printed in zip(row(name).values(), page.printed()[name], strict=True):
        assert share(printed) == pytest.approx(found, abs=0.02)


def test_the_page_has_every_row_and_says_what_does_not_move() -> None:
    assert page.printed().keys() == ROWS.keys()
    unmoved = {name for name, cells in page.printed().items() if set(cells) == {page.cell(0.0)}}
    assert unmoved == {name for name in ROWS if name.endswith(IN_BASIS)}
