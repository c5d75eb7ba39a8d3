"""A study takes the rows of its committed tables as done, also where nothing else is left of those runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml

from ilc.errors import UserError
from lab.configuration.compose import command_of, compose_experiment
from lab.files.checksums import SUMS, check, refresh
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study import make as make_module
from lab.runs.study import runs_step
from lab.runs.study.make import make_study, write_results
from lab.runs.study.study_file import Study, load_study
from lab.runs.tables import export as export_module
from lab.runs.tables.run_key import overrides_in, run_key

STUDY = """
about: Four runs
cost: none
unfinished: {unfinished}
steps:
  - runs:
      fixed: [experiment=spirals, model.hidden_units=8]
      overrides:
        - [aggregator=mean, "seed=10,9"]
        - [aggregator=and_mask, "optimizer.lr=1e-3,1e30"]
      to: toy/x
      columns: [optimizer.lr]
      float_format: "%.3g"
      may_diverge: {may_diverge}
"""
RUNS, CURVES = Path("results/toy/x_runs.csv"), Path("results/toy/x_curves.csv")


@cache
def config_of(overrides: tuple[str, ...]) -> dict[str, object]:
    return compose_experiment(overrides, sweep=True)


class Runner:
    """Stands in for what makes runs: writes their folders at once, and remembers them."""

    def __init__(self) -> None:
        self.made: list[list[str]] = []
        self.fails: Callable[[str], bool] = lambda command: False
        self.after_each: Callable[[], None] = lambda: None

    def __call__(
        self, runs: Mapping[Path, Sequence[str]], place: object, progress: JobsProgress
    ) -> dict[Path, str]:
        failures = {}
        for folder, overrides in runs.items():
            self.made.append(list(overrides))
            command = command_of(overrides, sweep=True)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.yaml").write_text(yaml.safe_dump(config_of(tuple(overrides))))
            provenance = {"command": command, "git_commit": "abc"}
            (folder / "provenance.json").write_text(json.dumps(provenance))
            if self.fails(command):
                (folder / "failed.txt").write_text("training diverged\n")
                failures[folder] = "training diverged"
            else:
                lines = [json.dumps({"step": step, "test/accuracy": 1 / (step - 6)}) for step in (9, 10)]
                (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
                summary = {"step": 10, "test/accuracy": 1 / 3, "stopped": "the last epoch"}
                (folder / "summary.json").write_text(json.dumps(summary))
                (folder / "done").touch()
            progress.advance()
            self.after_each()
        return failures

    @property
    def seeds_and_rates(self) -> list[str]:
        return [
            next(text for text in own if text.startswith(("seed=", "optimizer.lr="))) for own in self.made
        ]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    monkeypatch.chdir(tmp_path)
    made = Runner()
    monkeypatch.setattr(runs_step, "make", made)
    return made


def study(unfinished: bool = False, may_diverge: bool = False) -> Study:
    path = Path("four.yaml")
    path.write_text(STUDY.format(unfinished=str(unfinished).lower(), may_diverge=str(may_diverge).lower()))
    return load_study(str(path))


def do(own: Study, folder: str) -> None:
    """What ``scripts/study.py`` does, on the machine whose runs are in ``folder``."""
    make_study(own, Path(folder), Path("results"), 1)
    write_results(own, Path(folder), Path("results"))


def export(own: Study, folder: str = "nowhere") -> None:
    write_results(own, Path(folder), Path("results"))


def change(path: Path, text: str) -> None:
    """Change a committed file on purpose, as ``scripts/checksums.py`` then lists it."""
    path.write_text(text)
    refresh(Path("results"), [path])


def drop(*rows: int) -> list[str]:
    """Remove rows of the table of runs, counted from 0, and their curves; return the keys that are left."""
    lines = RUNS.read_text().splitlines(keepends=True)
    gone = {keys()[row] for row in rows}
    change(RUNS, "".join(line for i, line in enumerate(lines) if i - 1 not in rows))
    curves = CURVES.read_text().splitlines(keepends=True)
    change(CURVES, "".join(line for line in curves if not gone & set(line.split(","))))
    return keys()


def keys() -> list[str]:
    return pd.read_csv(RUNS, dtype=str).run.tolist()


@pytest.fixture
def committed(runner: Runner) -> Runner:
    """All four runs are committed, with texts that no export writes, and their folders are elsewhere."""
    do(study(), "first")
    assert runner.seeds_and_rates == ["seed=10", "seed=9", "optimizer.lr=0.001", "optimizer.lr=1e+30"]
    for path in (RUNS, CURVES):
        assert ",0.333" in path.read_text()
        change(path, path.read_text().replace(",0.333", ",0.33300"))
    runner.made.clear()
    return runner


def test_all_rows_are_there_and_nothing_is_run(committed: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (RUNS, CURVES)}
    for unfinished in (False, True):
        do(study(unfinished), f"fresh{unfinished}")
        assert not committed.made
        assert {path: path.read_bytes() for path in (RUNS, CURVES)} == before
    assert "jobs are done" not in capsys.readouterr().out


def test_rows_are_in_the_order_of_their_values(committed: Runner) -> None:
    table = pd.read_csv(RUNS)
    assert table.aggregator.tolist() == ["and_mask", "and_mask", "mean", "mean"]
    assert table.seed.tolist() == [0, 0, 9, 10]  # As text 10 would come first.
    assert table["optimizer.lr"].tolist()[:2] == [1e-3, 1e30]
    assert pd.read_csv(CURVES).step.tolist() == [9, 10] * 4


@pytest.mark.parametrize(("gone", "again"), [((1, 2), ["seed=9", "optimizer.lr=1e+30"]), ((3,), ["seed=10"])])
def test_missing_rows_are_made_and_the_others_stay_byte_for_byte(
    gone: tuple[int, ...], again: list[str], committed: Runner
) -> None:
    whole = {path: path.read_text().splitlines() for path in (RUNS, CURVES)}
    left = drop(*gone)
    kept = {path: path.read_text().splitlines() for path in (RUNS, CURVES)}
    own = study()
    assert own.steps[0].count(Path("fresh"), Path("results")) == (4 - len(gone), 4)
    do(own, "fresh")
    assert committed.seeds_and_rates == again
    for path, lines in kept.items():
        after = path.read_text().splitlines()
        assert [line for line in after if line in lines] == lines
        # The new ones are where they were, but for those odd texts.
        assert [line.replace("0.33300", "0.333") for line in whole[path]] == [
            line.replace("0.33300", "0.333") for line in after
        ]
        assert sum("0.33300" in line for line in after) == sum("0.33300" in line for line in lines) > 0
    assert set(left) < set(keys())
    assert set(pd.read_csv(CURVES, dtype=str).run) == set(keys())


def test_an_unfinished_study_says_what_is_pending(
    committed: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    drop(0, 2)
    capsys.readouterr()
    own = study(unfinished=True)
    export(own)
    assert "toy/x_runs.csv, toy/x_curves.csv: 2 of 4 jobs are done, the others are pending" in (
        capsys.readouterr().out
    )
    table = pd.read_csv(RUNS)
    assert table.stopped.tolist() == ["pending", "the last epoch", "pending", "the last epoch"]
    pending = table[table.stopped == "pending"]
    assert pending["optimizer.lr"].tolist() == [1e-3, pytest.approx(table["optimizer.lr"][3])]
    assert pending["test/accuracy"].isna().all()
    assert pending.run.tolist() == [run_key(overrides_in(command)) for command in pending.command]
    assert len(pd.read_csv(CURVES)) == 4
    # Pending rows are no runs: the others are made, and nothing is pending then.
    before = RUNS.read_text().splitlines()
    do(own, "fresh")
    assert len(committed.made) == 2
    after = RUNS.read_text().splitlines()
    assert (pd.read_csv(RUNS).stopped == "the last epoch").all()
    assert [line for line in after if line in before] == [before[0], before[2], before[4]]
    # The same file, exported for a finished study, holds finished runs alone.
    drop(1)
    export(own)
    assert pd.read_csv(RUNS).stopped.tolist().count("pending") == 1
    export(study())
    assert (pd.read_csv(RUNS).stopped == "the last epoch").all()
    assert len(pd.read_csv(RUNS)) == 3
    assert "3 of 4 jobs are done, the others are left out" in capsys.readouterr().out


@pytest.mark.usefixtures("runner")
def test_an_unfinished_study_without_any_run_has_its_tables() -> None:
    export(study(unfinished=True))
    table = pd.read_csv(RUNS)
    assert table.stopped.tolist() == ["pending"] * 4
    curves = pd.read_csv(CURVES)
    assert curves.empty
    identity = ["experiment", "aggregator", "seed", "optimizer.lr", "run"]
    assert set(identity) <= set(table.columns)
    assert set(curves.columns) == {*identity, "step"}
    export(study(unfinished=True))
    assert pd.read_csv(RUNS).equals(table)


@pytest.mark.usefixtures("runner")
def test_a_finished_study_without_any_run_has_no_tables() -> None:
    export(study())
    assert not Path("results").exists()


def test_rows_are_added_while_jobs_go_on(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_module, "WRITE_EVERY", 0.0)
    seen: list[tuple[int, int, int]] = []

    def look() -> None:
        table = pd.read_csv(RUNS)
        seen.append((int((table.stopped != "pending").sum()), len(table), len(pd.read_csv(CURVES))))

    runner.after_each = look
    make_study(study(unfinished=True), Path("out"), Path("results"), 1)
    assert seen == [(1, 4, 2), (2, 4, 4), (3, 4, 6), (4, 4, 8)]


@pytest.mark.parametrize(("times", "seen"), [(1e9, [1, 1, 1, 1]), (0.0, [1, 2, 3, 4])])
def test_rows_are_written_at_once_and_again_when_writing_costs_little(
    times: float, seen: list[int], runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_module, "WRITE_EVERY", times)
    found: list[int] = []
    runner.after_each = lambda: found.append(int((pd.read_csv(RUNS).stopped != "pending").sum()))
    make_study(study(unfinished=True), Path("out"), Path("results"), 1)
    assert found == seen
    assert (pd.read_csv(RUNS).stopped != "pending").all()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, UserError])
def test_what_is_done_is_written_when_something_stops_the_study(
    stop: type[BaseException], runner: Runner
) -> None:
    def end() -> None:
        raise stop

    runner.after_each = end
    with pytest.raises(stop):
        make_study(study(), Path("out"), Path("results"), 1)
    assert len(pd.read_csv(RUNS)) == 1
    runner.after_each = lambda: None
    do(study(), "elsewhere")
    assert len(runner.made) == len(keys()) == 4


def test_a_failed_run_is_done_where_runs_may_diverge(runner: Runner) -> None:
    runner.fails = lambda command: "1e+30" in command
    with pytest.raises(UserError, match="1 of 4 jobs failed"):
        do(study(), "first")
    assert len(pd.read_csv(RUNS)) == 3
    do(study(may_diverge=True), "first")
    table = pd.read_csv(RUNS)
    assert table.stopped.tolist().count("failed") == 1
    before = RUNS.read_bytes(), CURVES.read_bytes()
    runner.made.clear()
    do(study(may_diverge=True), "second")
    assert not runner.made
    assert (RUNS.read_bytes(), CURVES.read_bytes()) == before
    # Where they may not, its row does not count.
    runner.fails = lambda command: False
    do(study(), "second")
    assert runner.seeds_and_rates == ["optimizer.lr=1e+30"]
    assert (pd.read_csv(RUNS).stopped == "the last epoch").all()


def test_the_message_of_another_failure_does_not_settle_a_run(runner: Runner) -> None:
    """Earlier versions kept the message of every failure; a damaged file became a row of a diverged run."""
    do(study(may_diverge=True), "first")
    (run,) = [path for path in Path("first").rglob("done") if "seed9" in str(path)]
    run.unlink()
    (run.parent / "failed.txt").write_text("checkpoint.pt is damaged: put back a copy\n")
    shutil.rmtree("results")
    runner.made.clear()
    do(study(may_diverge=True), "first")
    assert runner.seeds_and_rates == ["seed=9"]
    assert (pd.read_csv(RUNS).stopped == "the last epoch").all()


@pytest.mark.parametrize("unfinished", [False, True])
def test_tables_are_written_if_all_runs_so_far_diverged(unfinished: bool, runner: Runner) -> None:
    runner.fails = lambda command: True
    do(study(unfinished, may_diverge=True), "first")
    assert (pd.read_csv(RUNS).stopped == "failed").all()
    assert len(pd.read_csv(RUNS)) == 4
    assert pd.read_csv(CURVES).columns.tolist()[-2:] == ["run", "step"]


@pytest.mark.parametrize("path", [RUNS, CURVES])
def test_a_number_that_was_changed_is_not_taken_nor_listed(path: Path, committed: Runner) -> None:
    before = (RUNS.parents[1] / SUMS).read_bytes()
    path.write_text(path.read_text().replace("0.33300", "0.66600"))
    wrong = path.read_bytes()
    for call in (do, export):
        with pytest.raises(UserError) as error:
            call(study(), "fresh")
        said = str(error.value)
        assert said.startswith(f"{path} was changed, according to ") and "\n" not in said
        assert said.endswith(f"run python scripts/checksums.py {path}")
    assert path.read_bytes() == wrong
    assert (RUNS.parents[1] / SUMS).read_bytes() == before
    assert not committed.made
    refresh(Path("results"), [path])  # On purpose, as the message says.
    do(study(), "fresh")
    assert path.read_bytes() == wrong and not committed.made


def test_killed_between_a_table_and_its_hash_a_study_goes_on(
    committed: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(2)
    with monkeypatch.context() as patch:
        patch.setattr(export_module, "list_again", lambda *arguments: pytest.fail("killed"))
        with pytest.raises(pytest.fail.Exception):
            do(study(), "fresh")
    assert len(pd.read_csv(RUNS)) == 4
    with pytest.raises(UserError, match="was changed"):
        check(Path("results"))
    do(study(), "elsewhere")
    assert len(committed.made) == 1
    assert check(Path("results")) == 2


def test_rows_that_the_study_no_longer_names_go_with_a_word(
    committed: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    own = study()
    capsys.readouterr()
    export(own)
    assert "removed" not in capsys.readouterr().out
    path = Path("four.yaml")
    path.write_text(path.read_text().replace("seed=10,9", "seed=10"))
    own = load_study(str(path))
    export(own)
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if "removed" in line] == [
        f"{RUNS}: 1 row is removed, of runs that the study no longer names",
        f"{CURVES}: 2 rows are removed, of runs that the study no longer names",
    ]
    assert len(pd.read_csv(RUNS)) == 3
    export(own)
    assert "removed" not in capsys.readouterr().out
    # A row that is only pending is no loss.
    path.write_text(path.read_text().replace("unfinished: false", "unfinished: true").replace("10", "10,8"))
    export(load_study(str(path)))
    path.write_text(path.read_text().replace("10,8", "10"))
    export(load_study(str(path)))
    assert "removed" not in capsys.readouterr().out
    assert len(pd.read_csv(RUNS)) == 3


def test_the_same_experiment_in_other_words_is_done(committed: Runner) -> None:
    table = pd.read_csv(RUNS, dtype=str, keep_default_na=False)
    hidden_layers = compose_experiment(overrides_in(table.command[0]))["model"]["hidden_layers"]
    command = f"{table.command[0]} model.hidden_layers={hidden_layers}"
    key = run_key(overrides_in(command))
    assert key != table.run[0]
    for path in (RUNS, CURVES):
        change(path, path.read_text().replace(table.command[0], command).replace(table.run[0], key))
    before = RUNS.read_bytes(), CURVES.read_bytes()
    do(study(), "fresh")
    assert not committed.made
    assert (RUNS.read_bytes(), CURVES.read_bytes()) == before


def test_words_that_are_another_experiment_are_no_run_of_the_study(committed: Runner) -> None:
    table = pd.read_csv(RUNS, dtype=str, keep_default_na=False)
    for command in (f"{table.command[0]} model.hidden_layers=7", "python src/train.py 'broken", "nonsense"):
        key = run_key([command])
        changed = table.replace(table.command[0], command).replace(table.run[0], key)
        change(RUNS, changed.to_csv(index=False))
        assert study().steps[0].count(Path("fresh"), Path("results")) == (3, 4)
    do(study(), "fresh")
    assert len(committed.made) == 1
    assert key not in keys()


def test_a_run_whose_curve_is_lost_is_made_again(committed: Runner) -> None:
    before = CURVES.read_text().splitlines()
    change(CURVES, "\n".join(before[:-2]) + "\n")
    do(study(), "fresh")
    assert committed.seeds_and_rates == ["seed=10"]
    assert len(pd.read_csv(CURVES)) == 8
    CURVES.unlink()
    assert study().steps[0].count(Path("nowhere"), Path("results")) == (0, 4)


def conflict(text: str) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[:2], "<<<<<<< HEAD", *lines[2:]]) + "\n"


@pytest.mark.parametrize(
    ("path", "damage", "message"),
    [
        (RUNS, lambda text: "", "No columns"),
        (RUNS, lambda text: text + ",".join("x" * 99), "Expected"),
        (RUNS, lambda text: "\ufffd\n" + text, ""),
        (
            RUNS,
            lambda text: text.replace(",run,", ",fun,"),
            "it is not a table of runs, because it lacks the column run",
        ),
        (RUNS, lambda text: text.replace("stopped", "ended"), "it lacks the column stopped"),
        (RUNS, lambda text: "a,b\n1,2\n", "it lacks the column run, experiment, seed, stopped, command"),
        (RUNS, lambda text: text.replace(",seed,", ",sede,", 1), "it lacks the column seed"),
        (RUNS, lambda text: text[:-30], "its last line is cut short"),
        (RUNS, conflict, "row 2 names no run"),
        (RUNS, lambda text: text + text.splitlines()[-1] + "\n", "two rows of the run"),
        (CURVES, lambda text: "", "No columns"),
        (CURVES, lambda text: text[:-5], "its last line is cut short"),
        (
            CURVES,
            lambda text: text.replace(",run,", ",fun,"),
            "it is not a table of runs, because it lacks the column run",
        ),
        (CURVES, conflict, "row 2 names no run"),
    ],
)
def test_a_damaged_or_foreign_table_is_named_in_one_line(
    path: Path, damage: Callable[[str], str], message: str, committed: Runner
) -> None:
    content = path.read_text()
    change(path, damage(content))
    before = path.read_bytes()
    for call in (do, export):
        with pytest.raises(UserError) as error:
            call(study(), "fresh")
        said = str(error.value)
        assert said.startswith(f"{path} cannot be used (") and message in said
        assert said.endswith(": put back the committed file, or remove it")
        assert "\n" not in said
    assert path.read_bytes() == before
    assert not committed.made


def test_bytes_that_are_no_text_are_named(committed: Runner) -> None:
    RUNS.write_bytes(b"\xff\xfe\x00" * 100)
    refresh(Path("results"), [RUNS])
    with pytest.raises(UserError, match=f"{RUNS} cannot be used .*put back the committed file"):
        do(study(), "fresh")


MEASURED = """
about: Three parts
cost: none
unfinished: {unfinished}
steps:
  - measurement:
      module: toy_measurement
      options: {{folder: {folder}, fail: {fail}}}
      makes: [toy/values.csv, toy/values.npz, toy/other.csv]
      float_format: "%.3g"
"""
VALUES, OTHER = Path("results/toy/values.csv"), Path("results/toy/other.csv")


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_this_process: None) -> Callable[..., Study]:
    """Makes a study of the toy measurement, whose calls are in ``calls``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "toy")
    (tmp_path / "go").touch()

    def write(unfinished: bool = False, fail: bool = False) -> Study:
        path = tmp_path / "measured.yaml"
        words = {"unfinished": str(unfinished).lower(), "fail": str(fail).lower()}
        path.write_text(MEASURED.format(folder=tmp_path, **words))
        return load_study(str(path))

    return write


def calls() -> list[str]:
    path = Path("calls")
    found = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def test_parts_whose_rows_are_there_are_not_measured_again(measured: Callable[..., Study]) -> None:
    with pytest.raises(UserError, match="1 of 3 jobs failed"):
        do(measured(fail=True), "first")
    assert sorted(calls()) == ["first", "last", "slow"]
    change(VALUES, VALUES.read_text().replace("0.3,", "0.300,"))
    before = VALUES.read_text()
    assert measured().steps[0].count(Path("fresh"), Path("results")) == (2, 3)
    do(measured(), "fresh")
    assert calls() == ["slow"]
    assert VALUES.read_text() == before  # Of which the slow part has no rows.
    assert pd.read_csv(OTHER).columns.tolist() == ["part", "value", "threshold", "more"]


def test_parts_that_the_study_no_longer_names_go_with_a_word(
    measured: Callable[..., Study], capsys: pytest.CaptureFixture[str]
) -> None:
    do(measured(), "first")
    change(VALUES, VALUES.read_text() + "older,3,\nolder,4,\n")
    capsys.readouterr()
    do(measured(), "first")
    said = capsys.readouterr().out
    assert f"{VALUES}: 2 rows are removed, of parts that the study no longer names\n" in said
    assert "older" not in VALUES.read_text()


def test_a_changed_number_of_a_measurement_is_not_taken(measured: Callable[..., Study]) -> None:
    do(measured(), "first")
    VALUES.write_text(VALUES.read_text().replace("0.3,", "0.4,"))
    for folder in ("first", "second"):
        with pytest.raises(UserError, match=f"{VALUES} was changed, according to"):
            do(measured(), folder)


def test_missing_parts_take_their_place_among_the_others(measured: Callable[..., Study]) -> None:
    do(measured(), "first")
    calls()
    change(OTHER, "part,value,threshold,more\nslow,1,,1\n")
    change(VALUES, "part,value,threshold\nlast,2.00,0.5\n")
    do(measured(), "second")
    assert calls() == ["first"]
    assert VALUES.read_text().splitlines() == [
        "part,value,threshold",
        "first,0.3,",
        "first,1,",
        "last,2.00,0.5",
    ]


def test_a_table_that_does_not_name_its_parts_is_whole(measured: Callable[..., Study]) -> None:
    do(measured(), "first")
    calls()
    for path in (VALUES, OTHER):
        change(path, "value\n1\n")
    do(measured(), "second")
    assert calls() == []
    # Some of the parts here are no reason to write it anew.
    for kept in Path("first").glob("parts/*/slow"):
        kept.rename(kept.with_name("lost"))
    do(measured(), "first")
    assert calls() == []
    assert VALUES.read_text() == OTHER.read_text() == "value\n1\n"


def test_an_unfinished_measurement_has_its_tables_without_rows(
    measured: Callable[..., Study], capsys: pytest.CaptureFixture[str]
) -> None:
    export(measured(unfinished=True))
    assert VALUES.read_text() == OTHER.read_text() == "part\n"
    assert not (VALUES.parent / "values.npz").exists()
    assert "0 of 3 jobs are done, the others are pending" in capsys.readouterr().out
    do(measured(unfinished=True), "first")
    assert sorted(calls()) == ["first", "last", "slow"]
    assert len(pd.read_csv(VALUES)) == 3


def test_a_damaged_table_of_a_measurement_is_named(measured: Callable[..., Study]) -> None:
    VALUES.parent.mkdir(parents=True)
    VALUES.write_text("")
    with pytest.raises(UserError, match=f"{VALUES} cannot be used .*put back the committed file"):
        do(measured(), "first")
    assert calls() == []


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00" * 100, b'part,value\nlast,"2.0'])
def test_a_damaged_part_is_named_with_what_to_remove(content: bytes, measured: Callable[..., Study]) -> None:
    do(measured(), "first")
    expected = VALUES.read_bytes()
    assert sorted(calls()) == ["first", "last", "slow"]
    (part,) = Path("first").glob("parts/*/last")
    (part / "toy" / "values.csv").write_bytes(content)
    for table in (VALUES, OTHER, VALUES.with_name("values.npz")):
        table.unlink()
    with pytest.raises(UserError) as error:
        do(measured(), "first")
    said = str(error.value)
    assert said.startswith(f"{part / 'toy' / 'values.csv'} is damaged (") and "\n" not in said
    assert f"): remove the folder {part}, then give the same command again" in said
    shutil.rmtree(part)
    do(measured(), "first")
    assert VALUES.read_bytes() == expected
    assert calls() == ["last"]
