"""The claim about the parts that a teacher needs: the gain is lost if a part is left out."""

from __future__ import annotations

from pathlib import Path

from lab.experiments.distillation.ablations import (
    FROZEN,
    REDRAWN,
    SHUFFLED,
    UNROLLED,
    WHOLE,
    ablations,
    noisy,
)
from lab.experiments.distillation.drawing import spread
from lab.experiments.distillation.results import LABELS, lowest_within, mujoco
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.two_groups import Difference, signs, welch
from lab.figures.verdicts import in_part, reproduced

PLAIN = LABELS["no_teacher"]
STATEMENTS = {
    "a frozen teacher is worse than none": [(FROZEN, PLAIN)],
    "a teacher that sees only noise is worse than none": [(noisy(16), PLAIN)],
    "a redrawn split is worse than none": [(REDRAWN, PLAIN)],
    "shuffled time is a little worse than the whole teacher": [(SHUFFLED, WHOLE), (PLAIN, SHUFFLED)],
}
"""The thesis's statements: of each pair the first case has the higher test error."""
LIMIT = "on Hopper, with a reduced teacher, 24 unrolled steps and equal steps for all"


def claims(results: Path) -> list[Claim]:
    """Return the claim on Hopper, from ``distillation/ablations_curves.csv`` and ``mujoco_curves.csv``."""
    table = ablations(results)
    lowest = {str(case): chosen.lowest for case, chosen in table.groupby("case")}
    rows = [
        {"students": case, "lowest test error": spread(lowest[case], 5)}
        for case in sorted(lowest, key=lambda c: lowest[c].median())
    ]
    found = {
        name: [welch(lowest[one], lowest[other]) for one, other in pairs]
        for name, pairs in STATEMENTS.items()
    }
    n = sum(map(len, found.values()))
    statements = [{"statement": name, "verdict": kind} for name, kind in kinds(found).items()]
    whole = mujoco(results, "curves")
    whole = whole[(whole.environment == "Hopper") & (whole.row == "no_teacher")]
    most = int(whole.step.max())
    plain = lowest_within(whole, "no_teacher", most)
    later = welch(lowest[REDRAWN], plain)
    held = list(kinds(found).values()).count("holds")
    return [
        Claim(
            short="Teachers need training, trajectories and a fixed split",
            claim="On MuJoCo the gain from a teacher is lost if the teacher stays as it begins, if it sees "
            "only noise, or if the split is redrawn. Shuffled time costs a little (thesis, figure 4.9).",
            paper="With a frozen teacher the student essentially fails to learn. With shuffled time it is "
            "slightly worse than with the whole teacher. With noise in 16 of 16 frames it tends to be "
            "comparable to no teacher, but slightly worse. With a redrawn split it is slightly worse than "
            "without a teacher. The numbers are illegible.",
            ours=f"The first table has the lowest test errors on Hopper within {table.steps.iloc[0]} steps "
            f"(oracle), medians and ranges over n = {table.groupby('case').seed.nunique().min()} seeds of "
            "networks and batches, which share one collection of play. The teacher is a reduced "
            f"one. {UNROLLED} steps are unrolled if a name says no other number. The second table has the "
            f"statements, by Welch's test with Holm's correction for {n} comparisons. Plain training goes on "
            f"to {most} steps. The lowest error in all of them is {spread(plain, 5)}, and against it the "
            f"redrawn split has an uncorrected p value of {later.p_value:.2g}.",
            table=f"{as_markdown(rows)}\n{as_markdown(statements)}",
            number=f"{held} of {len(found)} statements hold",
            verdict=verdict(found, LIMIT),
        )
    ]


def kinds(found: dict[str, list[Difference]]) -> dict[str, str]:
    """Return for each statement whether it ``holds``, ``fails`` or is ``open``.

    It holds if each of its differences is above 0, and fails if one is below 0. A difference counts if its p
    value, corrected for all of them (Holm), is below 0.05.
    """
    every = iter(signs([difference for differences in found.values() for difference in differences]))
    words = {1: "holds", 0: "open", -1: "fails"}
    return {name: words[min(next(every) for _ in own)] for name, own in found.items()}


def verdict(found: dict[str, list[Difference]], limit: str = "") -> str:
    """Return the verdict on statements that some test errors are higher than others.

    Reproduced: all statements hold. In part: some hold. Not reproduced: none holds, and one fails. Undecided:
    all are open.

    Args:
        found: the differences of each statement; above 0 they speak for it.
        limit: how our setting differs from the thesis's, in words. With a limit, what is reproduced is so in
            part, and what holds in part names it.
    """
    counts = {kind: list(kinds(found).values()).count(kind) for kind in ("holds", "fails", "open")}
    if counts["holds"] == len(found):
        return reproduced(limit)
    if counts["holds"]:
        rest = [f"{counts[kind]} {kind}" for kind in ("fails", "open") if counts[kind]]
        return in_part(f"{counts['holds']} of {len(found)} statements, {', '.join(rest)}", limit)
    return "not reproduced" if counts["fails"] else "undecided"
