"""The claim about the Game of Life: only with a teacher is it learned."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.distillation.game_of_life_results import ROWS, THESIS, game_of_life
from lab.experiments.distillation.results import LABELS
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import median_and_range
from lab.figures.two_groups import Difference, signs, welch
from lab.figures.verdicts import in_part, reproduced

MAJORITY = 0.701
"""The share of dead centres after three steps, which is the accuracy of always saying "dead"."""
LIMIT = "with a redrawn split"
"""How our setting differs from the thesis's text, which keeps its split."""
LIFT = 0.1
"""The difference above ``MAJORITY`` from which on the game counts as learned."""
NAMES = {
    **LABELS,
    "random even": "frozen teacher that asks for all boards alike",
    "random spread": "frozen teacher that asks for boards at random",
    "learned even": "learned teacher that began by asking for all boards alike",
    "learned spread": "learned teacher that began by asking for boards at random",
}
"""The names of the rows in the claim. The figures have the shorter ``LABELS``."""


def claims(results: Path) -> list[Claim]:
    """Return the claim, from the largest training sets of the smaller game and of the thesis's game.

    The seeds of the smaller game are compared.
    """
    every = game_of_life(results, "runs")
    runs = every[every.game == min(every.game)]
    small, whole = _most(runs), _most(every[every.game == THESIS])
    best = _by_row(small, "best/test/accuracy")
    learned = {row: values for row, values in best.items() if row.startswith("learned")}
    above_none = [welch(values, best["no_teacher"]) for values in learned.values()]
    above_frozen = [welch(values, best[_frozen(row)]) for row, values in learned.items()]
    ahead = _ahead_of_frozen(runs)
    there = _by_row(whole, "best/test/accuracy")
    learns_there = min(v.min() for r, v in there.items() if r.startswith("learned")) > MAJORITY + LIFT
    p_values = {
        row: {"p against none": f"{one.p_value:.2g}", "p against frozen": f"{other.p_value:.2g}"}
        for row, one, other in zip(learned, above_none, above_frozen, strict=True)
    }
    last = _by_row(small, "test/accuracy")
    rows = [
        {
            "student": NAMES[row],
            "best": median_and_range(best[row]),
            "last": median_and_range(last[row]),
            **p_values.get(row, {"p against none": "", "p against frozen": ""}),
            "best, larger game": median_and_range(there[row]) if row in there else "",
        }
        for row in ROWS
        if row in best
    ]
    top = max(learned, key=lambda row: learned[row].median())
    strongest = max(learned, key=lambda row: best[_frozen(row)].median())
    return [
        Claim(
            short="The Game of Life needs a teacher",
            claim="In the Game of Life a student without a teacher never learns the result of the last step. "
            "A student with a learned teacher learns it, and does so better than with a fixed teacher "
            "(thesis, figure 4.6).",
            paper="The game has 17 x 17 cells and 3 steps. No numbers are legible. Of the two fixed "
            "teachers, an oracle and one that begins at random, the second must be meant. A search chose "
            "how widely its attention is spread at first, and the text does not give the value.",
            ours="The split of the examples is drawn anew in each meta-step, and the thesis keeps it. The "
            f"smaller game has {_described(small)}. The larger game has {_described(whole)}. The table has "
            "the best test accuracy in % over training (oracle) and the last one, medians and ranges over "
            f"n = {small.groupby('row').seed.nunique().min()} seeds in the smaller game, and the best one "
            f"with n = {whole.groupby('row').seed.nunique().min()} in the larger game. The p values are of "
            "Welch's test in the smaller game, against no teacher and against the same teacher, frozen "
            "(uncorrected). With "
            f"{', '.join(map(str, sorted(set(runs.n_train))))} examples the student of a learned teacher is "
            f"above the student of the same teacher, frozen, in {ahead.ahead.sum()} of {len(ahead)} pairs. "
            f"The {NAMES[_frozen(strongest)]} is the better frozen one, which a search would choose. Against "
            f"it p is {above_frozen[list(learned).index(strongest)].p_value:.2g}. "
            f"In the larger game the answer 'dead' for every board is right in about "
            f"{100 * MAJORITY:.0f} %.",
            table=as_markdown(rows),
            reading="how widely the attention of the fixed teacher is spread.",
            number=f"{100 * learned[top].median():.0f} % with a learned teacher, "
            f"{100 * best['no_teacher'].median():.0f} % without a teacher",
            verdict=verdict(above_none, above_frozen, learns_there, LIMIT),
        )
    ]


def verdict(
    above_none: list[Difference], above_frozen: list[Difference], learns_there: bool, limit: str = ""
) -> str:
    """Return the verdict that a learned teacher is needed, from the accuracies in the smaller game.

    A difference counts if its p value, corrected for all of them (Holm), is below 0.05. Reproduced: learned
    teachers are better than none and than frozen ones, and the game of the thesis's size is learned too. In
    part: they are better than none, but one of the others does not hold. Not reproduced: one is worse than
    none. Undecided: one is not told apart from none.

    Args:
        above_none: accuracy with each learned teacher minus that without a teacher.
        above_frozen: accuracy with each learned teacher minus that with the same teacher, frozen.
        learns_there: whether a learned teacher teaches the game of the thesis's size.
        limit: how our setting differs from the thesis's, in words. With a limit, what is reproduced is so in
            part, and what holds in part names it too.
    """
    every = signs([*above_none, *above_frozen])
    none, frozen = every[: len(above_none)], every[len(above_none) :]
    if min(none) < 1:
        return "not reproduced" if min(none) < 0 else "undecided"
    if min(frozen) < 0:
        return in_part("a frozen teacher is better", limit)
    place = "" if learns_there else ", in a smaller game"
    if min(frozen) == 0:
        sure = f"sure for {frozen.count(1)} of {len(frozen)}" if max(frozen) else "not sure"
        return in_part(f"better than no teacher{place}; {sure} against frozen ones", limit)
    if not learns_there:
        return in_part("only in a smaller game", limit)
    return reproduced(limit)


def _frozen(row: str) -> str:
    return row.replace("learned", "random")


def _most(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the largest training set."""
    largest: pd.DataFrame = runs[runs.n_train == runs.n_train.max()]
    return largest


def _by_row(runs: pd.DataFrame, value: str) -> dict[str, pd.Series]:
    return {str(row): chosen[value] for row, chosen in runs.groupby("row")}


def _described(runs: pd.DataFrame) -> str:
    steps, size = runs.game.iloc[0]
    return f"{size} x {size} cells, {steps} steps and {runs.n_train.max()} examples"


def _ahead_of_frozen(runs: pd.DataFrame) -> pd.DataFrame:
    """Return whether a learned teacher's student is ``ahead`` of the student of the same teacher, frozen.

    There is one row for each learned teacher, size and seed.
    """
    best = runs.set_index(["row", "n_train", "seed"])["best/test/accuracy"]
    pairs = [key for key in best.index if str(key[0]).startswith("learned")]
    ahead = [best[key] > best[(_frozen(str(key[0])), *key[1:])] for key in pairs]
    return pd.DataFrame({"n_train": [key[1] for key in pairs], "ahead": ahead})
