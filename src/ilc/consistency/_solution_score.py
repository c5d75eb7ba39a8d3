"""The score of a trained model, with how it was made and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.consistency._consistency import Consistency


@dataclass(frozen=True)
class SolutionScore:
    """The consistency of a trained model; ``print`` shows it in a few lines.

    Attributes:
        score: minus the inconsistency, in units of the risk; higher is better, ``-epsilon`` is best.
        low: the lower end of the interval of the score. Its unit is the example: it says how far the score
            may move with other examples of the same environments, at the same parameters. NaN if there is
            none.
        high: the upper end.
        confidence: the level of the interval.
        epsilon: the increase of a risk that was tolerated.
        damping: the diagonal that was added, as a share of the largest curvature; 0 for ``search``.
        method: the estimator.
        why: why this estimator, and how it was computed.
        seconds: wall-clock time of the whole call.
        spread: the part of the inconsistency that no curvature causes: the difference between the largest and
            the smallest risk of an environment at the solution.
        rise: the true increase of the risk of ``found.pair[0]`` at the deciding step. It should be at most
            epsilon.
        gap: the true gap at that step. It should be the inconsistency.
        warnings: what speaks against the number.
        found: the result of the estimator, with the gaps of all pairs.
    """

    score: float
    low: float
    high: float
    confidence: float
    epsilon: float
    damping: float
    method: str
    why: str
    seconds: float
    spread: float
    rise: float
    gap: float
    warnings: tuple[str, ...]
    found: Consistency

    @property
    def ratio(self) -> float:
        """The inconsistency in units of epsilon, 1 at best: how much more another risk moves."""
        return -self.score / self.epsilon

    def __str__(self) -> str:
        e, other = self.found.pair
        if self.low == self.low:
            interval = f"{self.confidence:.0%} interval {self.low:.4g} to {self.high:.4g}"
        else:
            interval = "no interval"
        lines = [
            f"consistency {self.score:.4g} ({interval}), {self.ratio:.3g} times the best, "
            f"which is {-self.epsilon:.4g}",
            f"decided by environments {e} and {other}: a step within epsilon of {e}'s risk changes {other}'s "
            "risk the most",
            f"{self.spread:.4g} of this is the difference of the environments' risks at the solution",
            f"{self.why} ({self.seconds:.1f} s)",
        ]
        return "\n".join([*lines, *(f"warning: {one}" for one in self.warnings)])
