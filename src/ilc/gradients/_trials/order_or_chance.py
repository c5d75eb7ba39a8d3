"""Whether passes differ by what came before them, or by random numbers that nobody can seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor

from ilc.gradients._trials.held_values import rounding_of

_BEFORE = 3
"""Rounds that are not counted: what came before them, such as a running mean's start, fades."""
_ROUNDS = 10
"""Random numbers look like an order about once in 30,000 models: two halves of twenty, in three numbers."""


def depends_on_order(shown: Callable[[int], list[Tensor]], one: int, other: int) -> bool:
    """Whether what an environment shows depends on the passes before it.

    Each round passes the other environment, then the one, then the one again. Random numbers that are fresh
    in each pass know nothing of this order: all passes of the one are alike. State shows in one of two ways.
    All passes after the other environment lie on one side of all passes after the one itself, or the passes
    rise or fall from each round to the next.

    Args:
        shown: passes an environment and returns its risk and gradients.
        one: the environment that is looked at.
        other: the environment that passes before it.
    """
    after_other: list[list[float]] = []
    after_itself: list[list[float]] = []
    for round_ in range(_BEFORE + _ROUNDS):
        shown(other)
        values, values_again = shown(one), shown(one)
        if round_ < _BEFORE:
            continue
        after_other.append(_numbers(values))
        after_itself.append(_numbers(values_again))
        rounding = rounding_of(values[0])
        columns = zip(zip(*after_other, strict=True), zip(*after_itself, strict=True), strict=True)
        if not any(_shows_order(ours, theirs, rounding) for ours, theirs in columns):
            return False
    return True


def _numbers(shown: Sequence[Tensor]) -> list[float]:
    """Three numbers for a risk and its gradients."""
    risk, *gradients = [value.double() for value in shown]
    total = sum(float(gradient.sum()) for gradient in gradients)
    squares = sum(float(gradient.square().sum()) for gradient in gradients)
    return [float(risk), total, squares**0.5]


def _shows_order(after_other: Sequence[float], after_itself: Sequence[float], rounding: float) -> bool:
    """Whether the two kinds of passes lie apart, or one of them rises or falls all the time."""
    least = rounding * max(abs(value) for value in (*after_other, *after_itself))
    apart = max(min(after_other) - max(after_itself), min(after_itself) - max(after_other)) > least
    return apart or _goes_one_way(after_other, least) or _goes_one_way(after_itself, least)


def _goes_one_way(values: Sequence[float], least: float) -> bool:
    steps = [after - before for before, after in pairwise(values)]
    return all(step > least for step in steps) or all(step < -least for step in steps)
