"""A table: the methods of section 3.1, with search, chosen configuration, accuracies and verdict."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import (
    AND_MASKS,
    METHODS,
    PERFECT,
    above_chance,
    read_methods,
    read_trials,
)
from lab.figures.style import median_and_range


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method."""
    runs = read_methods(results, "runs")
    above = above_chance({label: runs[runs.method == label]["test/accuracy"] for label in METHODS.values()})
    rows = []
    for name, label in METHODS.items():
        of_method = runs[runs.method == label]
        trials = read_trials(results, name)
        best = trials[trials.chosen].iloc[0]
        rows.append(
            {
                "method": label,
                **outcomes(trials),
                "chosen configuration": configuration(best),
                "test % of its trial": f"{100 * best['test/accuracy']:.1f}",
                "n": str(len(of_method)),
                "train %": median_and_range(of_method["train/accuracy"]),
                "test %": median_and_range(of_method["test/accuracy"]),
                "seeds at 99 % test": str(int((of_method["test/accuracy"] >= PERFECT).sum())),
                "epochs": _epochs(of_method.epoch),
                "paper, test": "about 100 %" if label in AND_MASKS else "chance",
                "verdict": _verdict(of_method["test/accuracy"], above.get(label)),
            }
        )
    return pd.DataFrame(rows)


def _verdict(test: pd.Series, above: bool | None) -> str:
    """Return the verdict in words; ``above`` says of a baseline whether it is significantly above chance."""
    if above is None:
        return "reproduced" if test.median() >= PERFECT else "not reproduced"
    return "above chance" if above else "at chance"


def _epochs(epochs: pd.Series) -> str:
    return f"{epochs.median():.0f} ({epochs.min():.0f} to {epochs.max():.0f})"


def outcomes(trials: pd.DataFrame) -> dict[str, str]:
    """Return how many trials a search has and how many of them are perfect."""
    states = trials.state.value_counts()
    return {
        "trials": f"{states['COMPLETE']} (+ {states.get('FAIL', 0)} failed)",
        "trials at 99 % test": str(int((trials["test/accuracy"] >= PERFECT).sum())),
    }


def configuration(trial: pd.Series) -> str:
    """Return the values that the search chose for a trial. Keys are shortened to their last part."""
    columns = [str(column) for column in trial.index]
    parts = []
    for key in columns[columns.index("value") + 1 : columns.index("step")]:
        value = trial[key]
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        parts.append(f"{key.split('.')[-1]} {shown}")
    return ", ".join(parts)
