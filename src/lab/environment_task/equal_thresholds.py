"""Thresholds of a sweep that cannot differ, because they let the same number of environments dissent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ilc.aggregators._base import dissenters_allowed
from ilc.gradients import PER_EXAMPLE
from lab.configuration.compose import compose_experiment

THRESHOLD = "aggregator.agreement_threshold="
COUNTING = ("ilc.aggregators.AndMask", "ilc.aggregators.XorMask", "ilc.aggregators.GeometricMean")
"""The masks that compare the threshold with a sum of votes of the batch."""


def warn_of_equal_thresholds(runs: Iterable[Sequence[str]]) -> None:
    """Print one line for each number of environments at which thresholds of a sweep cannot differ.

    Args:
        runs: the overrides of each run, as ``lab.runs.sweep.sweep.plan`` returns them.
    """
    settings = settings_of(runs)
    swept = {text for own in settings for text in own if text.startswith(THRESHOLD)}
    if len(swept) > 1:
        for line in equal_thresholds(compose_experiment(own, sweep=True) for own in sorted(settings)):
            print(line)


def settings_of(runs: Iterable[Sequence[str]]) -> set[tuple[str, ...]]:
    """The overrides of each run without its seed, which changes no aggregator, each once."""
    return {tuple(text for text in own if not text.startswith("seed=")) for own in runs}


def equal_thresholds(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each number of environments at which thresholds of these runs cannot differ.

    Only masks that count the votes of a batch are compared.

    Args:
        configs: the resolved config of each run.
    """
    thresholds: dict[tuple[int, str], set[float]] = defaultdict(set)
    for config in configs:
        n = _voters(config)
        if n is not None:
            aggregator = dict(config["aggregator"])
            threshold = aggregator.pop("agreement_threshold", None)
            if not isinstance(threshold, int | float):
                continue  # The run itself refuses it.
            # Two runs are compared if they differ in nothing but the threshold.
            rest = json.dumps({**config, "aggregator": aggregator}, sort_keys=True, default=str)
            thresholds[n, rest].add(threshold)
    equal: dict[int, list[tuple[float, ...]]] = defaultdict(list)
    for (n, _), values in thresholds.items():
        for threshold_set in _of_one_mask(n, values):
            if threshold_set not in equal[n]:
                equal[n].append(threshold_set)
    return [_line(n, sets) for n, sets in sorted(equal.items()) if sets]


def _voters(config: Mapping[str, Any]) -> int | None:
    """The number of environments that vote in each step, or None if no votes are counted or nobody knows."""
    dataset, aggregator = config.get("dataset"), config.get("aggregator")
    if not isinstance(dataset, Mapping) or not isinstance(aggregator, Mapping):
        return None
    if aggregator.get("_target_") not in COUNTING:
        return None
    n = dataset.get("batch_size" if config.get("gradients") in PER_EXAMPLE else "n_environments")
    return n if isinstance(n, int) else None


def _of_one_mask(n: int, thresholds: Iterable[float]) -> list[tuple[float, ...]]:
    """The thresholds, in sets of at least two, that let the same number of ``n`` environments dissent."""
    by_number = defaultdict(list)
    for threshold in sorted(thresholds):
        by_number[dissenters_allowed(n, threshold)].append(threshold)
    return [tuple(equal) for equal in by_number.values() if len(equal) > 1]


def _line(n: int, sets: Sequence[tuple[float, ...]]) -> str:
    words = "; so are ".join(" and ".join(f"{value:g}" for value in values) for values in sets)
    return (
        f"with {n} environments in a step the thresholds {words} are the same mask, but for gradients that "
        "are exactly zero: docs/recipes.md says which thresholds differ"
    )
