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
        "frozen: no better than none": median[FROZEN] >= plain,
        f"shuffled: a little worse{overlap}": whole < median[SHUFFLED] < plain,
        "noise: no better than none": noise >= plain,
        "redrawn: no better than none": median[REDRAWN] >= plain,
    }
    held = sum(holds.values())
    shown = ", ".join(f"{case} {spread(lowest[case], 5)}" for case in sorted(lowest, key=lambda c: median[c]))
    return [
        Claim(
            short="What the teacher of trajectories needs",
            claim="MuJoCo: a teacher frozen as it begins, one that sees only noise and a split that is "
            "redrawn each leave nothing of the gain, shuffled time costs a little (thesis, figure 4.9)",
            paper="frozen: the student essentially fails to learn; time shuffled: slightly worse than whole; "
            "16 of 16 frames noise, and the split redrawn: slightly worse than no teacher; numbers illegible",
            ours=f"Hopper, lowest test error within {table.steps.iloc[0]} steps (oracle): {shown}; median "
            f"and range, n = {table.groupby('case').seed.nunique().min()} seeds, reduced teacher, {UNROLLED} "
            "steps unrolled where not said; holds by the medians: "
            f"{', '.join(name for name, true in holds.items() if true) or 'nothing'}",
            number=f"{held} of {len(holds)} statements hold",
            verdict="not reproduced"
            if held == 0
            else "in part: a reduced teacher"
            if held == len(holds)
            else f"in part: {held} of {len(holds)} statements",
        )
    ]
