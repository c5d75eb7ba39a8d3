"""The files under ``results/`` and ``conf/tuned/`` that come of a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.configuration.compose import compose_experiment
from lab.configuration.groups import CONF, file_of
from lab.runs.search.definition import Definition
from lab.runs.search.storage import open_storage
from lab.runs.search.table import best_trial, table_file, tabulate_trials
from lab.runs.search.trial import overrides_of
from lab.runs.search.tuned import tuned_configs, with_rank

if TYPE_CHECKING:
    from lab.runs.search.server import Server

RESULTS = CONF.parent / "results"
"""The committed results."""


def experiment_of(definition: Definition) -> str:
    """The experiment that a search belongs to: the folder of its file.

    A file that lies elsewhere belongs to the experiment that it trains.
    """
    path = file_of("search", definition.name.partition("/")[0])
    if path is None:
        return str(compose_experiment(overrides_of(definition, {}))["name"])
    return path.parent.name


def table_path(definition: Definition) -> str:
    """Where the table of the trials belongs, below ``results/``."""
    return f"{experiment_of(definition)}/search/{definition.name}_trials.csv"


def tuned_path(definition: Definition, results: Path) -> Path:
    """Where the best configuration belongs: ``conf/tuned/searched``, where ``tuned=`` finds it.

    With results elsewhere it lies with them, so that a trial run changes no committed file.
    """
    folder = CONF / "tuned" / "searched" if results.resolve() == RESULTS else results / "tuned"
    return folder / f"{definition.name}.yaml"


def search_files(
    definition: Definition, folder: Path, table: Path, tuned: Path, server: Server | None = None
) -> dict[Path, bytes]:
    """The contents of the files, as the search in ``folder`` stands.

    Args:
        definition: the search.
        folder: of its run folders.
        table: where the trials' table will be.
        tuned: where the best configuration will be, and beside it the next best if they are kept.
        server: what keeps its trials; None for a file in the folder.

    Raises:
        UserError: no trial has completed.
    """
    stored = open_storage(definition, folder, server)
    trials = tabulate_trials(stored, definition, folder)
    configs = enumerate(tuned_configs(stored, trials, definition), start=1)
    return {
        table: table_file(trials, stored),
        **{tuned.with_stem(with_rank(tuned.stem, rank)): config.encode() for rank, config in configs},
    }


def outcome(definition: Definition, folder: Path, server: Server | None = None) -> str:
    """How many trials there are and which is the best, in words.

    Raises:
        UserError: no trial has completed.
    """
    trials = tabulate_trials(open_storage(definition, folder, server), definition, folder)
    best = best_trial(trials, definition)
    counts = ", ".join(f"{n} {str(state).lower()}" for state, n in trials.state.value_counts().items())
    return f"{definition.name}: {counts}; best: trial {best.number}, {definition.metric} {best.value:.6g}"
