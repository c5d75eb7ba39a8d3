"""Numbers that docs/memorisation.md and the thumbnail's caption print are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation import thumbnail


def test_the_papers_size(text: str, root: Path) -> None:
    costs = pd.read_csv(root / "results" / "cost" / "gradients.csv")
    network = costs[costs.model == "FastResNet, BatchNorm"].set_index("way")
    seconds = network.milliseconds["plain training"] / 1000
    assert f"A plain step takes {seconds:.1f} s on two CPU cores" in text
    assert set(network.threads) == {2} and set(network.environments) == {80}
    hours = 80 * 50_000 / 80 * seconds / 3600
    assert f"so plain training takes {hours:.0f} hours" in text
    assert 1.9 < network.times_plain["per_example"] < 2.1 and "the mask twice as long" in text


def test_the_caption_of_the_thumbnail(root: Path) -> None:
    runs = pd.read_csv(root / "results" / "memorisation" / "default_runs.csv")
    random = runs[(runs["dataset.label_noise"] == 1) & runs.command.str.contains("cifar_random_labels")]
    fitted = random.groupby(random["aggregator.agreement_threshold"] > 0)["train/accuracy"].median()
    caption = (thumbnail.__doc__ or "").splitlines()[0]
    assert "plain training fits all of them, the AND-mask fits a third" in caption
    assert fitted[False] > 0.99 and abs(fitted[True] - 1 / 3) < 0.01


def test_wider_networks(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "memorisation" / "random_labels_wide_runs.csv")
    runs = runs[(runs["model.width"] == 16) & (runs.stopped != "pending")]
    key = ["dataset.label_noise", "aggregator.agreement_threshold"]
    last = 100 * runs.set_index(key)[["train/accuracy", "test/accuracy"]].astype(float)
    plain, mask = last["train/accuracy"][1, 0], last["train/accuracy"][1, 0.2]
    assert f"plain training fits {plain:.1f} % of the random labels, and the mask {mask:.1f} %" in text
    cost = last["test/accuracy"][0, 0] - last["test/accuracy"][0, 0.2]
    assert f"it costs {cost:.1f} points of test accuracy" in text
    assert len(runs) == 4 and set(runs.seed) == {0}
