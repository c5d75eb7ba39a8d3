"""The numbers that docs/spirals.md prints in its sentences are those of the committed results."""

from __future__ import annotations

import re
from math import comb
from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import page_text, tenths, whole, word
from lab.experiments.spirals.claims.gradients import THESIS_MECHANISM
from lab.experiments.spirals.correlations import MIN_COMPONENTS
from lab.experiments.spirals.domains import ACCURACY, GROUPS, Group, chance, read_domains, read_groups
from lab.experiments.spirals.environments import SIZES, UNANIMITY, read_environments
from lab.experiments.spirals.figures.spirals_authors_code import PRINTED_ENVIRONMENTS, read_authors_code
from lab.experiments.spirals.methods import (
    BASELINES,
    JOINT,
    METHODS,
    NAMED_AT_CHANCE,
    PERFECT,
    above_chance,
    read_methods,
    read_trials,
)
from lab.experiments.spirals.reading_outcomes import PUBLISHED_ENVIRONMENTS, Outcome, read_outcomes
from lab.experiments.spirals.readings import AND_MASK_RUNS, CHOSEN
from lab.experiments.spirals.settings import (
    AUTHORS,
    CONFIGURATION_OF_AUTHORS,
    CORRELATIONS_OF_AUTHORS,
    CORRELATIONS_OF_THREE,
    DOMAINS_OF_THREE,
    INPUT_WEIGHTS_OF_AUTHORS,
    KAIMING,
    THREE,
    TWO,
    WHOLE,
    WHOLE_RUNS,
    runs_at,
    settings_of_methods,
    trials_at,
)
from lab.experiments.spirals.settings import tests_at as accuracies_at
from lab.experiments.spirals.unanimous import read_unanimous, tables_of
from lab.figures.mean_interval import mean_interval
from lab.files.stopped_column import DIVERGED

SOLVED, MEMORISED, COMPLETED = "solved", "memorised", "completed"


@pytest.fixture(scope="module")
def results(root: Path) -> Path:
    return root / "results"


@pytest.fixture(scope="module")
def outcomes(results: Path) -> list[Outcome]:
    return read_outcomes(results)


def test_the_first_weights_of_the_authors_code(text: str, results: Path) -> None:
    runs = read_authors_code(results)
    printed = runs["dataset.n_environments"] == PRINTED_ENVIRONMENTS
    plain = runs[runs.aggregator == "mean"]["test/accuracy"]
    shown = f"its {len(plain)} runs have {tenths(plain.min())} to {tenths(plain.max())} % test accuracy."
    assert shown in text
    masked = runs[~printed & (runs.aggregator == "and_mask") & (runs["dataset.shortcut_variance"] == 0.1)]
    assert set(masked["dataset.revolutions"].value_counts()) == {5}
    lowest = tenths(masked["test/accuracy"].min())
    assert f"all five seeds of the AND-mask have {lowest} % or more at the end of both" in text
    wide = runs[~printed & (runs.aggregator == "and_mask") & (runs["dataset.shortcut_variance"] == 1.0)]
    reached = (wide["test/accuracy"] >= PERFECT).groupby(wide["dataset.revolutions"]).agg(["sum", "size"])
    two, three = (word(n) for n in reached["sum"])
    assert set(reached["size"]) == {5}
    assert (
        f"With variance 1 {two} seeds of five reach 99 % at two revolutions, and {three} of five at three."
    ) in text
    command = runs[printed & (runs.aggregator == "and_mask")].set_index("seed")["test/accuracy"]
    assert f"finds the mechanism in {(command >= PERFECT).sum()} of {len(command)} seeds." in text
    assert f"Our seed 0 ended at {whole(command[0])} %." in text


def test_the_reading_that_has_all_three(text: str, outcomes: list[Outcome]) -> None:
    found = sorted(outcomes, key=lambda outcome: outcome.reproduced)
    assert [outcome.reproduced for outcome in found[-2:]] == [2, 3]
    best = found[-1]
    assert (best.reading, best.counted) == (CHOSEN, "own")
    assert "One reading has all three" in text and "The next best readings have two of the results" in text
    perfect = int((best.rescaled >= PERFECT).sum())
    assert f"configuration is perfect in {word(perfect)} of {word(len(best.rescaled))} seeds." in text
    small, large = [*best.plain.values()][:2], best.plain[PUBLISHED_ENVIRONMENTS]
    assert max(test.max() for test in small) < 0.55 and (large >= PERFECT).all()
    assert f"with 256 and 512 environments and perfect with 1,024 in all {word(len(large))} seeds." in text


def test_the_other_readings(text: str, outcomes: list[Outcome], results: Path) -> None:
    each = [outcome for outcome in outcomes if outcome.counted == "each"]
    (literal,) = (outcome for outcome in each if outcome.as_published.median() >= PERFECT)
    assert f"perfect under one of the {word(len(each))} readings" in text
    assert literal.reading._asdict() == {
        "shortcut_variance": 0.01,
        "standardize_mechanism": True,
        "revolutions": 1.5,
    }
    assert literal.first == 256 and "256 environments are enough for plain training" in text
    masked = pd.read_csv(results / AND_MASK_RUNS)
    assert masked[masked["dataset.batch_size"] == 128 / 32]["mask/density"].max() == 0
    three = [o for o in outcomes if o.reading.revolutions == 3 and o.reading.shortcut_variance == 0.1]
    assert max(test.max() for outcome in three for test in outcome.plain.values() if len(test)) < 0.55
    (deviation,) = (
        o
        for o in outcomes
        if o.counted == "own" and o.reading == CHOSEN._replace(revolutions=3.0, shortcut_variance=0.01)
    )
    reached = int((deviation.plain[PUBLISHED_ENVIRONMENTS] >= PERFECT).sum())
    assert (
        deviation.first == PUBLISHED_ENVIRONMENTS and f"as published ({word(reached)} of three seeds)" in text
    )
    assert f"and the rescaled configuration is at {whole(deviation.rescaled.median())} %." in text
    medians = [outcome.rescaled.median() for outcome in three]
    assert f"the rescaled configuration is at {whole(min(medians))} to {whole(max(medians))} %" in text


def test_figure_15(text: str, results: Path) -> None:
    plain, masked = read_environments(results)
    unanimous = masked[masked.threshold == UNANIMITY]
    perfect = (unanimous["test/accuracy"] >= PERFECT).groupby(unanimous.n_environments).agg(["sum", "size"])
    found = perfect[perfect["sum"] > 0]
    assert list(found.index) == [16, 32] and set(found["size"]) == {5}
    first, second = (word(n) for n in found["sum"])
    assert f"with 16 environments ({first} of five seeds) and 32 ({second})" in text
    few, capped = (unanimous[unanimous.n_environments <= 8], unanimous[unanimous.n_environments >= 64])
    fitted, best = few["train/accuracy"], few["test/accuracy"].max()
    assert (
        f"its training accuracy is {whole(fitted.min())} to {whole(fitted.max())} %, its test accuracy at "
        f"most {whole(best)} %."
    ) in text
    assert capped["mask/density"].max() == 0 and "nothing passes at the end of training" in text
    many = plain[plain.n_environments == PUBLISHED_ENVIRONMENTS]["test/accuracy"] >= PERFECT
    assert f"it is perfect in {word(int(many.sum()))} of {word(len(many))}:" in text


def test_figure_15_at_the_authors_setting(text: str, results: Path) -> None:
    plain, masked = read_environments(results, AUTHORS)
    assert set(masked.threshold) == {UNANIMITY}
    at_16 = masked[masked.n_environments == 16]["test/accuracy"]
    others = masked[masked.n_environments != 16]["test/accuracy"]
    assert others.max() < PERFECT
    found = f"in {word((at_16 >= PERFECT).sum())} of {word(len(at_16))} seeds"
    assert f"finds the mechanism only with 16 environments, {found}" in text
    few, many = (masked[masked.n_environments <= 8], masked[masked.n_environments >= 32])
    fitted = few["train/accuracy"]
    assert (
        f"(training accuracy {whole(fitted.min())} to {whole(fitted.max())} %, test accuracy at most "
        f"{whole(few['test/accuracy'].max())} %)"
    ) in text
    learned = many["train/accuracy"]
    blocked = int((many["mask/density"] == 0).sum())
    assert (
        f"With 32 and more it does not learn the training data either ({whole(learned.min())} to "
        f"{whole(learned.max())} %), and in {blocked} of {len(many)} runs nothing passes at the end."
    ) in text
    assert set(plain.n_environments) == set(SIZES) and plain["train/accuracy"].min() == 1
    low, high = plain["test/accuracy"].min(), plain["test/accuracy"].max()
    assert (
        f"({100 * low:.1f} to {100 * high:.1f} % in {len(plain)} runs). It learns all training examples"
        in text
    )


def test_the_readme_counts_what_fails_at_the_authors_setting(results: Path, root: Path) -> None:
    rows = (results / "spirals" / "tables" / "claims_spirals.md").read_text().splitlines()
    fails = re.compile("not reproduced at the authors' setting")
    n = sum(bool(fails.search(row)) for row in rows if "(ours)" not in row)
    text = " ".join((root / "README.md").read_text().split())
    assert f'{word(n).capitalize()} claims on the spirals that count as "in part" are not reproduced' in text


def test_trials_and_new_seeds(text: str, results: Path) -> None:
    alone = read_trials(results, "and_mask")
    alone = alone[alone.state == "COMPLETE"]
    stopped = alone.stopped.value_counts()
    assert (
        f"Its {len(alone)} trials reach at most {tenths(alone['test/accuracy'].max())} % test accuracy. In "
        f"{stopped['still']} the training risk stands still, and {stopped['memorised']} memorise."
    ) in text
    both = pd.concat([read_trials(results, name) for name in ("and_mask_l1", "and_mask_l2")])
    good = both[both["test/accuracy"] >= PERFECT]
    assert f"The {len(good)} trials with L1 or L2 that reach 99 % all use Adam. None has decoupled L2" in text
    assert set(good.optimizer) == {"adam"} and not good["optimizer.decoupled"].fillna(False).any()
    runs = read_methods(results, "runs")
    ends = runs[runs.method == METHODS["and_mask_l2"]].epoch
    assert f"perfect after {ends.min()} to {ends.max()} epochs" in text
    best = {name: read_trials(results, name) for name in METHODS if not name.startswith("and_mask")}
    best_of = {name: trials["test/accuracy"].max() for name, trials in best.items()}
    n = sum(int((trials.state == "COMPLETE").sum()) for trials in best.values())
    others = max(value for name, value in best_of.items() if name != "irm")
    said = f"{tenths(best_of['irm'])} % test accuracy (IRM; the others at most {tenths(others)})"
    assert f"The best of {n} trials has {said}" in text
    memorised = {name: int((trials.stopped == "memorised").sum()) for name, trials in best.items()}
    assert f"It ended {sum(memorised.values())} of the {n} trials of baselines" in text
    assert memorised["batch_norm"] == 100 and "among them all of BatchNorm." in text
    assert set(runs[runs.method == METHODS["batch_norm"]].stopped) == {"memorised"}
    highest = {name: trials.loc[trials["test/accuracy"].idxmax()] for name, trials in best.items()}
    assert {trial.optimizer for trial in highest.values()} == {"sgd"}
    fitted = {name: trial["train/accuracy"] for name, trial in highest.items()}
    still = fitted.pop("irm")
    assert (
        f"The best trial of IRM stood still at {whole(still)} %, and the best trial of BatchNorm ended by "
        f"the paper's rule at {whole(fitted.pop('batch_norm'))} %."
    ) in text
    assert f"{word(len(fitted)).capitalize()} of them learn too slowly" in text
    assert f"with at most {whole(max(fitted.values()))} % training accuracy" in text


def test_replaced_trials(text: str, results: Path) -> None:
    failed = pd.Series({name: (read_trials(results, name).state == "FAIL").sum() for name in METHODS})
    some = failed[failed > 0]
    assert set(some.index) == {"irm", "and_mask", "and_mask_l1", "and_mask_l2"}
    assert f"which happened {some.min()} to {some.max()} times to IRM and to each AND-mask" in text
    assert "and never to the other methods" in text


def test_whole_training(text: str, results: Path) -> None:
    curves = read_methods(results, "curves", WHOLE_RUNS).rename(columns={"test/accuracy": "test"})

    def perfect(name: str) -> tuple[int, pd.Series, pd.Series]:
        """The number of seeds, the epoch at which a seed is first perfect, and which are at the end."""
        own = curves[curves.method == METHODS[name]].sort_values("epoch")
        last = own.groupby("seed").test.last()
        return len(last), own[own.test >= PERFECT].groupby("seed").epoch.min(), last[last >= PERFECT]

    n, first, end = perfect("and_mask_l1")
    assert (
        f"{len(first)} of {n} seeds of the AND-mask with L1 are perfect at some evaluation, first after "
        f"{first.min()} to {first.max()} epochs, and {len(end)} at the end"
    ) in text
    n, first, end = perfect("and_mask_l2")
    assert (
        f"All {n} seeds with L2 are perfect after {first.min()} to {first.max()} epochs and stay so" in text
    )
    for seed, epoch in first.items():
        own = curves[(curves.method == METHODS["and_mask_l2"]) & (curves.seed == seed)]
        assert own[own.epoch >= epoch].test.min() >= PERFECT
    n, first, end = perfect("and_mask")
    assert (
        len(end) == 1
        and f"Of the AND-mask without a regulariser, one seed of {n} is perfect at the end." in text
    )
    runs = read_methods(results, "runs", WHOLE_RUNS)
    plain = runs[runs.method == METHODS["standard"]]
    ended = (plain.stopped == "memorised").sum()
    assert f"{ended} of {len(plain)} seeds without a regulariser end by the paper's rule" in text
    middle = curves[curves.method == METHODS["standard"]].groupby("epoch").test.agg(["median", "size"])
    whole_median = middle[middle["size"] == len(plain)]["median"]
    assert (
        f"In the median they reach {tenths(whole_median.max())} % test accuracy at epoch "
        f"{whole_median.idxmax()} and end at {tenths(plain['test/accuracy'].median())} %"
    ) in text
    settings = settings_of_methods(results)
    above = {setting: above_chance(accuracies_at(results, setting)) for setting in settings}
    assert len(settings) == 4 and min(sum(found.values()) for found in above.values()) == 4
    assert [name for name, sure in above[WHOLE].items() if sure] == ["dropout", "BatchNorm", "DANN", "IRM"]
    named = above_chance(accuracies_at(results, WHOLE), NAMED_AT_CHANCE)
    assert f"Of the {word(len(named))} baselines that it names, {word(sum(named.values()))} are above" in text
    medians = [{name: test.median() for name, test in accuracies_at(results, s).items()} for s in settings]
    assert all(found[METHODS["and_mask_l2"]] >= PERFECT > found[METHODS["and_mask"]] for found in medians)
    assert "The same at all four settings" in text and "at least four of seven baselines" in text
    stopped = read_methods(results, "runs")
    stopped = stopped[stopped.method == METHODS["and_mask_l1"]]
    counted = (stopped["test/accuracy"] >= PERFECT).sum()
    assert f"With 46 epochs {counted} of {len(stopped)} seeds count as perfect" in text
    solved = stopped[stopped.stopped == SOLVED]
    assert (solved["test/accuracy"] >= PERFECT).all()
    assert f"Of these, {len(solved)} ended there because all examples were right." in text


def test_joint_searches(text: str, results: Path) -> None:
    trials = {name: read_trials(results, name) for name in JOINT}
    masked = pd.concat([table for name, table in trials.items() if name.startswith("and_mask")])
    good = masked[masked["test/accuracy"] >= PERFECT]
    assert set(good.optimizer) == {"adam"} and set(good["model.dropout"]) == {0}
    normed = word(int(good["model.batch_norm"].sum()))
    assert (
        f"The AND-mask's {word(len(good))} trials at 99 % have Adam and no dropout; {normed} have BatchNorm."
    ) in text
    plain = [table for name, table in trials.items() if not name.startswith("and_mask")]
    assert all(table.loc[table["test/accuracy"].idxmax(), "train/accuracy"] < 0.8 for table in plain)
    assert {len(table[table.state == "COMPLETE"]) for table in trials.values()} == {34}


def _agreeing(table: pd.DataFrame) -> pd.Series:
    """The share of the deeper layers' components that a threshold of 0.75 keeps, by network."""
    kept = table.pivot_table("kept_components", "seed", ["agreement_threshold", "parameters"])
    deeper = {tau: kept[tau]["all"] - kept[tau]["first layer weights"] for tau in (0.0, 0.75)}
    return deeper[0.75] / deeper[0.0]


def test_figure_7(text: str, results: Path) -> None:
    table = pd.read_csv(results / "spirals" / "correlations.csv")
    table = table[table["mask"] == "and_mask"]
    median = table[table.parameters == "all"].groupby("agreement_threshold").shortcut_correlation.median()
    below = median[median.index < UNANIMITY]
    assert (
        f"goes from {below[0.0]:.3f} to {below.max():.3f} at threshold {below.idxmax():g}, and is back at "
        f"{below[0.875]:.3f} at 0.875."
    ) in text
    authors = pd.read_csv(results / CORRELATIONS_OF_AUTHORS)
    share, of_authors = (_agreeing(each) for each in (table, authors[authors["mask"] == "and_mask"]))
    by_chance = 2 * sum(comb(16, k) for k in range(3)) / 2**16
    times, of_weights = (
        f"{of.min() / by_chance:.1f} to {of.max() / by_chance:.1f} times" for of in (share, of_authors)
    )
    assert (
        f"at threshold 0.75 a median of {100 * share.median():.2f} % with two revolutions and "
        f"{100 * of_authors.median():.2f} % with the authors' first weights, where random signs give "
        f"{100 * by_chance:.2f} %. Single networks have {times} as many as random signs, "
        f"and {of_weights} with the authors' first weights."
    ) in text
    assert MIN_COMPONENTS == 20


def test_figure_7_with_the_authors_weights(text: str, results: Path) -> None:
    rows = pd.read_csv(results / CORRELATIONS_OF_AUTHORS)
    rows = rows[(rows.parameters == "all") & (rows["mask"] == "and_mask") & (rows.agreement_threshold == 0)]
    ten = rows.mechanism_correlation
    many = pd.read_csv(results / tables_of(AUTHORS)[0])
    many = many[many.agreement_threshold == 0].mechanism_correlation
    words = (
        f"{ten.mean():.2f} with these weights and three revolutions (mean of ten networks, "
        f"{ten.min():.2f} to {ten.max():.2f}), and {many.mean():.2f} in {len(many)} networks"
    )
    assert words in text
    low, _ = mean_interval(ten)
    assert low > THESIS_MECHANISM
    at_one = read_unanimous(results, AUTHORS)
    assert f"keep {at_one.components[0]:g} components in the median, and the shortcuts lead" in text
    assert f"is the larger one in {at_one.larger} of {at_one.measured} networks. Here the thesis" in text


def test_searches_with_the_authors_weights(text: str, results: Path) -> None:
    trials = pd.concat(
        trials_at(results, AUTHORS, name).assign(method=label) for name, label in METHODS.items()
    )
    trials = trials[trials.state == "COMPLETE"]
    assert trials.groupby("method").size().eq(AUTHORS.trials).all()
    perfect = trials[trials["test/accuracy"] >= PERFECT].groupby("method").size()
    assert perfect.to_dict() == {"AND-mask + L1": 2, "AND-mask + L2": 3}
    assert "Of 120 trials of the AND-mask five reach 99 % test accuracy: two with L1, three with L2" in text
    others = trials[~trials.method.isin(perfect.index) & (trials.method != "AND-mask")]
    best = others.loc[others["test/accuracy"].idxmax()]
    assert f"The best of {len(others)} trials of baselines has {tenths(best['test/accuracy'])} %" in text
    assert f"({best.method})" in text


def test_new_seeds_with_the_authors_weights(text: str, results: Path) -> None:
    runs = runs_at(results, AUTHORS)
    curves = read_methods(results, "curves", KAIMING)
    perfect = runs[runs["test/accuracy"] >= PERFECT].groupby("method").size().to_dict()
    ever = curves[curves["test/accuracy"] >= PERFECT].groupby("method").seed.nunique().to_dict()
    assert perfect == {"AND-mask + L1": 1, "AND-mask + L2": 19}
    assert ever == {"AND-mask + L1": 3, "AND-mask + L2": 19}
    assert "With L2 19 of 20 seeds of the AND-mask are perfect at the end." in text
    assert "With L1 one of 20 is, and two more were before. Without a regulariser none ever is" in text
    alone = runs[runs.method == "AND-mask"]
    assert f"and {(alone.stopped == DIVERGED).sum()} of {len(alone)} runs diverge." in text
    medians = runs[runs.method.isin(BASELINES)].groupby("method")["test/accuracy"].median()
    assert f"medians of the baselines are {tenths(medians.min())} to {tenths(medians.max())} %" in text
    assert f"IRM has a median of {tenths(medians['IRM'])} % on new seeds" in text


def test_the_thesiss_configuration_with_the_authors_weights(text: str, results: Path) -> None:
    runs = pd.read_csv(results / CONFIGURATION_OF_AUTHORS)
    literal, rescaled = (
        runs[runs["aggregator.rescale"] == rescale]["test/accuracy"] for rescale in (False, True)
    )
    assert len(literal) == len(rescaled) == 5
    assert (
        f"{tenths(literal.min())} to {tenths(literal.max())} % in five seeds as published, "
        f"{tenths(rescaled.min())} to {tenths(rescaled.max())} % with rescaled updates."
    ) in text


def test_l1_can_remove_the_mechanism_too(text: str, results: Path) -> None:
    rows = pd.read_csv(results / INPUT_WEIGHTS_OF_AUTHORS)
    before = rows[rows.when == "before"].mechanism_rms.mean()
    l1 = rows[(rows.when == "after") & (rows.regulariser == "l1")]
    lost = l1[l1.mechanism_rms < before / 10]
    assert f"and L1, {len(lost)} of {len(l1)} seeds lose nearly all their first layer's weights" in text
    assert lost["test/accuracy"].between(0.45, 0.55).all() and lost.shortcut_rms.max() < before / 10
    assert (l1[~l1.seed.isin(lost.seed)]["test/accuracy"] >= PERFECT).all()


def test_threshold_1(text: str, results: Path) -> None:
    two, three = (read_unanimous(results, setting) for setting in (TWO, THREE))
    assert f"is the larger one in {two.larger} of {two.measured} networks, as the thesis says" in text
    assert f"With three revolutions it is the larger one in {three.larger} of {three.measured}." in text
    kept = [int(found.components[0]) for found in (two, three)]
    assert f"keeps {kept[0]} components in the median with two revolutions and {kept[1]} with three" in text


def test_a_unit_that_hides_environments(text: str, results: Path) -> None:
    table = pd.read_csv(results / "spirals" / "separating_unit.csv")
    hides = (table.label_accuracy == 1) & (table.largest_error < 1e-6)
    assert f"exists on the data of {hides.sum()} of {len(table)} seeds" in text


@pytest.fixture(scope="module")
def turned(results: Path) -> pd.DataFrame:
    return pd.read_csv(results / "spirals" / "rotated_runs.csv")


def test_turned_inputs(text: str, turned: pd.DataFrame) -> None:
    ended = int((turned.stopped == MEMORISED).sum())
    assert set(turned.stopped) == {MEMORISED, COMPLETED} and turned.epoch.max() == 46
    assert f"{ended} of the {len(turned)} runs end before by the paper's rule" in text
    masked = turned[turned["dataset.rotated"] & (turned.aggregator == "and_mask")]
    highest = masked["aggregator.agreement_threshold"] == 0.9
    high, low = masked[highest], masked[~highest]
    assert (len(high), len(low)) == (3, 6)
    assert high["mask/density"].max() == 0
    assert high["train/accuracy"].between(0.49, 0.51).all() and high["test/accuracy"].max() < 0.52
    assert "At 0.9 it is at chance there, on the training environments too: nothing passes." in text
    assert low["train/accuracy"].min() > 0.8 and low["test/accuracy"].max() < 0.52
    assert "At lower thresholds the shortcuts pass first." in text


def test_masks_that_do_not_depend_on_the_basis(text: str, turned: pd.DataFrame) -> None:
    others = turned[turned.aggregator.isin(["gram_agreement", "layer_agreement"])]
    threshold = others["aggregator.agreement_threshold"]
    assert len(others) == 2 * 2 * 3 * 3 and set(threshold) == {0.3, 0.6, 0.9}
    assert others["test/accuracy"].max() < 0.52
    train = others["train/accuracy"]
    assert train[threshold == 0.3].min() > 0.97 and train[threshold > 0.3].max() < 0.51
    assert "At each threshold that we tried, on turned inputs or not, they do one of two things." in text
    assert "They let the shortcuts through, like training without a mask, or they stop training" in text


def test_when_the_mask_with_the_authors_weights_is_perfect(text: str, results: Path) -> None:
    curves = pd.read_csv(results / "spirals" / "authors_code_curves.csv")
    curves = curves[(curves.aggregator == "and_mask") & (curves["dataset.shortcut_variance"] == 0.1)]
    behind = curves[curves["test/accuracy"] < PERFECT].groupby(["dataset.revolutions", "seed"]).epoch.max()
    since = {turns: sorted(set(behind[turns] + 10)) for turns in (2, 3)}
    assert len(behind) == 10 and set(curves.epoch) == {*range(10, 91, 10), 93}
    (two,), (three, later) = since[2], since[3]
    assert (
        f"They have {whole(PERFECT)} % or more from epoch {two} on with two revolutions, and from epoch "
        f"{three} or {later} on with three."
    ) in text


def test_the_thesiss_correlation_lies_within_the_intervals(text: str, results: Path) -> None:
    for path in (Path("spirals") / "correlations.csv", CORRELATIONS_OF_THREE):
        rows = pd.read_csv(results / path)
        rows = rows[(rows.parameters == "all") & (rows["mask"] == "and_mask")]
        low, high = mean_interval(rows[rows.agreement_threshold == 0].mechanism_correlation)
        assert low < THESIS_MECHANISM < high, path
    assert (
        f"The thesis's {THESIS_MECHANISM:g} lies below the interval. With PyTorch's weights it lies within "
        "the intervals."
    ) in text


def test_all_baselines_are_above_chance_on_new_seeds(text: str, results: Path) -> None:
    tests = accuracies_at(results, TWO)
    above = above_chance(tests)
    assert all(above.values()) and max(tests[name].median() for name in above) < 0.6
    assert f"On new seeds all {word(sum(above.values()))} are a little above chance." in text


def test_numbers_of_new_seeds(root: Path, results: Path) -> None:
    text = page_text(root, "deviations")
    n = {
        setting: runs_at(results, setting).groupby("method").seed.nunique()
        for setting in (TWO, WHOLE, AUTHORS, THREE)
    }
    masks = [label for label in METHODS.values() if label not in BASELINES]
    irm = METHODS["irm"]
    few = {int(count) for each in n.values() for count in each[BASELINES].drop(irm)}
    few |= {int(n[setting][irm]) for setting in (TWO, WHOLE, AUTHORS)}
    (ten,) = few
    assert f"The baselines have {word(ten)} new seeds (IRM has {n[THREE][irm]} at three revolutions)." in text
    (first,) = set(n[TWO][masks])
    (second,) = {*n[WHOLE][masks], *n[AUTHORS][masks]}
    assert (
        f"The AND-mask has {first} in spirals_methods, and {second} in spirals_whole_training and "
        "spirals_kaiming_methods."
    ) in text
    alone, l1, l2 = (n[THREE][METHODS[name]] for name in ("and_mask", "and_mask_l1", "and_mask_l2"))
    assert alone == l1
    assert f"At three revolutions it has {l2} with L2, and {l1} with L1 or without both." in text


def test_what_ends_a_new_seed(root: Path, results: Path) -> None:
    text = page_text(root, "deviations")
    runs = runs_at(results, TWO)
    assert set(runs.stopped) == {SOLVED, MEMORISED, COMPLETED}
    assert runs[runs.stopped == SOLVED][["train/accuracy", "test/accuracy"]].min(axis=None) == 1
    assert "ends when every training and test example is right, so its last evaluation is its best." in text
    for setting in (WHOLE, AUTHORS):
        runs = runs_at(results, setting)
        early = runs[runs.epoch < setting.epochs]
        assert len(early) and set(early.stopped) <= {MEMORISED, DIVERGED}, setting
    assert "The new seeds with all 93 epochs end by the paper's rule alone." in text


def test_which_features_hide_the_environments(text: str, results: Path) -> None:
    for runs in (read_domains(results, "runs"), read_groups(results / DOMAINS_OF_THREE)):
        found = {group: runs[runs.group == group][ACCURACY] for group in GROUPS}
        assert {len(accuracy) for accuracy in found.values()} == {3}
        assert found[Group(linear=False, adversary=True)].max() < 2 * chance(runs)
        assert found[Group(linear=True, adversary=True)].min() > 10 * chance(runs)
    assert (
        "three seeds): trained features of a perceptron hide the environments, trained features of one "
        "linear layer do not."
    ) in text
