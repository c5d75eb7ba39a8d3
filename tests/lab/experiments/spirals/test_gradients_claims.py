"""The verdicts on figure 7 follow the numbers, and the committed numbers are complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.experiments.spirals.claims.gradients import claims
from lab.experiments.spirals.correlations import MIN_COMPONENTS, TABLE, read_correlations

RISING, FALLING, FLAT = (0.4, 0.6, 0.8), (0.9, 0.7, 0.5), (0.9, 0.9, 0.9)
Levels = tuple[float, ...]


def _verdicts(folder: Path, mechanism: Levels, everywhere: Levels, first_layer: Levels) -> list[str]:
    """Verdicts on made-up networks with these correlations at thresholds 0, 0.5 and 1."""
    rows = [
        {
            "parameters": part,
            "seed": seed,
            "mask": mask,
            "agreement_threshold": threshold,
            "kept_components": 100,
            "mechanism_correlation": (m if mask == "and_mask" else 0.1) + 0.001 * seed,
            "shortcut_correlation": s + 0.001 * seed,
        }
        for part, shortcut in (("all", everywhere), ("first layer weights", first_layer))
        for seed in range(4)
        for mask in ("and_mask", "xor_mask")
        for threshold, m, s in zip((0.0, 0.5, 1.0), mechanism, shortcut, strict=True)
    ]
    (folder / TABLE).parent.mkdir()
    pd.DataFrame(rows).to_csv(folder / TABLE, index=False)
    return [claim.verdict for claim in claims(folder)]


@pytest.mark.parametrize(
    ("mechanism", "everywhere", "first_layer", "expected"),
    [
        (RISING, FALLING, FALLING, ["reproduced", "reproduced", "reproduced"]),
        (RISING, FLAT, FALLING, ["reproduced", "reproduced", "partly: only in the first layer"]),
        (FALLING[::-1], FLAT, FLAT, ["reproduced, at another value", "reproduced", "not reproduced"]),
        (FALLING, FALLING, FALLING, ["not reproduced", "not reproduced", "reproduced"]),
    ],
)
def test_the_numbers_decide(
    mechanism: Levels, everywhere: Levels, first_layer: Levels, expected: list[str], tmp_path: Path
) -> None:
    assert _verdicts(tmp_path, mechanism, everywhere, first_layer) == expected


def test_ten_networks_and_every_distinct_mask_are_committed(root: Path) -> None:
    rows = pd.read_csv(root / "results" / TABLE)
    groups = rows.groupby("parameters")
    assert set(groups.groups) == {"all", "first layer weights"}
    for _, part in groups:
        assert set(part.seed) == set(range(10))
        assert (part.groupby("seed").size() == 9 + 8).all()
        wide = part.pivot_table(index=["seed", "agreement_threshold"], columns="mask", values="kept_share")
        both = wide.dropna()
        assert np.allclose(both.sum(axis=1), 1, atol=1e-4)
    assert read_correlations(root / "results").kept_components.min() >= MIN_COMPONENTS


def test_the_scatter_lies_on_its_lines(root: Path) -> None:
    """The committed sample, at most 200 components per network, has the regression slopes of the table."""
    rows = pd.read_csv(root / "results" / TABLE)
    sample = pd.read_csv(root / "results" / "spirals" / "correlations_scatter.csv")
    assert sample.groupby(["seed", "agreement_threshold"]).size().between(MIN_COMPONENTS, 200).all()
    for threshold, dots in sample.groupby("agreement_threshold"):
        lines = rows[(rows.parameters == "all") & (rows["mask"] == "and_mask")]
        lines = lines[lines.agreement_threshold == threshold]
        slope = np.polyfit(dots.average, dots.shortcut, 1)[0]
        assert lines.shortcut_slope.min() - 0.05 < slope < lines.shortcut_slope.max() + 0.05
