"""The rules as read from curves choose what ``trainer.selection`` chooses in a run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lab.experiments.irm.selection import LOOKS_AT, selected
from lab.runs.one_run.selection import RULES

KEYS = ("train/accuracy", "validation/accuracy", "test/accuracy")


def test_every_rule_has_its_words() -> None:
    assert list(LOOKS_AT) == list(RULES)


@pytest.mark.parametrize("rule", LOOKS_AT)
def test_curves_and_runs_are_selected_alike(rule: str) -> None:
    random = np.random.default_rng(0)
    steps = set()
    for _ in range(50):
        # Few different values, so that there are ties.
        curve = pd.DataFrame(random.integers(0, 5, (12, len(KEYS))) / 5, columns=KEYS).assign(step=range(12))
        chosen = RULES[rule](curve.to_dict("records"))  # type: ignore[arg-type]
        assert selected(curve, rule).step == curve.step.iloc[chosen]
        steps.add(chosen)
    assert (len(steps) == 1) == (rule == "last")
