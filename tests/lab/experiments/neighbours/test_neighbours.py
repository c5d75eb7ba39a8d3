"""The comparison's table has a row for every search, each number in its own cell."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.neighbours.figures.neighbours import draw, tabulate
from lab.experiments.neighbours.methods import COST, FOLDER, LABELS, SEARCHED, TORCHJD, UNIT_TESTS
from lab.runs.search.search_file import load_definitions


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Two methods, of which only one was run on the spirals."""
    for folder in {FOLDER, UNIT_TESTS.parent, TORCHJD.parent, COST.parent}:
        (tmp_path / folder).mkdir(parents=True)
    for number, experiment in enumerate(SEARCHED):
        known = ["mean"] if experiment == "spirals" else ["mean", "mgda"]
        rows = [
            {
                "command": f"train.py -m tuned=searched/neighbours_{experiment}/{name} seed={seed}",
                "data_source": "made",
                "stopped": "completed",
                "test/accuracy": 0.1 * number + 0.01 * seed + 0.5 * (name == "mgda"),
            }
            for name in known
            for seed in range(3)
        ]
        pd.DataFrame(rows).to_csv(tmp_path / FOLDER / f"{experiment}_runs.csv", index=False)
    tests = [(None, "mean", "1", 2.0), (None, "mean", "1s", 3.0), ("iga", "mean", "1", 4.0)]
    columns = ["method", "aggregator", "dataset.problem", "test/error"]
    frame = pd.DataFrame(tests, columns=columns).assign(**{"test/error_std": 0.5, "n_seeds": 10})
    frame.to_csv(tmp_path / UNIT_TESTS, index=False)
    torchjd = {"aggregator": "gram_weights", "aggregator.kind": "MGDA", "dataset.problem": "1s", "n_seeds": 2}
    pd.DataFrame([{**torchjd, "test/error": 5.0, "test/error_std": 0.5}]).to_csv(
        tmp_path / TORCHJD, index=False
    )
    cost = pd.DataFrame({"method": list(LABELS), "relative": range(1, len(LABELS) + 1)})
    cost.to_csv(tmp_path / COST, index=False)
    return tmp_path


def test_rows(made: Path) -> None:
    table = tabulate(made).set_index("method")
    assert list(table.index) == list(LABELS.values())
    plain, mgda, iga = (table.loc[LABELS[name]] for name in ("mean", "mgda", "iga"))
    assert plain["spirals"] == "1.0 (0.0 to 2.0)"
    assert mgda["Colored MNIST"] == "61.0 (60.0 to 62.0)"
    assert (plain["Colored MNIST"], mgda["spirals"]) == ("11.0 (10.0 to 12.0)", "")
    assert [row["unit test 1"] for row in (plain, mgda, iga)] == ["2.00 ± 0.50 (10)", "", "4.00 ± 0.50 (10)"]
    assert (plain["unit test 1s"], iga["unit test 1s"]) == ("3.00 ± 0.50 (10)", "")
    assert mgda["unit test 1s"] == "5.00 ± 0.50 (2)"
    assert (plain["step, x plain"], iga["step, x plain"]) == ("1.00", f"{list(LABELS).index('iga') + 1:.2f}")


def test_marks(made: Path) -> None:
    *accuracies, tests, cost = draw(made).axes
    # Plain training's median, and dots for each method that ran.
    assert [len(axes.lines) for axes in accuracies] == [2, 3]
    assert len(tests.containers) == 4
    assert len(cost.patches) == len(LABELS)


@pytest.mark.parametrize(
    ("done", "plain", "lines"),
    [(0, "pending", [2, 0]), (1, "pending", [2, 2]), (6, "11.0 (10.0 to 12.0)", [2, 3])],
)
def test_what_is_not_run_yet_is_pending(done: int, plain: str, lines: list[int], made: Path) -> None:
    path = made / FOLDER / "colored_digits_runs.csv"
    runs = pd.read_csv(path)
    runs.loc[done:, ["data_source", "test/accuracy"]] = float("nan")
    runs.loc[done:, "stopped"] = "pending"
    runs.to_csv(path, index=False)
    table = tabulate(made).set_index("method")
    assert table.loc[LABELS["mean"], "Colored MNIST"] == plain
    assert (table.loc[LABELS["mgda"], "Colored MNIST"] == "pending") == (done < 6)
    figure = draw(made)
    assert [len(axes.lines) for axes in figure.axes[:2]] == lines
    assert (f"{done} of 6 runs" in figure.get_supxlabel()) == (done < 6)


@pytest.mark.parametrize("experiment", SEARCHED)
def test_every_search_has_a_name_for_its_method(experiment: str) -> None:
    searches = load_definitions(f"neighbours_{experiment}")
    assert {search.name.rpartition("/")[2] for search in searches} <= LABELS.keys()
    assert {search.trials for search in searches} == {20}
