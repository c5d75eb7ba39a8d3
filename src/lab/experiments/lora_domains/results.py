"""The committed runs of the study ``lora_domains``, and the rows of its figure and tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER, RUNS, CURVES = "lora_domains", "lora_runs.csv", "lora_curves.csv"

ROWS = {
    "not_fine_tuned": "not fine-tuned",
    "plain": "plain LoRA",
    "mask_over_examples": "AND-mask over examples",
    "mask_over_domains": "AND-mask over domains",
    "mask_on_the_product": "AND-mask over domains, on the product",
    "random_codes": "plain LoRA, random codes (oracle)",
}
"""Method in the runs -> its name on the page."""


def accuracies(results: Path) -> pd.DataFrame:
    """Return the test accuracy as a share, a row per seed and a column per method of ``ROWS``."""
    runs = pd.read_csv(results / FOLDER / RUNS)
    table = runs.pivot(index="seed", columns="aggregator", values="test/accuracy")
    return table[list(ROWS)]


def last_accuracies(results: Path) -> pd.DataFrame:
    """Return the test accuracy of ``accuracies`` after the last step."""
    curves = pd.read_csv(results / FOLDER / CURVES)
    last = curves[curves.step == curves.groupby(["aggregator", "seed"]).step.transform("max")]
    table: pd.DataFrame = last.pivot(index="seed", columns="aggregator", values="test/accuracy")
    return table
