"""Finds the experiments' figures, tables, claims and measurements by path.

A file in the right folder is enough. Nothing here imports an experiment, so the room of figures depends on
none of them.
"""

from __future__ import annotations

import pkgutil
from pathlib import Path

from ilc.errors import UserError

FOLDER = Path(__file__).parents[1] / "experiments"
PACKAGE = "lab.experiments"

ORDER = ("spirals", "memorisation", "coinrun", "irm", "theory")
"""The experiments that come first wherever several are shown. All others follow by name."""


def experiments() -> list[str]:
    """The names of all experiments."""
    found = [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg]
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def modules(experiment: str, room: str) -> list[str]:
    """The full names of the modules in one room of an experiment, by name; none where it has no such room.

    Args:
        experiment: one of ``experiments()``.
        room: ``figures``, ``claims`` or ``measurements``.
    """
    inside = pkgutil.iter_modules([str(FOLDER / experiment / room)])
    return sorted(f"{PACKAGE}.{experiment}.{room}.{module.name}" for module in inside)


def figure_modules() -> dict[str, str]:
    """The modules of all figures and tables by the name that their files have.

    Raises:
        UserError: two experiments have one of the same name, so a page could not say which it shows.
    """
    found: dict[str, str] = {}
    for experiment in experiments():
        for module in modules(experiment, "figures"):
            name = module.rpartition(".")[2]
            if name in found:
                raise UserError(f"{found[name]} and {module} would both make {name}.png or .md: rename one")
            found[name] = module
    return found


def home_of(module: str) -> str:
    """The experiment that a module belongs to, by the module's full name."""
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]
