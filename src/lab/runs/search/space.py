"""Ranges of hyperparameters: their notation, their checks, and drawing from them.

A range is ``{choice: [a, b, ...]}``, ``{uniform: [low, high]}``, ``{log_uniform: [low, high]}`` or
``{integer: [low, high]}``, with both limits included. The key of a range is any
override of ``src/train.py``, also a group such as ``optimizer``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from optuna import Trial
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from ilc.errors import UserError

Value = bool | int | float | str | None

DRAWS: dict[str, Callable[[Trial, str, Sequence[Any]], Value]] = {
    "choice": lambda trial, key, values: trial.suggest_categorical(key, values),
    "uniform": lambda trial, key, limits: trial.suggest_float(key, *limits),
    "log_uniform": lambda trial, key, limits: trial.suggest_float(key, *limits, log=True),
    "integer": lambda trial, key, limits: trial.suggest_int(key, *limits),
}
"""The kinds of ranges by their names, each with a function that draws from it."""


DISTRIBUTIONS: dict[str, Callable[[Sequence[Any]], BaseDistribution]] = {
    "choice": CategoricalDistribution,
    "uniform": lambda limits: FloatDistribution(limits[0], limits[1]),
    "log_uniform": lambda limits: FloatDistribution(limits[0], limits[1], log=True),
    "integer": lambda limits: IntDistribution(limits[0], limits[1]),
}
"""The kinds of ranges by their names, each with its distribution in Optuna."""


def distribution(limits: dict[str, Any]) -> BaseDistribution:
    """The distribution of Optuna for a range."""
    ((kind, values),) = limits.items()
    return DISTRIBUTIONS[kind](values)


def draw(trial: Trial, key: str, limits: dict[str, Any]) -> Value:
    """The value of a key in a trial: the sampler draws it, unless the trial already has one."""
    ((kind, values),) = limits.items()
    return DRAWS[kind](trial, key, values)


def values_to_check(limits: dict[str, Any]) -> list[Value]:
    """The first and the last value of a range of numbers, or all choices: each must fit the config."""
    ((_, values),) = limits.items()
    return list(values)


def override(key: str, value: Value) -> str:
    """The value as a Hydra override, exact to the last bit."""
    words: dict[Any, str] = {True: "true", False: "false", None: "null"}
    return f"{key}={words[value] if value is None or isinstance(value, bool) else value}"


def check_range(key: str, limits: Any) -> None:
    """Raise UserError unless ``limits`` is a range as the module describes."""
    known = ", ".join(DRAWS)
    if not isinstance(limits, dict) or len(limits) != 1 or next(iter(limits)) not in DRAWS:
        raise UserError(f"space.{key} must be one range of one of the kinds {known}, got {limits!r}")
    ((kind, values),) = limits.items()
    if kind == "choice":
        plain = isinstance(values, list) and all(
            isinstance(v, (bool, int, float, str, type(None))) for v in values
        )
        if not plain or not values:
            raise UserError(f"space.{key}.choice must be a list of plain values, got {values!r}")
        return
    number = int if kind == "integer" else (int, float)
    is_pair = isinstance(values, list) and len(values) == 2
    if not is_pair or not all(isinstance(v, number) and not isinstance(v, bool) for v in values):
        raise UserError(f"space.{key}.{kind} must be two numbers [low, high], got {values!r}")
    low, high = values
    if not low <= high or (kind == "log_uniform" and low <= 0):
        raise UserError(
            f"space.{key}.{kind} must rise from low to high, and low must be above 0 for log_uniform, got "
            f"{values!r}"
        )
