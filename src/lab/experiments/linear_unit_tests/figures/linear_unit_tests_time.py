"""A table: the time of a job of the linear unit tests, with the authors' script and here."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.linear_unit_tests.results import FOLDER, LABELS


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per problem and method, from ``linear_unit_tests/job_time.csv``."""
    times = pd.read_csv(results / FOLDER / "job_time.csv")
    return pd.DataFrame(
        {
            "problem": times.problem.astype(str),
            "method": times.method.map(LABELS),
            "authors' script, s": times.theirs_seconds.map("{:.1f}".format),
            "here, s": times.ours_seconds.map("{:.2g}".format),
            "ratio": times.ratio.map("{:,.0f}".format),
            "jobs at once": times.jobs_at_once.astype(str),
            "n": times.n.astype(str),
        }
    )
