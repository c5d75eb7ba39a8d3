"""The gallery has every committed figure, with its first line and the studies that make what it reads."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.figures.gallery import HEAD, PAGE, files_read, sentence_of
from lab.figures.studies import studies_of
from lab.runs.study.study_file import load_study, study_names


@pytest.mark.parametrize("name", study_names())
def test_a_file_is_that_of_the_study_that_makes_it(name: str) -> None:
    files = load_study(name).files
    assert files
    for file in files:
        assert studies_of([file]) == [name], file


def test_the_files_that_are_read_are_seen_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    pd.DataFrame({"x": [1]}).to_csv(tmp_path / "a" / "one.csv")
    np.savez(tmp_path / "two.npz", x=np.ones(1))
    for _ in range(2):
        with files_read(tmp_path) as read:
            pd.read_csv(tmp_path / "a" / "one.csv")
            Path(__file__).read_text()
        assert read == {"a/one.csv"}
    with files_read(tmp_path) as read:
        np.load(tmp_path / "two.npz").close()
    pd.read_csv(tmp_path / "a" / "one.csv")
    assert read == {"two.npz"}


def test_every_committed_figure_is_in_the_gallery_with_its_sentence(root: Path) -> None:
    text = (root / PAGE).read_text()
    assert text.startswith(HEAD)
    shown = dict(re.findall(r"!\[(.*)\]\(\.\./results/\w+/figures/(\w+)\.png\)", text))
    drawn = {path.stem for path in (root / "results").glob("*/figures/*.png")}
    assert set(shown.values()) == drawn
    assert all(sentence == sentence_of(name) for sentence, name in shown.items())
