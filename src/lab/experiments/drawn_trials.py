"""Trials of drawn options, as in DomainBed: the methods, and the two rules that select one draw of a trial.

They are read from a study's committed tables. Every run was made once, so both rules choose from the same
runs. A run that diverged is never chosen.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from lab.configuration.drawn import N_DRAWS

N_TRIALS = 3
"""The number of trials of each method, as in OoD-Bench. A trial is ``N_DRAWS`` draws of the options."""


def _best_evaluation(curve: pd.DataFrame) -> pd.Series:
    """Return the first evaluation that is best on the held-out tenth of the training environments."""
    return curve.iloc[int(curve["validation/accuracy"].to_numpy().argmax())]


def _last_evaluation(curve: pd.DataFrame) -> pd.Series:
    """Return the last evaluation."""
    return curve.iloc[-1]


RULES: dict[str, tuple[str, Callable[[pd.DataFrame], pd.Series]]] = {
    "training_domain": ("validation/accuracy", _best_evaluation),
    "test_domain": ("test_held_out/accuracy", _last_evaluation),
}
"""The rules: the accuracy by which the best draw is chosen, and the evaluation of each run that counts.

``training_domain`` chooses draw and step on a tenth of the training environments. ``test_domain`` chooses the
draw on a tenth of the test environment, after the last step; DomainBed calls it the oracle.
"""

METHODS = {
    "mean": "plain training",
    "irm_penalty": "IRM",
    "late_v_rex": "V-REx",
    "group_dro": "GroupDRO",
    "iga": "IGA",
    "rescaled_and_mask": "AND-mask, rescaled",
    "mmd": "MMD",
    "coral": "CORAL",
    "mixup": "Mixup",
    "mldg": "MLDG",
    "rsc": "RSC",
    "sand_mask": "SAND-mask",
    "fishr": "Fishr",
    "and_mask": "AND-mask",
    "geometric_mean": "geometric mean",
    "example_and_mask": "AND-mask over examples",
    "temporal_mask": "temporal AND-mask",
}
"""The names of the methods by their keys: first OoD-Bench's, then DomainBed's others, then ours."""


def with_trials(table: pd.DataFrame) -> pd.DataFrame:
    """Return runs or evaluations with ``row``, the key of their method, ``trial`` and ``draw``."""
    masked = table.aggregator == "and_mask"
    over_examples = masked & (table.gradients == "per_example")
    # pandas reads truth values as text if the table has rows without one.
    rescaled = masked & (table["aggregator.rescale"].astype(str) == "True")
    keys = table.aggregator.mask(rescaled, "rescaled_and_mask").mask(over_examples, "example_and_mask")
    return table.assign(row=keys, trial=table.seed // N_DRAWS, draw=table.seed % N_DRAWS)


def selected(runs: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the chosen run of every finished trial by every rule.

    A trial is finished if all of its draws were made. Of equally good draws DomainBed takes the last one.

    Args:
        runs: the finished runs, with the columns ``row``, ``trial`` and ``draw``.
        curves: their evaluations, with the same columns.

    Returns:
        A table with the columns ``row``, ``trial``, ``rule``, ``draw``, ``accuracy`` on the test environment,
        and ``in_training``, the accuracy of the same network on the held-out tenth of the training
        environments.
    """
    made = runs.groupby(["row", "trial"]).draw.nunique()
    found = []
    for (row, trial), own in curves.groupby(["row", "trial"]):
        if made.get((row, trial), 0) < N_DRAWS:
            continue
        for rule, (score, evaluation) in RULES.items():
            of_draws = [evaluation(curve.sort_values("step")) for _, curve in own.groupby("draw")]
            best = max(reversed(of_draws), key=lambda chosen: float(chosen[score]))
            accuracies = float(best["test/accuracy"]), float(best["validation/accuracy"])
            found.append((row, trial, rule, int(best.draw), *accuracies))
    return pd.DataFrame(found, columns=["row", "trial", "rule", "draw", "accuracy", "in_training"])
