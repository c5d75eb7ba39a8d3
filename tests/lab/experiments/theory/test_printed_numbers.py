"""The numbers that docs/theory.md prints in its sentences are those of the committed results and formulas."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest
import torch

from docs.page_text import page_text, whole
from lab.experiments.theory.ellipses import ratios
from lab.experiments.theory.figures.consistency_ranks import rank_correlation
from lab.experiments.theory.figures.linear_sem_scores import PROBLEM, WEAK
from lab.experiments.theory.problems import small_spirals
from lab.experiments.theory.solutions import DAMPING, EPSILON, PAPER_SIZE, SMALL, reported, solutions
from lab.experiments.theory.spirals_at_paper_size import STOP_AT


@pytest.fixture(scope="module")
def linear(root: Path) -> pd.DataFrame:
    table = solutions(root / "results")
    return table[(table.problem == PROBLEM) & (table.epsilon == EPSILON)]


def test_masked_and_averaged_solutions(text: str, root: Path) -> None:
    def of_spirals(path: Path) -> pd.Series:
        table = reported(pd.read_csv(root / "results" / path))
        table = table[table.problem.str.startswith("spirals")]
        highest = table.agreement_threshold == table[table.aggregator == "and_mask"].agreement_threshold.max()
        of = {"mean": table.aggregator == "mean", "and_mask": (table.aggregator == "and_mask") & highest}
        columns = ["inconsistency", "median_gap"]
        return table[of["and_mask"]][columns].median() / table[of["mean"]][columns].median()

    large, small = of_spirals(PAPER_SIZE), of_spirals(SMALL)
    assert (
        f"with a damping of 0.1 they have {large.inconsistency:.2f} times (the paper's size) and "
        f"{small.inconsistency:.2f} times (the small spirals, threshold 1) the inconsistency of averaged ones"
    ) in text
    assert (
        f"masked solutions of the spirals have {large.median_gap:.1f} and {small.median_gap:.1f} times the "
        "inconsistency of averaged ones"
    ) in text


def test_few_products(text: str, root: Path) -> None:
    table = pd.read_csv(root / "results" / "theory" / "hessian_vector.csv")
    scores = table.pivot_table("inconsistency", ["damping", "aggregator"], "lanczos_steps")
    off = (scores[20] / scores[60] - 1).groupby("damping").agg(["min", "max"])
    assert whole(off["max"][0.1]) == "1"
    assert (
        f"differs from that with 60 by about 1 % at damping 0.1, by up to {whole(off['max'][0.01])} % at "
        f"0.01 and by {whole(off['min'][0.001])} to {whole(off['max'][0.001])} % at 0.001"
    ) in text


@pytest.mark.parametrize("small", [0.01, 0.05])
def test_the_ellipses(small: float, text: str) -> None:
    pair = torch.tensor([[small, 1.0], [1.0, small]], dtype=torch.float64)
    determinant, area = ratios(torch.diag_embed(pair))
    assert f"{area:.2f} times the area; the determinant is {determinant:.3g} times" in text


def test_ranks_of_the_linear_example(text: str, linear: pd.DataFrame) -> None:
    of = dict(tuple(linear.groupby("damping")))
    worst = {damping: f"{rank_correlation(rows, 'worst'):+.2f}" for damping, rows in of.items()}
    assert (
        f"The rank correlation is {worst[DAMPING]} at damping 0.1 and {worst[WEAK]} at 0.001 "
        f"({len(of[DAMPING])} solutions, but only four groups)"
    ) in text
    assert of[DAMPING].aggregator.nunique() == 4
    assert f"The median pair says the opposite ({rank_correlation(of[DAMPING], 'median'):.2f})" in text


def test_the_lead_of_irm(text: str, linear: pd.DataFrame) -> None:
    rows = linear[linear.damping == DAMPING]
    rows = rows.assign(rest=rows.worst - rows.risk_spread / EPSILON)
    median = rows.groupby("aggregator")[["worst", "rest"]].median()
    lead = median.loc["mean"] / median.loc["irm_penalty"]
    assert (
        f"is a factor of {lead.worst:.1f} (against the mean); without the difference of the risks it is "
        f"{lead.rest:.1f}."
    ) in text
    assert "is 2 - 0.02, or 198 ε" in text and round((2 - 0.02) / EPSILON) == 198


def test_a_training_scale_rewards_the_shortcut(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "irm" / "linear_runs.csv")
    errors = runs.groupby("aggregator")["test_s1/loss"].mean()
    assert f"(IRM {errors['irm_penalty']:.2f}, mean {errors['mean']:.2f})" in text


def test_every_seed_of_the_linear_example(text: str, linear: pd.DataFrame) -> None:
    for damping, rows in linear.groupby("damping"):
        seeds = rows.pivot_table("inconsistency", "seed", "aggregator")
        assert len(seeds) == 10
        assert (seeds["irm_penalty"] < seeds.drop(columns="irm_penalty").min(axis=1)).all(), damping
        assert (seeds["and_mask"] > seeds["mean"]).all(), damping
    assert set(linear.damping) == {DAMPING, WEAK}
    assert "On the linear example IRM's solutions have less inconsistency than all others." in text
    assert "On IRM's linear example AND-masked solutions are less consistent than averaged ones." in text


def test_the_landscape(text: str, root: Path) -> None:
    table = reported(pd.read_csv(root / "results" / SMALL))
    rows = table[table.problem == "two-parameter landscape"]
    left = (rows.train_risk > 0.001).groupby(rows.aggregator).agg(["sum", "size"])
    assert set(left["size"]) == {10} and left["sum"]["mean"] == 0
    masks = left["sum"].drop("mean")
    assert list(masks.index) == ["and_mask", "geometric_mean"] and (masks > 5).all() and (masks < 10).all()
    assert "the masks leave most starts where signs disagree, at a positive risk." in text


def test_the_common_risk(text: str, root: Path) -> None:
    tables = [reported(pd.read_csv(root / "results" / path)) for path in (SMALL, PAPER_SIZE)]
    small, large = (table[table.problem.str.startswith("spirals")].train_risk for table in tables)
    bound = inspect.signature(small_spirals).parameters["stop_at"].default
    assert small.max() <= bound < small.min() * 1.25 and large.max() <= STOP_AT < 1.25 * large.max()
    assert f": {bound:g} for the small network, at most {STOP_AT:g} for the large one." in text
    rows = tables[1][tables[1].problem.str.startswith("spirals")]
    risks = rows.groupby("aggregator").train_risk
    assert risks.min()["mean"] < STOP_AT / 2 and risks.median()["mean"] < risks.median()["and_mask"]


def test_methods_of_the_score(root: Path) -> None:
    """docs/consistency.md says how far the methods agree and what they take."""
    page = page_text(root, "consistency")
    scores = pd.read_csv(root / "results" / "theory" / "score_methods.csv")
    regression = scores[scores.model == "logistic regression"]
    by_method = regression.pivot_table("score", ["epsilon", "seed"], "method")
    ratios = by_method.div(by_method.quadratic, axis=0)
    small = ratios[ratios.index.get_level_values("epsilon") <= 0.01]
    assert "For epsilon up to 0.01 the three agree within 10 % here." in page
    assert ((small - 1).abs() < 0.105).all(axis=None)
    assert ratios.search.min() < 1 < ratios.search.max()
    seconds = regression.groupby("method").cpu_seconds
    assert seconds.max()[["quadratic", "hessian_vector"]].max() < 0.015
    low, high = seconds.min().search, seconds.max().search
    assert f"took 0.01 s of processor time, search {low:.0f} to {high:.0f} s" in page
    perceptron = scores[scores.model == "perceptron"].pivot_table("score", ["damping", "seed"], "method")
    missed = perceptron.hessian_vector / perceptron.quadratic
    assert "Below 0.1, 60 products do not find all curvature that counts." in page
    assert (missed[[0.01, 0.001]] > 1.005).all()
    assert ((missed[0.1] - 1).abs() < 0.005).all()
