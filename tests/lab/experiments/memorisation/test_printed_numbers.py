"""Numbers that docs/memorisation.md and the thumbnail's caption print are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.page_text import word
from ilc.gradients import example_local
from lab.experiments.memorisation import thumbnail
from lab.experiments.memorisation.results import at_best_rates, curves_of, runs_of


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
    plain, mask = (f"{100 * fitted[masked]:.0f} %" for masked in (False, True))
    words = f"In {random.epoch.max()} epochs plain training fits {plain} of 9,600 random Fashion-MNIST labels"
    assert caption == f"{words}, the mask {mask} (medians)."


def test_all_images(text: str, root: Path) -> None:
    """Figures 8 and 16 on all images: three seeds at 0 and 0.2, fewer at the other thresholds."""
    curves = pd.read_csv(root / "results" / "memorisation" / "random_labels_curves.csv")
    key = ["dataset.label_noise", "aggregator.agreement_threshold"]
    ends = curves[curves.epoch == 80].set_index([*key, "seed"]).sort_index()
    last = 100 * ends[["train/accuracy", "test/accuracy"]]
    plain, mask = (last["train/accuracy"].loc[1, threshold] for threshold in (0, 0.2))
    assert len(plain) == len(mask) == 3 and "(three seeds each)" in text
    words = f"ends at {_range(plain)} % of the training labels, and the mask at 0.2 ends at {_range(mask)} %"
    assert words in text
    masked = curves[(curves[key[0]] == 1) & (curves[key[1]] == 0.2)]
    assert f"it is never above {100 * masked['train/accuracy'].max():.1f} %" in text
    fitted = 100 * masked.pivot(index="epoch", columns="seed", values="train/accuracy")
    gained = fitted.loc[80] - fitted.loc[40]
    assert f"It gains {_range(gained)} points between epochs 40 and 80, in each seed" in text
    assert gained.min() > 0
    assert set(ends.loc[0, 0].index) == set(ends.loc[0, 0.2].index) == {0, 1, 2}
    learned, kept = ([_range(last[column].loc[0, threshold]) for column in last] for threshold in (0.2, 0))
    words = f"the mask at 0.2 ends at {learned[0]} % in training and {learned[1]} % in the test, plain"
    assert f"With true labels (three seeds each) {words} training at {kept[0]} % and {kept[1]} %." in text
    random, true = last["train/accuracy"].loc[1], last["test/accuracy"].loc[0]
    seeds = true.groupby(level=0).size()
    assert f"At 0.1 ({_seeds(seeds[0.1])}) the mask fits {_range(random.loc[0.1])} % of the random" in text
    assert f"its test accuracy is {_range(true.loc[0.1])} %. So at this width 0.1 may be better" in text
    assert true.loc[0.2].max() < true.loc[0.1].min()
    larger = (0.4, 0.6, 0.8)
    words = f"at 0.4 ({_seeds(seeds[0.4])}), 0.6 and 0.8 (one seed each) the mask fits "
    assert f"{words}{_range(random[random.index.isin(larger, level=0)])} % of the random labels, and" in text
    assert (
        "its test accuracy is {} %, {} % and {} %. One seed is no verdict.".format(
            *(_range(true.loc[threshold]) for threshold in larger)
        )
        in text
    )


def test_group_norm(text: str, root: Path) -> None:
    key = ["dataset.label_noise", "aggregator.agreement_threshold"]
    group, batch = (
        100
        * pd.read_csv(root / "results" / "memorisation" / f"{name}_runs.csv")
        .dropna(subset="train/accuracy")
        .set_index(key)[["train/accuracy", "test/accuracy"]]
        for name in ("random_labels_group_norm", "random_labels")
    )
    plain, mask = (group["train/accuracy"].loc[[(1, threshold)]] for threshold in (0, 0.2))
    words = f"With random labels ({_seeds(len(plain))}) plain training ends here at {_range(plain)} % of the"
    assert f"{words} training labels, and the mask at 0.2 ends at {_range(mask)} %." in text
    assert len(plain) == len(mask)
    curves = pd.read_csv(root / "results" / "memorisation" / "random_labels_group_norm_curves.csv")
    masked = 100 * curves[(curves[key[0]] == 1) & (curves[key[1]] == 0.2)]["train/accuracy"]
    assert f"The mask is between {masked.min():.1f} and {masked.max():.1f} % at all evaluations," in text
    assert plain.max() < batch["train/accuracy"].loc[[(1, 0)]].min()
    plain, mask = (group["test/accuracy"].loc[[(0, threshold)]] for threshold in (0, 0.2))
    words = (
        f"With true labels ({_seeds(len(mask))}) the mask costs more than with BatchNorm: its test accuracy"
    )
    assert f"{words} is {_range(mask)} %, and that of plain training is {_range(plain)} %." in text
    with_batch_norm = [batch["test/accuracy"].loc[[(0, threshold)]] for threshold in (0, 0.2)]
    assert plain.min() - mask.max() > with_batch_norm[0].max() - with_batch_norm[1].min()


def test_the_last_layer(text: str, root: Path) -> None:
    key = ["dataset.label_noise", "aggregator.agreement_threshold", "model.scaled_logits"]
    runs = pd.read_csv(root / "results" / "memorisation" / "last_layer_runs.csv").set_index(key).sort_index()
    last = 100 * runs[["train/accuracy", "test/accuracy"]]

    def both(noise: float, threshold: float, part: str) -> tuple[str, str]:
        of_each = [last.loc[(noise, threshold, scaled), f"{part}/accuracy"] for scaled in (True, False)]
        assert all(len(of_one) == 2 for of_one in of_each) and "(two seeds)" in text
        return _range(of_each[0]), _range(of_each[1])

    authors, ours = both(1, 0.2, "train")
    words = f"the mask at 0.2 fits {authors} % of the random labels, and with ours {ours} % (two seeds)."
    assert f"{words} Plain training fits {' % and '.join(both(1, 0, 'train'))} %." in text
    words = f"the test accuracy of the mask is {' % and '.join(both(0, 0.2, 'test'))} %, and that of plain"
    assert f"{words} training is {' % and '.join(both(0, 0, 'test'))} %." in text
    mask = last.loc[(1, 0.2), "train/accuracy"]
    assert mask.loc[True].max() < mask.loc[False].min()
    tests = runs.loc[0].set_index("seed", append=True)["test/accuracy"] * 100
    lost = tests.loc[0] - tests.loc[0.2]
    assert f"its test accuracy is {_range(lost.loc[True])} points below that of plain training in" in text
    assert f"with ours it is {_range(-lost.loc[False])} points above" in text


def test_rescaling_the_local_vote(text: str, root: Path) -> None:
    """Training with the local vote, with and without rescaling, beside plain training."""
    runs = runs_of(root / "results", "other_votes")
    runs = runs[runs.gradients == "per_example"]
    runs = runs.assign(plain=(runs.aggregator == "mean") | (runs["aggregator.agreement_threshold"] == 0))
    last = runs.set_index(["plain", "aggregator.rescale", "dataset.label_noise"])
    last = 100 * last[["train/accuracy", "train/accuracy_mislabeled", "test/accuracy"]]

    def both(noise: float, key: str) -> str:
        return " {} ".join(f"{last.loc[(False, kind, noise), key].item():.1f}" for kind in (True, False))

    random = both(1, "train/accuracy").format("% of the random labels with it and")
    wrong = both(0.25, "train/accuracy_mislabeled").format("and")
    assert f"the mask fits {random} % without, and {wrong} % of the wrong ones." in text
    plain = last.loc[True].droplevel(0)
    memorised = plain.loc[1, "train/accuracy"], plain.loc[0.25, "train/accuracy_mislabeled"]
    assert "Plain training fits {:.1f} and {:.1f} %.".format(*memorised) in text
    test = both(0.25, "test/accuracy").format("and")
    words = f"the mask ends at {test} % in the test, and plain training at"
    assert f"{words} {plain.loc[0.25, 'test/accuracy']:.1f} %." in text
    assert set(runs.seed) == {0}


def test_training_with_the_exact_vote(text: str, root: Path) -> None:
    """The authors' vote fits more random labels than the local one does, at the end and on the way."""
    table = curves_of(root / "results", "other_votes")
    on_random = (table["dataset.label_noise"] == 1) & (table["aggregator.agreement_threshold"] == 0.2)
    table = table[on_random & table["aggregator.rescale"].eq(True)]
    curves = table.pivot(index="epoch", columns="gradients", values="train/accuracy") * 100
    exact, local = curves["per_example_loss"], curves["per_example"]
    words = f"the mask fits {exact[40]:.1f} % of the random labels, and with the local vote {local[40]:.1f} %"
    assert f"with it {words} (after 20 epochs {exact[20]:.1f} and {local[20]:.1f} %)" in text
    assert (exact > local).loc[8:].all() and max(curves.index) == 40


def test_wider_networks(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "memorisation" / "random_labels_wide_runs.csv")
    runs = runs[(runs["model.width"] == 16) & (runs.stopped != "pending")]
    key = ["dataset.label_noise", "aggregator.agreement_threshold"]
    last = 100 * runs.set_index(key)[["train/accuracy", "test/accuracy"]].astype(float)
    plain, mask = last["train/accuracy"][1, 0], last["train/accuracy"][1, 0.2]
    assert f"plain training fits {plain:.1f} % of the random labels, and the mask {mask:.1f} %" in text
    cost = last["test/accuracy"][0, 0] - last["test/accuracy"][0, 0.2]
    narrow = pd.read_csv(root / "results" / "memorisation" / "random_labels_runs.csv")
    narrow = narrow[(narrow.seed == 0) & (narrow.stopped != "pending")].set_index(key)
    at_8 = 100 * narrow["test/accuracy"].astype(float)
    less = at_8[0, 0] - at_8[0, 0.2]
    assert f"at width 16 it costs {cost:.1f} points, and at width 8 it costs {less:.1f}." in text
    assert f"more than at width 8 ({100 * float(narrow['train/accuracy'][1, 0.2]):.1f} %)" in text
    curves = pd.read_csv(root / "results" / "memorisation" / "random_labels_wide_curves.csv")
    curves = curves[curves["model.width"] == 16].set_index([*key, "epoch"])
    assert f"(from {100 * curves['train/accuracy'][1, 0.2, 60]:.1f} % after 60 epochs)" in text
    assert len(runs) == 4 and set(runs.seed) == {0}


def test_label_noise(text: str, root: Path) -> None:
    """Of each method the range over its seeds at the paper's best rate is what is printed."""
    curves = at_best_rates(curves_of(root / "results", "label_noise"))
    assert curves.groupby("aggregator").seed.nunique().to_dict() == {"and_mask": 3, "mean": 3}
    keys = ["train/accuracy_mislabeled", "test/accuracy"]
    percent = {name: 100 * of.set_index(["epoch", "seed"])[keys] for name, of in curves.groupby("aggregator")}
    mask, plain = percent["and_mask"], percent["mean"]
    wrong, right = ((_range(mask[key].loc[80]), _range(plain[key].loc[80])) for key in keys)
    assert f"the mask fits {wrong[0]} % of the wrong labels and plain training {wrong[1]} %" in text
    assert f"The mask ends at {right[0]} % test accuracy and plain training at {right[1]} %" in text
    best = [test.idxmax() for _, test in plain["test/accuracy"].groupby("seed")]
    highest = plain["test/accuracy"][best]
    assert highest.min() > mask["test/accuracy"].max()
    epochs = [epoch for epoch, _ in best]
    words = f"it reaches {_range(highest)} % at epochs {min(epochs):.0f} to {max(epochs):.0f}"
    assert words in text
    assert f"fits {_range(plain[keys[0]][best])} % of the wrong labels" in text
    runs = runs_of(root / "results", "label_noise")
    other = runs.merge(curves[["aggregator", "optimizer.lr"]].drop_duplicates(), how="left", indicator=True)
    other = other[other._merge == "left_only"].set_index("aggregator")[keys] * 100
    of_mask, of_plain = ([_range(other.loc[name, key]) for key in keys] for name in ("and_mask", "mean"))
    words = f"there the mask fits {of_mask[0]} % of the wrong labels and ends at {of_mask[1]} % in the test,"
    assert f"{words} and plain training fits {of_plain[0]} % and ends at {of_plain[1]} %. One" in text
    assert len(other) == 4


def _range(percent: pd.Series) -> str:
    """Return the least and the largest value, or the value that both are as printed."""
    low, high = f"{percent.min():.1f}", f"{percent.max():.1f}"
    return low if low == high else f"{low} to {high}"


def _seeds(n: int) -> str:
    return "one seed" if n == 1 else f"{word(n)} seeds"


def test_what_to_expect(text: str, root: Path) -> None:
    """Of each group the range over all its seeds is what is printed."""
    folder = root / "results" / "memorisation"
    runs = pd.concat(
        pd.read_csv(folder / f"{name}_runs.csv")
        for name in ("number_of_images", "random_labels", "random_labels_wide")
    )
    runs = runs[(runs.stopped != "pending") & (runs["dataset.label_noise"] == 1)]
    runs["images"] = runs["dataset.n_environments"].fillna(50_000)
    masked = runs[runs["aggregator.agreement_threshold"] == 0.2]
    fitted = 100 * masked.set_index(["model.width", "images", "epoch"])["train/accuracy"].sort_index()

    def of(width: int, images: int, epochs: int = 40) -> list[float]:
        return sorted(fitted[width, images, epochs])

    width = runs["model.width"]
    few = runs[(runs.images == 800) & width.isin([8, 16]) | runs.images.isin([2400, 4800]) & (width == 16)]
    assert (few["train/accuracy"] >= 0.99).all()
    assert "prevents nothing at widths 8 and 16, and on 2,400 and 4,800 nothing at width 16" in text
    assert set(few["aggregator.agreement_threshold"]) == {0, 0.2}
    assert "fit 99 % or more of the random labels, as plain training does" in text
    low, high = of(8, 4800)[0], of(8, 4800)[-1]
    assert min(of(8, 4800, 200)) > 99.9
    assert f"width 8 fits {low:.0f} to {high:.0f} % in 40 epochs, and all in 200." in text
    all_images = [of(width, 50_000, epochs) for width, epochs in ((4, 40), (8, 80), (16, 80))]
    assert [len(each) for each in all_images] == [1, 3, 1]
    (four,), eight, (sixteen,) = all_images
    words = (
        f"width 4 at {four:.1f}, width 8 at {eight[0]:.1f} to {eight[-1]:.1f} and width 16 at {sixteen:.1f} %"
    )
    assert f"On all 50,000 images the mask holds {words}" in text
    parameters = masked.groupby("model.width").parameters.first()
    wide = 50_000 / parameters[16]
    assert f"width 16 fits {all_images[2][0]:.1f} % with {wide:.2f} (80 epochs)" in text
    narrow, many = of(4, 4800), 4800 / parameters[4]
    words = (
        f"width 4 fits {narrow[0]:.0f} to {narrow[-1]:.0f} % with {many:.2f} images per parameter (40 epochs)"
    )
    assert words in text and many > wide and narrow[0] > all_images[2][0]


def test_equally_many_steps(text: str, root: Path) -> None:
    results = root / "results"
    runs = runs_of(results, "number_of_images")
    key = ["aggregator.agreement_threshold", "model.width", "dataset.n_environments"]
    equal = runs[runs.epoch != 40]
    equal = equal[equal["dataset.n_environments"] >= 4800]
    fitted = 100 * equal.set_index(key)["train/accuracy"].sort_index()
    assert (equal.groupby(key).seed.nunique() == 2).all() and equal.step.between(11_900, 12_100).all()

    def of(threshold: float, width: int) -> list[str]:
        return [_range(fitted[threshold, width, number]) for number in (4800, 9600, 19200)]

    wide = "fits {} % of the labels of 4,800 images at width 8, {} % of 9,600 and {} % of 19,200."
    assert f"(two seeds) the mask {wide.format(*of(0.2, 8))}" in text
    assert "At width 4 it fits {}, {} and {} %.".format(*of(0.2, 4)) in text
    words = f"Plain training fits {fitted[0, 8].min():.1f} % or more at width 8, and "
    assert words + "{}, {} and {} % at width 4.".format(*of(0, 4)) in text
    early = 100 * runs[runs.epoch == 40].set_index(key)["train/accuracy"].sort_index()
    of_default = runs_of(results, "last_layer").query("not `model.scaled_logits`")
    of_default = of_default[of_default["dataset.label_noise"] == 1]
    of_default = 100 * of_default.set_index(key[0])["train/accuracy"].sort_index()
    for after, before in (
        (fitted[0.2, 8, 4800], early[0.2, 8, 4800]),
        (fitted[0.2, 8, 9600], of_default[0.2]),
        (fitted[0.2, 4, 4800], early[0.2, 4, 4800]),
    ):
        assert after.min() > before.max() + 10  # "far more"
    # "in four times as many steps"
    assert runs_of(results, "random_labels").step.min() > 4 * equal.step.max()


def test_other_methods(text: str, root: Path) -> None:
    folder = root / "results" / "memorisation"
    runs = pd.concat(pd.read_csv(folder / f"{name}_runs.csv") for name in ("baselines", "default"))

    def of(experiment: str, aggregator: str, noise: float, key: str) -> str:
        own = runs[(runs.experiment == experiment) & (runs.aggregator == aggregator)]
        own = own[(own["dataset.label_noise"] == noise) & (own["aggregator.agreement_threshold"] != 0)]
        values = 100 * own[key]
        assert len(values) == 3
        return f"{values.median():.1f} % ({values.min():.1f} to {values.max():.1f})"

    def fitted(aggregator: str) -> tuple[str, str]:
        return (
            of("cifar_random_labels", aggregator, 1, "train/accuracy"),
            of("cifar_label_noise", aggregator, 0.25, "train/accuracy_mislabeled"),
        )

    random, wrong = fitted("gradient_agreement")
    assert f"filtering fits {random} of the random labels and {wrong} of the wrong ones" in text
    random, wrong = fitted("micro_batch_median")
    assert f"the median of micro-batches {random} and {wrong}" in text
    random, wrong = (each.partition(" (")[0] for each in fitted("and_mask"))
    assert f"fits {random} and {wrong}." in text
    for noise, key in ((1, "train/accuracy"), (0.25, "train/accuracy_mislabeled")):
        own = runs[runs["dataset.label_noise"] == noise].set_index("aggregator")
        mask = own[own["aggregator.agreement_threshold"] == 0.2][key]
        others = own.loc[["gradient_agreement", "micro_batch_median"]][key]
        assert len(mask) == 3 and len(others) == 6 and others.min() > mask.max()
    assert "On the embedded images neither holds memorisation back as the mask does" in text


def test_which_vote(text: str, root: Path) -> None:
    votes = pd.read_csv(root / "results" / "memorisation" / "votes.csv")
    assert set(votes.step) == set(range(0, 1200, 40)) and set(votes.seed) == {0}
    at = votes[votes.threshold == 0.2].groupby("label_noise").mean(numeric_only=True)
    random, true = at.loc[1], at.loc[0]
    kept = f"{random.kept_share_exact:.2f}"
    assert f"{random.kept_share_local:.2f}" == kept and f"exact one ({kept} each)" in text
    local = f"is {random.overlap_local:.2f} on average, and the cosine between the masked gradients "
    assert local + f"{random.cosine_local:.2f}." in text
    assert (
        f"On true labels overlap and cosine are {true.overlap_local:.2f} and {true.cosine_local:.2f}." in text
    )
    share = f"further away: {random.overlap_share:.2f} and {random.cosine_share:.2f} on random labels, "
    assert share + f"{true.overlap_share:.2f} and {true.cosine_share:.2f} on true ones" in text
    docstring = " ".join((example_local.__doc__ or "").split())
    for vote in ("local", "share"):
        numbers = f"overlap {random[f'overlap_{vote}']:.2f}, keeps {random[f'kept_share_{vote}']:.2f}."
        assert numbers.replace("0.", ".") in docstring
