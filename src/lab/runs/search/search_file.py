"""Reads searches: files ``conf/search/EXPERIMENT/NAME.yaml``.

A file holds one search, or several that have most of their settings in common.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.groups import CONF, file_of
from lab.configuration.keys import check_keys, checked_folder_name, unknown_name
from lab.runs.search.search_definition import SearchDefinition

FOLDER = CONF / "search"
OPTIONAL = ("sampler", "seed", "finalists", "was_default")


def load_definition(name: str) -> SearchDefinition:
    """Read ``conf/search/EXPERIMENT/NAME.yaml``, or the file itself when the name ends in ``.yaml``.

    ``NAME/PART`` is one search of a file that has the key ``each``. It has the values that all searches of
    the file share, and its own overrides, ranges and number of trials.

    Raises:
        UserError: there is no such file or search, the file holds several searches, a key is unknown or
            missing, or ``SearchDefinition`` refuses a value.
    """
    found = load_definitions(name)
    if len(found) > 1:
        parts = ", ".join(f"{name}/{definition.name.rpartition('/')[2]}" for definition in found)
        raise UserError(f"{name} holds several searches: name one of {parts}")
    return found[0]


def search_names() -> list[str]:
    """The names of all searches below ``conf/search``."""
    return sorted(file.stem for file in FOLDER.glob("*/*.yaml"))


def load_definitions(name: str) -> list[SearchDefinition]:
    """Read all searches of a file, or the one that ``NAME/PART`` names; see ``load_definition``."""
    path, chosen = _file(name), None
    if path is None and "/" in name:
        path, chosen = _file(name.rpartition("/")[0]), name.rpartition("/")[2]
    if path is None:
        said = unknown_name("search", name, search_names())
        raise UserError(f"{said}, or give the path of a file that ends in .yaml")
    values = _read(path)
    parts = values.pop("each", None)
    if chosen is not None:
        if chosen not in (parts or {}):
            raise UserError(
                f"{path} has no search {chosen!r}. Searches in this file: {', '.join(parts or ['none'])}"
            )
        parts = {chosen: parts[chosen]}
    if parts is None:
        return [_definition(path.stem, values)]
    return [
        _definition(
            f"{path.stem}/{part}",
            {
                **values,
                "fixed": [*values["fixed"], *own.get("fixed", [])],
                "space": {**values["space"], **own.get("space", {})},
                "trials": own.get("trials", values["trials"]),
            },
        )
        for part, own in parts.items()
    ]


def _file(name: str) -> Path | None:
    path = Path(name) if name.endswith(".yaml") else file_of("search", name)
    return path if path is not None and path.exists() else None


def _read(path: Path) -> dict[str, Any]:
    """The content of the file, with the type of every key checked."""
    try:
        values = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    keys = [field.name for field in fields(SearchDefinition) if field.name != "name"]
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold the keys {', '.join(keys)}")
    check_keys("", values, [*keys, "each"])
    missing = [key for key in keys if key not in values and key not in OPTIONAL]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}")
    _check_kinds(path, values)
    parts = values.get("each", {})
    named = isinstance(parts, dict) and all(isinstance(own, dict) for own in parts.values())
    if not named or ("each" in values and not parts):
        raise UserError(f"{path}: each must map the name of every search to its own keys, got {parts!r}")
    for part, own in parts.items():
        checked_folder_name("a name under each", part)
        check_keys(f"each.{part}", own, ["fixed", "space", "trials"])
        _check_kinds(path, own)
    return {str(key): value for key, value in values.items()}


def _check_kinds(path: Path, values: dict[Any, Any]) -> None:
    for key, kind, expected in (
        ("fixed", list, "a list of overrides"),
        ("was_default", list, "a list of overrides"),
        ("space", dict, "a section of key: range"),
        ("objective", dict, "a section of metric: maximize or minimize"),
    ):
        if key in values and not isinstance(values[key], kind):
            raise UserError(f"{path}: {key} must be {expected}, got {values[key]!r}")


def _definition(name: str, values: dict[str, Any]) -> SearchDefinition:
    lists = {key: tuple(str(o) for o in values.get(key, ())) for key in ("fixed", "was_default")}
    return SearchDefinition(name=name, **{**values, **lists})
