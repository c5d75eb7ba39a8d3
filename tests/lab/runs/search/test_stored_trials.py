"""A search's database from elsewhere, or damaged: one line, and nothing of it becomes a command."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from ilc.errors import UserError
from lab.runs.search.asker import Asker
from lab.runs.search.files import search_files
from lab.runs.search.loop import search
from lab.runs.search.storage import open_storage

FINE: dict[str, Any] = {
    "optimizer": "sgd",
    "optimizer.lr": 1e-3,
    "aggregator.rescale": True,
    "model.hidden_layers": 2,
}


def put(folder: Path, definition: Any, parameters: dict[str, Any], **more: Any) -> None:
    """Add a trial as somebody may who writes the database himself."""
    stored = open_storage(definition, folder)
    distributions = {
        key: FloatDistribution(-1e9, 1e9) if type(value) is float else CategoricalDistribution([value])
        for key, value in parameters.items()
    }
    state = {"value": 0.5, **more}
    stored.add_trial(optuna.create_trial(params=parameters, distributions=distributions, **state))


def test_parameters_of_the_space_are_fine(definition: Any, tmp_path: Path) -> None:
    wanted = definition()
    put(tmp_path, wanted, FINE)
    put(tmp_path, wanted, {"optimizer.lr": 1e-4 * (1 - 1e-12)})
    assert len(open_storage(wanted, tmp_path).get_trials()) == 2


@pytest.mark.parametrize(
    "parameters",
    [
        {**FINE, "model._target_": "os.system"},
        {**FINE, "hydra.searchpath": "[file:///tmp]"},
        {**FINE, "optimizer": "${oc.env:SECRET}"},
        {**FINE, "optimizer.lr": "${oc.env:SECRET}"},
        {**FINE, "optimizer.lr": 0.5},
        {**FINE, "optimizer.lr": 1e-3, "model.hidden_layers": 7},
        {**FINE, "model.hidden_layers": True},
        {**FINE, "aggregator.rescale": 1},
    ],
)
@pytest.mark.parametrize("reader", ["asked", "exported"])
def test_others_are_refused_by_whoever_reads(
    parameters: dict[str, Any], reader: str, definition: Any, tmp_path: Path
) -> None:
    wanted = definition()
    put(tmp_path, wanted, parameters)
    with pytest.raises(
        UserError, match=r"study\.db are damaged \(trial 0 has .* outside of the search's space"
    ):
        if reader == "asked":
            Asker(wanted, tmp_path)
        else:
            search_files(wanted, tmp_path, tmp_path / "t.csv", tmp_path / "best.yaml")


@pytest.mark.parametrize("repeated", [5, "../../x", -1, [0]])
def test_a_trial_repeats_a_trial(repeated: Any, definition: Any, tmp_path: Path) -> None:
    put(tmp_path, definition(), FINE, user_attrs={"repeats": repeated})
    with pytest.raises(UserError, match="which is not a trial"):
        open_storage(definition(), tmp_path)


def test_a_folder_holds_one_search(definition: Any, tmp_path: Path) -> None:
    put(tmp_path, definition(), FINE)
    before = (tmp_path / "study.db").read_bytes()
    with pytest.raises(UserError, match="holds the search tiny, whose trials and tables other would replace"):
        open_storage(definition(name="other"), tmp_path)
    assert (tmp_path / "study.db").read_bytes() == before
    assert len(open_storage(definition(), tmp_path).get_trials()) == 1


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def text(path: Path) -> None:
    path.write_text("no database")


def pages_zeroed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : 4 * 4096] = bytes(3 * 4096)
    path.write_bytes(content)


def another_database(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE studies (name TEXT)")
        connection.commit()


def a_value_that_is_no_json(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE trial_params SET distribution_json = '{'")
        connection.commit()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage", [truncated, text, pages_zeroed, another_database, a_value_that_is_no_json, a_folder]
)
def test_a_damaged_database_is_one_line(
    damage: Callable[[Path], None], definition: Any, tmp_path: Path
) -> None:
    put(tmp_path, definition(), FINE)
    damage(tmp_path / "study.db")
    with pytest.raises(
        UserError, match=r"study\.db are damaged \(.*put back a copy of the database, or remove it"
    ) as caught:
        Asker(definition(), tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_flipped_bits_are_one_line_or_change_nothing_that_counts(definition: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    for _ in range(3):
        put(whole, definition(), FINE)
    content = (whole / "study.db").read_bytes()
    drawn = random.Random(0)
    for number in range(40):
        folder = Path(shutil.copytree(whole, tmp_path / str(number)))
        damaged = bytearray(content)
        bit = drawn.randrange(8 * len(content))
        damaged[bit // 8] ^= 1 << bit % 8
        (folder / "study.db").write_bytes(damaged)
        try:
            stored = open_storage(definition(), folder)
        except UserError as error:
            assert "\n" not in str(error)
            continue
        for trial in stored.get_trials():
            assert trial.params.keys() <= definition().space.keys()


@pytest.mark.usefixtures("in_this_process")
def test_the_runs_have_the_last_word_on_the_values(definition: Any, tmp_path: Path) -> None:
    wanted = definition(trials=1)
    search(wanted, tmp_path, 1)
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection:
        connection.execute("UPDATE trial_values SET value = 0.987")
        connection.commit()
    with pytest.raises(
        UserError, match=r"trial 0 has test/accuracy 0\.987 in the database, but .* in its run "
    ):
        search_files(wanted, tmp_path, tmp_path / "t.csv", tmp_path / "best.yaml")


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"server": "x"})])
def test_a_damaged_note_of_the_server_is_one_line(content: str, definition: Any, tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text(content)
    with pytest.raises(UserError, match=r"server\.json is damaged"):
        open_storage(definition(), tmp_path)
