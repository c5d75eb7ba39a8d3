"""The claim about the Game of Life: only with a teacher is it learned."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.distillation.game_of_life_results import ROWS, THESIS, game_of_life
from ilc.experiments.distillation.results import LABELS
from ilc.figures.claims import Claim
from ilc.figures.style import median_and_range


def claims(results: Path) -> list[Claim]:
    """The largest game and its largest training set, from ``distillation/game_of_life_runs.csv``."""
    runs = game_of_life(results, "runs")
    game = max(runs.game)
    runs = runs[runs.game == game]
    table = runs[runs.n_train == runs.n_train.max()]
    best = {str(row): chosen["best/test/accuracy"] for row, chosen in table.groupby("row")}
    last = {str(row): chosen["test/accuracy"] for row, chosen in table.groupby("row")}
    learned = {row: values for row, values in best.items() if row.startswith("learned")}
    above_none = all(values.min() > best["no_teacher"].max() for values in learned.values())
    ahead = _ahead_of_frozen(runs)
    above_frozen = bool(ahead[ahead.n_train == ahead.n_train.max()].ahead.all())
    top = max(learned, key=lambda row: learned[row].median())
    shown = _shown(best)
    return [
        Claim(
            short="The Game of Life needs a teacher",
            claim="Game of Life: without a teacher the student never learns what the last step brings; "
            "with a learned teacher it does, and better than with a fixed one (thesis, figure 4.6)",
            paper="17 x 17 cells, 3 steps; no numbers are legible; which fixed teacher is meant is not said",
            ours=f"{game[1]} x {game[1]} cells, {game[0]} steps, {table.n_train.max()} examples: {shown}; "
            f"best test accuracy over training (oracle); the last: {_shown(last)}; median and range, "
            f"n = {table.groupby('row').seed.nunique().min()} seeds; with "
            f"{', '.join(map(str, sorted(set(runs.n_train))))} examples a learned teacher's student is "
            f"above that of the same teacher frozen in {ahead.ahead.sum()} of {len(ahead)} pairs",
            number=f"{100 * learned[top].median():.0f} % against {100 * best['no_teacher'].median():.0f} %",
            verdict="not reproduced"
            if not above_none
            else "in part: a frozen teacher is as good"
            if not above_frozen
            else "in part: a smaller game"
            if game != THESIS
            else "in part: an oracle is better"
            if learned[top].median() < best["oracle"].median()
            else "reproduced",
        )
    ]


def _ahead_of_frozen(runs: pd.DataFrame) -> pd.DataFrame:
    """For each learned teacher, size, seed: if its student is ``ahead`` of the same teacher's, frozen."""
    best = runs.set_index(["row", "n_train", "seed"])["best/test/accuracy"]
    pairs = [key for key in best.index if str(key[0]).startswith("learned")]
    ahead = [best[key] > best[(str(key[0]).replace("learned", "random"), *key[1:])] for key in pairs]
    return pd.DataFrame({"n_train": [key[1] for key in pairs], "ahead": ahead})


def _shown(values: dict[str, pd.Series]) -> str:
    return ", ".join(f"{LABELS[row]} {median_and_range(values[row])}" for row in ROWS if row in values)
