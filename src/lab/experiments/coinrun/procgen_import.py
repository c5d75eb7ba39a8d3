"""Imports that bring OpenAI's gym with them, without its notice.

``procgen`` and, where gym is installed, ``stable_baselines3`` import gym, which prints four lines on
the standard error each time: to move to gymnasium. Neither of us can.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType

from ilc.errors import UserError


def import_procgen() -> ModuleType:
    """The module ``procgen``.

    Raises:
        UserError: it cannot be imported here.
    """
    return _quietly("procgen")


def import_stable_baselines3() -> ModuleType:
    """The module ``stable_baselines3``.

    Raises:
        UserError: it cannot be imported here.
    """
    return _quietly("stable_baselines3")


def _quietly(name: str) -> ModuleType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # procgen leaves a file open, gym warns of itself.
            import_module("gym_notices.notices").notices.clear()
            return import_module(name)
    except (ImportError, OSError) as error:
        raise UserError(
            f"{name} cannot be imported ({error}). It is one of the pinned requirements: "
            "`make setup` installs them all"
        ) from error
