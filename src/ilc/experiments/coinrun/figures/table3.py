"""Table 3: hyperparameters of the five best trials of the temporal mask, the paper's beside."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.coinrun.trials import read_trials

N = 5
# Test KL divergence, lr, beta_1, beta_3, threshold, weight decay.
PAPER = (
    ("1.652e-2", "0.0078", "0.21", "0.79", "0.36", "0.057"),
    ("1.656e-2", "0.0072", "0.26", "0.86", "0.40", "0.041"),
    ("1.662e-2", "0.0080", "0.23", "0.84", "0.41", "0.045"),
    ("1.665e-2", "0.0068", "0.33", "0.72", "0.47", "0.077"),
    ("1.672e-2", "0.0063", "0.67", "0.65", "0.47", "0.080"),
)
COLUMNS = ("test KL", "lr", "beta_1", "beta_3", "threshold", "weight decay")


def tabulate(results: Path) -> pd.DataFrame:
    """Ours, best first, then the paper's, then the best Adam trial; all chosen on test data."""
    trials = read_trials(results)
    masked = trials[(trials.aggregator == "temporal_mask") & (trials["rank"] <= N)]
    adam = trials[(trials.aggregator == "mean") & (trials["rank"] == 1)]
    rows = [_row(f"ours, {trial['rank']}", trial) for _, trial in masked.iterrows()]
    rows += [_row("ours, best of Adam", trial) for _, trial in adam.iterrows()]
    for i, values in enumerate(PAPER, start=1):
        rows.append({"trial": f"paper, {i}", **dict(zip(COLUMNS, values, strict=True))})
    return pd.DataFrame(rows).fillna("")


def _row(name: str, trial: pd.Series) -> dict[str, str]:
    masked = trial.aggregator == "temporal_mask"
    values = (
        f"{100 * trial.lowest:.2f}e-2",
        f"{trial['optimizer.lr']:.4f}",
        f"{trial.beta_1:.1f}",
        f"{trial['aggregator.beta_3']:.2f}" if masked else "",
        f"{trial['aggregator.agreement_threshold']:.2f}" if masked else "",
        f"{trial['optimizer.weight_decay']:.4f}",
    )
    return {
        "trial": name,
        **dict(zip(COLUMNS, values, strict=True)),
        "decay as a second update": "yes" if trial["optimizer.decoupled"] else "no",
        "kept share at the end": f"{trial['mask/density']:.0%}" if masked else "",
    }
