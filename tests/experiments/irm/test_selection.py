"""The rules as read from curves choose what ``trainer.selection`` chooses in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ilc.experiments.irm.results import colored_runs
from ilc.experiments.irm.selection import LOOKS_AT, selected
from ilc.runs.selection import RULES


def test_every_rule_has_its_words() -> None:
    assert list(LOOKS_AT) == list(RULES)


@pytest.mark.parametrize("rule", LOOKS_AT)
def test_curves_and_runs_are_selected_alike(rule: str, root: Path) -> None:
    curves = colored_runs(root / "results", "curves").sort_values("step")
    steps = set()
    for _, curve in curves.groupby(["row", "seed"]):
        chosen = RULES[rule](curve.to_dict("records"))  # type: ignore[arg-type]
        assert selected(curve, rule).step == curve.step.iloc[chosen]
        steps.add(chosen)
    assert (len(steps) == 1) == (rule == "last")
