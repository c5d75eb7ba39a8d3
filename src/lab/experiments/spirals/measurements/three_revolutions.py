"""The searches and runs of section 3.1 at three revolutions, from the history of this repository.

They were made with the three revolutions of the authors' code. Commit 942a086 is the last one that has their
tables; then two revolutions became the default, and the tables were replaced. This measurement reads them
again and changes no value. It needs a clone with the whole history.
"""

from __future__ import annotations

import subprocess
from io import StringIO
from pathlib import Path

import pandas as pd

from ilc.errors import UserError
from lab.experiments.measurement import Parts, Tables
from lab.experiments.spirals.methods import METHODS
from lab.experiments.spirals.settings import (
    CORRELATIONS_OF_THREE,
    DOMAINS_OF_THREE,
    INPUT_WEIGHTS_OF_THREE,
    RUNS_OF_THREE,
    TRIALS_OF_THREE,
)

COMMIT = "942a086c2bd4"
RUN = ["train/accuracy", "test/accuracy", "epoch", "stopped", "data_source", "command", "git_commit"]
"""The columns that are kept of a run or a trial, after those that name it."""


def parts() -> Parts:
    """Return one part, which makes the five tables in ``results/spirals/three_revolutions``."""
    return {"all": _read}


def _read() -> Tables:
    runs, trials = [], []
    for method in METHODS:
        of_method = _table(f"methods/spirals_{method}_runs.csv")
        runs.append(of_method.assign(method=method)[["method", "aggregator", "seed", *RUN]])
        searched = _table(f"search/spirals_{method}_trials.csv")
        trials.append(searched.assign(method=method)[["method", "number", "state", "chosen", *RUN]])
    return {
        RUNS_OF_THREE.as_posix(): pd.concat(runs, ignore_index=True),
        TRIALS_OF_THREE.as_posix(): pd.concat(trials, ignore_index=True),
        CORRELATIONS_OF_THREE.as_posix(): _table("correlations.csv"),
        INPUT_WEIGHTS_OF_THREE.as_posix(): _table("input_weights.csv"),
        DOMAINS_OF_THREE.as_posix(): _table("dann_features_runs.csv"),
    }


def _table(file: str) -> pd.DataFrame:
    """Return a table of the commit as text, so that no digit changes."""
    command = ["git", "-C", str(Path(__file__).parent), "show", f"{COMMIT}:results/spirals/{file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(
            f"commit {COMMIT} cannot be read, because this is not a clone with the whole history: take "
            "results/spirals/three_revolutions from the repository"
        )
    return pd.read_csv(StringIO(done.stdout), dtype=str, keep_default_na=False)
