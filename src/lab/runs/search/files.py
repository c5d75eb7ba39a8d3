"""The files that come of a search: the table of its trials and its best settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lab.configuration.compose import compose_experiment
from lab.configuration.groups import file_of
from lab.runs.search.definition import Definition
from lab.runs.search.storage import open_storage
from lab.runs.search.table import best_trial, table_file, tabulate_trials
from lab.runs.search.trial import overrides_of
from lab.runs.search.tuned import tuned_configs, with_rank, with_sections

if TYPE_CHECKING:
    from lab.runs.search.server import Server


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


def settings_path(definition: Definition) -> str:
    """Where the best settings belong, below ``results/``: one file for all searches of a file."""
    return f"{experiment_of(definition)}/search/{definition.name.partition('/')[0]}.yaml"


def search_files(
    definition: Definition, folder: Path, table: Path, tuned: Path, server: Server | None = None
) -> dict[Path, bytes]:
    """The contents of the files in a search's own folder, as the search in ``folder`` stands.

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


def result_files(
    definition: Definition,
    folder: Path,
    results: Path,
    made: Mapping[Path, bytes] | None = None,
    server: Server | None = None,
) -> dict[Path, bytes]:
    """The contents of the files below ``results``, as the search in ``folder`` stands.

    Args:
        definition: the search.
        folder: of its run folders.
        results: where the files are.
        made: contents that are not written yet, to which this search's settings are added.
        server: what keeps its trials; None for a file in the folder.

    Raises:
        UserError: no trial has completed.
    """
    stored = open_storage(definition, folder, server)
    trials = tabulate_trials(stored, definition, folder)
    configs = enumerate(tuned_configs(stored, trials, definition), start=1)
    sections = {with_rank(definition.name, rank): config for rank, config in configs}
    path = results / settings_path(definition)
    before = (made or {}).get(path, path.read_bytes() if path.exists() else b"")
    return {
        results / table_path(definition): table_file(trials, stored),
        path: with_sections(before.decode(), sections).encode(),
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
