"""A search goes on from the table of its trials, where nothing else of them is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from optuna.trial import TrialState

from ilc.errors import UserError
from lab.configuration.compose import command_of
from lab.runs.search.asker import Asker
from lab.runs.search.committed_trials import _parameter, n_complete, take_over
from lab.runs.search.files import outcome, search_files
from lab.runs.search.loop import search
from lab.runs.search.space import distribution, override
from lab.runs.search.storage import STORAGE, open_storage
from lab.runs.search.trial import overrides_of

pytestmark = pytest.mark.usefixtures("in_this_process")
DIVERGES = {"optimizer.lr": {"choice": [1e-3, 1e30]}, "optimizer.weight_decay": {"choice": [0, 0.1]}}
Lines = list[str]


def write(definition: Any, folder: Path, table: Path) -> Lines:
    """Export the search; return the lines of its table."""
    files = search_files(definition, folder, table, table.with_suffix(".yaml"))
    for path, content in files.items():
        path.write_bytes(content)
    return table.read_text().splitlines()


def trained(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "trials").glob("*")) if (folder / "trials").exists() else []


def without_chosen(line: str) -> Lines:
    cells = line.split(",")
    return cells[:3] + cells[4:]


@pytest.mark.slow
def test_only_missing_trials_are_trained_and_the_old_rows_stay(definition: Any, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    search(definition(trials=2), tmp_path / "first", 1)
    before = write(definition(trials=2), tmp_path / "first", table)
    # A text that no export writes.
    cells = before[1].split(",")
    column = before[0].split(",").index("wall_seconds")
    cells[column] = "1.50"
    before[1] = ",".join(cells)
    table.write_text("\n".join(before) + "\n")

    wanted, folder = definition(trials=4), tmp_path / "second"
    assert n_complete(wanted, folder, table) == 2
    assert not (folder / STORAGE).exists()
    take_over(wanted, folder, table)
    assert n_complete(wanted, folder, table) == 2
    search(wanted, folder, 1)
    assert trained(folder) == ["0002", "0003"]
    after = write(wanted, folder, table)
    assert after[0] == before[0]
    assert [without_chosen(line) for line in after[1:3]] == [without_chosen(line) for line in before[1:]]
    rows = pd.read_csv(table)
    assert rows.number.tolist() == [0, 1, 2, 3]
    assert (rows.state == "COMPLETE").all()
    assert rows["test/accuracy"].tolist() == rows.value.tolist()
    best = rows.sort_values(["test/accuracy", "test/loss"], ascending=[False, True]).number.iloc[0]
    assert rows.number[rows.chosen].tolist() == [best]
    assert outcome(wanted, folder).startswith(f"tiny: 4 complete; best: trial {best}, test/accuracy")
    assert f"trial {best}, test/accuracy" in table.with_suffix(".yaml").read_text()
    # The parameters are those of a search that was never interrupted, with their types.
    with Asker(wanted, tmp_path / "whole") as asker:
        drawn = [asker.next() for _ in range(4)]
    stored = open_storage(wanted, folder).get_trials()
    assert [trial.params for trial in stored] == [trial.parameters for trial in drawn if trial is not None]
    # A third machine has nothing to do, and writes the same file.
    take_over(wanted, tmp_path / "third", table)
    search(wanted, tmp_path / "third", 1)
    assert trained(tmp_path / "third") == []
    assert write(wanted, tmp_path / "third", table) == after


def test_a_table_that_has_more_than_the_folder(definition: Any, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    search(definition(trials=3), tmp_path / "first", 1)
    lines = write(definition(trials=3), tmp_path / "first", table)
    search(definition(trials=1), tmp_path / "second", 1)
    assert n_complete(definition(), tmp_path / "second", table) == 3
    take_over(definition(), tmp_path / "second", table)
    assert trained(tmp_path / "second") == ["0000"]
    again = write(definition(), tmp_path / "second", table)
    assert again[2:] == lines[2:]
    # And one that has less adds nothing.
    table.write_text("\n".join(lines[:2]) + "\n")
    take_over(definition(), tmp_path / "first", table)
    assert write(definition(), tmp_path / "first", table) == lines


@pytest.mark.slow
def test_failed_and_repeated_trials_are_taken_over(definition: Any, tmp_path: Path) -> None:
    table, wanted = tmp_path / "table.csv", definition(space=DIVERGES, trials=4, seed=0)
    search(wanted, tmp_path / "first", 1)
    before = write(wanted, tmp_path / "first", table)
    rows = pd.read_csv(table)
    assert {"COMPLETE", "FAIL"} == set(rows.state)
    assert rows.repeats.notna().any()
    more = definition(space=DIVERGES, trials=5, seed=0)
    take_over(more, tmp_path / "second", table)
    old, new = (open_storage(wanted, tmp_path / name).get_trials() for name in ("first", "second"))
    assert [(trial.state, trial.params, trial.value) for trial in old] == [
        (trial.state, trial.params, trial.value) for trial in new
    ]
    with Asker(more, tmp_path / "second") as asker:
        failed = rows[rows.state == "FAIL"]
        assert asker.failures == dict(zip(failed.number, failed.error, strict=True))
    search(more, tmp_path / "second", 1)
    after = write(more, tmp_path / "second", table)
    assert [without_chosen(line) for line in after[: len(before)]] == list(map(without_chosen, before))
    assert (pd.read_csv(table).state == "COMPLETE").sum() == 5


def test_a_new_trial_may_repeat_one_of_the_table(definition: Any, tmp_path: Path) -> None:
    table, space = tmp_path / "table.csv", {"optimizer.lr": {"choice": [1e-3]}}
    search(definition(space=space, trials=1), tmp_path / "first", 1)
    write(definition(space=space, trials=1), tmp_path / "first", table)
    wanted, folder = definition(space=space, trials=2), tmp_path / "second"
    take_over(wanted, folder, table)
    search(wanted, folder, 1)
    assert trained(folder) == []
    write(wanted, folder, table)
    rows = pd.read_csv(table)
    assert rows.repeats.tolist()[1] == 0
    assert rows["test/loss"][0] == rows["test/loss"][1]


@pytest.mark.slow
def test_a_trial_that_was_under_way_begins_anew_with_its_parameters(definition: Any, tmp_path: Path) -> None:
    table, wanted = tmp_path / "table.csv", definition(trials=2)
    with Asker(wanted, tmp_path / "whole") as asker:
        first = asker.next()
    search(wanted, tmp_path / "first", 1)
    lines = write(wanted, tmp_path / "first", table)
    rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    rows.loc[0, ["state", "value"]] = ["RUNNING", ""]
    rows.to_csv(table, index=False)
    assert n_complete(wanted, tmp_path / "second", table) == 1
    take_over(wanted, tmp_path / "second", table)
    states = [trial.state for trial in open_storage(wanted, tmp_path / "second").get_trials()]
    assert states == [TrialState.RUNNING, TrialState.COMPLETE]
    with Asker(wanted, tmp_path / "second") as asker:
        assert asker.next() == first
        assert asker.next() is None
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("limits", "value"),
    [
        ({"choice": [None, True, "adam"]}, None),
        ({"choice": [None, True, "adam"]}, True),
        ({"choice": [None, True, "adam"]}, "adam"),
        ({"choice": [1, 0.5]}, 1),
        ({"choice": [1, 0.5]}, 0.5),
        ({"uniform": [0, 1]}, 0.1 + 0.2),
        ({"log_uniform": [1e-9, 1]}, 1 / 3e7),
        ({"integer": [1, 9]}, 3),
    ],
)
def test_values_are_read_back_exactly(limits: dict[str, Any], value: Any) -> None:
    _, _, text = override("key", value).partition("=")
    again = _parameter("key", text, limits)
    assert again == value and type(again) is type(value)
    distribution(limits).to_internal_repr(again)


@pytest.fixture
def table(definition: Any, tmp_path: Path) -> Path:
    """A table of two trials, made without training."""
    path = tmp_path / "table.csv"
    rows = []
    with Asker(definition(), tmp_path / "drawn") as asker:
        for value in (0.25, 0.5):
            trial = asker.next()
            command = command_of(overrides_of(definition(), trial.parameters))
            numbers = {"search": "tiny", "number": trial.number, "state": "COMPLETE", "value": value}
            rows.append({**numbers, **trial.parameters, "error": "", "command": command})
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", "No columns"),
        (
            lambda text: "a,b\n1,2\n",
            "it is not a table of trials, because it lacks the column number, state, value, error",
        ),
        (lambda text: text.replace("tiny,1,", "tiny,7,"), "trial 1 is not in row 2"),
        (lambda text: text.splitlines()[0] + "\n<<<<<<< HEAD\n", "trial 0 is not in row 1"),
        (
            lambda text: text.replace("tiny,0,COMPLETE", "tiny,0,DONE"),
            "trial 0 does not belong to the search tiny",
        ),
        (
            lambda text: text.replace("aggregator=and_mask", "aggregator=mean"),
            "its command lacks aggregator=and",
        ),
        (lambda text: text.replace("optimizer.lr=", "optimizer.rate="), "its command lacks optimizer.lr"),
        (lambda text: text.replace("optimizer.lr=", "optimizer.lr=x"), "could not convert"),
        (
            lambda text: text.replace("optimizer.lr=0.00", "optimizer.lr=7.00"),
            "isn't contained|not contained",
        ),
        (
            lambda text: text.replace("optimizer=sgd", "optimizer=x").replace("=adam", "=x"),
            "is not one of its choices",
        ),
        (lambda text: text.replace(",0.25,", ",much,"), "could not convert"),
    ],
)
def test_a_damaged_or_foreign_table_is_named_in_one_line(
    change: Callable[[str], str], message: str, table: Path, definition: Any, tmp_path: Path
) -> None:
    assert n_complete(definition(), tmp_path / "fresh", table) == 2
    table.write_text(change(table.read_text()))
    for call in (n_complete, take_over):
        with pytest.raises(UserError, match=message) as error:
            call(definition(), tmp_path / "fresh", table)
        said = str(error.value)
        assert said.startswith(f"{table} cannot be used (")
        assert said.endswith(": put back the committed file, or remove it")
        assert "\n" not in said
    assert not (tmp_path / "fresh" / STORAGE).exists()


def test_a_folder_in_which_somebody_searches(table: Path, definition: Any, tmp_path: Path) -> None:
    with (
        Asker(definition(), tmp_path / "fresh"),
        pytest.raises(UserError, match="another process searches in"),
    ):
        take_over(definition(), tmp_path / "fresh", table)
