"""Scripts that are no experiments end in one line too, after a mistake of the user or Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from lab.configuration.command_line import readable

Script = Callable[..., tuple[int, str]]


@pytest.fixture
def script(script_here: Callable[..., subprocess.CompletedProcess[str]]) -> Script:
    """Runs a script in this process; gives its status and its errors."""

    def command(name: str, *arguments: str) -> tuple[int, str]:
        done = script_here(name, *arguments)
        return done.returncode, done.stderr

    return command


def interrupted(*arguments: object) -> NoReturn:
    raise KeyboardInterrupt


def test_every_script_runs_its_main_so(root: Path) -> None:
    for path in (root / "scripts").glob("*.py"):
        assert path.read_text().rstrip().endswith("run_command(main)"), path


def test_a_folder_that_is_a_file(script: Script, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    status, errors = script("differential", "--n", "1", "--to", str(tmp_path / "file"))
    assert status == 1
    assert errors.startswith(f"Error: {tmp_path / 'file'}") and errors.count("\n") == 1


def test_a_damaged_record_of_a_campaign(script: Script, tmp_path: Path) -> None:
    record = tmp_path / "0" / "progress.json"
    record.parent.mkdir()
    record.write_text('{"done"')
    status, errors = script("differential", "--n", "1", "--to", str(tmp_path))
    assert status == 1
    assert errors.startswith(f"Error: {record} is damaged (") and "delete it" in errors
    assert errors.count("\n") == 1
    assert record.read_text() == '{"done"'


def test_a_piece_that_does_not_exist(script: Script, tmp_path: Path) -> None:
    status, errors = script("differential", "--to", str(tmp_path), "--n", "0", "--without", "flipped bacth")
    assert (status, errors.count("\n"), list(tmp_path.iterdir())) == (1, 1, [])
    assert (
        errors == "Error: no piece, loss or change is called 'flipped bacth': did you mean 'flipped batch'?\n"
    )


def test_what_was_printed_before_an_error_stands_before_it() -> None:
    """In a log of both streams."""
    code = """
from ilc.errors import UserError
from lab.configuration.command_line import run_command
def main():
    print("before")
    raise UserError("wrong")
run_command(main)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.stdout == "before\nError: wrong\n"


def test_ctrl_c(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("change_of_basis.movement.row", interrupted)
    assert script("change_of_basis") == (130, "Interrupted. Run the same command again to continue.\n")


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        (("transformers_table",), "this table"),
        (("change_of_basis", "--cost"), "--cost"),
        (("benchmark", "transformers"), "the measurement transformers"),
    ],
)
def test_a_package_that_is_not_installed(
    command: tuple[str, ...], asked: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    status, errors = script(*command)
    assert (status, errors.count("\n")) == (1, 1)
    assert errors.startswith(f"Error: {asked} needs transformers, which is not installed: run pip install '")


def test_an_experiment_whose_package_is_not_installed(
    train: Callable[..., subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    done = train("experiment=lora_domains")
    message = "Error: experiment=lora_domains needs transformers, which is not installed: run pip install '"
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("frames",), "cannot read 'frames': expected frames=VALUE"),
        (("frames=(x",), "cannot read 'frames=(x': write a value with such characters in quotes"),
        (("hydra.run.dir=",), "hydra.run.dir= names no folder: write hydra.run.dir=FOLDER"),
        (("--config-name", "paper", "frames"), "cannot read 'frames': expected frames=VALUE"),
    ],
)
def test_the_words_of_the_expert_are_checked(
    words: tuple[str, ...], message: str, script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    status, errors = script("train_expert", *words)
    assert status == 1
    assert errors.startswith(f"Error: {message}") and errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_option_that_an_expert_refuses_is_one_message(script: Script, tmp_path: Path) -> None:
    pytest.importorskip("procgen")  # Importing it prints lines of its own.
    status, errors = script("train_expert", "frames=0", f"hydra.run.dir={tmp_path}")
    assert status == 1
    assert errors.endswith("Error: frames must be above 0, got 0\n") and "executing job" not in errors


def test_a_file_where_a_folder_is_needed() -> None:
    assert readable(FileExistsError(17, "File exists", "runs/x")) == (
        "runs/x is a file, and a folder is needed there: give another path"
    )
    assert readable(PermissionError(13, "Permission denied", "x")).endswith("exists and is writable")
