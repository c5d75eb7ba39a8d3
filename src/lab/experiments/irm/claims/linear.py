"""The claims about the weights that each method learns in IRM's first example."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.experiments.irm.results import EXPLAINER_WEIGHTS, FOLDER, pending
from lab.figures.claims import Claim
from lab.figures.pending import number_of_runs, read_done
from lab.figures.verdicts import FEWEST

Weights = NDArray[np.float64]

CAUSAL = (1.0, 1.0, 0.0, 0.0)
BAR = 0.05
"""How far a weight may be from the wanted one."""
PROTOCOL = "explainer"
"""The study with the explainer's own steps, rate and penalty, which the verdict judges first."""
VARIANT = "with fewer and larger steps, the penalty after 200 of them"


def claims(results: Path) -> list[Claim]:
    """Return the claims on example 1, from ``irm/explainer_runs.csv`` and ``irm/linear_runs.csv``."""
    wanted = {"irm_penalty": CAUSAL, "mean": EXPLAINER_WEIGHTS["mean"]}
    ours, theirs = pd.read_csv(results / FOLDER / "linear_runs.csv"), _explainers(results)
    words = {"irm_penalty": VARIANT, "mean": "with fewer and larger steps"}
    unfinished = pending(results, PROTOCOL)
    found = [
        Claim(
            short="IRM finds the causal weights",
            claim="In the linear example IRM finds the causal weights (1, 1, 0, 0).",
            paper=_paper("irm_penalty"),
            ours=_ours(theirs["irm_penalty"], _weights(ours, "irm_penalty")),
            number=f"mean weights at most {_off(_weights(ours, 'irm_penalty'), CAUSAL):.3f} from the causal "
            "ones",
            verdict=verdict(theirs["irm_penalty"], _weights(ours, "irm_penalty"), CAUSAL, VARIANT),
        ),
        Claim(
            short="Plain training relies on the consequences Z",
            claim="In the linear example plain training relies on Z, the consequences of the label: it "
            "learns the weights of the explainer.",
            paper=_paper("mean"),
            ours=_ours(theirs["mean"], _weights(ours, "mean")),
            number=f"weights of {_weights(ours, 'mean')[:, 2:].mean():.3f} on Z",
            verdict=verdict(theirs["mean"], _weights(ours, "mean"), wanted["mean"], words["mean"]),
        ),
    ]
    if unfinished:
        number = number_of_runs(unfinished)
        return [claim._replace(number=number, verdict=f"pending: {unfinished}") for claim in found]
    return found


def verdict(theirs: Weights, ours: Weights, wanted: Sequence[float], variant: str = "with our steps") -> str:
    """Return the verdict on the weights ``[n, 4]`` of n seeds by the source's protocol, and by ours.

    Reproduced: every weight of every seed by the source's protocol is within 0.05 of the wanted one. In part:
    the means are, or this holds by our protocol only. Undecided: the means may be, within two standard
    errors, or there are fewer than three seeds. Otherwise the claim is not reproduced.

    Args:
        theirs: the weights by the source's own protocol.
        ours: the weights by our protocol.
        wanted: the four weights that the claim names.
        variant: how our protocol differs, in words.
    """
    literal = _outcome(theirs, wanted)
    if literal != "reproduced" and _outcome(ours, wanted) == "reproduced":
        return f"in part: {variant}"
    return literal


def _outcome(weights: Weights, wanted: Sequence[float]) -> str:
    if len(weights) < FEWEST:
        return f"undecided: {len(weights)} seeds"
    if np.abs(weights - wanted).max() < BAR:
        return "reproduced"
    off = np.abs(weights.mean(axis=0) - wanted)
    if off.max() < BAR:
        return "in part: the four weights are the expected ones on average, not in every seed"
    error = weights.std(axis=0, ddof=1) / np.sqrt(len(weights))
    return "undecided" if (off - 2 * error).max() < BAR else "not reproduced"


def _explainers(results: Path) -> dict[str, Weights]:
    runs = read_done(results / FOLDER / f"{PROTOCOL}_runs.csv")
    return {method: _weights(runs, method) for method in ("irm_penalty", "mean")}


def _weights(runs: pd.DataFrame, method: str) -> Weights:
    """Return the weights ``[n, 4]`` of a method's seeds; n may be 0."""
    chosen = runs[runs.aggregator == method]
    return chosen[[f"weight/{i}" for i in range(4)]].to_numpy(float) if len(chosen) else np.empty((0, 4))


def _off(weights: Weights, wanted: Sequence[float]) -> float:
    return float(np.abs(weights.mean(axis=0) - wanted).max())


def _paper(method: str) -> str:
    return f"The weights of X1, X2, Z1 and Z2 are {_words(EXPLAINER_WEIGHTS[method])} (explainer, one seed)."


def _ours(theirs: Weights, ours: Weights) -> str:
    literal = ""
    if len(theirs):
        means = _words(theirs.mean(axis=0))
        literal = f" By the explainer's own protocol they are {means}, n = {len(theirs)} seeds."
    return (
        f"The weights of X1, X2, Z1 and Z2 are {_words(ours.mean(axis=0))} with our steps. They are means "
        f"over n = {len(ours)} seeds, which draw the data.{literal}"
    )


def _words(weights: Sequence[float] | Weights) -> str:
    return "(" + ", ".join(f"{weight:.3f}" for weight in weights) + ")"
