"""Every committed file is made by one study, and a study's runs are those whose commands its file records."""

from __future__ import annotations

import importlib.util
import inspect
import shlex
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from ilc.errors import UserError
from lab.configuration.compose import combinations, compose_config
from lab.configuration.resolve import identity, resolve
from lab.runs.search.committed_trials import n_complete, read_trials
from lab.runs.search.files import table_path
from lab.runs.search.search_file import load_definitions
from lab.runs.search.trial import overrides_of
from lab.runs.study.measurement_step import MeasurementStep
from lab.runs.study.runs_step import RunsStep
from lab.runs.study.search_step import SearchStep
from lab.runs.study.study_file import FOLDER, experiment_of, load_study, study_names
from lab.runs.sweep.foreign_options import leave_out_foreign_options
from lab.runs.tables.run_key import overrides_in, run_key

# Where and how a run is made, not what.
NOT_THE_RUN = ("threads", "logger", "device", "data_dir")
STUDIES = {name: load_study(name) for name in study_names()}
UNFINISHED = {file for study in STUDIES.values() if study.unfinished for file in study.files}


def steps(kind: type) -> list[object]:
    return [
        pytest.param(step, id=f"{name}-{', '.join(step.files)[:60]}")
        for name, study in STUDIES.items()
        for step in study.steps
        if isinstance(step, kind)
    ]


def test_every_committed_file_is_made_by_exactly_one_study(root: Path) -> None:
    results = root / "results"
    files = [path for path in results.rglob("*") if path.suffix in (".csv", ".npz")]
    committed = {
        str(path.relative_to(results)) for path in files if path.parent.name not in ("figures", "tables")
    }
    made = Counter(file for study in STUDIES.values() for file in study.files)
    assert {file for file, n in made.items() if n > 1} == set()
    assert committed <= set(made)
    # What an unfinished study has not begun; of runs it names even those.
    may_lack = {
        file
        for study in STUDIES.values()
        if study.unfinished
        for step in study.steps
        if not isinstance(step, RunsStep)
        for file in step.files
    }
    assert set(made) - committed <= may_lack
    assert len(committed) > 50


@pytest.mark.parametrize("name", STUDIES)
def test_the_first_comment_is_the_command(name: str) -> None:
    first = (FOLDER / experiment_of(name) / f"{name}.yaml").read_text().splitlines()[0]
    assert first == f"# python scripts/study.py {name}"
    assert STUDIES[name].about.endswith(".")


def run_of(overrides: list[str]) -> tuple[frozenset[str], int]:
    """What makes the run, and its seed."""
    values = dict(text.partition("=")[::2] for text in overrides)
    seed = int(values.pop("seed", "0"))
    return frozenset(f"{k}={v}" for k, v in values.items() if k not in NOT_THE_RUN), seed


@cache
def identity_of(overrides: frozenset[str]) -> str:
    return identity(resolve(compose_config(sorted(overrides)), sweep=True))


@pytest.mark.slow
@pytest.mark.parametrize("step", steps(RunsStep))
def test_the_recorded_commands_are_the_studys_runs(step: RunsStep, root: Path) -> None:
    commands = pd.read_csv(root / "results" / f"{step.to}_runs.csv").command
    recorded = {run_of([t for t in shlex.split(command)[2:] if t != "-m"]) for command in commands}
    assert len(recorded) == len(commands)
    planned = {
        run_of(kept)
        for own in step.overrides
        for kept in leave_out_foreign_options(combinations([*step.fixed, *own]))
    }
    # What is not the same word by word may be the same experiment.
    left, lacking = (
        {(identity_of(run), seed) for run, seed in runs} for runs in (planned - recorded, recorded - planned)
    )
    assert lacking <= left
    assert lacking == left or step.may_diverge


def test_the_committed_trials_of_coinrun_stay_trials_of_their_searches(root: Path) -> None:
    for definition in load_definitions("coinrun"):
        table = root / "results" / table_path(definition)
        assert overrides_of(definition, {}).count("trainer.evaluation_examples=1000") == 1
        assert n_complete(definition, Path("nowhere"), table) == definition.trials
        with pytest.raises(UserError, match=r"its command lacks trainer\.evaluation_examples=1000"):
            fixed = (*definition.fixed, *definition.was_default)
            read_trials(replace(definition, fixed=fixed, was_default=()), table)


@pytest.mark.parametrize("step", steps(RunsStep))
def test_rows_name_their_runs_and_only_unfinished_studies_have_pending_ones(
    step: RunsStep, root: Path
) -> None:
    runs = pd.read_csv(root / "results" / f"{step.to}_runs.csv", dtype=str)
    assert runs.run.tolist() == [run_key(overrides_in(command)) for command in runs.command]
    pending = set(runs.run[runs.stopped == "pending"])
    assert not pending or f"{step.to}_runs.csv" in UNFINISHED
    if step.curves:
        drawn = set(pd.read_csv(root / "results" / f"{step.to}_curves.csv", dtype=str).run)
        assert drawn == set(runs.run[runs.stopped != "failed"]) - pending


@pytest.mark.parametrize("step", steps(SearchStep))
def test_the_recorded_trials_are_of_the_searches(step: SearchStep, root: Path) -> None:
    definitions = [definition for name in step.names for definition in load_definitions(name)]
    for definition, file in zip(definitions, step.files, strict=False):
        if not (root / "results" / file).exists():
            continue  # The test above says which study may lack it.
        trials = pd.read_csv(root / "results" / file)
        shared = set(overrides_of(definition, {})) - set(definition.was_default)
        for command in trials.command:
            own = set(shlex.split(command)[2:])
            assert shared <= own
            assert {text.split("=", 1)[0] for text in own - shared} == set(definition.space)
        n_complete = (trials.state == "COMPLETE").sum()
        assert n_complete == definition.trials or (n_complete < definition.trials and file in UNFINISHED)


@pytest.mark.parametrize("step", steps(MeasurementStep))
def test_measurements_take_the_options_and_name_their_parts(step: MeasurementStep) -> None:
    try:
        found = importlib.util.find_spec(step.module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"{step.module} is not there")
    module = importlib.import_module(step.module)
    inspect.signature(module.parts).bind(**step.options)
    parts = module.parts(**step.options)
    assert parts
    assert all("/" not in name and callable(part) for name, part in parts.items())
