"""The verdicts on figure 10 follow the numbers, its interval is a mean's, and no trial is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ilc.experiments.coinrun.claims.generalisation import claims
from ilc.experiments.coinrun.figures.figure18 import interval_of_the_mean
from ilc.experiments.coinrun.trials import FOLDER, STUDIES, TOP, all_trials, counts, read_curves, read_trials
from ilc.runs.search.definition_file import load_definition

N = 12


def _write(folder: Path, lowest: dict[str, np.ndarray]) -> Path:
    """Made-up studies: trial i's lowest test KL lies at its first of two evaluations; one trial failed."""
    (folder / FOLDER).mkdir(parents=True)
    curves = []
    for aggregator, study in STUDIES.items():
        lr = 0.001 * np.arange(1, N + 2)
        trials = pd.DataFrame(
            {"optimizer.lr": lr, "state": N * ["COMPLETE"] + ["FAIL"], "optimizer.betas": "[0.5,0.999]"}
        )
        trials.to_csv(folder / FOLDER / f"{study}_trials.csv", index=False)
        for epoch, more in ((1, 0.0), (2, 0.5)):
            rows = {"aggregator": aggregator, "epoch": epoch, "optimizer.lr": lr[:N]}
            curves.append(pd.DataFrame(rows | {"test/kl": lowest[aggregator] + more}))
    pd.concat(curves).to_csv(folder / FOLDER / "coinrun_trials_curves.csv", index=False)
    return folder


RISING = np.linspace(0.1, 0.2, N)
BEST_ONLY = np.concatenate([[0.05], np.linspace(0.2, 0.3, N - 1)])


@pytest.mark.parametrize(
    ("mask", "verdict"),
    [
        (RISING - 0.01, "reproduced at small scale"),
        (RISING + 0.01, "not reproduced"),
        (BEST_ONLY, "undecided"),
        (RISING, "not reproduced"),
    ],
)
def test_verdicts(mask: np.ndarray, verdict: str, tmp_path: Path) -> None:
    results = _write(tmp_path, {"mean": RISING, "temporal_mask": mask})
    assert [claim.verdict for claim in claims(results)] == [verdict]


def test_ranks_go_by_the_lowest_evaluation(tmp_path: Path) -> None:
    shuffled = np.random.default_rng(0).permutation(RISING)
    results = _write(tmp_path, {"mean": shuffled, "temporal_mask": RISING})
    trials = read_trials(results)
    adam = trials[trials.aggregator == "mean"]
    np.testing.assert_allclose(adam.sort_values("rank").lowest, RISING)
    np.testing.assert_allclose(adam.sort_values("optimizer.lr").lowest, shuffled)
    assert (trials.beta_1 == 0.5).all()
    assert "12 completed trials of Adam (1 more failed)" in counts(results)


def test_the_interval_shrinks_with_the_number_of_trials() -> None:
    """Against the textbook's interval of a mean, mean +- 1.96 s / sqrt(n)."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(3.0, 1.0, (2, 200)))
    low, high = interval_of_the_mean(rows)
    half = 1.96 * rows.std(axis=1) / 200**0.5
    np.testing.assert_allclose(low, rows.mean(axis=1) - half, atol=0.02)
    np.testing.assert_allclose(high, rows.mean(axis=1) + half, atol=0.02)


def test_the_committed_studies_are_complete_and_comparable(root: Path) -> None:
    """At least 40 completed trials of either, with the same ranges and the same small runs."""
    results = root / "results"
    curves = read_curves(results)
    adam, mask = (load_definition(study) for study in STUDIES.values())
    assert adam.space.items() <= mask.space.items()
    assert [o for o in adam.fixed if "aggregator" not in o] == [
        o for o in mask.fixed if "aggregator" not in o
    ]
    for aggregator, study in STUDIES.items():
        trials = all_trials(results, aggregator)
        assert (trials.state == "COMPLETE").sum() >= load_definition(study).trials >= TOP
        evaluations = curves[curves.aggregator == aggregator].groupby("optimizer.lr").size()
        assert (evaluations == 4).all()
