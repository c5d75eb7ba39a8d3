"""Which method helps where: the test of a difference, and what the page says beside the table."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import page_text, tenths, word
from lab.experiments.neighbours.figures.which_method import tabulate
from lab.experiments.neighbours.methods import LABELS
from lab.experiments.neighbours.which_method import GRAY, PLAIN, SITUATIONS, compared, measured

MADE = {
    PLAIN: [1.0, 1.1, 0.9, 1.0],
    "larger": [2.0, 2.1, 1.9, 2.0],
    "smaller": [0.1, 0.0, 0.2, 0.1],
    "like it": [1.0, 1.2, 0.9, 1.0],
}


@pytest.mark.parametrize("higher", [True, False])
def test_a_sure_difference_counts_in_the_direction_of_the_measure(higher: bool) -> None:
    sign = 1 if higher else -1
    assert compared(MADE, higher) == {"larger": sign, "smaller": -sign, "like it": 0}


def test_without_files_there_is_no_row(tmp_path: Path) -> None:
    assert measured(tmp_path) == []


def test_ood_bench_has_the_methods_whose_three_trials_are_there(tmp_path: Path) -> None:
    draws = [("mean", 60), ("iga", 59), ("mmd", 60)]
    rows = [(name, seed, 500, seed / 100) for name, n in draws for seed in range(n)]
    table = pd.DataFrame(rows, columns=["aggregator", "seed", "step", "validation/accuracy"])
    table["run"], table["gradients"], table["stopped"] = table.index.astype(str), "vectorized", "completed"
    table["aggregator.rescale"] = ""
    table["test/accuracy"] = table["test_held_out/accuracy"] = 1 - table["validation/accuracy"]
    (tmp_path / "ood_bench").mkdir()
    for name in ("runs", "curves"):
        table.to_csv(tmp_path / f"ood_bench/protocol_{name}.csv", index=False)
    ((situation, values),) = measured(tmp_path)
    assert situation.page == "ood_bench.md"
    # Of each trial the last draw is best on the training environments, and worst on the test.
    expected = pytest.approx([0.81, 0.61, 0.41])
    assert values == {PLAIN: expected, "MMD": expected}


def test_the_page_recommends_only_what_is_surely_better(root: Path) -> None:
    """Each row of the page's first table names a measurement and methods."""
    table = tabulate(root / "results").set_index("measured")
    rows = re.findall(
        r"^\|[^|]+\| (?:take|none) (.*?) \| (.*?) \|$", (root / "docs" / "which_method.md").read_text(), re.M
    )
    assert len(rows) > 5
    for methods, measure in rows:
        for method in filter(None, re.findall(r"\*\*(.*?)\*\*", methods)):
            assert method in table.loc[measure, "surely better"], (measure, method)
        if "**" not in methods:
            assert table.loc[measure, "surely better"] == "none", measure


def test_seeds_of_irm_that_one_class_would_beat(root: Path) -> None:
    (few_images,) = (
        each for each in SITUATIONS if each.measure == "Colored MNIST, 5,000 images: test accuracy"
    )
    values = few_images.values(root / "results")
    below = sum(value < 0.5 for value in values["IRM"])
    text = page_text(root, "which_method")
    assert f"IRM is surely better, but {below} of its {len(values['IRM'])} seeds are below 50 % too." in text
    assert compared(values, few_images.higher)["IRM"] == 1 and pd.Series(values[PLAIN]).median() < 0.5


def test_plain_training_with_wrong_labels_at_its_best(root: Path) -> None:
    curves = pd.read_csv(root / "results" / "memorisation" / "default_curves.csv")
    noisy = curves[curves["dataset.label_noise"] == 0.25]
    plain, mask = (
        noisy[noisy.aggregator == name].groupby("epoch")["test/accuracy"].median()
        for name in ("mean", "and_mask")
    )
    assert noisy.epoch.max() == 40 and abs(plain.max() - mask.iloc[-1]) < 0.002
    assert (
        f"the row compares the ends of 40 epochs. Plain training is at its best early: at epoch "
        f"{plain.idxmax()} it has {100 * plain.max():.1f} %"
    ) in page_text(root, "which_method")


def test_what_a_step_costs(root: Path) -> None:
    text = page_text(root, "which_method")
    cost = pd.read_csv(root / "results" / "neighbours" / "cost.csv").set_index("method").relative
    votes = cost[["and_mask", "sand_mask", "agreement_sum", "agreement_random", "geometric_mean"]]
    assert f"{votes.min():.1f}" == f"{votes.median():.1f}" == "1.1"
    assert votes.idxmax() == "geometric_mean" and abs(votes.max() - 1.25) < 0.02
    assert (
        "cost a tenth more than plain training on the same examples, up to a quarter for the geometric mean"
    ) in text
    penalties = cost[["irm_penalty", "v_rex", "group_dro", "eqrm"]]
    assert penalties.min() > 1 and f"{penalties.max():.1f}" == "1.1"
    assert "IRM, V-REx, GroupDRO and EQRM cost about a tenth more than plain training or less." in text
    assert f"IGA costs {word(round(cost['iga']))} times as much." in text
    weighed = cost[["gram_agreement", "layer_agreement", "mgda", "upgrad"]]
    assert round(2 * weighed.max()) == 9
    assert (
        "Methods that change the basis or solve a problem of weights cost "
        f"{word(round(weighed.min()))} to {word(int(weighed.max()))} and a half times as much."
    ) in text


def test_grey_images_are_best_wherever_they_were_run(root: Path) -> None:
    results = root / "results"
    votes = pd.read_csv(results / "irm" / "color_votes.csv")
    end = votes[(votes.step == votes.step.max()) & (votes.second_noise == 0.2)]
    end = end.groupby("method")["test/accuracy"].median()
    medians = [end.rename({"grayscale_mean": GRAY})]
    for _, values in measured(results):
        if GRAY in values:
            medians.append(pd.Series({name: pd.Series(own).median() for name, own in values.items()}))
    assert [len(each) for each in medians] == [5, 3, 5]
    assert all(each[GRAY] > each.drop(GRAY).max() for each in medians)
    said = "Wherever grey images were run on Colored MNIST, their median is above that of every other method."
    assert said in page_text(root, "which_method")


def test_the_spirals_beside_the_table(root: Path) -> None:
    text = page_text(root, "which_method")
    (spirals,) = (each for each in SITUATIONS if each.measure == "spirals: test accuracy")
    values = spirals.values(root / "results")
    masked = sorted(values[LABELS["and_mask"]])
    assert len(masked) == 5 and masked[1] >= 0.99
    assert f"One of the AND-mask's five seeds has {tenths(masked[0])} % there." in text
    v_rex = LABELS["v_rex"]
    assert compared(values, spirals.higher)[v_rex] == 1 and max(values[v_rex]) < 0.6
    assert "A sure difference may be small. V-REx on the spirals is one: it is far from the" in text
