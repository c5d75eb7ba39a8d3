"""The discovery of the experiments' figures, tables, claims and measurements by path.

A file is found if it lies in the right folder. Nothing here imports an experiment, so the package
``lab.figures`` depends on no experiment.
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
    """Return the names of all experiments."""
    found = [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg]
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def modules(experiment: str, room: str) -> list[str]:
    """Return the sorted full names of the modules in a subfolder of an experiment, if there is one.

    Args:
        experiment: one of ``experiments()``.
        room: ``figures``, ``claims`` or ``measurements``.
    """
    inside = pkgutil.iter_modules([str(FOLDER / experiment / room)])
    return sorted(f"{PACKAGE}.{experiment}.{room}.{module.name}" for module in inside)


def figure_modules() -> dict[str, str]:
    """Return the modules of all figures and tables, by the name of their files.

    Raises:
        UserError: two experiments have a figure or table of the same name, so a page could not say which
            one it shows.
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
    """Return the experiment to which a module belongs, from the module's full name."""
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]
