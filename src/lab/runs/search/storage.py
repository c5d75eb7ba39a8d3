"""Where a search's trials are kept: an SQLite file in its folder, or a server for many askers.

In the file, a write that was cut off by a kill is undone.
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
from lab.runs.search.definition import Definition
from lab.runs.search.stored_trials import check_database, check_trials, damaged

if TYPE_CHECKING:
    from lab.runs.search.server import Server

STORAGE = "study.db"
"""The file in the search's folder."""

SERVER = "server.json"
"""File in the folder of a search whose trials are on a server: which, and what that calls the folder."""


def open_storage(definition: Definition, folder: Path, server: Server | None = None) -> optuna.Study:
    """The search's trials, as what Optuna calls a study; made if it is not there.

    Args:
        definition: the search.
        folder: where its run folders lie.
        server: what keeps its trials; None for a file in the folder.

    Raises:
        UserError: another search of the same name is there, the folder belongs to another one, it or the
            server cannot be used, or the trials are damaged or could not be this search's.
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


def _in_file(definition: Definition, folder: Path) -> optuna.Study:
    """The trials in the folder's own file.

    Raises:
        UserError: it is damaged, or of another search.
    """
    path = folder / STORAGE
    check_database(path)
    try:
        stored = _study(definition, f"sqlite:///{path.resolve()}", str(folder))
        check_trials(stored, definition, str(path))
    except UserError:
        raise
    except Exception as error:  # Of SQLite, SQLAlchemy or Optuna: whatever it is, this file is its cause.
        raise damaged(str(path), f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    return stored


def _study(definition: Definition, storage: str | BaseStorage, place: str) -> optuna.Study:
    stored = optuna.create_study(
        storage=storage,
        study_name=definition.name,
        direction=StudyDirection[definition.objective[definition.metric].upper()],
        load_if_exists=True,
    )
    # Through JSON, so that what is compared is what the file keeps.
    wanted = json.loads(json.dumps(definition.content()))
    there = stored.user_attrs.get("definition")
    if there is None:
        stored.set_user_attr("definition", wanted)
    elif there != wanted:
        changed = ", ".join(key for key in wanted if there.get(key) != wanted[key])
        raise UserError(
            f"{place} holds another search called {definition.name}: it differs in {changed}. Choose another "
            "--output (on a server: another name), or remove what is there to start over"
        )
    return stored


def _note(folder: Path) -> dict[str, str]:
    """What the folder says of its server: ``server`` and ``folder``.

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
    """Make sure that all askers use the same run folders: a trial must be found where it was begun."""
    note, there = folder / SERVER, stored.user_attrs.get("folder")
    here = _note(folder)["folder"] if note.exists() else None
    if there is None:
        here = here or secrets.token_hex(8)
        write_json(note, {"server": server.shown, "folder": here})
        stored.set_user_attr("folder", here)
    elif there != here:
        raise UserError(
            f"the run folders of search {stored.study_name} on {server.shown} are not in {folder}: give the "
            "--output with which it began, on a file system that all its askers see"
        )
