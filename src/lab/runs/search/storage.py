"""The storage of the trials of a search: an SQLite file in its folder, or a server for many askers.

If a process is killed while it writes to the file, SQLite undoes the unfinished write.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import optuna
from optuna.storages import BaseStorage
from optuna.study import StudyDirection

from ilc.errors import UserError
from lab.files.atomic import write_json
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.stored_trials import check_database, check_trials, damaged

if TYPE_CHECKING:
    from lab.runs.search.server import Server

STORAGE = "study.db"
"""The file in the folder of the search."""

SERVER = "server.json"
"""A file in the folder of a search on a server: the address of the server, and its name for the folder."""


def open_storage(definition: SearchDefinition, folder: Path, server: Server | None = None) -> optuna.Study:
    """Open the trials of a search, which Optuna calls a study. It is made if it does not exist.

    Args:
        definition: the search.
        folder: the folder of its run folders.
        server: the server that keeps the trials; None for a file in the folder.

    Raises:
        UserError: the storage holds another search of the same name, the folder holds another search or
            belongs to one, the folder or the server cannot be used, or the trials are damaged or cannot
            belong to this search.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot use {folder}: {error.strerror}. Choose another with --output") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if server is None:
        if (folder / SERVER).exists():
            there = _note(folder)["server"]
            raise UserError(f"the trials of {folder} are on a server: add --storage {there}")
        return _in_file(definition, folder)
    if (folder / STORAGE).exists():
        raise UserError(
            f"the trials of {folder} are in its {STORAGE}: leave out --storage, or choose another --output"
        )
    with server.answering(), server.trials() as trials:
        stored = _study(definition, trials, server.shown)
        _bind(stored, folder, server)
        check_trials(stored, definition, server.shown)
        return stored


def _in_file(definition: SearchDefinition, folder: Path) -> optuna.Study:
    """Open the trials in the file of the folder.

    Raises:
        UserError: the file is damaged, or belongs to another search.
    """
    path = folder / STORAGE
    check_database(path)
    try:
        if path.exists():
            _check_alone(definition, folder)
        stored = _study(definition, f"sqlite:///{path.resolve()}", str(folder))
        check_trials(stored, definition, str(path))
    except UserError:
        raise
    # An error of SQLite, SQLAlchemy or Optuna. The file is its cause in every case.
    except Exception as error:
        raise damaged(str(path), f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    return stored


def _check_alone(definition: SearchDefinition, folder: Path) -> None:
    """Refuse the folder of a search of another name: the two would share run folders and tables."""
    names = optuna.get_all_study_names(f"sqlite:///{(folder / STORAGE).resolve()}")
    others = [name for name in names if name != definition.name]
    if others:
        raise UserError(
            f"{folder} holds the search {others[0]}, whose trials and tables {definition.name} would "
            "replace: choose another --output"
        )


def _study(definition: SearchDefinition, storage: str | BaseStorage, place: str) -> optuna.Study:
    stored = optuna.create_study(
        storage=storage,
        study_name=definition.name,
        direction=StudyDirection[definition.objective[definition.metric].upper()],
        load_if_exists=True,
    )
    # JSON changes some types. The values are compared as the file keeps them.
    wanted = json.loads(json.dumps(definition.content()))
    there = stored.user_attrs.get("definition")
    if there is None:
        stored.set_user_attr("definition", wanted)
    elif there != wanted:
        changed = ", ".join(key for key in wanted if there.get(key) != wanted[key])
        raise UserError(
            f"{place} holds another search called {definition.name}, which differs in {changed}: choose "
            "another --output (on a server: another name), or remove the old search to start over"
        )
    return stored


def _note(folder: Path) -> dict[str, str]:
    """Read the note of the folder about its server: ``server`` and ``folder``.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / SERVER
    try:
        values = json.loads(path.read_text())
        return {key: str(values[key]) for key in ("server", "folder")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is damaged ({error}): put back a copy, or choose another --output"
        ) from error


def _bind(stored: optuna.Study, folder: Path, server: Server) -> None:
    """Check that all askers use the same run folders: a trial must continue in the folder where it began."""
    note, there = folder / SERVER, stored.user_attrs.get("folder")
    here = _note(folder)["folder"] if note.exists() else None
    if there is None:
        here = here or secrets.token_hex(8)
        write_json(note, {"server": server.shown, "folder": here})
        stored.set_user_attr("folder", here)
    elif there != here:
        raise UserError(
            f"the run folders of search {stored.study_name} on {server.shown} are not in {folder}: give the "
            "--output with which the search began, on a file system that all its processes share"
        )
