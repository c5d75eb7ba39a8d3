"""Which runs a sweep has, and what happens to those that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.configuration.command_line import readable
from lab.configuration.compose import combinations, compose_experiment
from lab.machine.stop_signals import Stopped
from lab.runs.one_run.run_options import RunOptions
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.sweep import sweep
from lab.runs.sweep.foreign_options import leave_out_foreign_options
from lab.runs.sweep.sweep import attempt, make, make_in_turn, plan


def test_combinations() -> None:
    made = combinations(["a=1,2", "b.c=x", "seed=range(0,2)"])
    assert made == [[a, "b.c=x", seed] for a in ("a=1", "a=2") for seed in ("seed=0", "seed=1")]


@pytest.mark.parametrize(
    ("others", "overrides", "left_out"),
    [
        ("model=mlp", ["model=linear", "model.hidden_units=3", "seed=0"], ["model.hidden_units=3"]),
        ("model=linear", ["model=mlp", "model.hidden_units=3"], []),
        # The experiment chooses where the command line does not, and a tuned file after it.
        (
            "experiment=colored_mnist",
            ["experiment=linear_sem", "model.hidden_units=3"],
            ["model.hidden_units=3"],
        ),
        ("experiment=linear_sem", ["experiment=colored_mnist", "model.hidden_units=3"], []),
        ("tuned=searched/spirals/l1", ["tuned=searched/spirals/irm", "aggregator.schedule=step"], []),
        (
            "tuned=searched/spirals/irm",
            ["tuned=searched/spirals/l1", "aggregator.schedule=step"],
            ["aggregator.schedule=step"],
        ),
        # Options that no choice of the command has, and things that are no option of a group, stay.
        ("model=linear", ["model=linear", "model.hidden_units=3", "seed=0"], []),
        ("aggregator=mean", ["aggregator=and_mask", "aggregator.schedule=step"], []),
        ("model=mlp", ["model=linear", "model.hiden_units=3", "trainer.max_epochs=3", "seed=1"], []),
        ("model=mlp", ["model=linear", "+model.hidden_units=3", "~tuned"], []),
        # Below an option, and in lists.
        ("optimizer=adam", ["optimizer=sgd", "optimizer.betas=[0.5,0.9]"], ["optimizer.betas=[0.5,0.9]"]),
    ],
)
def test_options_that_only_other_choices_of_the_command_have_are_left_out(
    others: str, overrides: list[str], left_out: list[str]
) -> None:
    kept = [text for text in overrides if text not in left_out]
    assert leave_out_foreign_options([overrides, [others]]) == [kept, [others]]


@pytest.mark.parametrize("plus", ["", "+"])
def test_an_option_that_no_run_has_is_refused(plus: str, tiny: tuple[str, ...], tmp_path: Path) -> None:
    """Its values would all give the same run."""
    for own in ("aggregator=mean", "aggregator=mean,and_mask"):
        with pytest.raises(Exception, match="penalty_weight") as caught:
            plan([*tiny, own, f"{plus}aggregator.penalty_weight=1,10"], tmp_path)
        assert "aggregator=mean has no option 'penalty_weight', which belongs to " in readable(caught.value)
    assert len(plan([*tiny, "aggregator=mean,v_rex", "aggregator.penalty_weight=1,10"], tmp_path)) == 3


def test_options_of_choices_in_a_folder_of_ones_own_too(tiny: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "aggregator").mkdir()
    own = "_target_: ilc.aggregators.AndMask\nname: own\nagreement_threshold: 1.0\nwarm: 20\n"
    (tmp_path / "aggregator" / "own.yaml").write_text(own)
    place = f"hydra.searchpath=[file://{tmp_path}]"
    runs = plan([*tiny, place, "aggregator=mean,own", "aggregator.warm=3,4"], tmp_path)
    warm = [[text for text in overrides if "warm" in text] for overrides in runs.values()]
    assert warm == [[], ["aggregator.warm=3"], ["aggregator.warm=4"]]


def test_an_option_that_a_choice_lacks_names_one_run(tiny: tuple[str, ...], tmp_path: Path) -> None:
    swept = ["experiment=spirals", "optimizer=adam,sgd", "optimizer.betas=[0.5,0.9],[0.9,0.9]", "seed=0,1"]
    runs = plan([*tiny, *swept], tmp_path)
    assert len(runs) == 6  # Two betas of Adam, and SGD without any, each with two seeds.
    assert sum("optimizer=sgd" in overrides for overrides in runs.values()) == 2
    with pytest.raises(Exception, match="beta"):
        plan([*tiny, "optimizer.beta=1"], tmp_path)


def test_the_folder_of_one_run_is_refused_for_many(tiny: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"hydra.sweep.dir=FOLDER \(src/train.py -m\) or --output"):
        plan([*tiny, "seed=0,1", "hydra.run.dir=elsewhere"], tmp_path)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes every run end with this error."""

    def with_error(message: str, cause: BaseException | None = None) -> None:
        def run(*arguments: object) -> dict[str, Any]:
            raise UserError(message) from cause

        monkeypatch.setattr(sweep, "run", run)

    return with_error


def test_only_an_error_of_the_system_is_more_than_a_message(
    fail: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fail("checkpoint.pt is damaged")
    assert attempt(["seed=0"], tmp_path) == "checkpoint.pt is damaged"
    assert not (tmp_path / "failed.txt").exists()  # It may be mended: the same command tries again.
    fail("cannot write", OSError(28, "No space left on device"))
    with pytest.raises(UserError, match="cannot write"):
        attempt(["seed=0"], tmp_path)
    monkeypatch.setattr(sweep, "run", lambda *arguments: {"step": 1})
    assert attempt(["seed=0"], tmp_path) == {"step": 1}


def test_runs_in_turn_go_on_past_one_that_fails(
    tiny: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = plan([*tiny, "threads=1", "optimizer.lr=1e30,1e-3"], tmp_path)
    bad, good = runs
    try:
        failures = make_in_turn(runs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert list(failures) == [bad]
    assert "training diverged" in failures[bad]
    assert (bad / "failed.txt").read_text() == f"{failures[bad]}\n"
    assert (good / "done").exists()
    said = capsys.readouterr().out
    assert "epoch 3 of 3" in said
    assert [line for line in said.splitlines() if line.startswith("run ")] == ["run 1 of 2", "run 2 of 2"]


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes the first run end with this, and the others train."""

    def with_error(error: BaseException) -> None:
        own, calls = sweep.run, []

        def run(*arguments: Any) -> dict[str, Any]:
            calls.append(1)
            if len(calls) == 1:
                raise error
            return own(*arguments)

        monkeypatch.setattr(sweep, "run", run)

    return with_error


DEFECTS = [
    ZeroDivisionError("a defect"),
    RuntimeError("two\nlines"),
    KeyError("key"),
    MemoryError(),
    RecursionError(),
]


@pytest.mark.parametrize("error", DEFECTS, ids=lambda error: type(error).__name__)
def test_a_failure_of_any_kind_stays_its_run_s_own(
    error: Exception,
    defect: Callable[[BaseException], None],
    tiny: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = plan([*tiny, "threads=1", "seed=0,1", "trainer.max_epochs=1"], tmp_path)
    bad, good = runs
    defect(error)
    try:
        failures = make_in_turn(runs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert list(failures) == [bad] and (good / "done").exists()
    assert failures[bad].startswith(type(error).__name__) and "\n" not in failures[bad]
    assert "Traceback" in (bad / "log.txt").read_text()
    assert capsys.readouterr().err == f"Error: {failures[bad]}\n"
    assert not (bad / "failed.txt").exists()  # It may be mended: the same command tries again.


@pytest.mark.usefixtures("in_this_process")
def test_side_by_side_too(
    defect: Callable[[BaseException], None], tiny: tuple[str, ...], tmp_path: Path
) -> None:
    runs = plan([*tiny, "threads=1", "seed=0,1", "trainer.max_epochs=1"], tmp_path)
    defect(ZeroDivisionError("a defect"))
    failures = make(runs, 1, JobsProgress("runs", 2, 0))
    ((folder, message),) = failures.items()
    assert message.startswith("ZeroDivisionError: a defect (the traceback is in its log.txt)")
    assert [run for run in runs if (run / "done").exists()] == [run for run in runs if run != folder]


def test_a_stop_is_no_failure(
    defect: Callable[[BaseException], None], tiny: tuple[str, ...], tmp_path: Path
) -> None:
    defect(Stopped())
    with pytest.raises(Stopped):
        make_in_turn(plan([*tiny, "seed=0,1"], tmp_path))


@pytest.mark.parametrize("plus", ["", "++"])
def test_the_folder_of_a_sweep_is_refused_where_it_would_be_ignored(
    plus: str, train: Any, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    done = train(*tiny, f"{plus}hydra.sweep.dir=sweep")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "name its folder with hydra.run.dir=FOLDER, or make a sweep with -m" in done.stderr
    done = train("-m", *tiny, "++hydra.sweep.dir=sweep")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "without a plus sign, with hydra.sweep.dir=FOLDER (src/train.py -m)" in done.stderr
    assert not (tmp_path / "outputs").exists() and not (tmp_path / "sweep").exists()


def test_an_unusable_folder_is_named_and_no_log_that_does_not_exist(
    train: Any, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = train("-m", *tiny, "seed=0,1", f"hydra.sweep.dir={tmp_path / 'file' / 'sweep'}")
    assert done.returncode == 1
    assert "log" not in done.stderr and "Traceback" not in done.stderr
    *each, last = done.stderr.splitlines()
    assert len(each) == 2
    for line in each:
        assert line.startswith(f"Error: {tmp_path / 'file' / 'sweep'}") and "Not a directory" in line
    assert last.startswith("Error: 2 of 2 runs failed. The first one, ")


def test_a_traceback_that_no_log_can_hold_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(sweep, "train", fail)
    (tmp_path / "file").touch()
    unusable, usable = tmp_path / "file" / "run", tmp_path / "run"
    said = sweep.make_in_turn({unusable: [], usable: []})
    assert said[unusable] == "RuntimeError: a defect (the traceback is printed above)"
    assert said[usable] == "RuntimeError: a defect (the traceback is in its log.txt)"
    assert capsys.readouterr().err.count("Traceback") == 1
    assert "Traceback" in (usable / sweep.LOG).read_text()


def test_an_option_that_the_experiment_sets_is_left_out_by_hand(tmp_path: Path) -> None:
    """The experiment sets the momentum of its own optimizer, which another optimizer lacks."""
    overrides = ["experiment=linear_sem", "optimizer=adam,sgd", "optimizer.momentum=0.5"]
    messages = []
    for own in plan(overrides, tmp_path).values():
        try:
            RunOptions.of(compose_experiment(own, sweep=True))
        except UserError as error:
            messages.append(str(error))
    (message,) = messages
    assert "'~optimizer.momentum' if the experiment sets it" in message
    assert "leaves it out by itself where it must, unless the experiment sets it" in message
    for own in plan([*overrides[:2], "~optimizer.momentum"], tmp_path).values():
        RunOptions.of(compose_experiment(own, sweep=True))
