"""Trials are counted once, whatever ends their worker; failed ones are recorded, not counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from ilc.configuration.compose import compose_experiment
from ilc.errors import UserError
from ilc.search.claims import claim
from ilc.search.report import tabulate_trials
from ilc.search.study import open_study
from ilc.search.worker import complete, overrides_of, work

DIVERGES = {"choice": [1e-3, 1e30]}


def test_same_seed_same_trials_other_seed_others(definition: Any, tmp_path: Path) -> None:
    tables = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        search = definition(seed=seed, trials=2)
        work(search, tmp_path / name)
        tables.append(tabulate_trials(open_study(search, tmp_path / name), search, tmp_path / name))
    columns = ["number", "state", "value", *definition().space, "test/loss"]
    one, same, other = (table[columns] for table in tables)
    assert one.equals(same)
    assert not one["optimizer.lr"].equals(other["optimizer.lr"])
    assert one["optimizer.lr"].nunique() == 2


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_parameters_survive_a_kill_while_they_are_drawn(
    sampler: str, definition: Any, tmp_path: Path
) -> None:
    search = definition(sampler=sampler)
    whole = claim(open_study(search, tmp_path / "whole"), search, tmp_path / "whole")
    cut = open_study(search, tmp_path / "cut")
    number = cut.ask().number  # Begun, nothing drawn yet, and nobody's.
    again = claim(open_study(search, tmp_path / "cut"), search, tmp_path / "cut")
    assert whole is not None
    assert again is not None
    assert again.number == number
    assert again.parameters == whole.parameters
    for one in (whole, again):
        one.release()


def test_a_living_workers_trial_is_left_alone_and_an_abandoned_one_taken_up(
    definition: Any, tmp_path: Path
) -> None:
    search = definition(trials=2)
    study = open_study(search, tmp_path)
    first = claim(study, search, tmp_path)
    second = claim(study, search, tmp_path)
    assert first is not None
    assert second is not None
    assert (first.number, second.number) == (0, 1)
    assert claim(study, search, tmp_path) is None  # Two are asked for, two are under way.
    first.release()  # As when its worker dies.
    again = claim(study, search, tmp_path)
    assert again is not None
    assert again.number == 0
    assert again.parameters == first.parameters
    complete(again, study, search)
    again.release()
    assert claim(study, search, tmp_path) is None
    second.release()
    work(search, tmp_path)
    assert [trial.state for trial in study.get_trials()] == [TrialState.COMPLETE] * 2


def test_a_trial_that_was_done_but_not_told_is_counted_once(definition: Any, tmp_path: Path) -> None:
    search = definition(trials=1)
    work(search, tmp_path / "a")
    study = open_study(search, tmp_path / "b")
    mine = claim(study, search, tmp_path / "b")
    assert mine is not None
    mine.release()
    mine.folder.parent.mkdir()
    (tmp_path / "a" / "trials" / "0000").rename(mine.folder)
    metrics = (mine.folder / "metrics.jsonl").read_bytes()
    work(search, tmp_path / "b")
    assert (mine.folder / "metrics.jsonl").read_bytes() == metrics
    assert [trial.value for trial in study.get_trials()] == [
        json.loads((mine.folder / "summary.json").read_text())["test/accuracy"]
    ]


def test_failed_trials_are_recorded_and_never_counted(definition: Any, tmp_path: Path) -> None:
    search = definition(space={**definition().space, "optimizer.lr": DIVERGES})
    work(search, tmp_path)
    study = open_study(search, tmp_path)
    table = tabulate_trials(study, search, tmp_path)
    assert (table.state == "COMPLETE").sum() == 3
    failed = table[table.state == "FAIL"]
    assert len(failed) >= 1
    assert failed.error.str.startswith("training diverged").all()
    assert failed.value.isna().all()
    assert set(failed["optimizer.lr"]) == {1e30}
    assert set(table[table.state == "COMPLETE"]["optimizer.lr"]) == {1e-3}


def test_a_search_that_only_fails_gives_up(definition: Any, tmp_path: Path) -> None:
    search = definition("optimizer.lr=1e30", space={"model.hidden_layers": {"integer": [1, 3]}}, trials=2)
    with pytest.raises(UserError, match=r"3 trials failed, more than the 2 asked for.*training diverged"):
        work(search, tmp_path)


def test_a_full_disk_is_not_the_trials_fault(
    definition: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = definition(trials=1)

    def full(*arguments: object) -> None:
        try:
            raise OSError(28, "No space left on device")
        except OSError as error:
            raise UserError("cannot write") from error

    with monkeypatch.context() as broken:
        broken.setattr("ilc.search.worker.run", full)
        with pytest.raises(UserError, match="cannot write"):
            work(search, tmp_path)
    work(search, tmp_path)
    assert [trial.state for trial in open_study(search, tmp_path).get_trials()] == [TrialState.COMPLETE]


def test_a_metric_that_no_run_has_stops_the_search(definition: Any, tmp_path: Path) -> None:
    search = definition(objective={"test/kl": "minimize"}, trials=1)
    with pytest.raises(UserError, match="no run has the metric test/kl"):
        work(search, tmp_path)


def test_another_search_in_the_same_folder_is_refused(definition: Any, tmp_path: Path) -> None:
    open_study(definition(), tmp_path)
    open_study(definition(trials=7), tmp_path)  # More of the same is no other search.
    with pytest.raises(UserError, match="differs in seed"):
        open_study(definition(seed=1), tmp_path)


def test_tpe_learns_from_its_trials(definition: Any, tmp_path: Path) -> None:
    """After the random start its learning rates gather where the value is best."""
    search = definition(sampler="tpe", trials=30, space={"optimizer.lr": {"log_uniform": [1e-4, 1.0]}})
    study = open_study(search, tmp_path)
    rates: list[float] = []
    while (mine := claim(study, search, tmp_path)) is not None:
        rates.append(float(mine.parameters["optimizer.lr"]))  # type: ignore[arg-type]
        study.tell(mine.number, -abs(rates[-1] - 0.5))
        mine.release()
    assert sum(rate > 0.25 for rate in rates[10:]) > 8
    assert sum(rate > 0.25 for rate in rates[:10]) < 4


def test_trials_are_what_their_commands_say(definition: Any, tmp_path: Path) -> None:
    search = definition(trials=1)
    work(search, tmp_path)
    trial = open_study(search, tmp_path).get_trials()[0]
    experiment = compose_experiment(overrides_of(search, trial.params))
    assert experiment["optimizer"]["lr"] == trial.params["optimizer.lr"]
    assert experiment["optimizer"]["name"] == trial.params["optimizer"]
    assert experiment["trainer"]["selection"] == "last"
    assert experiment["threads"] == 1
