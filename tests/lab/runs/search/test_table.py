"""The best trial by the rule that is named, and the config file that repeats it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.configuration.resolve import differences
from lab.runs.search.loop import search
from lab.runs.search.storage import open_storage
from lab.runs.search.table import best_trial, finalists, tabulate_trials
from lab.runs.search.trial import overrides_of
from lab.runs.search.tuned import tuned_configs


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
