"""A table: the validation KL of CoinRun students by training budget, which decided the searches' budget."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RUNS = "coinrun/pilot_runs.csv"
STEPS_PER_EPOCH = 64


def tabulate(results: Path) -> pd.DataFrame:
    """Return the validation KL at the end of each budget: rows are configurations, columns are budgets."""
    runs = pd.read_csv(results / RUNS)
    runs["steps"] = STEPS_PER_EPOCH * runs["trainer.max_epochs"]
    keys = {"threshold": runs["aggregator.agreement_threshold"], "lr": runs["optimizer.lr"]}
    values = runs.assign(**keys).pivot(index=[*keys], columns="steps", values="validation/kl")
    values.columns = [f"{steps:,} steps" for steps in values.columns]
    return values.map(lambda value: f"{value:.4f}").reset_index()
