"""The methods of section 3.1 as a table: search, chosen configuration, accuracies, verdict."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.figures.environments import READING
from ilc.figures.spirals import (
    AND_MASKS,
    FEWER,
    METHODS,
    PERFECT,
    RUNS,
    as_in_the_paper,
    read_methods,
    read_trials,
)
from ilc.figures.style import median_and_range
from ilc.runs.search.definition import Definition, load_definition
from ilc.runs.search.table import best_trial


def tabulate(results: Path) -> pd.DataFrame:
    """A row per method."""
    runs, fewer = (read_methods(results, "runs", folder) for folder in (RUNS, FEWER))
    rows = []
    for name, label in METHODS.items():
        of_method, turned_less = runs[runs.method == label], fewer[fewer.method == label]
        trials, definition = read_trials(results, name), load_definition(name)
        states = trials.state.value_counts()
        best = best_trial(trials, definition)
        rows.append(
            {
                "method": label,
                "trials": f"{states['COMPLETE']} (+ {states.get('FAIL', 0)} failed)",
                "trials at 99 % test": str(int((trials["test/accuracy"] >= PERFECT).sum())),
                "chosen configuration": configuration(best, definition),
                "its trial, test %": f"{100 * best['test/accuracy']:.1f}",
                "n": str(len(of_method)),
                "train %": median_and_range(of_method["train/accuracy"]),
                "test %": median_and_range(of_method["test/accuracy"]),
                "seeds at 99 % test": str(int((of_method["test/accuracy"] >= PERFECT).sum())),
                f"test %, {READING:g} revolutions (n = {len(turned_less)})": median_and_range(
                    turned_less["test/accuracy"]
                ),
                "paper, test": "about 100 %" if label in AND_MASKS else "chance",
                "verdict": "reproduced"
                if as_in_the_paper(label, of_method["test/accuracy"])
                else "not reproduced",
            }
        )
    return pd.DataFrame(rows)


def configuration(best: pd.Series, definition: Definition) -> str:
    """A trial's parameters, keys shortened to their last part."""
    parts = []
    for key in definition.space:
        value = best[key]
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        parts.append(f"{key.split('.')[-1]} {shown}")
    return ", ".join(parts)
