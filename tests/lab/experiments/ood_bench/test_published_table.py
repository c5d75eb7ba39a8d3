"""The verdict of each row, of the claim, and what figure and table show of an unfinished study."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import table_cells
from lab.configuration.drawn import N_DRAWS
from lab.experiments.drawn_trials import METHODS
from lab.experiments.ood_bench.claims.published_table import N_PUBLISHED, claims, worst
from lab.experiments.ood_bench.claims.published_table import verdict as verdict_of_table
from lab.experiments.ood_bench.comparison import FLOOR, MOST, compared
from lab.experiments.ood_bench.figures import ood_bench
from lab.experiments.ood_bench.results import COLUMNS, FOLDER, NOT_HERE, THEIRS, published

OPTIONS = {
    "rescaled_and_mask": ("and_mask", "vectorized", "True"),
    "and_mask": ("and_mask", "vectorized", "False"),
    "example_and_mask": ("and_mask", "per_example", "True"),
    "geometric_mean": ("geometric_mean", "vectorized", "False"),
}


def write(results: Path, accuracies: dict[str, tuple[float, float, float]], pending: int = 0) -> None:
    """Runs of all draws of three trials; the test accuracy of a trial is that of each of its draws."""
    rows = []
    for key, of_trials in accuracies.items():
        aggregator, gradients, rescale = OPTIONS.get(key, (key, "vectorized", ""))
        for seed in range(N_DRAWS * len(of_trials)):
            row = {"run": f"{key}{seed}", "aggregator": aggregator, "gradients": gradients, "seed": seed}
            scores = dict.fromkeys(["validation/accuracy", "test_held_out/accuracy"], 0.5)
            test = of_trials[seed // N_DRAWS] / 100
            rows.append({**row, "aggregator.rescale": rescale, "step": 500, **scores, "test/accuracy": test})
    (results / FOLDER).mkdir(exist_ok=True)
    columns = ["run", "aggregator", "gradients", "seed", "aggregator.rescale", "step"]
    curves = pd.DataFrame(rows, columns=None if rows else columns)
    curves.to_csv(results / FOLDER / "protocol_curves.csv", index=False)
    runs = curves.drop(columns="step").assign(stopped="completed", data_source="Colored MNIST")
    others = pd.DataFrame({"aggregator": ["iga"] * pending, "seed": 0, "stopped": "pending"})
    both = pd.concat([runs, others]) if pending else runs
    both.to_csv(results / FOLDER / "protocol_runs.csv", index=False)


def write_published(path: Path, numbers: dict[str, tuple[float, float]]) -> Path:
    lines = [(THEIRS[key], "test_domain", *pair) for key, pair in numbers.items()]
    pd.DataFrame(lines, columns=list(COLUMNS)).to_csv(path, index=False)
    return path


def test_the_table_has_sixteen_algorithms_and_no_number_from_memory() -> None:
    assert N_PUBLISHED == 16
    assert not set(THEIRS.values()) & set(NOT_HERE)
    assert published().empty


@pytest.mark.parametrize(
    ("trials", "theirs", "verdict"),
    [
        ((30, 30, 30), (30.9, 0), "agrees"),
        ((30, 30, 30), (31.1, 0), "differs"),
        ((28, 30, 32), (33, 0), "agrees"),  # 2.78 of our 2 / sqrt(3) are 3.2 points.
        ((26, 30, 34), (33, 0), "open"),  # 2.78 of our 4 / sqrt(3) are 6.4 points.
        ((26, 30, 34), (30.5, 0), "agrees"),
        ((28, 30, 32), (33.3, 0), "differs"),
        ((30, 30, 30), (33.3, 1), "agrees"),  # 2.78 of 1 x sqrt(3 / 2) are 3.4 points.
        ((30, 30, 30), (33.5, 1), "differs"),
    ],
)
def test_a_row_agrees_within_a_point_or_the_errors(
    trials: tuple[float, float, float], theirs: tuple[float, float], verdict: str, tmp_path: Path
) -> None:
    write(tmp_path, {"iga": trials})
    table = compared(tmp_path, write_published(tmp_path / "published.csv", {"iga": theirs}))
    (own,) = (line for _, line in table.iterrows() if (line.row, line["rule"]) == ("iga", "test_domain"))
    assert own.verdict == verdict
    error = math.hypot(own.error, theirs[1] * math.sqrt(1.5))
    assert own.accuracy == pytest.approx(sum(trials) / 3)
    if error:
        assert own.apart == pytest.approx((own.accuracy - theirs[0]) / error)
    assert (abs(own.accuracy - theirs[0]) > max(FLOOR, MOST * error)) == (verdict == "differs")
    others = table[(table.row != "iga") | (table.rule != "test_domain")]
    assert set(others[others.row != "iga"].verdict) == {"pending"}
    assert set(others[others.row == "iga"].verdict) == {"not published"}


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [(0, f"in part: {len(THEIRS)} of 16 rows"), (5, "in part: 6 of 16 rows"), (6, "not reproduced")],
)
def test_the_claim_counts_the_rows(wrong: int, verdict: str, tmp_path: Path) -> None:
    write(tmp_path, {key: (20 + i, 20 + i, 20 + i) for i, key in enumerate(METHODS)})
    numbers = {key: (20.0 + i + 5 * (i < wrong), 0.1) for i, key in enumerate(METHODS) if key in THEIRS}
    (claim,) = claims(tmp_path, write_published(tmp_path / "published.csv", numbers))
    assert claim.verdict == verdict
    assert claim.number == f"{len(THEIRS) - wrong} of {len(THEIRS)} rows agree"
    mean = 20 + list(METHODS).index("example_and_mask")
    assert [METHODS["example_and_mask"], f"{mean}.0 ± 0.0"] in table_cells(claim.table)


@pytest.mark.parametrize(
    ("agree", "are_open", "known", "expected"),
    [
        (16, 0, 16, "reproduced"),
        (11, 0, 11, "in part: 11 of 16 rows"),
        (6, 5, 11, "in part: 6 of 16 rows"),
        (5, 1, 11, "undecided: rows that are open decide"),
        (5, 0, 11, "not reproduced"),
        (0, 0, 11, "not reproduced"),
        (0, 0, 0, "undecided: the published numbers are not known"),
    ],
)
def test_every_verdict(agree: int, are_open: int, known: int, expected: str) -> None:
    assert verdict_of_table(agree, are_open, known, 16) == expected


def test_an_algorithm_is_as_good_as_its_worst_line() -> None:
    assert worst({"agrees"}) == "agrees"
    assert worst({"agrees", "open"}) == "open"
    assert worst({"agrees", "open", "differs"}) == "differs"


def test_without_published_numbers_the_claim_is_undecided(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(METHODS, (20, 21, 22)))
    (claim,) = claims(tmp_path, tmp_path / "nothing.csv")
    assert claim.kind == "undecided"


@pytest.mark.parametrize("done", [(), ("mean",), ("mean", "rescaled_and_mask", "and_mask")])
def test_an_unfinished_study_shows_what_is_there(done: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(done, (11, 12, 13)), pending=4)
    n = 60 * len(done)
    words = f"{n} of {n + 4} runs are done"
    (claim,) = claims(tmp_path)
    assert claim.verdict == f"pending: {words}"
    table = ood_bench.tabulate(tmp_path)
    assert table.method.iloc[-1] == words
    assert (table["test-domain validation (oracle)"] == "pending").sum() == len(METHODS) - len(done)
    assert (table["training-domain validation"] == "12.0 ± 0.6").sum() == len(done)
    assert (table[ood_bench.IN_TRAINING] == "50.0 ± 0.0").sum() == len(done)
    panels = ood_bench.draw(tmp_path).axes
    assert len(panels) == (2 if done else 1)
    if done:
        assert [len(line.get_xdata()) for line in panels[0].lines[: len(METHODS)]] == [
            3 if key in done else 0 for key in METHODS
        ]
