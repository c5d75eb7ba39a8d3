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
from lab.experiments.distillation.results import LABELS
from lab.figures.claims import Claim


def claims(results: Path) -> list[Claim]:
    """Return the claim on Hopper, from ``distillation/ablations_curves.csv`` and ``mujoco_curves.csv``."""
    table = ablations(results)
    lowest = {str(case): chosen.lowest for case, chosen in table.groupby("case")}
    median = {case: values.median() for case, values in lowest.items()}
    whole, plain = median[WHOLE], median[LABELS["no_teacher"]]
    noise = median[noisy(16)]
    apart = lowest[SHUFFLED].min() > lowest[WHOLE].max()
    overlap = "" if apart else " (ranges overlap)"
    holds = {
        "a frozen teacher is no better than none": median[FROZEN] >= plain,
        f"shuffled time is a little worse{overlap}": whole < median[SHUFFLED] < plain,
        "a teacher that sees only noise is no better than none": noise >= plain,
        "a redrawn split is no better than none": median[REDRAWN] >= plain,
    }
    held = sum(holds.values())
    shown = "; ".join(
        f"{case}: {spread(lowest[case], 5)}" for case in sorted(lowest, key=lambda c: median[c])
    )
    return [
        Claim(
            short="Teachers need training, trajectories and a fixed split",
            claim="On MuJoCo the gain from a teacher is lost if the teacher stays as it begins, if it sees "
            "only noise, or if the split is redrawn. Shuffled time costs a little (thesis, figure 4.9).",
            paper="With a frozen teacher the student essentially fails to learn. With shuffled time it is "
            "slightly worse than with the whole teacher. With noise in 16 of 16 frames, and with a redrawn "
            "split, it is slightly worse than without a teacher. The numbers are illegible.",
            ours=f"On Hopper the lowest test errors within {table.steps.iloc[0]} steps (oracle) are: "
            f"{shown}. They are medians and ranges over n = {table.groupby('case').seed.nunique().min()} "
            f"seeds. The teacher is a reduced one. {UNROLLED} steps are unrolled if a name says no other "
            "number. These statements hold by the medians: "
            f"{', '.join(name for name, true in holds.items() if true) or 'none'}.",
            number=f"{held} of {len(holds)} statements hold",
            verdict="not reproduced"
            if held == 0
            else "in part: with a reduced teacher"
            if held == len(holds)
            else f"in part: {held} of {len(holds)} statements",
        )
    ]
