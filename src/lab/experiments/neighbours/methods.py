"""The methods of the comparison, and functions that read its files."""

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
"""The names of methods, by the name of their searches in ``conf/search/neighbours/*.yaml``."""

SEARCHED = {"spirals": "spirals", "colored_digits": "Colored MNIST"}
"""The experiments whose settings were searched, with 20 trials for each method."""
DRAWN_PROBLEMS = {"1": ("o", -0.2), "1s": ("D", 0.2)}
"""The unit tests that the picture shows, each with its marker and the marker's place in a method's row."""
FOLDER = Path("neighbours")
UNIT_TESTS = FOLDER / "linear_unit_tests_runs.csv"
TORCHJD = Path("linear_unit_tests/turned/torchjd_runs.csv")
"""The runs of TorchJD. They are only on problem 1s, because TorchJD trains one model at a time. The file
belongs to the experiment ``linear_unit_tests``."""
COST = FOLDER / "cost.csv"


def read_best(results: Path, experiment: str) -> pd.DataFrame:
    """Read the runs of every method's best settings on new seeds, pending ones included.

    The column ``method`` holds the name of the method.
    """
    runs = pd.read_csv(results / FOLDER / f"{experiment}_runs.csv")
    return runs.assign(method=runs.command.str.extract(rf"tuned=searched/neighbours_{experiment}/(\w+)")[0])


def read_unit_tests(results: Path) -> pd.DataFrame:
    """Read the runs on the unit tests, one row per method and ``problem``."""
    names = {"dataset.problem": "problem", "aggregator.kind": "kind"}
    there = [name for name in (UNIT_TESTS, TORCHJD) if (results / name).exists()]
    files = [pd.read_csv(results / name, dtype={"dataset.problem": str}) for name in there]
    runs = pd.concat(files, ignore_index=True).rename(columns=names)
    # Runs with an aggregator have no ``method``. TorchJD's methods share one aggregator; ``kind`` differs.
    return runs.assign(method=runs.method.fillna(runs.kind.str.lower()).fillna(runs.aggregator))
