"""The selected draws against DomainBed's selection in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from lab.experiments.drawn_trials import RULES, selected

STEPS, N_DRAWS = (500, 1000, 1500), 20


def evaluations(seed: int, levels: int) -> pd.DataFrame:
    """Evaluations of two rows with two trials each; few levels give many equal accuracies."""
    random = np.random.default_rng(seed)
    keys = [*itertools.product(("mean", "iga"), (0, 1), range(N_DRAWS), STEPS)]
    table = pd.DataFrame(keys, columns=["row", "trial", "draw", "step"])
    for name in ("validation", "test", "test_held_out"):
        table[f"{name}/accuracy"] = random.integers(0, levels, len(table)) / levels
    table["test/accuracy"] = random.permutation(len(table)) / len(table)  # Each is another one.
    return table.sample(frac=1, random_state=seed)


def of_a_trial(table: pd.DataFrame, rule: str) -> float:
    """DomainBed sorts the draws by their validation accuracy and takes the first of the reversed list."""
    records = table.to_dict("records")
    draws = []
    for draw in sorted({record["draw"] for record in records}):
        own = sorted((r for r in records if r["draw"] == draw), key=lambda r: r["step"])
        if rule == "training_domain":
            chosen = max(own, key=lambda r: r["validation/accuracy"])
            draws.append((chosen["validation/accuracy"], chosen["test/accuracy"]))
        else:
            draws.append((own[-1]["test_held_out/accuracy"], own[-1]["test/accuracy"]))
    return float(sorted(draws, key=lambda pair: pair[0])[::-1][0][1])


@pytest.mark.parametrize("levels", [3, 100_000])
@pytest.mark.parametrize("seed", range(3))
def test_each_rule_selects_as_domainbed_does(seed: int, levels: int) -> None:
    curves = evaluations(seed, levels)
    found = selected(curves.drop_duplicates(["row", "trial", "draw"]), curves)
    assert len(found) == 2 * 2 * len(RULES)
    for _, line in found.iterrows():
        own = curves[(curves.row == line.row) & (curves.trial == line.trial)]
        assert line.accuracy == of_a_trial(own, line["rule"])
        (chosen,) = own[own["test/accuracy"] == line.accuracy].to_dict("records")
        assert (line.draw, line.in_training) == (chosen["draw"], chosen["validation/accuracy"])


def test_a_trial_counts_when_all_its_draws_were_made_or_diverged() -> None:
    curves = evaluations(0, 50)
    runs = curves.drop_duplicates(["row", "trial", "draw"])
    diverged = (curves.row == "iga") & (curves.draw == 7)
    assert len(selected(runs, curves[~diverged])) == 8
    missing = (runs.row == "iga") & (runs.trial == 1) & (runs.draw == 7)
    found = selected(runs[~missing], curves[~diverged])
    assert len(found) == 6
    assert not ((found.row == "iga") & (found.trial == 1)).any()
    assert not ((found.row == "iga") & (found.draw == 7)).any()
    assert selected(runs[:0], curves[:0]).empty
