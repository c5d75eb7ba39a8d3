"""The rules of the verdicts of chapter 2, as functions of differences between methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lab.figures.two_groups import Difference, signs
from lab.figures.verdicts import in_part, reproduced


class Against(NamedTuple):
    """What adaptive skips have more than a fixed step.

    Attributes:
        accuracy: accuracy of adaptive skips minus that of the fixed step.
        calls: model evaluations of adaptive skips minus those of the fixed step.
    """

    accuracy: Difference
    calls: Difference


def more_accurate(gaps: Mapping[str, Difference], limit: str = "") -> str:
    """Return the verdict that a method is more accurate than each of several others.

    A difference counts if its p value, corrected for all of them (Holm), is below 0.05. Reproduced: the
    method is more accurate than each of the others. Not reproduced: one of them is more accurate. Undecided:
    anything else.

    Args:
        gaps: the accuracy of the method minus that of each other method, by its name.
        limit: how our setting differs from the thesis's, in words. With a limit, what is reproduced is so in
            part.
    """
    found = dict(zip(gaps, signs(list(gaps.values())), strict=True))
    beaten_by = [name for name, sign in found.items() if sign < 0]
    if beaten_by:
        return f"not reproduced: {_listed(beaten_by)} more accurate"
    beaten = [name for name, sign in found.items() if sign > 0]
    if len(beaten) == len(found):
        return reproduced(limit)
    return f"undecided: sure only against {_listed(beaten)}" if beaten else "undecided"


def saves(against: Mapping[str, Against], limit: str = "") -> str:
    """Return the verdict that adaptive skips need fewer calls than fixed steps, and lose no accuracy.

    A difference counts if its p value, corrected for all of them (Holm), is below 0.05. The claim holds
    against a fixed step if adaptive skips need fewer calls and their mean accuracy is not below the step's.
    It fails if they need more calls or are less accurate. Reproduced: it holds against every fixed step. In
    part: against some of them. Not reproduced: it holds against none, and fails against one. Undecided: it is
    open against all.

    Args:
        against: the differences from each fixed step, by its name.
        limit: how our setting differs from the thesis's, in words. With a limit, what is reproduced is so in
            part, and what holds in part names it.
    """
    every = signs([difference for pair in against.values() for difference in pair])
    pairs = dict(zip(against, zip(every[::2], every[1::2], strict=True), strict=True))
    fails = [name for name, (accuracy, calls) in pairs.items() if calls > 0 or accuracy < 0]
    holds = [
        name
        for name, (_, calls) in pairs.items()
        if calls < 0 and name not in fails and against[name].accuracy.value >= 0
    ]
    if len(holds) == len(against):
        return reproduced(limit)
    if holds:
        left = [name for name in pairs if name not in (*holds, *fails)]
        rest = f", not against {_listed(fails)}" if fails else ""
        rest += f", open against {_listed(left)}" if left else ""
        return in_part(f"against {_listed(holds)}{rest}", limit)
    return f"not reproduced: not against {_listed(fails)}" if fails else "undecided"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
