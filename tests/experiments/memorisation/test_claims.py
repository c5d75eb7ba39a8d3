"""The verdicts of section 3.2 follow whole curves, and each seed's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.memorisation.claims import labels, wrong_labels
from ilc.experiments.memorisation.figures import label_noise_rates
from ilc.experiments.memorisation.results import FOLDER
from ilc.experiments.memorisation.verdicts import verdict
from ilc.figures.claims import Claim

EPOCHS = range(4, 81, 4)
SEEDS = range(3)
COMMON = {"model.norm": "batch", "data_source": "procedural images (embedded)"}


def write(folder: Path, name: str, curves: pd.DataFrame) -> None:
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    curves.drop(columns="data_source").to_csv(folder / FOLDER / f"{name}_curves.csv", index=False)
    curves[curves.epoch == max(EPOCHS)].to_csv(folder / FOLDER / f"{name}_runs.csv", index=False)


def thresholds(
    folder: Path, random: dict[float, float], true: dict[float, tuple[float, float]], speed: float = 1.0
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
    write(folder, "random_labels", pd.DataFrame(rows))
    return labels.claims(folder)


GOOD, PARTLY, BAD = (
    "pattern reproduced on a stand-in",
    "in part, on a stand-in",
    "not reproduced, on a stand-in",
)
LEARNED = {0.0: (1.0, 0.7), 0.2: (0.9, 0.72), 0.8: (0.12, 0.1)}


@pytest.mark.parametrize(
    ("random", "speed", "expected"),
    [
        ({0.0: 1.0, 0.2: 0.2, 0.8: 0.1}, 4.0, GOOD),
        ({0.0: 1.0, 0.2: 0.39, 0.8: 0.1}, 1.0, PARTLY),  # Still rising when the rate falls: delayed.
        ({0.0: 1.0, 0.2: 0.7, 0.8: 0.1}, 4.0, PARTLY),
        ({0.0: 1.0, 0.2: 0.99, 0.8: 0.1}, 4.0, BAD),  # 0.8 prevents it too, but learns nothing either.
        ({0.0: 0.5, 0.2: 0.2, 0.8: 0.1}, 4.0, PARTLY),  # Plain training does not memorise either.
    ],
)
def test_preventing_is_more_than_delaying(
    random: dict[float, float], speed: float, expected: str, tmp_path: Path
) -> None:
    assert thresholds(tmp_path, random, LEARNED, speed)[0].verdict == expected


def test_a_larger_threshold_that_separates_is_a_part(tmp_path: Path) -> None:
    learned = {**LEARNED, 0.4: (0.8, 0.7)}
    random = {0.0: 1.0, 0.2: 0.99, 0.4: 0.15, 0.8: 0.1}
    claim = thresholds(tmp_path, random, learned, 4.0)[0]
    assert claim.verdict == PARTLY
    assert "two points of test accuracy: 0.4;" in claim.ours


def test_group_norm_has_a_row_of_its_own(tmp_path: Path) -> None:
    random = {0.0: 1.0, 0.2: 0.99, 0.8: 0.1}
    usual = thresholds(tmp_path, random, LEARNED, 4.0)
    for kind in ("runs", "curves"):
        path = tmp_path / FOLDER / f"random_labels_{kind}.csv"
        table = pd.read_csv(path)
        chosen = table[table["aggregator.agreement_threshold"] < 0.8].assign(**{"model.norm": "group"})
        memorised = (chosen["aggregator.agreement_threshold"] > 0) & (chosen["dataset.label_noise"] == 1)
        chosen.loc[memorised, "train/accuracy"] = 0.15
        pd.concat([table, chosen]).to_csv(path, index=False)
    found = labels.claims(tmp_path)
    assert [claim.verdict for claim in usual] == [found[0].verdict, *(c.verdict for c in found[2:])]
    assert found[0].verdict == BAD
    assert found[1].verdict == GOOD
    assert found[1].short.startswith("With GroupNorm")


@pytest.mark.parametrize(
    ("at_02", "at_08", "hurt", "slower"),
    [
        ((0.9, 0.7), (0.32, 0.3), GOOD, GOOD),
        ((0.9, 0.5), (0.32, 0.3), BAD, BAD),  # Test loses 20 points, training 10.
        ((0.6, 0.5), (0.32, 0.3), BAD, GOOD),
        ((0.9, 0.7), (0.5, 0.3), GOOD, PARTLY),  # Never the same value.
        ((0.9, 0.7), (0.12, 0.1), GOOD, PARTLY),  # The same at chance alone.
    ],
)
def test_true_labels(
    at_02: tuple[float, float], at_08: tuple[float, float], hurt: str, slower: str, tmp_path: Path
) -> None:
    random = {0.0: 1.0, 0.2: 0.2, 0.8: 0.1}
    found = thresholds(tmp_path, random, {0.0: (1.0, 0.7), 0.2: at_02, 0.8: at_08}, 4.0)
    assert [claim.verdict for claim in found[1:]] == [hurt, slower]


def noisy(folder: Path, plain: tuple[float, float, float], masked: tuple[float, float, float]) -> Claim:
    """The claim on runs with these values of wrong labels fitted, test accuracy at its peak, at the end."""
    rows = []
    for aggregator, lr, (wrong, peak, end) in (("mean", 1e-3, plain), ("and_mask", 5e-3, masked)):
        for seed in SEEDS:
            for epoch in EPOCHS:
                test = peak if epoch == 20 else end
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
    write(folder, "label_noise", pd.DataFrame(rows))
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
    path = tmp_path / "cifar" / "label_noise_curves.csv"
    curves = pd.read_csv(path)
    plain = curves[(curves.aggregator == "mean") & (curves["optimizer.lr"] == 1e-3)]
    faster = plain.assign(**{"optimizer.lr": 5e-3, "test/accuracy": 0.75})
    pd.concat([curves, faster]).to_csv(path, index=False)
    (claim,) = wrong_labels.claims(tmp_path)
    assert "plain at the mask's rate 75.0 (75.0 to 75.0) on the test set at the end" in claim.ours
    assert claim.verdict == GOOD


def test_few_seeds_are_named() -> None:
    assert verdict(True, False, 1) == f"{GOOD}, 1 seed"
    assert verdict(False, True, 2) == f"{PARTLY}, 2 seeds"
    assert verdict(False, False, 3) == BAD


def test_every_rate_has_a_row(tmp_path: Path) -> None:
    noisy(tmp_path, (0.9, 0.7, 0.6), (0.03, 0.7, 0.7))
    table = label_noise_rates.tabulate(tmp_path)
    assert len(table) == 4
    row = table[(table.method == "mean (plain training)") & (table["learning rate"] == "0.001")].iloc[0]
    assert row["test, highest minus last"] == "10.0 (10.0 to 10.0)"
    assert row.seeds == 3
