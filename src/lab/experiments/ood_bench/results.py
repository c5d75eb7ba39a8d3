"""The algorithms of the table, our runs, and the published numbers to compare them with."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.drawn_trials import with_trials
from lab.figures.pending import read_curves, read_done

FOLDER, STUDY = Path("ood_bench"), "protocol"

PUBLISHED = Path(__file__).parent / "shipped" / "ye2022_colored_mnist.csv"
"""The published numbers (Ye et al., CVPR 2022, arXiv 2106.03721), if someone has read and typed them in.

The columns are ``algorithm`` (a name in ``THEIRS``), ``selection`` (a key of ``drawn_trials.RULES``),
``accuracy`` and ``standard_error``, both in per cent as printed. No copy of the table could be read when this
was written, and no number is taken from memory. So the file is not here.
"""
COLUMNS = ("algorithm", "selection", "accuracy", "standard_error")


THEIRS = {
    "mean": "ERM",
    "irm_penalty": "IRM",
    "late_v_rex": "VREx",
    "group_dro": "GroupDRO",
    "iga": "IGA",
    "rescaled_and_mask": "ANDMask",
    "mmd": "MMD",
    "coral": "CORAL",
    "mixup": "Mixup",
    "mldg": "MLDG",
    "rsc": "RSC",
}
"""DomainBed's names of the methods that OoD-Bench's table has, by our keys (``drawn_trials.METHODS``)."""

NOT_HERE = ("ARM", "SagNet", "DANN", "MTL", "ERDG")
"""Algorithms of OoD-Bench's table that the project does not have; ``docs/ood_bench.md`` says why."""


def runs(results: Path) -> pd.DataFrame:
    """Return the runs that ended, also those that diverged, with ``row``, ``trial`` and ``draw``."""
    return with_trials(read_done(results / FOLDER / f"{STUDY}_runs.csv"))


def curves(results: Path) -> pd.DataFrame:
    """Return the evaluations of the finished runs, with the same columns."""
    return with_trials(read_curves(results / FOLDER / f"{STUDY}_curves.csv"))


def published(path: Path = PUBLISHED) -> pd.DataFrame:
    """Return the published numbers, one row per algorithm and rule; empty if there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.read_csv(path)[list(COLUMNS)]
