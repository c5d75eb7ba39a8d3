"""What a finished run reports: the selected evaluation, and what must be known beside it."""

from __future__ import annotations

from typing import Any

import torch

from ilc.objectives.irm_failures import WARNINGS, known_failure
from ilc.training.recipe import Recipe
from ilc.training.selection import RULES


def summarize(evaluations: list[dict[str, Any]], recipe: Recipe) -> dict[str, Any]:
    """The metrics of the evaluation that ``trainer.selection`` chooses, with ``step`` and ``epoch``.

    Beside them ``selection`` (the rule), ``stopped``, ``data_source``, the dataset's references,
    ``weights`` in the order of the inputs for a linear model, and ``warning`` when the end of
    training shows a known failure of the IRM penalty.
    """
    metrics = evaluations[RULES[recipe.trainer.selection](evaluations)]
    summary: dict[str, Any] = {
        **metrics,
        "selection": recipe.trainer.selection,
        "stopped": recipe.trainer.reason_to_stop(evaluations[-1]) or "completed",
        "data_source": recipe.data.source,
        **recipe.data.references,
    }
    weights = [value for key, value in metrics.items() if key.startswith("weight/")]
    if weights:
        summary["weights"] = weights
    warning = _warning(evaluations[-1], recipe)
    if warning is not None:
        summary["warning"] = warning
    return summary


def _warning(metrics: dict[str, Any], recipe: Recipe) -> str | None:
    if not recipe.aggregator.has_irm_penalty:
        return None
    risk, penalty = metrics["train/loss"], metrics["train/penalty"]
    targets = recipe.data.pooled().targets
    silent = torch.zeros(len(targets), recipe.data.n_outputs, device=targets.device)
    accuracy_gain = None
    if "train/accuracy" in metrics:
        accuracy_gain = metrics["train/accuracy"] - int(targets.bincount().max()) / len(targets)
    failure = known_failure(risk, penalty, float(recipe.risk(silent, targets)), accuracy_gain)
    return None if failure is None else WARNINGS[failure].format(risk=risk, penalty=penalty)
