"""Sentences with numbers of measured costs are recomputed from the committed tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.cost.ways import PLAIN

PAGE = "transformers"
OURS = ("per_example", "per_example_share")


@pytest.fixture(scope="module")
def costs(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results" / "cost" / "transformers.csv")


@pytest.fixture(scope="module")
def times(costs: pd.DataFrame) -> pd.DataFrame:
    """The time of each way as a multiple of plain training, by model."""
    return costs.pivot_table("times_plain", "model", "way")


def between(values: pd.Series) -> str:
    return f"{values.min():.2f} to {values.max():.2f} x"


def test_models_trained_whole(text: str, times: pd.DataFrame) -> None:
    whole = times[times.index.str.contains("full")]
    long, short = (whole.per_example[whole.index.str.endswith(f"T = {n}")] for n in (128, 16))
    assert f"costs {between(long)} at T = 128 and {between(short)} at T = 16. No other library" in text
    assert (whole.per_example < whole.drop(columns=[*OURS, PLAIN]).min(axis=1)).all()


def test_models_with_lora(text: str, costs: pd.DataFrame, times: pd.DataFrame) -> None:
    lora = times[times.index.str.contains("LoRA")]
    at_16 = lora.index.str.endswith("T = 16")
    long, short = lora.per_example[~at_16], lora.per_example[at_16]
    assert f"With LoRA it costs {between(long)} at T = 128 and {between(short)} at T = 16." in text
    faster = lora.Opacus < lora.per_example
    assert list(faster) == list(at_16) and len(lora) == 6
    assert f"three of the six rows, those with T = 16 ({between(lora.Opacus[at_16])})" in text
    plain = costs[costs.model.isin(lora.index[at_16]) & (costs.way == PLAIN)].milliseconds
    assert f"A plain step takes {plain.min():.0f} to {plain.max():.0f} ms there" in text
