"""Table 3: the paper's five best configurations of the temporal mask, run as printed, and ours."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.coinrun.finalists import read_finalists_ends
from lab.experiments.coinrun.trials import CUT, METHODS, read_trials

N = 5
RUNS = "coinrun/table3_runs.csv"
WIDE = "test KL, width 16, 512 steps of 64 states"
NARROW = f"test KL on {CUT}, width 8, {{:,}} steps of 32 states"
KEPT = "kept share at the end"
# The columns are the test KL divergence, lr, beta_1, beta_3, threshold and weight decay.
PAPER = (
    ("1.652e-2", "0.0078", "0.21", "0.79", "0.36", "0.057"),
    ("1.656e-2", "0.0072", "0.26", "0.86", "0.40", "0.041"),
    ("1.662e-2", "0.0080", "0.23", "0.84", "0.41", "0.045"),
    ("1.665e-2", "0.0068", "0.33", "0.72", "0.47", "0.077"),
    ("1.672e-2", "0.0063", "0.67", "0.65", "0.47", "0.080"),
)
COLUMNS = ("test KL, published", "lr", "beta_1", "beta_3", "threshold", "weight decay")


def tabulate(results: Path) -> pd.DataFrame:
    """Return the paper's configurations, the mask's best five by validation levels, and Adam's best."""
    trials, last = read_trials(results), read_finalists_ends(results)
    wide = pd.read_csv(results / RUNS)
    rows = [
        {
            "configuration": f"paper, {i}",
            **dict(zip(COLUMNS, values, strict=True)),
            "decay as a second update": "yes",
            "form of Adam": "as printed",
            KEPT: "",
            WIDE: _test(_of(wide, f"published/coinrun_{i}")),
        }
        for i, values in enumerate(PAPER, start=1)
    ]
    shown = trials[trials["rank"] <= trials.method.map({"temporal_mask": N, "adam": 1})]
    for _, trial in shown.sort_values(["method", "rank"], ascending=[False, True]).iterrows():
        again = last[(last.method == trial.method) & (last["rank"] == trial["rank"])]
        rows.append({"configuration": f"ours, {METHODS[trial.method]}, {trial['rank']}", **_settings(trial)})
        rows[-1][NARROW.format(last.steps.max())] = _test(again)
        if trial["rank"] == 1:
            rows[-1][WIDE] = _test(_of(wide, f"searched/coinrun/{trial.method}"))
    return pd.DataFrame(rows).fillna("")


def _of(runs: pd.DataFrame, tuned: str) -> pd.DataFrame:
    return runs[runs.command.str.contains(f"tuned={tuned} ", regex=False)]


def _test(rows: pd.DataFrame) -> str:
    values = rows["test/kl"]
    return f"{values.mean():.4f} ({values.min():.4f} to {values.max():.4f}, n = {len(values)})"


def _settings(trial: pd.Series) -> dict[str, str]:
    masked = trial.method != "adam"
    return {
        "lr": f"{trial['optimizer.lr']:.4f}",
        "beta_1": f"{trial.beta_1:.1f}",
        "beta_3": f"{trial['aggregator.beta_3']:.2f}" if masked else "",
        "threshold": f"{trial['aggregator.agreement_threshold']:.2f}" if masked else "",
        "weight decay": f"{trial['optimizer.weight_decay']:.4f}",
        "decay as a second update": "yes" if trial["optimizer.decoupled"] else "no",
        "form of Adam": "PyTorch's" if trial["aggregator.pytorch_form"] else "as printed",
        KEPT: f"{trial['mask/density']:.0%}" if masked else "",
    }
