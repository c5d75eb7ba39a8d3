"""Trials are counted once, whatever ends their training; failed ones are recorded, not counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from optuna.trial import TrialState

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.runs.search.asker import Asker
from lab.runs.search.loop import search
from lab.runs.search.search_file import load_definition
from lab.runs.search.storage import open_storage
from lab.runs.search.table import finalists, tabulate_trials
from lab.runs.search.trial import folder_of, overrides_of

pytestmark = pytest.mark.usefixtures("in_this_process")
DIVERGES = {"choice": [1e-3, 1e30]}


def table_of(definition: Any, folder: Path) -> pd.DataFrame:
    return tabulate_trials(open_storage(definition, folder), definition, folder)


def states_of(definition: Any, folder: Path) -> list[TrialState]:
    return [trial.state for trial in open_storage(definition, folder).get_trials()]


@pytest.mark.slow
def test_same_seed_same_trials_other_seed_others(definition: Any, tmp_path: Path) -> None:
    tables = []
    for name, seed, n_workers in (("a", 0, 1), ("b", 0, 2), ("c", 1, 1)):
        wanted = definition(seed=seed, trials=2)
        search(wanted, tmp_path / name, n_workers)
        tables.append(table_of(wanted, tmp_path / name))
    columns = ["number", "state", "value", *definition().space, "test/loss"]
    one, same, other = (table[columns] for table in tables)
    assert one.equals(same)
    assert not one["optimizer.lr"].equals(other["optimizer.lr"])
    assert one["optimizer.lr"].nunique() == 2


@pytest.mark.parametrize("name", ["spirals/and_mask_l2", "spirals/irm"])
def test_random_parameters_are_those_of_the_committed_trials(name: str, root: Path, tmp_path: Path) -> None:
    wanted = load_definition(name)
    committed = pd.read_csv(root / "results" / "spirals" / "search" / f"{name}_trials.csv")
    with Asker(wanted, tmp_path) as asker:
        for row in committed[:5].to_dict("records"):
            trial = asker.next()
            assert trial is not None
            assert {key: row[key] for key in wanted.space} == trial.parameters


def test_tpe_draws_what_it_always_drew(definition: Any, tmp_path: Path) -> None:
    """Frozen: the 14th trial's parameters, four trials after it began to learn."""
    wanted = definition(sampler="tpe", seed=5, trials=14)
    with Asker(wanted, tmp_path) as asker:
        while (trial := asker.next()) is not None:
            last = trial.parameters
            asker.tell(trial.number, {"test/accuracy": last["optimizer.lr"], "test/loss": 0.0})
    # The last digit of a sampled rate depends on the processor.
    assert last == {
        "optimizer": "adam",
        "optimizer.lr": pytest.approx(0.007325155512758039, rel=1e-12),
        "aggregator.rescale": False,
        "model.hidden_layers": 3,
    }


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_parameters_survive_a_kill_while_they_are_drawn(
    sampler: str, definition: Any, tmp_path: Path
) -> None:
    wanted = definition(sampler=sampler)
    with Asker(wanted, tmp_path / "whole") as asker:
        whole = asker.next()
    number = open_storage(wanted, tmp_path / "cut").ask().number  # Begun, and nothing drawn yet.
    for _ in range(2):
        with Asker(wanted, tmp_path / "cut") as asker:
            again = asker.next()
        assert whole is not None
        assert again is not None
        assert again.number == number
        assert again.parameters == whole.parameters


def test_begun_trials_go_on_and_no_more_begin_than_are_wanted(definition: Any, tmp_path: Path) -> None:
    wanted = definition(trials=3)
    with Asker(wanted, tmp_path) as asker:
        first, second = asker.next(), asker.next()
        assert first is not None
        assert second is not None
        assert asker.tell(1, {"test/accuracy": 0.5, "test/loss": 1.0})
    with Asker(wanted, tmp_path) as asker:  # As after a kill.
        trials = [asker.next() for _ in range(3)]
        assert trials[0] == first
        assert trials[1] is not None
        assert trials[1].number == 2
        assert trials[2] is None  # Three are asked for: one is complete, two are under way.
        assert not asker.tell(0, "training diverged")
        another = asker.next()
        assert another is not None
        assert another.number == 3
        assert asker.next() is None


def test_one_asker_at_a_time(definition: Any, tmp_path: Path) -> None:
    with (
        Asker(definition(), tmp_path),
        pytest.raises(UserError, match="another process searches in"),
    ):
        Asker(definition(), tmp_path)
    with Asker(definition(), tmp_path):
        pass


def test_a_trial_that_was_done_but_not_told_is_counted_once(definition: Any, tmp_path: Path) -> None:
    wanted = definition(trials=1)
    search(wanted, tmp_path / "a", 1)
    with Asker(wanted, tmp_path / "b") as asker:
        assert asker.next() is not None
    own = folder_of(tmp_path / "b", 0)
    own.parent.mkdir()
    folder_of(tmp_path / "a", 0).rename(own)
    metrics = (own / "metrics.jsonl").read_bytes()
    search(wanted, tmp_path / "b", 1)
    assert (own / "metrics.jsonl").read_bytes() == metrics
    values = [trial.value for trial in open_storage(wanted, tmp_path / "b").get_trials()]
    assert values == [json.loads((own / "summary.json").read_text())["test/accuracy"]]


@pytest.mark.slow
def test_failed_trials_are_recorded_and_never_counted(definition: Any, tmp_path: Path) -> None:
    wanted = definition(space={**definition().space, "optimizer.lr": DIVERGES})
    search(wanted, tmp_path, 2)
    table = table_of(wanted, tmp_path)
    assert (table.state == "COMPLETE").sum() == 3
    failed = table[table.state == "FAIL"]
    assert len(failed) >= 1
    assert failed.error.str.startswith("training diverged").all()
    assert failed.value.isna().all()
    assert not failed.chosen.any()
    assert set(failed["optimizer.lr"]) == {1e30}
    assert set(table[table.state == "COMPLETE"]["optimizer.lr"]) == {1e-3}


def test_a_search_that_only_fails_gives_up(definition: Any, tmp_path: Path) -> None:
    wanted = definition("optimizer.lr=1e30", space={"model.hidden_layers": {"integer": [1, 3]}}, trials=2)
    with pytest.raises(UserError, match=r"3 trials failed, which is more than the 2 .*training diverged"):
        search(wanted, tmp_path, 1)
    assert not table_of(wanted, tmp_path).chosen.any()


def test_a_full_disk_is_not_the_trials_fault(
    definition: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = definition(trials=1)

    def full(*arguments: object) -> None:
        raise UserError("cannot write") from OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("lab.runs.sweep.sweep.run", full)
        with pytest.raises(UserError, match="cannot write"):
            search(wanted, tmp_path, 1)
    search(wanted, tmp_path, 1)
    assert states_of(wanted, tmp_path) == [TrialState.COMPLETE]


def test_a_metric_that_is_not_finite_fails_and_one_that_no_run_has_stops(
    definition: Any, tmp_path: Path
) -> None:
    wanted = definition(objective={"test/loss": "minimize"}, trials=1)
    with Asker(wanted, tmp_path) as asker:
        assert asker.next() is not None
        assert not asker.tell(0, {"test/loss": float("nan")})
        assert asker.next() is not None
        with pytest.raises(UserError, match="its runs do not have the metric test/loss"):
            asker.tell(1, {"test/accuracy": 1.0})
    errors = [trial.user_attrs for trial in open_storage(wanted, tmp_path).get_trials()]
    assert errors == [{"error": "test/loss is nan"}, {}]
    assert states_of(wanted, tmp_path) == [TrialState.FAIL, TrialState.RUNNING]


def test_another_search_in_the_same_folder_is_refused(definition: Any, tmp_path: Path) -> None:
    open_storage(definition(), tmp_path)
    open_storage(definition(trials=7), tmp_path)  # More of the same is no other search.
    with pytest.raises(UserError, match="differs in seed"):
        open_storage(definition(seed=1), tmp_path)


def test_tpe_learns_from_its_trials(definition: Any, tmp_path: Path) -> None:
    """After the random start its learning rates gather where the value is best."""
    wanted = definition(sampler="tpe", trials=30, space={"optimizer.lr": {"log_uniform": [1e-4, 1.0]}})
    rates: list[float] = []
    with Asker(wanted, tmp_path) as asker:
        while (trial := asker.next()) is not None:
            rates.append(float(trial.parameters["optimizer.lr"]))  # type: ignore[arg-type]
            asker.tell(trial.number, {"test/accuracy": -abs(rates[-1] - 0.5), "test/loss": 0.0})
    assert sum(rate > 0.25 for rate in rates[10:]) > 8
    assert sum(rate > 0.25 for rate in rates[:10]) < 4


def test_trials_are_what_their_commands_say(definition: Any, tmp_path: Path) -> None:
    wanted = definition(trials=1)
    search(wanted, tmp_path, 1)
    trial = open_storage(wanted, tmp_path).get_trials()[0]
    experiment = compose_experiment(overrides_of(wanted, trial.params))
    assert experiment["optimizer"]["lr"] == trial.params["optimizer.lr"]
    assert experiment["optimizer"]["name"] == trial.params["optimizer"]
    assert experiment["trainer"]["selection"] == "last"
    assert experiment["threads"] == 1


def test_a_trial_with_the_parameters_of_another_is_not_trained_again(definition: Any, tmp_path: Path) -> None:
    wanted = definition(trials=6, space={"model.hidden_layers": {"integer": [1, 2]}}, finalists=5)
    search(wanted, tmp_path, 1)
    table = table_of(wanted, tmp_path)
    assert len(table) == 6
    trained = table[table.repeats.isna()]
    assert sorted(trained["model.hidden_layers"]) == [1, 2]
    assert [folder_of(tmp_path, number).exists() for number in table.number] == table.repeats.isna().tolist()
    repeated = table[table.repeats.notna()]
    assert repeated.wall_seconds.isna().all()
    first = table.loc[repeated.repeats]
    for column in ("value", "test/loss", "model.hidden_layers", "command", "git_commit"):
        assert repeated[column].tolist() == first[column].tolist()
    assert (
        finalists(table, wanted).number.tolist()
        == trained.sort_values(["test/accuracy", "test/loss"], ascending=[False, True]).number.tolist()
    )
