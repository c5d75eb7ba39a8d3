"""The files that a search makes: the table of its trials and its best settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.configuration.groups import file_of
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.storage import SERVER, STORAGE, open_storage
from lab.runs.search.table import best_trial, table_file, tabulate_trials
from lab.runs.search.trial import overrides_of
from lab.runs.search.tuned import tuned_configs, with_rank, with_sections

if TYPE_CHECKING:
    from lab.runs.search.server import Server


def experiment_of(definition: SearchDefinition) -> str:
    """The experiment that a search belongs to: the folder of its file.

    A file that lies elsewhere belongs to the experiment that it trains.
    """
    path = file_of("search", definition.name.partition("/")[0])
    if path is None:
        return str(compose_experiment(overrides_of(definition, {}))["name"])
    return path.parent.name


def table_path(definition: SearchDefinition) -> str:
    """The path of the table of trials, below ``results/``."""
    return f"{experiment_of(definition)}/search/{definition.name}_trials.csv"


def settings_path(definition: SearchDefinition) -> str:
    """The path of the best settings, below ``results/``: one file for all searches of a file."""
    return f"{experiment_of(definition)}/search/{definition.name.partition('/')[0]}.yaml"


def search_files(
    definition: SearchDefinition,
    folder: Path,
    table: Path,
    tuned: Path,
    server: Server | None = None,
    made_by: str | None = None,
) -> dict[Path, bytes]:
    """The contents of the files in the folder of a search, from its present state.

    Args:
        definition: the search.
        folder: the folder of its run folders.
        table: the path of the table of trials.
        tuned: the path of the best settings; the next best ones, if they are kept, lie beside it.
        server: the server that keeps the trials; None for a file in the folder.
        made_by: the command that makes the files; see ``tuned_configs``.

    Raises:
        UserError: no trial has completed.
    """
    stored = open_storage(definition, folder, server)
    trials = tabulate_trials(stored, definition, folder)
    configs = enumerate(tuned_configs(stored, trials, definition, made_by), start=1)
    return {
        table: table_file(trials, stored),
        **{tuned.with_stem(with_rank(tuned.stem, rank)): config.encode() for rank, config in configs},
    }


def result_files(
    definition: SearchDefinition,
    folder: Path,
    results: Path,
    made: Mapping[Path, bytes] | None = None,
    server: Server | None = None,
    made_by: str | None = None,
) -> dict[Path, bytes]:
    """The contents of the files below ``results``, from the present state of the search in ``folder``.

    Args:
        definition: the search.
        folder: the folder of its run folders.
        results: the folder of the files.
        made: contents that are not written yet; the settings of this search are added to them.
        server: what keeps its trials; None for a file in the folder.
        made_by: the command that makes the files; see ``tuned_configs``.

    Raises:
        UserError: no trial has completed.
    """
    if server is None and not ((folder / STORAGE).exists() or (folder / SERVER).exists()):
        # Opening the storage would make one, in a folder whose name may be mistyped.
        raise UserError(
            f"{folder} holds no search: give the search's command without --export first, or name its folder "
            "with --output"
        )
    stored = open_storage(definition, folder, server)
    trials = tabulate_trials(stored, definition, folder)
    configs = enumerate(tuned_configs(stored, trials, definition, made_by), start=1)
    sections = {with_rank(definition.name, rank): config for rank, config in configs}
    path = results / settings_path(definition)
    before = (made or {}).get(path, path.read_bytes() if path.exists() else b"")
    return {
        results / table_path(definition): table_file(trials, stored),
        path: with_sections(before.decode(), sections).encode(),
    }


def outcome(definition: SearchDefinition, folder: Path, server: Server | None = None) -> str:
    """One line with the number of trials and the best trial.

    Raises:
        UserError: no trial has completed.
    """
    trials = tabulate_trials(open_storage(definition, folder, server), definition, folder)
    best = best_trial(trials, definition)
    counts = ", ".join(f"{n} {str(state).lower()}" for state, n in trials.state.value_counts().items())
    return f"{definition.name}: {counts}; best: trial {best.number}, {definition.metric} {best.value:.6g}"
