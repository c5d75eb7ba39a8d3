"""The claim about noisy labels: a teacher calibrates a student as no entropy bonus does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.distillation.drawing import spread
from lab.experiments.distillation.results import FIGURE_4_4, FOLDER, LABELS, runs
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.pending import number_of_runs, progress_in_words

BONUSES = ("no_teacher", "entropy 0.1", "entropy 1", "entropy 10")
HALF = 0.5
"""A distilled student is calibrated, and the others are not, if its KL is at most this share of theirs.

In the authors' drawing the share is a quarter (.07 against .29)."""
THESIS = (1.0, "fixed")
"""The factor of the logits and the split as the thesis describes them."""
VARIANTS = {
    (1.0, "redrawn"): "with the authors' redrawn split",
    (3.0, "fixed"): "with the authors' logits x 3",
    (3.0, "redrawn"): "with the authors' logits x 3 and redrawn split",
}


class Cell(NamedTuple):
    """Test KL with one factor of the logits and one split.

    Attributes:
        distilled: the median of the distilled students.
        highest: that of the worst distilled seed.
        other: the median of the best other method: no teacher, or an entropy bonus.
        lowest: that of the best seed of all other methods.
    """

    distilled: float
    highest: float
    other: float
    lowest: float


def claims(results: Path) -> list[Claim]:
    """Return the claim on task B, from ``distillation/labels_runs.csv``."""
    table = runs(results, "labels")
    cells = {setting: cell(table, *setting) for setting in (THESIS, *VARIANTS)}
    rows = [_row(table, *setting) for setting, found in cells.items() if found is not None]
    named = {words: found for setting, words in VARIANTS.items() if (found := cells[setting]) is not None}
    unfinished = progress_in_words(results / FOLDER / "labels_runs.csv")
    return [
        Claim(
            short="A learned teacher calibrates students on noisy labels",
            claim="In task B of distilling trajectories, the student of a learned teacher stays calibrated "
            "on noisy labels. With entropy bonuses no student does (thesis, figure 4.4).",
            paper=f"The test KL after 16 epochs is about {FIGURE_4_4['distill']} for distilled students, "
            f"about {FIGURE_4_4['entropy 1']} with the best entropy bonus and about "
            f"{FIGURE_4_4['no_teacher']} without teacher and bonus (authors' drawing, logits x 3). The "
            "thesis names no factor, and keeps its split during all of training.",
            ours="The table has the last test KL, medians and ranges over n seeds, which draw data, networks "
            "and batches. The best of the others is no teacher or an entropy bonus.",
            table=as_markdown(rows),
            reading="whether the split is kept during all of training, and by which factor the logits of the "
            "task are multiplied.",
            number=_number(cells, unfinished),
            verdict=verdict(cells[THESIS], named, unfinished),
        )
    ]


def cell(table: pd.DataFrame, factor: float, split: str) -> Cell | None:
    """Return the numbers of one setting, or None if it was not run."""
    last = _last(table, factor)
    if split not in last:
        return None
    others = [last[row] for row in BONUSES if row in last]
    return Cell(
        last[split].median(),
        last[split].max(),
        min(values.median() for values in others),
        min(values.min() for values in others),
    )


def verdict(thesis: Cell | None, variants: dict[str, Cell], unfinished: str = "") -> str:
    """Return the verdict, which is first that of the setting as the thesis describes it.

    Reproduced: there the worst distilled seed has at most half the KL of the best other seed. In part: this
    holds in variants only, or the worst distilled seed is better, but by less. Undecided: only the median is
    better. Not reproduced: it is not. Pending: the setting was not run.

    Args:
        thesis: the numbers of the thesis's setting.
        variants: the numbers of other settings, by what differs in words.
        unfinished: how many runs are done, in words; empty if all are.
    """
    if thesis is None:
        return f"pending: {unfinished or 'the setting of the thesis'}"
    if thesis.highest <= HALF * thesis.lowest:
        return "reproduced"
    better = thesis.highest < thesis.lowest
    halved = [words for words, found in variants.items() if found.highest <= HALF * found.lowest]
    if halved:
        literal = "in the thesis's setting by less, " if better else ""
        return f"in part: {literal}by a half or more {', '.join(halved)}"
    if better:
        return "in part: better by less than a half"
    return "undecided" if thesis.distilled < thesis.other else "not reproduced"


def _number(cells: dict[tuple[float, str], Cell | None], unfinished: str) -> str:
    literal = cells[THESIS]
    if literal is None:
        return f"{number_of_runs(unfinished)}; test KL in variants: " + ", ".join(
            f"{found.distilled:.3f}" for found in cells.values() if found is not None
        )
    return f"test KL {literal.distilled:.3f}, {literal.other:.3f} with the best bonus"


def _last(table: pd.DataFrame, factor: float) -> dict[str, pd.Series]:
    chosen = table[table["dataset.logits_factor"] == factor]
    return {str(row): values["test/kl"] for row, values in chosen.groupby("row")}


def _row(table: pd.DataFrame, factor: float, split: str) -> dict[str, str]:
    last = _last(table, factor)
    best = min((row for row in BONUSES if row in last), key=lambda row: last[row].median())
    return {
        "logits": f"x {factor:g}",
        "split": split,
        "n": str(len(last[split])),
        "distilled": spread(last[split], 3),
        "best of the others": f"{spread(last[best], 3)} ({LABELS[best]})",
        "frozen random teacher": spread(last["random"], 3) if "random" in last else "",
    }
