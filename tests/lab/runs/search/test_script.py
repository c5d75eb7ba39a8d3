"""``scripts/search.py``: mistakes end in one message, those that a worker finds too."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from lab.runs.search.search_definition import with_overrides
from lab.runs.search.trial import overrides_of

SEARCH = """
fixed: [experiment=spirals, dataset.examples_per_environment=32, dataset.batch_size=16, trainer.max_epochs=1]
space: {optimizer.lr: {choice: [1e-3]}}
objective: {OBJECTIVE: maximize}
selection: last
trials: 1
"""


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (SEARCH, ["--workers", "0"], "--workers must be at least 1"),
        (SEARCH, ["--trials", "0"], "trials must be a whole number of at least 1"),
        (SEARCH.replace("optimizer.lr", "optimizer.rate"), [], "optimizer.rate"),
        (SEARCH.replace("OBJECTIVE", "test/kl"), [], "its runs do not have the metric test/kl"),
        (SEARCH, ["--export"], "out holds no search"),
        (SEARCH, ["trainer.selection=test_oracle"], "trainer.selection=test_oracle is not read"),
        (SEARCH, ["threads=2"], "threads=2 is not read, because every trial has threads=1 and logger=none"),
        (SEARCH, ["logger.mode=online"], "logger.mode=online is not read"),
        (SEARCH, ["hydra.run.dir=here"], "hydra.run.dir=here is not read"),
        (SEARCH, ["optimizer.lr=1"], "varies optimizer.lr, so optimizer.lr=1 cannot hold for all trials"),
        (SEARCH, ["seed"], "an override must be KEY=VALUE, got 'seed'"),
        (SEARCH, ["seed=1", "--export"], "leave out the overrides"),
    ],
)
def test_mistakes_are_readable(
    content: str,
    arguments: list[str],
    message: str,
    script_here: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if not arguments:
        request.getfixturevalue("in_this_process")
    path = tmp_path / "own.yaml"
    path.write_text(content.replace("OBJECTIVE", "test/accuracy"))
    done = script_here("search", str(path), *arguments, "--output", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "--export" not in arguments or not (tmp_path / "out").exists()


def test_another_search_needs_a_folder_of_its_own(script_here: Any) -> None:
    done = script_here("search", "spirals/l1", "seed=1")
    assert done.returncode == 1
    assert "another search than spirals/l1: give it a folder with --output" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("spirals/l1", [], None), "python scripts/search.py spirals/l1 --export"),
        (("/my own.yaml", [], Path("out")), "python scripts/search.py '/my own.yaml' --output out --export"),
        (("a", ["seed=1"], Path("out")), "python scripts/search.py a seed=1 --output out"),
    ],
)
def test_the_files_say_what_made_them(arguments: Any, command: str, root: Path) -> None:
    assert runpy.run_path(str(root / "scripts" / "search.py"))["export_command"](*arguments) == command


def test_an_override_replaces_what_was_the_default(definition: Any) -> None:
    pinned = definition("seed=1", was_default=("trainer.evaluation_examples=9", "optimizer.lr=1"))
    changed = with_overrides(pinned, ["trainer.evaluation_examples=5"])
    own = [text for text in overrides_of(changed, {}) if "evaluation_examples" in text]
    assert own == ["trainer.evaluation_examples=5"]
    assert changed.was_default == ("optimizer.lr=1",)


def test_an_override_replaces_the_one_of_the_file(definition: Any) -> None:
    changed = with_overrides(definition("seed=1"), ["seed=2", "dataset.n_environments=8"])
    assert [text for text in changed.fixed if text.startswith("seed=")] == ["seed=2"]
    assert changed.fixed[-1] == "dataset.n_environments=8"
    assert changed.name == "tiny"
