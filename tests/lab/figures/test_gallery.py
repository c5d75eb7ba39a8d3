"""The gallery has every committed figure, with its first line and the studies that make what it reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.figures.gallery import HEAD, PAGE, sentence_of
from lab.figures.studies import studies_of
from lab.runs.study.study_file import load_study, study_names


@pytest.mark.parametrize("name", study_names())
def test_a_file_is_that_of_the_study_that_makes_it(name: str) -> None:
    files = load_study(name).files
    assert files
    for file in files:
        assert studies_of([file]) == [name], file


def test_every_committed_figure_is_in_the_gallery_with_its_sentence(root: Path) -> None:
    text = (root / PAGE).read_text()
    assert text.startswith(HEAD)
    shown = dict(re.findall(r"!\[(.*)\]\(\.\./results/\w+/figures/(\w+)\.png\)", text))
    drawn = {path.stem for path in (root / "results").glob("*/figures/*.png")}
    assert set(shown.values()) == drawn
    assert all(sentence == sentence_of(name) for sentence, name in shown.items())
