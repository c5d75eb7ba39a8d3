"""The numbers that docs/neighbours.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.page_text import tenths, whole, word
from lab.experiments.neighbours.methods import LABELS
from lab.experiments.neighbours.which_method import SITUATIONS, compared

BY_COMPONENT = ("and_mask", "geometric_mean", "agreement_sum", "sand_mask")


def test_the_spirals(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "neighbours" / "spirals_runs.csv")
    method = runs.command.str.extract(r"tuned=searched/neighbours_spirals/(\w+)", expand=False)
    test = runs.groupby(method)["test/accuracy"]
    perfect = runs[runs["test/accuracy"] >= 0.99].groupby(method).size()
    assert set(perfect.index) == set(BY_COMPONENT) and set(test.size()) == {5}
    assert f"the AND-mask ({word(perfect['and_mask'])} of five seeds)" in text
    assert set(perfect[list(BY_COMPONENT[1:])]) == {5} and "and the SAND-mask (all five)" in text
    others = test.max().drop(list(BY_COMPONENT))
    assert f"No seed of the other {word(len(others))} methods is above 58 %." in text
    assert 0.575 < others.max() < 0.58
    memorised = int((runs.stopped == "memorised").sum())
    assert f"({memorised} of the {len(runs)} runs memorised)" in text


def test_methods_whose_search_on_the_spirals_chose_a_trial_that_learns_nothing(text: str, root: Path) -> None:
    folder = root / "results" / "neighbours"
    runs = pd.read_csv(folder / "spirals_runs.csv")
    method = runs.command.str.extract(r"tuned=searched/neighbours_spirals/(\w+)", expand=False)
    names = ["agreement_random", "gram_agreement", "layer_agreement"]
    train = runs.groupby(method)["train/accuracy"].median()
    assert sorted(train.index[train < 0.55]) == names
    own = runs[method.isin(names)]["train/accuracy"]
    shown = (
        f"their new seeds have {tenths(own.min())} to {tenths(own.max())} % of the training examples right"
    )
    assert shown in text
    best = []
    for name in names:
        trials = pd.read_csv(folder / "search" / "neighbours_spirals" / f"{name}_trials.csv")
        chosen = trials[trials.chosen].iloc[0]
        assert chosen["train/accuracy"] < 0.55 and chosen["value"] == trials["value"].max()
        assert (
            f"one class for all is right for {tenths(chosen['value'])} % of the search's test examples"
            in text
        )
        best.append(trials[trials.stopped == "memorised"]["value"].max())
        assert (trials[trials.stopped != "memorised"]["train/accuracy"] < 0.55).all(), name
    assert pd.isna(best[0]) and "no trial of agreement random memorised" in text
    assert f"(at most {tenths(best[1])} % and {tenths(best[2])} % in other bases;" in text


def test_colored_mnist(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "neighbours" / "colored_digits_runs.csv")
    method = runs.command.str.extract(r"tuned=searched/neighbours_colored_digits/(\w+)", expand=False)
    test = runs.groupby(method)["test/accuracy"]
    assert set(test.size()) == {5}
    median = test.median()
    (situation,) = (each for each in SITUATIONS if each.file == "neighbours/colored_digits_runs.csv")
    found = compared(situation.values(root / "results"), situation.higher)
    assert [name for name, sign in found.items() if sign == 1] == [LABELS["fishr"]]
    assert [name for name, sign in found.items() if sign == -1] == [LABELS["agreement_sum"]]
    assert f"{tenths(median['fishr'])} % against {tenths(median['mean'])} % (medians of five seeds" in text
    assert f"corrected for {len(found)} comparisons" in text
    assert f"IRM has {tenths(median['irm_penalty'])} % and stays open" in text
    votes = median[list(BY_COMPONENT)]
    assert f"at {tenths(votes.min())} to {tenths(votes.max())} %" in text and votes.max() < median["mean"]
    best = runs.loc[runs["test/accuracy"].idxmax()]
    assert best.aggregator == "iga" and f"One seed of IGA has {tenths(best['test/accuracy'])} %" in text
    assert f"it is right for {tenths(best['train/accuracy'])} % of the training examples" in text
    gray = pd.read_csv(root / "results" / "irm" / "colored_runs.csv")
    gray = gray[(gray["dataset.grayscale"].astype(str) == "True") & (gray.aggregator == "mean")]
    assert f"Grey images alone give {tenths(gray['test/accuracy'].median())} %" in text


def test_the_unit_tests(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "neighbours" / "linear_unit_tests_runs.csv")
    errors = runs.pivot_table("test/error", "aggregator", "dataset.problem")
    gain = errors.loc["mean"] - errors.loc["and_mask"]
    taken = whole(1 - gain["1s"] / gain["1"])
    assert f"On unit test 1 rotation takes {taken} % of the AND-mask's gain on these five data seeds." in text
    ten = pd.read_csv(root / "results" / "linear_unit_tests" / "turned" / "aggregators_runs.csv")
    error = ten.pivot_table("test/error", "aggregator", ["dataset.problem", "dataset.rotation"])["1s"]
    of_ten = error.loc["mean"] - error.loc["and_mask"]
    assert f"with these five among them, it takes {whole(1 - of_ten[1] / of_ten[0])} %." in text
    plain = runs[(runs.aggregator == "mean") & (runs["dataset.problem"] == "3s")]
    lead = errors["3s"]["mean"] - errors["3s"].min()
    assert lead < 0.1 * plain["test/error_std"].iloc[0]
    assert "no method is better than plain training by more than a tenth of the deviation" in text
