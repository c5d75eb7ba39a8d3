"""The verdicts on the spirals follow the numbers, and the committed numbers are complete."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.claims.accuracy import claims
from lab.experiments.spirals.methods import (
    AND_MASKS,
    METHODS,
    RUNS,
    TRIALS,
    read_methods,
    read_trials,
)
from lab.experiments.spirals.readings import CHOSEN
from lab.runs.search.search_file import load_definition

AT_CHANCE, GOOD, SPREAD = 0.505, 0.995, 0.005


def _write_methods(folder: Path, accuracy: dict[str, float], lucky_trials: dict[str, int]) -> None:
    """Three seeds per method with this test accuracy, of ten trials this many perfect ones."""
    (folder / RUNS).mkdir(parents=True)
    (folder / TRIALS).mkdir(parents=True)
    for name, label in METHODS.items():
        around = [accuracy[label] + off for off in (-SPREAD, 0, SPREAD)]
        runs = pd.DataFrame({"seed": range(3), "test/accuracy": around})
        runs.to_csv(folder / RUNS / f"{name}_runs.csv", index=False)
        values = [1.0 if i < lucky_trials.get(label, 0) else 0.5 for i in range(10)]
        failed = pd.DataFrame({"state": ["FAIL"], "test/accuracy": [float("nan")]})
        trials = pd.concat([pd.DataFrame({"state": "COMPLETE", "test/accuracy": values}), failed])
        trials.to_csv(folder / TRIALS / f"{name}_trials.csv", index=False)


def _as_published() -> dict[str, float]:
    return {label: GOOD if label in AND_MASKS else AT_CHANCE for label in METHODS.values()}


def _verdicts(folder: Path) -> list[str]:
    return [claim.verdict for claim in claims(folder)]


def test_as_published(tmp_path: Path) -> None:
    _write_methods(tmp_path, _as_published(), {"AND-mask": 1, "AND-mask + L1": 2, "AND-mask + L2": 3})
    masks, baselines, robustness = claims(tmp_path)
    assert [claim.verdict for claim in (masks, baselines, robustness)] == ["reproduced"] * 3
    assert "AND-mask + L1: 2 of 10 trials, then 3 of 3 seeds" in robustness.ours
    assert "IRM 50.5 (50.0 to 51.0), n = 3" in baselines.ours
    assert "the best of 10 trials of every baseline" in baselines.claim


def test_a_seed_that_diverged_counts(tmp_path: Path) -> None:
    _write_methods(tmp_path, _as_published(), {"AND-mask + L2": 3})
    (path,) = (tmp_path / RUNS).glob("and_mask_l2_runs.csv")
    runs = pd.read_csv(path)
    diverged = pd.DataFrame({"seed": [3, 4, 5, 6], "test/accuracy": [None] * 4})
    pd.concat([runs, diverged]).to_csv(path, index=False)
    masks, _, robustness = claims(tmp_path)
    assert masks.verdict == "partly: for AND-mask and AND-mask + L1"
    assert "3 of 7 seeds" in robustness.number


def test_a_baseline_a_little_but_surely_above_chance_is_counted(tmp_path: Path) -> None:
    _write_methods(tmp_path, {**_as_published(), "IRM": 0.55}, {})
    assert _verdicts(tmp_path)[1] == "in part: 1 of 7 are above chance, by at most 5.0 points"


def test_a_mask_that_fails_is_left_out_of_the_verdict(tmp_path: Path) -> None:
    _write_methods(tmp_path, {**_as_published(), "AND-mask": 0.98}, {"AND-mask": 2, "AND-mask + L1": 3})
    masks, _, robustness = _verdicts(tmp_path)
    assert masks == "partly: for AND-mask + L1 and AND-mask + L2"
    assert robustness == "partly: for AND-mask + L1"


def test_nothing_works(tmp_path: Path) -> None:
    _write_methods(tmp_path, dict.fromkeys(METHODS.values(), 0.7), {})
    masks, baselines, robustness = _verdicts(tmp_path)
    assert masks == robustness == "not reproduced"
    assert baselines == "in part: 7 of 7 are above chance, by at most 20.0 points"


def test_committed_searches_and_seeds_are_complete(root: Path) -> None:
    results = root / "results"
    runs = read_methods(results, "runs")
    for name, label in METHODS.items():
        trials = read_trials(results, name)
        assert (trials.state == "COMPLETE").sum() == load_definition(f"spirals/{name}").trials, label
        assert trials.command.str.contains(f"dataset.revolutions={CHOSEN.revolutions} ").all()
        assert not trials.command.str.contains("stop_below").any()
        of_method = runs[runs.method == label]
        assert of_method.seed.is_unique
        assert of_method.command.str.contains(f"tuned=searched/spirals/{name} ").all()
        assert of_method.seed.nunique() == (50 if label in AND_MASKS else 10)
