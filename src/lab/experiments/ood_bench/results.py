"""The rows of the table, our runs, and the published numbers to compare them with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.configuration.drawn import N_DRAWS
from lab.figures.pending import read_curves, read_done

FOLDER, STUDY = Path("ood_bench"), "protocol"
N_TRIALS = 3

PUBLISHED = Path(__file__).parent / "shipped" / "ye2022_colored_mnist.csv"
"""The published numbers (Ye et al., CVPR 2022, arXiv 2106.03721), if someone has read and typed them in.

The columns are ``algorithm`` (a name of ``Row.theirs``), ``selection`` (a key of ``selection.RULES``),
``accuracy`` and ``standard_error``, both in per cent as printed. No copy of the table could be read when this
was written, and no number is taken from memory. So the file is not here.
"""
COLUMNS = ("algorithm", "selection", "accuracy", "standard_error")


class Row(NamedTuple):
    """A row of the table: our name of a method, and DomainBed's name if OoD-Bench's table has it."""

    label: str
    theirs: str = ""


ROWS = {
    "mean": Row("plain training", "ERM"),
    "irm_penalty": Row("IRM", "IRM"),
    "late_v_rex": Row("V-REx", "VREx"),
    "group_dro": Row("GroupDRO", "GroupDRO"),
    "iga": Row("IGA", "IGA"),
    "rescaled_and_mask": Row("AND-mask, rescaled", "ANDMask"),
    "mmd": Row("MMD", "MMD"),
    "coral": Row("CORAL", "CORAL"),
    "mixup": Row("Mixup", "Mixup"),
    "mldg": Row("MLDG", "MLDG"),
    "rsc": Row("RSC", "RSC"),
    "sand_mask": Row("SAND-mask"),
    "fishr": Row("Fishr"),
    "and_mask": Row("AND-mask"),
    "geometric_mean": Row("geometric mean"),
    "example_and_mask": Row("AND-mask over examples"),
    "temporal_mask": Row("temporal AND-mask"),
}
"""The rows by their keys: first OoD-Bench's, then DomainBed's others, then ours."""

NOT_HERE = ("ARM", "SagNet", "DANN", "MTL", "ERDG")
"""Algorithms of OoD-Bench's table that the project does not have; ``docs/ood_bench.md`` says why."""


def runs(results: Path) -> pd.DataFrame:
    """Return the runs that ended, also those that diverged, with ``row``, ``trial`` and ``draw``."""
    return _with_rows(read_done(results / FOLDER / f"{STUDY}_runs.csv"))


def curves(results: Path) -> pd.DataFrame:
    """Return the evaluations of the finished runs, with the same columns."""
    return _with_rows(read_curves(results / FOLDER / f"{STUDY}_curves.csv"))


def _with_rows(table: pd.DataFrame) -> pd.DataFrame:
    keys = [] if table.empty else [_row_of(run) for _, run in table.iterrows()]
    return table.assign(row=keys, trial=table.seed // N_DRAWS, draw=table.seed % N_DRAWS)


def _row_of(run: pd.Series) -> str:
    name = str(run.aggregator)
    if name != "and_mask":
        return name
    if run.gradients == "per_example":
        return "example_and_mask"
    # pandas reads truth values as text if the table has rows without one.
    return "rescaled_and_mask" if str(run["aggregator.rescale"]) == "True" else name


def published(path: Path = PUBLISHED) -> pd.DataFrame:
    """Return the published numbers, one row per algorithm and rule; empty if there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.read_csv(path)[list(COLUMNS)]
