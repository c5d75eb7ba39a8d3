"""The config groups: folders of ``conf/``, whose files are the choices."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.searched_settings import searched_settings

CONF = Path(__file__).parents[3] / "conf"
GROUPS_WITHOUT_KEY = ("experiment", "tuned")
"""Groups whose choices set keys of other sections, so that the config has no key of their name."""


def choices(group: str) -> list[str]:
    """The names of the choices of a group; ``INNER/NAME`` for choices in an inner folder."""
    folder = CONF / group
    own = [str(path.relative_to(folder).with_suffix("")) for path in sorted(folder.rglob("*.yaml"))]
    return sorted([*own, *searched_settings()]) if group == "tuned" else own


def file_of(group: str, name: str) -> Path | None:
    """The file of a study or search: ``conf/GROUP/EXPERIMENT/NAME.yaml``; None where no experiment has one.

    Raises:
        UserError: two experiments have one of the same name.
    """
    found = sorted((CONF / group).glob(f"*/{name}.yaml"))
    if len(found) > 1:
        raise UserError(f"{found[0]} and {found[1]} have the same name: rename one of them")
    return found[0] if found else None


def choices_with(group: str, option: str) -> list[str]:
    """The names of the choices of a group that have an option."""
    return [
        path.stem for path in sorted((CONF / group).glob("*.yaml")) if option in (OmegaConf.load(path) or ())
    ]


def foreign_option(group: str, choice: object, option: str) -> str | None:
    """The message for an option that a choice lacks and other choices of its group have, or None."""
    others = choices_with(group, option)
    if not others:
        return None
    return (
        f"{group}={choice} has no option {option!r}, which belongs to {', '.join(others)}: leave the option "
        f"out ('~{group}.{option}' if the experiment sets it), or choose one of those (a sweep "
        f"with -m, such as {group}={choice},{others[0]}, leaves it out by itself where it must, unless the "
        "experiment sets it)"
    )


def choices_whose(group: str, fits: Callable[[Any], bool]) -> list[str]:
    """The names of the choices of a group whose ``_target_`` fits."""
    files = sorted((CONF / group).glob("*.yaml"))
    return [path.stem for path in files if fits(_imported(str(OmegaConf.load(path)._target_)))]


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
