"""The verdicts of section 3.2 follow whole curves and each seed's, and say where runs are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.memorisation.claims import random_labels, true_labels, wrong_labels
from lab.experiments.memorisation.figures import (
    figure8_epochs,
    figure8_group_norm,
    figure8_other_votes,
    figure9,
    figure16,
    figure16_fashion,
    label_noise_rates,
    memorisation_baselines,
    memorisation_by_images,
    memorisation_default,
)
from lab.experiments.memorisation.results import FOLDER, runs_of
from lab.experiments.memorisation.verdicts import limits, verdict
from lab.figures.claims import Claim

EPOCHS = range(4, 81, 4)
SEEDS = range(3)
COMMON = {
    "model.norm": "batch",
    "model.width": 8,
    "data_source": "CIFAR-10 (JPEG copy), 50,000 for training",
}
LIMIT = "on a JPEG copy, with a narrower network"
GOOD, PARTLY, BAD = (
    f"{words}, {LIMIT}"
    for words in ("in part: the whole pattern", "in part: not the whole pattern", "not reproduced")
)
STUDIES = ("random_labels", "random_labels_group_norm", "label_noise")


def write(folder: Path, name: str, curves: pd.DataFrame, pending: Sequence[Mapping[str, object]]) -> None:
    """The tables of a study whose runs end as the curves do; these others are pending."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    curves.drop(columns="data_source").to_csv(folder / FOLDER / f"{name}_curves.csv", index=False)
    runs = curves[curves.epoch == max(EPOCHS)].assign(stopped="completed")
    others = pd.DataFrame(list(pending)).assign(stopped="pending", seed=9)
    pd.concat([runs, others]).to_csv(folder / FOLDER / f"{name}_runs.csv", index=False)


def write_pending(folder: Path, name: str) -> None:
    """The tables of a study of which no run is done."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    each = {"aggregator.agreement_threshold": 0.2, "dataset.label_noise": 1.0}
    best = {"aggregator": "and_mask", "optimizer.lr": 5e-3}
    table = pd.DataFrame({"seed": range(4)}).assign(stopped="pending", **each, **best)
    table.to_csv(folder / FOLDER / f"{name}_runs.csv", index=False)
    pd.DataFrame(columns=["run"]).to_csv(folder / FOLDER / f"{name}_curves.csv", index=False)


def claims_at(folder: Path) -> list[Claim]:
    return [*random_labels.claims(folder), *true_labels.claims(folder)]


def thresholds(
    folder: Path,
    random: dict[float, float],
    true: dict[float, tuple[float, float]],
    speed: float = 4.0,
    pending: Sequence[Mapping[str, object]] = (),
) -> list[Claim]:
    """Claims on runs that end at these accuracies; random labels rise in ``1 / speed`` of the epochs."""
    rows = []
    for threshold, end in random.items():
        for seed in SEEDS:
            for epoch in EPOCHS:
                share = min(1.0, epoch / 80 * speed)
                at = {"aggregator.agreement_threshold": threshold, "seed": seed, "epoch": epoch, **COMMON}
                fitted = 0.1 + share * (end - 0.1)
                rows.append(
                    {**at, "dataset.label_noise": 1.0, "train/accuracy": fitted, "test/accuracy": 0.1}
                )
                train, test = true[threshold]
                accuracies = {"train/accuracy": train, "test/accuracy": test + seed / 1000}
                rows.append({**at, "dataset.label_noise": 0.0, **accuracies})
    write(folder, "random_labels", pd.DataFrame(rows), pending)
    if not (folder / FOLDER / "random_labels_group_norm_runs.csv").exists():
        write_pending(folder, "random_labels_group_norm")
    return claims_at(folder)


LEARNED = {0.0: (1.0, 0.7), 0.2: (0.9, 0.72), 0.8: (0.12, 0.1)}


@pytest.mark.parametrize(
    ("random", "speed", "expected"),
    [
        ({0.0: 1.0, 0.2: 0.2, 0.8: 0.1}, 4.0, GOOD),
        ({0.0: 1.0, 0.2: 0.39, 0.8: 0.1}, 1.0, PARTLY),  # Still rising at the end: delayed.
        ({0.0: 1.0, 0.2: 0.7, 0.8: 0.1}, 4.0, PARTLY),
        ({0.0: 1.0, 0.2: 0.99, 0.8: 0.1}, 4.0, BAD),
        ({0.0: 0.5, 0.2: 0.2, 0.8: 0.1}, 4.0, PARTLY),  # Plain training does not memorise either.
        ({0.0: 0.3, 0.2: 0.2, 0.8: 0.1}, 4.0, BAD),
    ],
)
def test_preventing_is_more_than_delaying(
    random: dict[float, float], speed: float, expected: str, tmp_path: Path
) -> None:
    assert thresholds(tmp_path, random, LEARNED, speed)[0].verdict == expected


def test_true_labels_are_judged_at_the_smallest_threshold_that_prevents(tmp_path: Path) -> None:
    learned = {**LEARNED, 0.2: (0.9, 0.3), 0.4: (0.8, 0.7)}
    random = {0.0: 1.0, 0.2: 0.99, 0.4: 0.15, 0.8: 0.1}
    claim = thresholds(tmp_path, random, learned)[2]
    assert claim.verdict == GOOD
    assert "in all seeds is 0.4." in claim.ours


def test_where_no_threshold_prevents_true_labels_say_nothing(tmp_path: Path) -> None:
    claim = thresholds(tmp_path, {0.0: 1.0, 0.2: 0.9}, LEARNED)[2]
    assert claim.verdict == BAD
    assert claim.number == "0 of 2 thresholds prevent memorising"


def test_group_norm_has_a_row_of_its_own(tmp_path: Path) -> None:
    random = {0.0: 1.0, 0.2: 0.99, 0.8: 0.1}
    thresholds(tmp_path, random, LEARNED)
    for kind in ("runs", "curves"):
        path = tmp_path / FOLDER / f"random_labels_{kind}.csv"
        chosen = pd.read_csv(path).assign(**{"model.norm": "group"})
        memorised = (chosen["aggregator.agreement_threshold"] > 0) & (chosen["dataset.label_noise"] == 1)
        chosen.loc[memorised, "train/accuracy"] = 0.15
        chosen.to_csv(tmp_path / FOLDER / f"random_labels_group_norm_{kind}.csv", index=False)
    found = claims_at(tmp_path)
    assert [claim.verdict for claim in found[:2]] == [BAD, "holds"]
    assert found[1].short.startswith("With GroupNorm")
    assert [claim.finding for claim in found] == [False, True, False, False]


@pytest.mark.parametrize(
    ("at_02", "at_08", "hurt", "slower"),
    [
        ((0.9, 0.7), (0.32, 0.3), GOOD, GOOD),
        ((0.9, 0.62), (0.32, 0.3), PARTLY, GOOD),  # Test loses eight points of sixty, training 10.
        ((0.9, 0.5), (0.32, 0.3), BAD, BAD),  # Test loses 20 points, training 10.
        ((0.6, 0.5), (0.32, 0.3), BAD, GOOD),
        ((0.9, 0.7), (0.5, 0.3), GOOD, PARTLY),  # Never the same value.
        ((0.9, 0.7), (0.12, 0.1), GOOD, PARTLY),  # The same only at chance.
    ],
)
def test_true_labels(
    at_02: tuple[float, float], at_08: tuple[float, float], hurt: str, slower: str, tmp_path: Path
) -> None:
    random = {0.0: 1.0, 0.2: 0.2, 0.8: 0.1}
    found = thresholds(tmp_path, random, {0.0: (1.0, 0.7), 0.2: at_02, 0.8: at_08})
    assert [claim.verdict for claim in found[2:]] == [hurt, slower]


def noisy(
    folder: Path,
    plain: tuple[float, float, float],
    masked: tuple[float, float, float],
    pending: Sequence[Mapping[str, object]] = (),
    rise: float = 1e-6,
) -> Claim:
    """The claim on runs with these values of wrong labels fitted, test accuracy at its peak, at the end.

    ``rise`` is what each epoch adds to the mask's test accuracy.
    """
    rows = []
    for aggregator, lr, (wrong, peak, end) in (("mean", 1e-3, plain), ("and_mask", 5e-3, masked)):
        for seed in SEEDS:
            for epoch in EPOCHS:
                test = (peak if epoch == 20 else end) + (rise * epoch if aggregator == "and_mask" else 0)
                rows.append(
                    {
                        "aggregator": aggregator,
                        "optimizer.lr": lr,
                        "seed": seed,
                        "epoch": epoch,
                        "train/accuracy_mislabeled": wrong,
                        "test/accuracy": test,
                        **COMMON,
                    }
                )
                # Another rate, which no verdict may look at.
                rows.append({**rows[-1], "optimizer.lr": 5e-4, "train/accuracy_mislabeled": 0.5})
    write(folder, "label_noise", pd.DataFrame(rows), pending)
    (claim,) = wrong_labels.claims(folder)
    return claim


@pytest.mark.parametrize(
    ("plain", "masked", "expected"),
    [
        ((0.9, 0.7, 0.6), (0.03, 0.7, 0.7), GOOD),
        ((0.9, 0.7, 0.69), (0.03, 0.7, 0.7), PARTLY),  # No fall of plain training.
        ((0.9, 0.7, 0.6), (0.03, 0.7, 0.6), PARTLY),  # The mask falls too, though it ends as high.
        ((0.9, 0.7, 0.6), (0.5, 0.7, 0.7), PARTLY),
        ((0.9, 0.7, 0.6), (0.8, 0.7, 0.7), BAD),
    ],
)
def test_label_noise_is_judged_on_the_whole_curve(
    plain: tuple[float, float, float], masked: tuple[float, float, float], expected: str, tmp_path: Path
) -> None:
    assert noisy(tmp_path, plain, masked).verdict == expected


def test_label_noise_shows_plain_training_at_the_rate_of_the_mask(tmp_path: Path) -> None:
    assert "mask's rate" not in noisy(tmp_path, (0.9, 0.7, 0.6), (0.03, 0.7, 0.7)).ours
    for kind in ("curves", "runs"):
        path = tmp_path / FOLDER / f"label_noise_{kind}.csv"
        table = pd.read_csv(path)
        plain = table[(table.aggregator == "mean") & (table["optimizer.lr"] == 1e-3)]
        faster = plain.assign(**{"optimizer.lr": 5e-3, "test/accuracy": 0.75})
        pd.concat([table, faster]).to_csv(path, index=False)
    (claim,) = wrong_labels.claims(tmp_path)
    assert "at the mask's rate has a test accuracy of 75.0 (75.0 to 75.0) % at the end (n = 3)." in claim.ours
    assert claim.verdict == GOOD


def test_each_line_of_figure_9_says_its_seeds(root: Path) -> None:
    runs = runs_of(root / "results", "label_noise")
    n = runs.groupby(["aggregator", "optimizer.lr"]).seed.nunique()
    labels = [text.get_text() for text in figure9.draw(root / "results").legends[0].get_texts()]
    assert labels == [
        f"{name}, rate {rate:g} (n = {n[aggregator, rate]})"
        for aggregator, name, rate in (
            ("mean", "mean (plain training)", 0.001),
            ("mean", "mean (plain training)", 0.005),
            ("and_mask", "AND-mask", 0.005),
        )
    ]


def test_a_claim_whose_runs_are_not_all_done_is_pending_and_shows_what_there_is(tmp_path: Path) -> None:
    waits = [{"aggregator.agreement_threshold": 0.2, "dataset.label_noise": 1.0}] * 2
    random, _, true, _ = thresholds(tmp_path, {0.0: 1.0, 0.2: 0.2, 0.8: 0.1}, LEARNED, pending=waits)
    assert random.verdict == "pending: 6 of 8 runs are done"
    assert random.number == "20.0 % training accuracy at threshold 0.2"
    assert true.verdict == "pending: 18 of 20 runs are done"
    best = [{"aggregator": "and_mask", "optimizer.lr": 5e-3}]
    noise = noisy(tmp_path, (0.9, 0.7, 0.6), (0.03, 0.7, 0.7), pending=best)
    assert noise.verdict == "pending: 6 of 7 runs are done"


@pytest.mark.parametrize(("threshold", "labels"), [(0.2, 0.0), (0.4, 1.0)])
def test_a_claim_does_not_wait_for_runs_that_it_does_not_compare(
    threshold: float, labels: float, tmp_path: Path
) -> None:
    others = [{"aggregator.agreement_threshold": threshold, "dataset.label_noise": labels}]
    random, _, true, _ = thresholds(tmp_path, {0.0: 1.0, 0.2: 0.2, 0.8: 0.1}, LEARNED, pending=others)
    assert (random.verdict, true.kind) == (GOOD, "pending")
    another_rate = [{"aggregator": "and_mask", "optimizer.lr": 5e-4}]
    assert noisy(tmp_path, (0.9, 0.7, 0.6), (0.03, 0.7, 0.7), pending=another_rate).verdict == GOOD


def test_without_any_run_claims_figures_and_tables_say_pending(tmp_path: Path) -> None:
    names = ("other_votes", "random_labels_fashion", "baselines", "number_of_images", "default")
    for name in (*STUDIES, *names):
        write_pending(tmp_path, name)
    found = [*claims_at(tmp_path), *wrong_labels.claims(tmp_path)]
    assert {claim.verdict for claim in found} == {"pending: 0 of 4 runs are done"}
    drawn = (figure8_epochs, figure8_other_votes, figure9, figure16, memorisation_baselines)
    for module in (*drawn, memorisation_by_images):
        (axes,) = module.draw(tmp_path).axes
        assert axes.texts[0].get_text().startswith("pending")
    tables = (figure16, figure16_fashion, figure8_group_norm, figure8_other_votes)
    for table in (*tables, label_noise_rates, memorisation_by_images, memorisation_default):
        assert list(table.tabulate(tmp_path)) == ["pending"]


def test_the_table_of_thresholds_says_what_is_pending(tmp_path: Path) -> None:
    others = [{"aggregator.agreement_threshold": 0.6, "dataset.label_noise": 1.0}]
    thresholds(tmp_path, {0.0: 1.0, 0.2: 0.3}, LEARNED, speed=1.0, pending=others)
    plain, mask, missing = figure16.tabulate(tmp_path).to_numpy().tolist()
    perfect = "100.0 (100.0 to 100.0)"
    assert plain == ["0", 3, perfect, "22.5 (22.5 to 22.5)", 3, perfect, "70.1 (70.0 to 70.2)"]
    ends = "90.0 (90.0 to 90.0)", "72.1 (72.0 to 72.2)"
    assert mask == ["0.2", 3, "30.0 (30.0 to 30.0)", "5.0 (5.0 to 5.0)", 3, *ends]
    assert missing == ["0.6", 0, "pending", "pending", 0, "pending", "pending"]


@pytest.mark.parametrize(
    ("found", "seeds", "limit", "unfinished", "finding", "expected"),
    [
        ((True, False), 3, "", "", False, "reproduced"),
        ((True, True), 3, LIMIT, "", False, GOOD),
        ((False, True), 3, "", "", False, "in part: not the whole pattern"),
        ((False, False), 3, "", "", False, "not reproduced"),
        ((False, False), 3, LIMIT, "", False, BAD),
        ((True, True), 2, LIMIT, "", False, "undecided: 2 seeds"),
        ((True, True), 1, "", "", True, "undecided: 1 seed"),
        ((True, True), 3, LIMIT, "1 of 2 runs", False, "pending: 1 of 2 runs"),
        ((True, True), 3, "", "", True, "holds"),
        ((False, True), 3, "", "", True, "in part: not the whole pattern"),
        ((False, False), 3, "", "", True, "does not hold"),
    ],
)
def test_the_words_of_a_verdict(
    found: tuple[bool, bool], seeds: int, limit: str, unfinished: str, finding: bool, expected: str
) -> None:
    assert verdict(found, seeds, limit, unfinished, finding) == expected


@pytest.mark.parametrize(
    ("source", "width", "expected"),
    [
        ("CIFAR-10, 50,000 for training", 64, ""),
        ("CIFAR-10, 50,000 for training", 8, "with a narrower network"),
        ("CIFAR-10 (JPEG copy), 50,000 for training", 8, LIMIT),
        ("Fashion-MNIST, 60,000 for training", 64, "on other data"),
    ],
)
def test_what_differs_from_the_papers_setting(source: str, width: int, expected: str) -> None:
    assert limits(pd.DataFrame({"data_source": [source], "model.width": [width]})) == expected


def test_the_source_asks_for_a_steady_rise(tmp_path: Path) -> None:
    (tmp_path / "rising").mkdir()
    rising = noisy(tmp_path / "rising", (0.9, 0.7, 0.6), (0.03, 0.7, 0.7))
    flat = noisy(tmp_path, (0.9, 0.7, 0.6), (0.03, 0.7, 0.7), rise=0)
    assert (rising.verdict, flat.verdict) == (GOOD, PARTLY)
    assert "rises from each quarter to the next in 3 of 3 seeds" in rising.ours
    assert "rises from each quarter to the next in 0 of 3 seeds" in flat.ours


def test_every_rate_has_a_row(tmp_path: Path) -> None:
    noisy(tmp_path, (0.9, 0.7, 0.6), (0.03, 0.7, 0.7))
    table = label_noise_rates.tabulate(tmp_path)
    assert len(table) == 4
    row = table[(table.method == "mean (plain training)") & (table["learning rate"] == "0.001")].iloc[0]
    assert row["test, highest minus last"] == "10.0 (10.0 to 10.0)"
    assert row.seeds == 3
