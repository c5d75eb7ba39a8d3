"""Aggregators of a sweep that refuse their options, found before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lab.configuration.compose import compose_experiment
from lab.configuration.section import Section
from lab.environment_task.equal_thresholds import settings_of

KEY = "aggregator"


def check_swept_aggregators(runs: Iterable[Sequence[str]]) -> None:
    """Build the aggregator of each run once, if overrides name its options.

    Args:
        runs: the overrides of each run, as ``lab.runs.sweep.sweep.plan`` returns them.

    Raises:
        UserError: an aggregator refuses its options, for example a threshold above 1.
    """
    for own in sorted(settings_of(runs)):
        if any(text.lstrip("+").startswith(f"{KEY}.") for text in own):
            aggregator = compose_experiment(own, sweep=True).get(KEY)
            if isinstance(aggregator, Mapping):
                Section.of(KEY, aggregator).build(seed=0)
