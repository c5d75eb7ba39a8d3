"""A run folder is read whatever its state, and every run below a folder is found once."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.report.run_folders import find_runs
from lab.report.run_record import DIGITS, LOG_LINES, read_record


def test_every_run_is_found_once_and_in_order(runs: Path) -> None:
    found = find_runs([runs, runs / "spirals"])
    assert found == sorted({path.parent for path in runs.rglob("config.yaml")})
    assert len(found) == 8 + 3 + 5


def test_what_is_no_run_folder_is_none(root: Path, tmp_path: Path) -> None:
    """A config alone, and the config.yaml that W&B leaves inside a run."""
    with pytest.raises(UserError, match=r"conf holds no run: start one"):
        find_runs([root / "conf"])
    with pytest.raises(UserError, match=r"nowhere is not a folder"):
        find_runs([tmp_path / "nowhere"])
    inside = tmp_path / "run" / "wandb" / "files"
    inside.mkdir(parents=True)
    for folder in (inside, tmp_path / "run"):
        (folder / "config.yaml").touch()
        (folder / "metrics.jsonl").touch()
    assert find_runs([tmp_path]) == [tmp_path / "run"]


def test_a_run_is_found_once_whatever_the_path_that_leads_to_it(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(runs)
    monkeypatch.chdir(runs.parent)
    found = find_runs([Path(runs.name, "spirals"), runs / "spirals", tmp_path / "link" / "spirals"])
    assert found == find_runs([Path(runs.name, "spirals")])


def test_a_run_above_other_runs_hides_none(tmp_path: Path) -> None:
    """As after ``hydra.run.dir=outputs`` by mistake."""
    inside = tmp_path / "outputs" / "spirals" / "mean"
    inside.mkdir(parents=True)
    for folder in (inside, tmp_path / "outputs"):
        (folder / "config.yaml").touch()
        (folder / "metrics.jsonl").touch()
    assert find_runs([tmp_path]) == [tmp_path / "outputs", inside]


def test_searches_of_the_same_last_name_are_two(runs: Path, tmp_path: Path) -> None:
    """As ``spirals/and_mask`` and ``spirals_kaiming/and_mask``."""
    trial = runs / "search" / "own" / "trials" / "0000"
    other = Path(shutil.copytree(trial, tmp_path / "another" / "own" / "trials" / "0000"))
    assert read_record(trial).keys["search"] != read_record(other).keys["search"]


@pytest.mark.parametrize("state", ["stopped", "running", "failed", "damaged"])
def test_states(state: str, runs: Path) -> None:
    assert read_record(runs / state).state == state


def test_of_a_run_that_is_done_all_is_read(runs: Path) -> None:
    folder = min((runs / "spirals").glob("mean-seed1-*"))
    record = read_record(folder)
    summary = json.loads((folder / "summary.json").read_text())
    assert record.state == "done"
    assert record.message == summary.get("warning")
    assert shlex.split(record.command or "")[:3] == ["python", "src/train.py", "-m"]
    wanted = {"experiment": "spirals", "method": "mean", "seed": 1, "dataset.n_environments": 4}
    assert {key: record.keys[key] for key in wanted} == wanted
    numbers = {key: value for key, value in summary.items() if isinstance(value, (int, float))}
    assert record.metrics == pytest.approx(numbers, rel=10.0 ** (1 - DIGITS))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert record.curves["test/loss"] == pytest.approx([line["test/loss"] for line in lines], rel=1e-4)
    assert record.curves["epoch"] == [line["epoch"] for line in lines]


def test_a_failed_run_says_why_and_what_repeats_it(runs: Path) -> None:
    record = read_record(runs / "failed")
    assert record.message is not None and record.message.startswith("training diverged")
    assert record.command is not None and "optimizer.lr=1e30" in record.command
    assert record.keys["optimizer.lr"] == 1e30


def test_of_a_damaged_run_the_rest_is_shown(runs: Path) -> None:
    record = read_record(runs / "damaged")
    assert record.message is not None and "metrics.jsonl is damaged" in record.message
    assert record.curves == {}
    assert record.metrics["test/accuracy"] >= 0


def test_a_run_that_never_began_has_its_message_alone(tmp_path: Path) -> None:
    (tmp_path / "failed.txt").write_text("no such data\n")
    record = read_record(tmp_path)
    assert (record.state, record.message, record.command) == ("failed", "no such data", None)


def test_the_end_of_the_log_and_the_last_evaluation_of_a_stopped_run(runs: Path) -> None:
    record = read_record(runs / "stopped")
    assert record.log == "one\nepoch 2 of 3"
    assert record.metrics["epoch"] == 3


def test_what_is_not_finite_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("name: x\nseed: 0\nlr: .inf\nlist: [1, a]\n")
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1, "a": NaN, "b": 2}\n{"step": 2, "a": NaN, "b": Infinity}\n'
    )
    record = read_record(tmp_path)
    assert record.curves == {"step": [1, 2], "b": [2, None]}
    assert (record.keys["lr"], record.keys["list"]) == ("inf", '[1, "a"]')


def test_of_a_long_log_the_end_is_shown(runs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(runs / "stopped", tmp_path / "run"))
    lines = [f"line {i}" for i in range(3 * LOG_LINES)]
    (folder / "log.txt").write_text("\n".join(lines) + "\n")
    assert read_record(folder).log == "\n".join(lines[-LOG_LINES:])
