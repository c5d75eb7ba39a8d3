"""Search files are checked before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from optuna import create_study
from optuna.samplers import RandomSampler

from ilc.errors import UserError
from lab.runs.search.search_file import FOLDER, load_definition, load_definitions, search_names
from lab.runs.search.space import check_range, draw, override
from lab.runs.search.trial import check_overrides

GOOD = """
fixed: [experiment=spirals]
space: {optimizer.lr: {log_uniform: [1e-3, 1e-1]}}
objective: {test/accuracy: maximize}
selection: last
trials: 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_committed_search_composes(path: Path) -> None:
    for definition in load_definitions(path.stem):
        check_overrides(definition)


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        ("trials: 3", "trials: 0", "trials must be a whole number of at least 1"),
        ("trials: 3", "", "lacks trials"),
        ("trials: 3", "trials: 3\ntrails: 4", "unknown key 'trails'. Did you mean 'trials'"),
        ("selection: last", "selection: best", "selection must be one of last"),
        ("trials: 3", "trials: 3\nsampler: grid", "sampler must be one of random, tpe"),
        ("maximize", "upwards", "objective.test/accuracy must be one of maximize, minimize"),
        ("[experiment=spirals]", "experiment=spirals", "fixed must be a list of overrides"),
        ("log_uniform", "loguniform", "optimizer.lr must be one range"),
        ("[1e-3, 1e-1]", "[1e-1, 1e-3]", "must rise"),
        ("[1e-3, 1e-1]", "[0, 1]", "above 0"),
        ("{optimizer.lr: {log_uniform: [1e-3, 1e-1]}}", "{}", "space is empty"),
    ],
)
def test_errors_are_readable(line: str, replacement: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD)
    assert load_definition(str(path)).name == "own"
    path.write_text(GOOD.replace(line, replacement))
    with pytest.raises(UserError, match=message):
        load_definition(str(path))


SEVERAL = (
    GOOD
    + """
each:
  one: {fixed: [aggregator=mean]}
  two: {fixed: [aggregator=and_mask], space: {aggregator.agreement_threshold: {uniform: [0, 1]}}, trials: 7}
"""
)


def test_a_file_may_hold_several_searches_that_share_most(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SEVERAL)
    one, two = load_definitions(str(path))
    assert (one.name, two.name) == ("own/one", "own/two")
    assert one.fixed == ("experiment=spirals", "aggregator=mean")
    assert (one.trials, two.trials) == (3, 7)
    assert list(one.space) == ["optimizer.lr"]
    assert list(two.space) == ["optimizer.lr", "aggregator.agreement_threshold"]
    assert load_definition(f"{path}/two") == two
    assert load_definitions(f"{path}/one") == [one]
    with pytest.raises(UserError, match=r"name one of \S+own.yaml/one, \S+own.yaml/two"):
        load_definition(str(path))
    with pytest.raises(UserError, match=r"no search 'three'\. Searches in this file: one, two"):
        load_definition(f"{path}/three")
    path.write_text(GOOD)
    with pytest.raises(UserError, match=r"no search 'one'\. Searches in this file: none"):
        load_definition(f"{path}/one")
    path.write_text(SEVERAL.replace("space: {aggr", "ranges: {aggr"))
    with pytest.raises(UserError, match=r"unknown key 'each.two.ranges'"):
        load_definitions(str(path))
    for wrong in (SEVERAL.replace("{fixed: [aggregator=mean]}", "aggregator=mean"), GOOD + "each: {}\n"):
        path.write_text(wrong)
        with pytest.raises(UserError, match="each must map the name of every search to its own keys"):
            load_definitions(str(path))


def test_the_names_of_all_searches() -> None:
    assert {"spirals", "coinrun"} <= set(search_names())


def test_an_unknown_search_names_those_there_are() -> None:
    with pytest.raises(UserError, match="no search is called 'spiral'"):
        load_definition("spiral")


def test_a_key_that_no_config_has_stops_the_search(definition: Any) -> None:
    with pytest.raises(Exception, match="learning_rate"):
        check_overrides(definition(space={"optimizer.learning_rate": {"choice": [1]}}))
    check_overrides(definition())


def test_draws_stay_in_their_ranges_and_reach_them() -> None:
    study = create_study(sampler=RandomSampler(0))
    ranges: dict[str, dict[str, Any]] = {
        "a": {"choice": [None, True, "b"]},
        "b": {"uniform": [-1, 1]},
        "c": {"log_uniform": [1e-4, 1.0]},
        "d": {"integer": [3, 5]},
    }
    drawn = []
    for _ in range(200):
        trial = study.ask()
        drawn.append({key: draw(trial, key, limits) for key, limits in ranges.items()})
    assert {values["a"] for values in drawn} == {None, True, "b"}
    assert {values["d"] for values in drawn} == {3, 4, 5}
    assert all(-1 <= values["b"] <= 1 for values in drawn)  # type: ignore[operator]
    # Half of a log-uniform range lies below its geometric middle.
    assert 0.35 < sum(values["c"] < 1e-2 for values in drawn) / 200 < 0.65  # type: ignore[operator, misc]


def test_overrides_are_exact() -> None:
    assert override("x", None) == "x=null"
    assert [override("x", value) for value in (True, 1, 1.0)] == ["x=true", "x=1", "x=1.0"]
    assert float(override("x", 0.1 + 0.2).removeprefix("x=")) == 0.1 + 0.2


@pytest.mark.parametrize(
    "limits", [{"choice": []}, {"choice": [[1]]}, {"integer": [1.5, 2]}, {"uniform": [1]}, 3]
)
def test_ranges_of_no_kind_are_refused(limits: Any) -> None:
    with pytest.raises(UserError, match=r"space\.x"):
        check_range("x", limits)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ("{optimizer: {choice: [adam, sgd, sgdd]}}", "sgdd"),
        ("{optimizer: {choice: [adam, sgdd, sgd]}}", "sgdd"),
        ("{seed: {integer: [0, 3]}, optimizer: {choice: [adam, sgdd]}}", "sgdd"),
        ("{scale: {choice: [small, large]}}", "scale must be one of small, paper, got 'large'"),
    ],
)
def test_every_choice_is_checked_before_the_search_begins(ranges: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD.replace("{optimizer.lr: {log_uniform: [1e-3, 1e-1]}}", ranges))
    with pytest.raises(UserError, match=message):
        check_overrides(load_definition(str(path)))


def test_both_ends_of_a_range_are_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD.replace("}}", "}, seed: {integer: [2, 5]}, optimizer: {choice: [adam, sgd, adam]}}"))
    composed: list[list[str]] = []
    monkeypatch.setattr("lab.runs.search.trial.compose_experiment", composed.append)
    check_overrides(load_definition(str(path)))
    tried = [{text for text in one if text.startswith(("seed", "optimizer"))} for one in composed]
    assert tried == [
        {"optimizer.lr=0.001", "seed=2", "optimizer=adam"},
        {"optimizer.lr=0.1", "seed=5", "optimizer=sgd"},
        {"optimizer.lr=0.001", "seed=2", "optimizer=adam"},
    ]
