"""Finds the experiments' figures, tables, claims and measurements: to lie in their folder is enough."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import lab.experiments
from ilc.errors import UserError

ORDER = ("spirals", "memorisation", "coinrun", "irm", "theory")
"""The experiments that come first wherever several are shown. All others follow by name."""


def experiments() -> list[str]:
    """The names of all experiments."""
    found = [module.name for module in pkgutil.iter_modules(lab.experiments.__path__) if module.ispkg]
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def modules(experiment: str, room: str) -> list[str]:
    """The full names of the modules in one room of an experiment, by name; none where it has no such room.

    Args:
        experiment: one of ``experiments()``.
        room: ``figures``, ``claims`` or ``measurements``.
    """
    package = f"{lab.experiments.__name__}.{experiment}"
    rooms = pkgutil.iter_modules(import_module(package).__path__)
    if not any(found.ispkg and found.name == room for found in rooms):
        return []
    inside = pkgutil.iter_modules(import_module(f"{package}.{room}").__path__)
    return sorted(f"{package}.{room}.{module.name}" for module in inside)


def figure_modules() -> dict[str, str]:
    """The modules of all figures and tables by the name that their files have.

    Raises:
        UserError: two experiments have one of the same name, so that their files would be one.
    """
    found: dict[str, str] = {}
    for experiment in experiments():
        for module in modules(experiment, "figures"):
            name = module.rpartition(".")[2]
            if name in found:
                raise UserError(f"{found[name]} and {module} would both make {name}.png or .md: rename one")
            found[name] = module
    return found
