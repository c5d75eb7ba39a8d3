"""The gallery has every committed figure, with its first line and the studies that make what it reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.figures.claims import Claim, anchor, title_of
from lab.figures.gallery import HEAD, NO_FILE, PAGE, page, sentence_of
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
    blocks = re.findall(
        r"^### (\w+)\n\n(.*?)\n\n!\[(\w+)\]\(\.\./results/\w+/figures/(\w+)\.png\)", text, re.M | re.S
    )
    drawn = {path.stem for path in (root / "results").glob("*/figures/*.png")}
    assert {name for name, *_ in blocks} == drawn
    for name, sentence, alternative, file in blocks:
        assert name == alternative == file
        assert sentence.split() == sentence_of(name).split()


def test_a_figure_stands_with_the_claims_from_its_data() -> None:
    ours = Claim("Masks help", "b", "c", "d", "7 of 9", "in part: 7", files=("spirals/a.csv",))
    other = ours._replace(short="Masks hurt", verdict="refuted", files=("spirals/b.csv",))
    text = page(
        {"figure6": ["spirals/a.csv", "spirals/c.csv"], "figure14": []}, {title_of("spirals"): [ours, other]}
    )
    heading = title_of("spirals")
    assert f"- [{heading}](#{anchor(heading)}): figures 2; claims 1 in part, 1 refuted" in text
    assert "Figures: [figure14](#figure14), [figure6](#figure6)." in text
    first, second = text.split("### figure14")[1].split("### figure6")
    assert "- [Masks help](claims.md#masks-help): in part (7 of 9)" in second
    assert "Masks" not in first and "Masks hurt" not in second
    assert NO_FILE in first


def test_an_experiment_without_a_page_has_no_link_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {"figure6": ["spirals/a.csv"]}
    assert "[Page](spirals.md). Figures:" in page(read, {})
    monkeypatch.setattr("lab.figures.gallery.DOCS", tmp_path)
    text = page(read, {})
    assert "\nFigures: [figure6](#figure6).\n" in text
    assert "[Page]" not in text
