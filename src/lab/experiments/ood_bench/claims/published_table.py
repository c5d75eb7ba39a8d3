"""The claim that our runs have the accuracies of OoD-Bench's table of Colored MNIST."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.drawn_trials import METHODS
from lab.experiments.ood_bench.comparison import compared, mean_and_error
from lab.experiments.ood_bench.results import FOLDER, NOT_HERE, PUBLISHED, STUDY, THEIRS, runs
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.pending import number_of_runs, progress_in_words
from lab.figures.style import data_sources

NO_TRIAL = "No trial has all its draws yet, so there is no accuracy to compare."
N_PUBLISHED = len(THEIRS) + len(NOT_HERE)


def claims(results: Path, numbers: Path = PUBLISHED) -> list[Claim]:
    """Return the claim on the published table, from ``ood_bench/protocol_*.csv``.

    A line agrees by the rule in ``comparison``, and an algorithm if its lines do.
    """
    table = compared(results, numbers)
    known = table[table.published.notna()]
    words = progress_in_words(results / FOLDER / f"{STUDY}_runs.csv")
    done = runs(results)
    found = [worst(set(lines)) for _, lines in known.groupby("row").verdict]
    agree = found.count("agrees")
    number = f"{agree} of {len(found)} rows agree" if found else f"0 of {N_PUBLISHED} published rows read"
    rows = _rows(table)
    claim = Claim(
        short="OoD-Bench's table of Colored MNIST comes out",
        claim="On Colored MNIST as OoD-Bench runs it, our test accuracies of its algorithms agree with the "
        "published ones (20 draws of the options x 3 trials each).",
        paper=f"There is a table of {N_PUBLISHED} algorithms of DomainBed (arXiv 2106.03721). "
        + (f"We know {len(known)} of its numbers." if len(known) else "We could not read it."),
        ours=_ours(rows, done) if len(done) else "There is no number yet.",
        table=as_markdown(rows),
        number=number_of_runs(words) if words else number,
        verdict=f"pending: {words}"
        if words
        else verdict(agree, found.count("open"), len(found), N_PUBLISHED),
    )
    return [claim]


def worst(verdicts: set[str]) -> str:
    """Return the verdict of an algorithm from those of its lines, one for each rule of selection."""
    return next(kind for kind in ("differs", "pending", "open", "agrees") if kind in verdicts)


def verdict(agree: int, are_open: int, known: int, published: int) -> str:
    """Return the verdict on the published table.

    Reproduced: all algorithms of the table agree. In part: at least half of those whose numbers are known do.
    Undecided: no number is known, or those that are open decide whether half agree. Not reproduced: fewer
    than half can agree.

    Args:
        agree: the number of algorithms that agree.
        are_open: the number whose trials differ too much to say.
        known: the number that we ran and whose published numbers are known.
        published: the number in the published table.
    """
    if not known:
        return "undecided: the published numbers are not known"
    if agree == published:
        return "reproduced"
    if 2 * agree >= known:
        return f"in part: {agree} of {published} rows"
    if 2 * (agree + are_open) >= known:
        return "undecided: rows that are open decide"
    return "not reproduced"


def _rows(table: pd.DataFrame) -> list[dict[str, str]]:
    """Return the rows of the table of our accuracies, one for each algorithm that has a trial."""
    some = table[(table.rule == "test_domain") & (table.trials > 0)]
    return [
        {"algorithm": METHODS[line.row], "test accuracy": mean_and_error(line.accuracy, line.error)}
        for _, line in some.iterrows()
    ]


def _ours(rows: list[dict[str, str]], done: pd.DataFrame) -> str:
    words = (
        "The table has test accuracies in %, selected on the test domain (oracle), means and standard errors."
        if rows
        else NO_TRIAL
    )
    return f"{words} The data are {data_sources(done)}."
