"""The best trial by the rule that is named, and the config file that repeats it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
import pytest
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.configuration.resolve import differences
from lab.configuration.searched_settings import PREFIX, RESULTS, SECTION, searched_settings
from lab.runs.search.files import settings_path
from lab.runs.search.loop import search
from lab.runs.search.search_file import load_definitions
from lab.runs.search.storage import open_storage
from lab.runs.search.table import best_trial, finalists, tabulate_trials
from lab.runs.search.trial import overrides_of
from lab.runs.search.tuned import tuned_configs, with_sections


def table(*rows: tuple[str, float, float]) -> pd.DataFrame:
    columns = ["state", "test/accuracy", "test/loss"]
    return pd.DataFrame(rows, columns=columns).rename_axis("number").reset_index()


def test_the_best_is_the_first_of_the_highest_with_the_lowest_loss(definition: Any) -> None:
    trials = table(
        ("COMPLETE", 0.5, 0.1),
        ("COMPLETE", 0.9, 0.3),
        ("FAIL", 1.0, 0.0),
        ("COMPLETE", 0.9, 0.2),
        ("COMPLETE", 0.9, 0.2),
    )
    assert best_trial(trials, definition()).number == 3
    assert finalists(trials, definition(finalists=3)).number.tolist() == [3, 4, 1]
    falling = definition(objective={"test/loss": "minimize"})
    assert best_trial(trials, falling).number == 0
    with pytest.raises(UserError, match="no trial has completed"):
        best_trial(table(("FAIL", 1.0, 0.0)), definition())


def test_the_rule_says_what_is_done(definition: Any) -> None:
    assert definition().rule == (
        "highest test/accuracy, ties by lowest test/loss then the earlier trial; "
        "evaluation of each run: last; it looks at test data (oracle)"
    )
    assert "oracle" not in definition(objective={"train/loss": "minimize"}).rule


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("base", ["~tuned", "tuned=published/spirals"])
def test_the_exported_config_repeats_the_chosen_trial(base: str, definition: Any, tmp_path: Path) -> None:
    """Also where the trials themselves took settings from another such file."""
    wanted = definition("model.dropout=0.25", "trainer.stop_below=0.01", trials=3, seed=2)
    wanted = replace(wanted, fixed=(base, *wanted.fixed[1:]))
    search(wanted, tmp_path / "search", 1)
    stored = open_storage(wanted, tmp_path / "search")
    trials = tabulate_trials(stored, wanted, tmp_path / "search")
    best = stored.get_trials()[int(best_trial(trials, wanted).number)]
    assert trials.chosen.tolist() == [number == best.number for number in range(3)]
    keys = ["search", "number", "state", "chosen", "value", *wanted.space, "step"]
    assert list(trials.columns[: len(keys)]) == keys
    text, second = tuned_configs(stored, trials, replace(wanted, finalists=2))
    assert [text] == tuned_configs(stored, trials, wanted)
    assert f"trial {best.number}, test/accuracy {best.value:.6g}" in text
    assert "Best of 3 completed trials (0 failed) by random search" in text
    assert "Number 2 of 3 completed trials" in second
    assert "tuned=searched/tiny_2 seed=0" in second
    (tmp_path / "tuned" / "searched").mkdir(parents=True)
    (tmp_path / "tuned" / "searched" / "tiny.yaml").write_text(text)
    path = f"hydra.searchpath=[file://{tmp_path}]"
    tuned = compose_experiment([path, "experiment=spirals", "tuned=searched/tiny", "seed=0"])
    assert differences(tuned, compose_experiment(overrides_of(wanted, best.params))) == ["trainer.stop_below"]
    assert best.params["optimizer"] == tuned["optimizer"]["name"]
    # A setting of that file which no override names.
    assert tuned["optimizer"]["weight_decay"] == (0.0 if base == "~tuned" else 1e-4)


def test_settings_of_an_experiment_elsewhere_leave_its_place_to_the_command(
    definition: Any, tmp_path: Path
) -> None:
    """Hydra reads the search path from a command line alone."""
    place = f"hydra.searchpath=[file://{tmp_path}]"
    wanted = definition(place, space={"optimizer.lr": {"choice": [0.5]}})
    stored = open_storage(wanted, tmp_path / "search")
    choice = CategoricalDistribution([0.5])
    trial = {"params": {"optimizer.lr": 0.5}, "distributions": {"optimizer.lr": choice}}
    stored.add_trial(optuna.create_trial(value=0.9, **trial))
    trials = table(("COMPLETE", 0.9, 0.1)).assign(value=0.9)
    (text,) = tuned_configs(stored, trials, wanted, "python scripts/search.py /own.yaml --export")
    assert "hydra" not in OmegaConf.create(text)
    command = f"# python src/train.py experiment=spirals '{place}' tuned=searched/tiny seed=0"
    assert command in text.splitlines()
    assert "# Made by: python scripts/search.py /own.yaml --export" in text.splitlines()


def test_settings_of_several_searches_lie_in_one_file() -> None:
    """A section is replaced in its place, a new one comes last, and the words before them stay."""
    first = with_sections("", {"a/x": "# @package _global_\n# one\nlr: 1\n", "a/y": "# @package _global_\n"})
    again = with_sections(first, {"a/x": "# @package _global_\nlr: 2\nb:\n  c: 3\n", "a/x_2": "lr: 4\n"})
    head, *sections = again.partition("a/x:\n")
    assert first.startswith(head) and head.startswith("#") and head.count("\n") == 1
    assert "".join(sections) == "a/x:\n  lr: 2\n  b:\n    c: 3\na/y:\na/x_2:\n  lr: 4\n"
    assert "a/x:\n  # one\n  lr: 1\n" in first


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*/search/*.yaml")), ids=lambda path: path.stem)
def test_committed_settings_are_sections_of_their_search(path: Path) -> None:
    names = [definition.name for definition in load_definitions(path.stem)]
    text = path.read_text()
    assert with_sections(text, {}) == text
    sections = [name.removeprefix(PREFIX) for name, file in searched_settings().items() if file == path]
    assert sections == SECTION.findall(text) == list(OmegaConf.load(path))
    assert all(name in names or re.sub(r"_\d+$", "", name) in names for name in sections)
    assert settings_path(load_definitions(path.stem)[0]) == str(path.relative_to(RESULTS))


def test_a_settings_file_that_changes_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study searches first and then takes the settings that it found."""
    monkeypatch.setattr("lab.configuration.searched_settings.RESULTS", tmp_path)
    path = tmp_path / "spirals" / "search" / "tiny.yaml"
    path.parent.mkdir(parents=True)
    for number, lr in enumerate((0.25, 0.125)):
        path.write_text(f"tiny/a:\n  optimizer:\n    lr: {lr}\n")
        os.utime(path, ns=(number, number))
        assert compose_experiment(["tuned=searched/tiny/a"])["optimizer"]["lr"] == lr
