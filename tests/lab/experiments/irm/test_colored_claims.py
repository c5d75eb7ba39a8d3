"""Colored MNIST: verdicts follow the means of the restarts and each seed, and say where runs are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.experiments.irm import thumbnail
from lab.experiments.irm.claims import authors_protocol, colored
from lab.experiments.irm.figures import irm_colored, irm_paper
from lab.experiments.irm.results import FOLDER, PUBLISHED
from lab.experiments.irm.selection import LOOKS_AT

Accuracies = dict[str, tuple[float, float]]
ALL = dict(PUBLISHED)


def write(folder: Path, name: str, means: Accuracies, spread: float = 0.002, pending: int = 0) -> None:
    """Ten seeds of each row, evenly spread around a mean of train and one of test accuracy."""
    (folder / FOLDER).mkdir(exist_ok=True)
    rows = [
        {
            "run": f"{row}{seed}",
            "aggregator": row.removeprefix("grayscale_"),
            "seed": seed,
            "dataset.grayscale": row.startswith("grayscale"),
            "train/accuracy": train + off,
            "validation/accuracy": 0.5,
            "test/accuracy": test + off,
            "selection": "last",
            "data_source": "Colored MNIST",
            "stopped": "completed",
        }
        for row, (train, test) in means.items()
        for seed, off in enumerate(spread * np.linspace(-1, 1, 10))
    ]
    columns = ["run", "aggregator", "seed", "dataset.grayscale", "stopped"]
    done = pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
    others = pd.DataFrame({"stopped": ["pending"] * pending, "dataset.grayscale": False})
    pd.concat([done, others][: 1 + bool(pending)]).to_csv(folder / FOLDER / f"{name}_runs.csv", index=False)
    steps = [done.assign(step=step) for step in (10, 20)] if rows else [pd.DataFrame(columns=["run"])]
    pd.concat(steps).drop(columns=["stopped", "data_source"], errors="ignore").to_csv(
        folder / FOLDER / f"{name}_curves.csv", index=False
    )


@pytest.mark.parametrize(
    ("changed", "spread", "verdict"),
    [
        ({}, 0.002, "in part"),  # Their numbers, with another network.
        ({"irm_penalty": (0.71, 0.655)}, 0.02, "in part"),
        ({"irm_penalty": (0.71, 0.63)}, 0.002, "in part"),  # Above chance, but not their number.
        ({"mean": (0.89, 0.171)}, 0.002, "in part"),  # Nor is another training accuracy.
        ({"irm_penalty": (0.56, 0.51)}, 0.002, "in part"),
        ({"irm_penalty": (0.56, 0.49)}, 0.002, "not reproduced"),
        ({"irm_penalty": (0.71, 0.66), "mean": (0.87, 0.6)}, 0.002, "not reproduced"),
        ({"irm_penalty": (0.71, 0.669)}, 0.2, "undecided"),
    ],
)
def test_the_authors_protocol(changed: Accuracies, spread: float, verdict: str, tmp_path: Path) -> None:
    write(tmp_path, "paper", {**ALL, **changed}, spread)
    (claim,) = authors_protocol.claims(tmp_path)
    assert claim.kind == verdict
    theirs = changed in ({}, {"irm_penalty": (0.71, 0.655)})
    assert (claim.verdict == "in part: with another network") == theirs
    assert claim.number.endswith(" % test accuracy")


def test_the_band_is_a_point_or_two_standard_errors() -> None:
    same, other = (pd.DataFrame({"test/accuracy": [x, y] * 5}) for x, y in ((0.1, 0.1), (0.1, 0.2)))
    assert authors_protocol.two_errors("grayscale_mean", 1, same) == pytest.approx(2 * 0.004 / 3)
    # Theirs is 0.025 / sqrt(9), ours 0.05 * sqrt(10 / 9) / sqrt(10).
    expected = 2 * np.hypot(0.025 / 3, 0.05 / 3)
    assert authors_protocol.two_errors("irm_penalty", 1, other) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("irm", "spread", "plain", "verdict"),
    [
        (0.66, 0.01, 0.2, "in part"),
        (0.5, 0.05, 0.2, "undecided"),  # Half of the seeds are above chance.
        (0.52, 0.03, 0.2, "in part"),
        (0.3, 0.01, 0.2, "not reproduced"),
        (0.66, 0.01, 0.6, "undecided"),  # Plain training leaves nothing to gain.
    ],
)
def test_searched_settings(irm: float, spread: float, plain: float, verdict: str, tmp_path: Path) -> None:
    means = {"mean": (0.85, plain), "grayscale_mean": (0.73, 0.73), "irm_penalty": (0.7, irm)}
    write(tmp_path, "colored", means, spread)
    (claim,) = colored.claims(tmp_path)
    assert claim.kind == verdict
    assert claim.verdict.endswith("with fewer images")
    assert (claim.verdict == "in part: with fewer images") == (irm == 0.66 and plain == 0.2)


@pytest.mark.parametrize(
    ("means", "pending"), [({}, 3), ({"irm_penalty": (0.7, 0.6)}, 3), (ALL, 3), (ALL, 0)]
)
def test_claims_figures_and_tables_show_what_is_there(
    means: Accuracies, pending: int, tmp_path: Path
) -> None:
    done = 10 * len(means)
    words = f"{done} of {done + pending} runs are done"
    for name, module in (("paper", authors_protocol), ("colored", colored)):
        write(tmp_path, name, means, pending=pending)
        (claim,) = module.claims(tmp_path)
        assert (claim.verdict == f"pending: {words}") == bool(pending)
        assert ("no number yet" in claim.ours) == (not means)
    table = irm_paper.tabulate(tmp_path)
    assert (table.method.iloc[-1] == words) == bool(pending)
    assert (table["test, here"] == "pending").sum() == len(ALL) - len(means)
    table = irm_colored.tabulate(tmp_path)
    assert len(table) == (1 + len(LOOKS_AT) * len(means) if means else 1)
    panels = irm_colored.draw(tmp_path).axes
    # Of a method its seeds, their median; the ideal besides.
    assert len(panels[0].lines) == (11 * len(means) + 1 if means else 0)
    assert thumbnail.draw(tmp_path).axes
