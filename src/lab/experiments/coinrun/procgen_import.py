"""Imports of packages that import OpenAI's gym, without the notice that gym prints.

``procgen`` imports gym, and so does ``stable_baselines3`` if gym is installed. gym then prints four lines on
the standard error that ask to move to gymnasium. Neither procgen nor this package can do that.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType

from ilc.errors import UserError


def import_procgen() -> ModuleType:
    """Import the module ``procgen`` without gym's notice.

    Raises:
        UserError: it cannot be imported here.
    """
    return _quietly("procgen")


def import_stable_baselines3() -> ModuleType:
    """Import the module ``stable_baselines3`` without gym's notice.

    Raises:
        UserError: it cannot be imported here.
    """
    return _quietly("stable_baselines3")


def _quietly(name: str) -> ModuleType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # procgen leaves a file open, and gym warns about itself.
            import_module("gym_notices.notices").notices.clear()
            return import_module(name)
    except (ImportError, OSError) as error:
        raise UserError(
            f"{name} cannot be imported ({error}). It is one of the pinned requirements: "
            "`make setup` installs them all"
        ) from error
