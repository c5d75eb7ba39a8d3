"""What the committed tables of trials say was chosen is what the rule of their search chooses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.runs.search.search_file import load_definition
from lab.runs.search.table import best_trial

RESULTS = Path(__file__).parents[3] / "results"
TABLES = sorted(RESULTS.glob("*/search/**/*_trials.csv"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_rule_chooses_the_trial_that_is_marked(path: Path) -> None:
    trials = pd.read_csv(path)
    definition = load_definition("/".join(path.relative_to(RESULTS).parts[2:]).removesuffix("_trials.csv"))
    assert trials.chosen.dtype == bool
    assert trials.number[trials.chosen].tolist() == [best_trial(trials, definition).number]
    columns = list(trials.columns)
    assert columns[columns.index("value") + 1 : columns.index("step")] == list(definition.space)
