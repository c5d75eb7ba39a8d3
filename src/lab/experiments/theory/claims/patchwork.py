"""The claim about the patchwork network of the appendix, from its formula."""

from __future__ import annotations

from pathlib import Path

import torch

from lab.experiments.theory import patchwork
from lab.figures.claims import Claim

EPSILON = 0.01


def claims(results: Path) -> list[Claim]:
    """Return the claim, from the formula. ``results`` is not needed."""
    del results
    before, after = (
        {split: _risks(theta, split) for split in ("interval", "interleaved")} for theta in _PAIR
    )
    rises = {split: [a - b for a, b in zip(after[split], before[split], strict=True)] for split in before}
    of_a, of_b = rises["interval"]
    # The definition looks for a point that A accepts. The gap is between B's risk there and A's risk before.
    gap = abs(after["interval"][1] - before["interval"][0])
    return [
        Claim(
            short="A patchwork network is inconsistent",
            claim="A network in which one neuron serves each environment has a very low consistency score "
            "(appendix, figure 11).",
            paper="If one weight is changed, A's risk stays as it is, and B's risk rises. The score is a "
            "large negative number.",
            ours=f"The paper's change raises A's risk by {of_a:.1g} and B's risk by {of_b:.2f}. So the score "
            f"at epsilon {EPSILON:g} is at most -{gap:.2f}, which is -{gap / EPSILON:.0f} epsilon. If both "
            "environments see the whole interval, the change raises both risks, by at least "
            f"{min(rises['interleaved']):.2f}. The printed weights fit A only to a risk of "
            f"{before['interval'][0]:.3f}.",
            number=f"score at most -{gap / EPSILON:.0f} epsilon",
            verdict=patchwork_rule(of_a, gap),
        )
    ]


def patchwork_rule(of_a: float, gap: float) -> str:
    """Return the verdict on the patchwork network, which is computed without any run.

    A score of at most -10 epsilon is a large negative number, because identical environments have -epsilon.

    Args:
        of_a: by how much the paper's change raises A's risk. A accepts the change if this is below epsilon.
        gap: the difference of B's risk after the change and A's risk before.
    """
    if of_a >= EPSILON:
        return "refuted: A does not accept the change"
    if gap > 10 * EPSILON:
        return "reproduced"
    return (
        "in part: the score is only a little negative"
        if gap > EPSILON
        else "refuted: the score is not negative"
    )


_PAIR = (patchwork.PATCHWORK, patchwork.ALTERED)


def _risks(theta: tuple[float, ...], split: str) -> list[float]:
    """Return the risks of both environments."""
    values = torch.tensor(theta, dtype=torch.float64)
    return [float(risk(values)) for risk in patchwork.environment_risks(split)]
