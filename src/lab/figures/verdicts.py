"""The kinds of verdicts, the words that rules share, and the count of the verdicts.

A rule is a function of numbers that returns a verdict in words. The first words of a verdict are its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.figures.holm import LEVEL, holm

KINDS = ("reproduced", "in part", "not reproduced", "refuted", "undecided", "pending")
"""The kinds of verdicts on statements of a source, which are counted.

- ``reproduced``: it holds, and nothing limits it.
- ``in part``: a part of it holds, or it holds on other data, at another setting or after a correction.
- ``not reproduced``: our runs contradict it.
- ``refuted``: it is a mathematical statement, and a counterexample or a calculation shows that it is false.
- ``undecided``: the runs do not tell: they are too few, they differ too much, or none can decide.
- ``pending``: runs that decide it are still missing.
"""

HOLDS = ("holds", "does not hold")
"""The words of a verdict on a finding of ours, beside ``in part``, ``undecided`` and ``pending``."""

FEWEST = 3
"""With fewer seeds than this nothing is decided by counting seeds."""


AUTHORS_SETTING = "at the authors' setting"
"""The setting of the authors' code for what the paper leaves open, in words that continue a sentence."""
ELSEWHERE = f"in part: not reproduced {AUTHORS_SETTING}"
"""How a verdict of ``at_settings`` begins if the statement fails at the first setting, the authors'."""


def kind_of(verdict: str) -> str:
    """Return the kind as which a verdict counts, one of ``KINDS`` or ``HOLDS``.

    A verdict is ``reproduced``, or says of a finding that it ``holds``, only if no other word follows.
    """
    for kind in ("not reproduced", "refuted", "undecided", "pending", "does not hold"):
        if verdict.startswith(kind):
            return kind
    return verdict if verdict in ("reproduced", "holds") else "in part"


def reproduced(limit: str = "") -> str:
    """Return the verdict on a statement that holds: ``in part``, if a limit says how our setting differs."""
    return f"in part: {limit}" if limit else "reproduced"


def in_part(what: str, limit: str = "") -> str:
    """Return the verdict on a statement of which ``what`` holds; a limit says how our setting differs."""
    return f"in part: {what}{f'; {limit}' if limit else ''}"


def at_settings(verdicts: Mapping[str, str]) -> str:
    """Return one verdict from those at several settings that the source leaves open.

    If all settings have the same kind, the verdict has this kind. Otherwise it is ``in part``, if something
    was reproduced at one of them. It is ``undecided`` if nothing was, but a setting is undecided.

    Args:
        verdicts: the verdict at each setting, by words such as ``with 2 revolutions``.
    """
    kinds = [kind_of(verdict) for verdict in verdicts.values()]
    if len(set(verdicts.values())) == 1:
        return next(iter(verdicts.values()))
    details = {
        where: verdict.removeprefix(kind_of(verdict)).lstrip(":, ") for where, verdict in verdicts.items()
    }
    if len(set(kinds)) == 1:
        return f"{kinds[0]}: {'; '.join(f'{where} {detail}' for where, detail in details.items())}"
    said = "; ".join(
        f"{'partly' if kind == 'in part' else kind} {where}{f' ({detail})' if detail else ''}"
        for kind, (where, detail) in zip(kinds, details.items(), strict=True)
    )
    if {"reproduced", "in part"} & set(kinds):
        return f"in part: {said}"
    return f"{'undecided' if 'undecided' in kinds else 'not reproduced'}: {said}"


def significant(p_values: Sequence[float]) -> list[bool]:
    """Return which of the comparisons of one verdict are significant together, by Holm's correction.

    A p value that is not a number is never significant.
    """
    return [p_value < LEVEL for p_value in holm(p_values)]
