"""The verdicts on figure 7 follow the numbers, and the committed numbers are complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from docs.page_text import table_cells
from lab.experiments.spirals.claims import gradients, shortcut_gradients
from lab.experiments.spirals.correlations import MIN_COMPONENTS, TABLE, read_correlations
from lab.experiments.spirals.gradient_correlations import network_and_spirals
from lab.experiments.spirals.settings import (
    AUTHORS,
    CORRELATIONS_OF_AUTHORS,
    CORRELATIONS_OF_THREE,
    TWO,
    Setting,
)
from lab.experiments.spirals.unanimous import tables_of
from lab.models import KaimingMLP

RISING, FALLING, FLAT = (0.4, 0.6, 0.8), (0.9, 0.7, 0.5), (0.9, 0.9, 0.9)
GONE = (0.9, 0.7, 0.4)
Levels = tuple[float, ...]


def _write(folder: Path, mechanism: Levels, everywhere: Levels, first_layer: Levels, left: Levels) -> None:
    """Made-up networks with these correlations at thresholds 0, 0.5 and 0.875, at every setting.

    ``left`` has the correlations with mechanism and shortcuts at threshold 1, in forty networks.
    """
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
        for threshold, m, s in zip((0.0, 0.5, 0.875), mechanism, shortcut, strict=True)
    ]
    for table in (TABLE, CORRELATIONS_OF_THREE, CORRELATIONS_OF_AUTHORS):
        (folder / table).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(folder / table, index=False)
    networks = [
        {"revolutions": turns, "seed": seed, "agreement_threshold": 1, "kept_components": 10 if seed else 2}
        | {"mechanism_correlation": left[0], "shortcut_correlation": left[1]}
        for turns in (2.0, 3.0)
        for seed in range(41)
    ]
    kept = {"average": [1.0, 2.0, 3.0], "mechanism": [1.0, 2.0, 3.0], "shortcut": [3.0, 2.0, 1.0]}
    components = [pd.DataFrame({"revolutions": turns, "seed": 0, **kept}) for turns in (2.0, 3.0)]
    for setting in (TWO, AUTHORS):
        of_networks, of_components = tables_of(setting)
        pd.DataFrame(networks).to_csv(folder / of_networks, index=False)
        pd.concat(components).to_csv(folder / of_components, index=False)


@pytest.mark.parametrize(
    ("mechanism", "everywhere", "first_layer", "left", "expected"),
    [
        (RISING, GONE, FALLING, (0.9, 0.7), ["reproduced"] * 3),
        (
            RISING,
            FLAT,
            GONE,
            (0.7, 0.9),
            ["reproduced", "reproduced", "in part: most of it goes in the first layer, not at threshold 1"],
        ),
        (
            FALLING[::-1],
            FLAT,
            FLAT,
            (0.9, 0.7),
            ["in part: at another value", "reproduced", "in part: the mechanism leads at threshold 1"],
        ),
        (FALLING, FLAT, FLAT, (0.7, 0.9), ["in part: in 0 of 4", "not reproduced", "not reproduced"]),
    ],
)
def test_the_numbers_decide(
    mechanism: Levels,
    everywhere: Levels,
    first_layer: Levels,
    left: Levels,
    expected: list[str],
    tmp_path: Path,
) -> None:
    _write(tmp_path, mechanism, everywhere, first_layer, left)
    found = [*gradients.claims(tmp_path), *shortcut_gradients.claims(tmp_path)]
    if mechanism == FALLING:
        expected = ["not reproduced", *expected[1:]]
    assert [claim.verdict for claim in found] == expected
    ahead = 40 if left[0] > left[1] else 0
    assert found[2].number == (
        f"networks with the mechanism ahead at threshold 1: {ahead} of 40 at the authors' setting, "
        f"{ahead} of 40 with 2 revolutions, {ahead} of 40 with 3 revolutions"
    )
    assert all(
        row[1:3] + row[-2:] == ["41", "10 (2 to 10)", "1.00", "-1.00"]
        for row in table_cells(found[2].table)[-3:]
    )


def test_at_three_revolutions_the_tables_are_those_of_history(root: Path) -> None:
    rows = read_correlations(root / "results", CORRELATIONS_OF_THREE)
    plain = rows[(rows.parameters == "all") & (rows["mask"] == "and_mask") & (rows.agreement_threshold == 0)]
    assert round(plain.mechanism_correlation.mean(), 2) == 0.34


@pytest.mark.parametrize(("setting", "figure_7"), [(TWO, TABLE), (AUTHORS, CORRELATIONS_OF_AUTHORS)])
def test_two_hundred_networks_of_each_setting_and_all_their_components_are_committed(
    root: Path, setting: Setting, figure_7: Path
) -> None:
    rows, kept = (pd.read_csv(root / "results" / path) for path in tables_of(setting))
    assert rows.groupby(["revolutions", "agreement_threshold"]).seed.nunique().eq(200).all()
    counts = kept.groupby(["revolutions", "seed"]).size()
    unanimous = rows[(rows.agreement_threshold == 1) & (rows.kept_components > 0)]
    assert counts.to_dict() == unanimous.set_index(["revolutions", "seed"]).kept_components.to_dict()
    # The first ten networks are those of figure 7.
    ten = pd.read_csv(root / "results" / figure_7)
    ten = ten[(ten.parameters == "all") & (ten["mask"] == "and_mask") & (ten.agreement_threshold == 1)]
    same = unanimous[(unanimous.revolutions == setting.revolutions) & (unanimous.seed < 10)]
    ten = ten[ten.kept_components > 0]
    assert same.kept_components.tolist() == ten.kept_components.tolist()
    measured = same.kept_components.to_numpy() > 1
    assert same.shortcut_correlation[measured].tolist() == pytest.approx(
        ten.shortcut_correlation[measured].tolist(), abs=2e-5
    )


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


def test_what_the_gradients_depend_on_is_said(root: Path) -> None:
    unmasked, raised = gradients.claims(root / "results")
    assert "with PyTorch's weights where no others are named" in unmasked.ours
    assert f"each network keeps at least {MIN_COMPONENTS} components" in raised.ours


def test_the_authors_setting_is_their_code_for_what_the_paper_leaves_open(root: Path) -> None:
    ten = pd.read_csv(root / "results" / CORRELATIONS_OF_AUTHORS)
    assert (ten.data_source == "synthetic spirals").all() and ten.seed.nunique() == 10
    network, _ = network_and_spirals(0, 2, 8, authors_weights=True)
    assert isinstance(network, KaimingMLP)
