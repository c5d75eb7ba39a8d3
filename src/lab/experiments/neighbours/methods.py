"""What the comparison's files hold, by method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

LABELS = {
    "mean": "plain training",
    "and_mask": "AND-mask",
    "geometric_mean": "geometric mean",
    "sand_mask": "SAND-mask",
    "agreement_sum": "agreement sum",
    "agreement_random": "agreement random",
    "sign_election": "sign election (TIES)",
    "grad_drop": "GradDrop",
    "gram_agreement": "AND-mask, principal directions",
    "layer_agreement": "AND-mask, layers' eigenbases",
    "mgda": "MGDA (TorchJD)",
    "upgrad": "UPGrad (TorchJD)",
    "v_rex": "V-REx",
    "group_dro": "GroupDRO",
    "eqrm": "EQRM",
    "iga": "IGA",
    "fishr": "Fishr",
    "irm_penalty": "IRM",
    "temporal_mask": "temporal AND-mask",
    "cautious_adam": "cautious Adam",
}
"""The searches of ``conf/search/neighbours/*.yaml``, and what their methods are called."""

SEARCHED = {"spirals": "spirals", "colored_digits": "Colored MNIST"}
"""Experiments whose settings were searched, 20 trials for each method."""
DRAWN_PROBLEMS = {"1": ("o", -0.2), "1s": ("D", 0.2)}
"""Of the unit tests, those in the picture: their marker and its place in a method's row."""
FOLDER = Path("neighbours")
UNIT_TESTS = FOLDER / "linear_unit_tests_runs.csv"
TORCHJD = Path("linear_unit_tests/turned/torchjd_runs.csv")
"""Problem 1s alone, because TorchJD trains one model at a time. Linear unit tests keep this file."""
COST = FOLDER / "cost.csv"


def read_best(results: Path, experiment: str) -> pd.DataFrame:
    """The runs of every method's best settings on new seeds, named in ``method``, pending ones too."""
    runs = pd.read_csv(results / FOLDER / f"{experiment}_runs.csv")
    return runs.assign(method=runs.command.str.extract(rf"tuned=searched/neighbours_{experiment}/(\w+)")[0])


def read_unit_tests(results: Path) -> pd.DataFrame:
    """A row per method and ``problem``."""
    names = {"dataset.problem": "problem", "aggregator.kind": "kind"}
    there = [name for name in (UNIT_TESTS, TORCHJD) if (results / name).exists()]
    files = [pd.read_csv(results / name, dtype={"dataset.problem": str}) for name in there]
    runs = pd.concat(files, ignore_index=True).rename(columns=names)
    # Aggregators have no method of the benchmark's, and TorchJD's share one aggregator.
    return runs.assign(method=runs.method.fillna(runs.kind.str.lower()).fillna(runs.aggregator))
