"""The claims about the weights that each method learns in IRM's first example."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lab.experiments.irm.results import EXPLAINER_WEIGHTS, FOLDER
from lab.figures.claims import Claim

CAUSAL = (1.0, 1.0, 0.0, 0.0)


def claims(results: Path) -> list[Claim]:
    """Return the claims on example 1, from ``irm/linear_runs.csv``."""
    runs = pd.read_csv(results / FOLDER / "linear_runs.csv")
    irm, plain = (runs[runs.aggregator == name] for name in ("irm_penalty", "mean"))
    off = max(abs(weight - wanted) for weight, wanted in zip(_means(irm), CAUSAL, strict=True))
    on_z = sum(_means(plain)[2:]) / 2
    return [
        Claim(
            short="IRM finds the causal weights",
            claim="In the linear example IRM finds the causal weights (1, 1, 0, 0).",
            paper=_paper("irm_penalty"),
            ours=_ours(irm),
            number=f"weights at most {off:.3f} from the causal ones",
            verdict=_verdict(irm, CAUSAL),
        ),
        Claim(
            short="Plain training relies on the consequences Z",
            claim="In the linear example plain training relies on Z, the consequences of the label.",
            paper=_paper("mean"),
            ours=_ours(plain),
            number=f"weights of {on_z:.3f} on Z",
            verdict=_verdict(plain, EXPLAINER_WEIGHTS["mean"]),
        ),
    ]


def _means(runs: pd.DataFrame) -> list[float]:
    return [float(runs[f"weight/{i}"].mean()) for i in range(4)]


def _paper(method: str) -> str:
    return f"The weights of X1, X2, Z1 and Z2 are {_words(EXPLAINER_WEIGHTS[method])} (explainer, one seed)."


def _ours(runs: pd.DataFrame) -> str:
    return (
        f"The weights of X1, X2, Z1 and Z2 are {_words(_means(runs))}. They are means over n = {len(runs)} "
        "seeds."
    )


def _verdict(runs: pd.DataFrame, wanted: Sequence[float]) -> str:
    close = all((runs[f"weight/{i}"] - wanted[i]).abs().max() < 0.05 for i in range(4))
    return "reproduced" if close else "reproduced on average"


def _words(weights: Sequence[float]) -> str:
    return "(" + ", ".join(f"{weight:.3f}" for weight in weights) + ")"
