"""A finding of ours: what turned inputs cost masks that vote by component."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import bootstrap

from lab.experiments.linear_unit_tests.results import FOLDER
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.verdicts import FEWEST

PROBLEMS = ("1s", "3s")
MUCH = 0.25
"""Rotation takes the gain if surely this share of it is lost: the whole 95 % interval lies above."""


class Errors(NamedTuple):
    """Test errors of plain training and of the AND-mask on inputs that are not turned, and that are."""

    plain: float
    mask: float
    plain_turned: float
    mask_turned: float

    @property
    def lost(self) -> float:
        """The share of the mask's gain over plain training that rotation takes."""
        return 1 - (self.plain_turned - self.mask_turned) / (self.plain - self.mask)


def claims(results: Path) -> list[Claim]:
    """Return the finding, from the runs with none and with all of the benchmark's rotation."""
    path = results / FOLDER / "turned" / "aggregators_runs.csv"
    table = pd.read_csv(path, dtype={"dataset.problem": str})
    of_problem = {problem: table[table["dataset.problem"] == problem] for problem in PROBLEMS}
    found = {problem: _errors(own) for problem, own in of_problem.items()}
    intervals = {problem: _interval(own) for problem, own in of_problem.items()}
    n = int(table[table.aggregator.isin(["mean", "and_mask"])].n_seeds.min())
    rows = [
        {
            "problem": problem,
            "plain": f"{e.plain:.3f}",
            "mask": f"{e.mask:.3f}",
            "plain, turned": f"{e.plain_turned:.3f}",
            "mask, turned": f"{e.mask_turned:.3f}",
            "gain lost": f"{100 * e.lost:.0f} % ({100 * low:.0f} to {100 * high:.0f})",
        }
        for (problem, e), (low, high) in zip(found.items(), intervals.values(), strict=True)
    ]
    shares = " and ".join(f"{100 * e.lost:.0f} %" for e in found.values())
    return [
        Claim(
            short="Turned inputs take the mask's gain",
            claim="If all inputs of the linear unit tests are turned by one rotation, the AND-mask loses a "
            "part of its gain over plain training, because it votes by component.",
            paper="",
            ours="The table has the test errors of plain training and of the AND-mask with Adam, without and "
            "with the benchmark's rotation, and the gain that is lost, with 95 % bootstrap intervals over "
            "data seeds. With more than 100 % the mask ends behind plain training. The errors are means over "
            f"n = {n} data seeds, for the best of 20 draws by validation error. The verdict judges the lower "
            "ends of the intervals.",
            table=as_markdown(rows),
            number=f"{shares} of the gain lost on {' and '.join(PROBLEMS)}",
            verdict=rotation_rule({problem: low for problem, (low, _) in intervals.items()}, n),
            finding=True,
            warning=True,
        )
    ]


def rotation_rule(lost: Mapping[str, float], seeds: int) -> str:
    """Return the verdict from the smallest share of the gain that rotation may take on each problem.

    Args:
        lost: the lower end of the 95 % interval of the share, by problem.
        seeds: the number of data seeds.
    """
    if seeds < FEWEST:
        return f"undecided: {seeds} seeds"
    much = [problem for problem, share in lost.items() if share >= MUCH]
    some = [problem for problem, share in lost.items() if 0 < share < MUCH]
    if len(much) == len(lost):
        return "holds"
    parts = [f"on {' and '.join(much)}"] if much else []
    parts += [f"a part of it on {' and '.join(some)}"] if some else []
    return f"in part: {', '.join(parts)}" if parts else "does not hold"


def _errors(table: pd.DataFrame) -> Errors:
    of = table.set_index(["aggregator", "dataset.rotation"])["test/error"]
    return Errors(of["mean", 0.0], of["and_mask", 0.0], of["mean", 1.0], of["and_mask", 1.0])


def _interval(table: pd.DataFrame) -> tuple[float, float]:
    """Return the 95 % interval over data seeds of the share that is lost, which may be above 1."""
    seeds = [column for column in table if str(column).startswith("seed") and str(column).endswith("error")]
    cells = [
        table[(table.aggregator == name) & (table["dataset.rotation"] == turn)][seeds].to_numpy(float).ravel()
        for turn in (0.0, 1.0)
        for name in ("mean", "and_mask")
    ]
    found = bootstrap(tuple(cells), _lost, paired=True, method="percentile", rng=np.random.default_rng(0))
    low, high = found.confidence_interval
    return float(low), float(high)


def _lost(*cells: NDArray[np.float64], axis: int = 0) -> NDArray[np.float64]:
    """Return the share of the gain that is lost, for resampled errors of each data seed."""
    lost = Errors(*(np.mean(cell, axis=axis) for cell in cells)).lost
    return np.asarray(lost)
