"""The claim that our runs have the accuracies of OoD-Bench's table of Colored MNIST."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.ood_bench.comparison import compared
from lab.experiments.ood_bench.results import FOLDER, NOT_HERE, PUBLISHED, ROWS, STUDY, runs
from lab.figures.claims import Claim
from lab.figures.pending import number_of_runs, progress_in_words
from lab.figures.style import data_sources

N_PUBLISHED = sum(bool(row.theirs) for row in ROWS.values()) + len(NOT_HERE)


def claims(results: Path, numbers: Path = PUBLISHED) -> list[Claim]:
    """Return the claim on the published table, from ``ood_bench/protocol_*.csv``.

    A row agrees by the rule in ``comparison``. Reproduced: all rows of the published table agree. In part:
    all that the project has do, or at least half of them. Not reproduced: fewer. Undecided: the published
    numbers are not known.
    """
    table = compared(results, numbers)
    known = table[table.published.notna()]
    words = progress_in_words(results / FOLDER / f"{STUDY}_runs.csv")
    done = runs(results)
    agree = int((known.verdict == "agrees").sum())
    number = f"{agree} of {len(known)} rows agree" if len(known) else "no published number read"
    claim = Claim(
        short="OoD-Bench's table of Colored MNIST comes out",
        claim="Colored MNIST as OoD-Bench runs it: test accuracies of its algorithms, 20 draws of options "
        "x 3 trials each",
        paper=f"{N_PUBLISHED} algorithms of DomainBed (arXiv 2106.03721), "
        + (f"{len(known)} of their numbers known here" if len(known) else "a table that we could not read"),
        ours=_ours(table, done) if len(done) else "no number yet",
        number=number_of_runs(words) if words else number,
        verdict=f"pending: {words}" if words else _kind(known, agree),
    )
    return [claim]


def _kind(known: pd.DataFrame, agree: int) -> str:
    if known.empty:
        return "undecided: the published numbers are not known"
    if agree == len(known) == N_PUBLISHED:
        return "reproduced"
    return f"in part: {agree} of {N_PUBLISHED} rows" if 2 * agree >= len(known) else "not reproduced"


def _ours(table: pd.DataFrame, done: pd.DataFrame) -> str:
    some = table[(table.rule == "test_domain") & (table.trials > 0)]
    each = ", ".join(
        f"{ROWS[line.row].label} {line.accuracy:.1f} ± {line.error:.1f}" for _, line in some.iterrows()
    )
    words = each or "no trial is finished"
    return f"test accuracy in per cent, selection: test_domain (oracle): {words}; {data_sources(done)}"
