"""What was measured in each situation: the values of every method by seed, from committed files alone.

Files of other experiments are read by their path. A situation whose file is not there, or has no finished
run, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.drawn_trials import METHODS, N_TRIALS, selected, with_trials
from lab.experiments.neighbours.methods import LABELS, read_best, read_unit_tests
from lab.figures.pending import done_rows, read_curves, read_done
from lab.figures.two_groups import signs, welch
from lab.files.stopped_column import STOPPED

Values = dict[str, list[float]]
"""The values of seeds by the label of a method."""

PLAIN = LABELS["mean"]
GRAY = "grey images, no colour"


class Situation(NamedTuple):
    """A row of the table.

    Attributes:
        what: the situation, in words.
        page: the page with the evidence.
        measure: what is measured.
        values: reads the values by method.
        file: the file that has to be there.
        higher: whether a larger value is better.
        unit: ``%`` for shares.
    """

    what: str
    page: str
    measure: str
    values: Callable[[Path], Values]
    file: str
    higher: bool = True
    unit: str = "%"


def compared(values: Values, higher: bool) -> dict[str, int]:
    """Return 1 for a method that is surely better than plain training, -1 for a surely worse one, else 0.

    The comparisons of a situation share a level of 0.05 (Welch's tests with Holm's correction).
    """
    names = [name for name in values if name != PLAIN]
    found = signs([welch(values[name], values[PLAIN]) for name in names])
    return {name: sign if higher else -sign for name, sign in zip(names, found, strict=True)}


def _by(table: pd.DataFrame, names: pd.Series, column: str) -> Values:
    """Return a column by method; ``names`` are labels, and rows without one are left out."""
    # A measurement has no pending rows, and no column that would say so.
    done = done_rows(table) if STOPPED in table else table
    there = names.reindex(done.index).dropna()
    return {str(name): done.loc[rows, column].tolist() for name, rows in there.groupby(there).groups.items()}


def _neighbours(experiment: str) -> Callable[[Path], Values]:
    def read(results: Path) -> Values:
        runs = read_best(results, experiment)
        return _by(runs, runs.method.map(LABELS), "test/accuracy") if "test/accuracy" in runs else {}

    return read


def _turned(results: Path) -> Values:
    runs = pd.read_csv(results / "spirals/rotated_runs.csv")
    runs = runs[runs["dataset.rotated"].astype(str) == "True"]
    threshold = runs["aggregator.agreement_threshold"]
    labels = runs.aggregator.map(LABELS)
    names = labels.where(threshold.isna(), labels + threshold.map(" {:g}".format))
    return _by(runs, names, "test/accuracy")


def _unit_test(problem: str) -> Callable[[Path], Values]:
    def read(results: Path) -> Values:
        runs = read_unit_tests(results)
        runs = runs[runs.problem == problem]
        columns = [f"seed{seed}/test/error" for seed in range(int(runs.n_seeds.iloc[0]))]
        return {LABELS[str(run.method)]: [float(run[c]) for c in columns] for _, run in runs.iterrows()}

    return read


def _colored(name: str) -> Callable[[Path], Values]:
    def read(results: Path) -> Values:
        runs = pd.read_csv(results / f"irm/{name}_runs.csv")
        gray = runs["dataset.grayscale"].astype(str) == "True"
        names = runs.aggregator.map(LABELS).mask(gray & (runs.aggregator == "mean"), GRAY)
        return _by(runs, names.mask(gray & (runs.aggregator != "mean")), "test/accuracy")

    return read


def _ood_bench(results: Path) -> Values:
    """The methods whose trials are all there; the training environments chose draw and step of each trial."""
    runs = with_trials(read_done(results / "ood_bench/protocol_runs.csv"))
    trials = selected(runs, with_trials(read_curves(results / "ood_bench/protocol_curves.csv")))
    trials = trials[trials.rule == "training_domain"]
    of_methods = {label: trials.accuracy[trials.row == key].tolist() for key, label in METHODS.items()}
    return {label: own for label, own in of_methods.items() if len(own) == N_TRIALS}


def _linear_sem(results: Path) -> Values:
    runs = pd.read_csv(results / "irm/linear_runs.csv")
    return _by(runs, runs.aggregator.map(LABELS), "test_s0.01/loss")


def _examples(label_noise: float) -> Callable[[Path], Values]:
    def read(results: Path) -> Values:
        runs = pd.read_csv(results / "memorisation/default_runs.csv")
        runs = runs[runs["dataset.label_noise"] == label_noise]
        plain = (runs.aggregator == "mean") | (runs["aggregator.agreement_threshold"] == 0)
        label = f"{LABELS['and_mask']} over examples"
        return _by(runs, pd.Series(label, runs.index).mask(plain, PLAIN), "test/accuracy")

    return read


def _turned_color(results: Path) -> Values:
    votes = pd.read_csv(results / "irm/color_votes.csv")
    end = votes[(votes.second_noise == votes.second_noise.max()) & (votes.step == votes.step.max())]
    masks = {"and_mask": LABELS["and_mask"], "and_mask_separate": f"{LABELS['and_mask']}, colour apart"}
    return _by(end, end.method.map({"mean": PLAIN, **masks}), "test/accuracy")


LINEAR = {
    "1": "A linear regression on causes and effects, whose noise differs",
    "3": "A linear classifier: a small margin everywhere, a large one that differs",
}
"""The problems of the linear unit tests on which the neighbours were run."""

SITUATIONS = (
    Situation(
        "Every environment has shortcuts of its own; each input belongs to one cue",
        "neighbours.md",
        "spirals: test accuracy",
        _neighbours("spirals"),
        "neighbours/spirals_runs.csv",
    ),
    Situation(
        "the same with turned inputs, so that every input mixes the cues",
        "spirals.md",
        "turned spirals: test accuracy",
        _turned,
        "spirals/rotated_runs.csv",
    ),
    Situation(
        "The shortcut turns round between two environments",
        "why_the_mask_loses.md",
        "colour noise 0.1 and 0.9: test accuracy",
        _turned_color,
        "irm/color_votes.csv",
    ),
    Situation(
        "The shortcut helps in every environment, more in some (many images)",
        "irm.md",
        "Colored MNIST, IRM authors' protocol: test accuracy",
        _colored("paper"),
        "irm/paper_runs.csv",
    ),
    Situation(
        "the same with few images",
        "irm.md",
        "Colored MNIST, 5,000 images: test accuracy",
        _colored("colored"),
        "irm/colored_runs.csv",
    ),
    Situation(
        "the same with few images, twenty methods",
        "neighbours.md",
        "Colored MNIST, 5,000 images, twenty methods: test accuracy",
        _neighbours("colored_digits"),
        "neighbours/colored_digits_runs.csv",
    ),
    Situation(
        "the same with many images, options chosen on the training environments",
        "ood_bench.md",
        "Colored MNIST, OoD-Bench's protocol: test accuracy",
        _ood_bench,
        "ood_bench/protocol_runs.csv",
    ),
    Situation(
        "A linear model with causes and consequences of the target as inputs",
        "irm.md",
        "linear example: test error at s = 0.01",
        _linear_sem,
        "irm/linear_runs.csv",
        False,
        "",
    ),
    *(
        Situation(
            words + turned,
            "linear_unit_tests.md",
            f"unit test {problem}{suffix}: test error",
            _unit_test(f"{problem}{suffix}"),
            "neighbours/linear_unit_tests_runs.csv",
            False,
            "",
        )
        for problem, words in LINEAR.items()
        for suffix, turned in (("", ""), ("s", ", turned"))
    ),
    Situation(
        "A quarter of the labels is wrong; every example votes",
        "memorisation.md",
        "embedded Fashion-MNIST, wrong labels: test accuracy",
        _examples(0.25),
        "memorisation/default_runs.csv",
    ),
    Situation(
        "No label is wrong; every example votes",
        "memorisation.md",
        "embedded Fashion-MNIST, right labels: test accuracy",
        _examples(0.0),
        "memorisation/default_runs.csv",
    ),
)
"""The rows of the table, in its order. A row that begins with "the same" continues the one before."""


def measured(results: Path) -> list[tuple[Situation, Values]]:
    """Return the situations whose runs exist, with the values of plain training and of other methods."""
    found = []
    for situation in SITUATIONS:
        if not (results / situation.file).exists():
            continue
        values = situation.values(results)
        if len(values) > 1 and PLAIN in values:
            found.append((situation, values))
    return found
