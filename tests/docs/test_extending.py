"""Whoever copies every block of the README and of extending.md gets what the pages promise.

Each block is written to the file named above it, as printed, into a copy of the repository. Nothing is added
and nothing is left out.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from docs.printed_files import blocks_without_a_file, printed_commands, printed_files
from lab.configuration.compose import compose_experiment

COPIED = ("src", "conf", "scripts", "docs", "results", "README.md", "pyproject.toml")
NARROW = ("logger=none", "device=cpu")


def run(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def files(root: Path) -> dict[str, str]:
    return {**printed_files(root / "README.md"), **printed_files(root / "docs" / "extending.md")}


@pytest.fixture(scope="module")
def copy(root: Path, files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with every printed file."""
    folder = tmp_path_factory.mktemp("reader")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, folder / name)
    for path, text in files.items():
        assert not (folder / path).exists(), f"{path} is there already"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_every_block_says_which_file_it_is(root: Path, files: dict[str, str]) -> None:
    assert len(files) >= 14
    assert blocks_without_a_file(root / "docs" / "extending.md") == []


def test_every_command_of_the_page_is_run_below(root: Path) -> None:
    words = [" ".join(line.split()[:3]) for line in printed_commands(root / "docs" / "extending.md")]
    assert sorted(words) == [
        "make figures",
        "python scripts/study.py two_cues",
        "python src/train.py -m",
        "python src/train.py experiment=two_cues",
        "python src/train.py experiment=two_cues",
    ]


def test_the_printed_modules_pass_the_repositorys_linter(copy: Path, files: dict[str, str]) -> None:
    modules = [path for path in files if path.endswith(".py")]
    run(copy, "-m", "ruff", "check", *modules)
    run(copy, "-m", "ruff", "format", "--check", *modules)


def test_the_printed_experiment_takes_the_settings_of_a_search(files: dict[str, str], tmp_path: Path) -> None:
    """They win over its own: the page's line stands in its right place."""
    for path, text in files.items():
        if path.startswith("conf/"):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
    (tmp_path / "conf" / "tuned").mkdir()
    settings = "# @package _global_\nmodel:\n  hidden_units: 5\n"
    (tmp_path / "conf" / "tuned" / "found.yaml").write_text(settings)
    place = f"hydra.searchpath=[file://{tmp_path / 'conf'}]"
    assert compose_experiment([place, "experiment=two_cues"])["model"]["hidden_units"] == 16
    found = compose_experiment([place, "experiment=two_cues", "tuned=found"])
    assert found["model"]["hidden_units"] == 5


def last_summary(copy: Path) -> dict[str, Any]:
    newest = max(copy.glob("outputs/**/summary.json"), key=lambda path: path.stat().st_mtime)
    content: dict[str, Any] = json.loads(newest.read_text())
    return content


@pytest.mark.slow
def test_aggregator_dataset_and_metric_work_together(copy: Path, root: Path) -> None:
    """The first command of the page, which uses all three."""
    commands = printed_commands(root / "docs" / "extending.md")
    (command,) = (line for line in commands if "aggregator=median_sign" in line)
    run(copy, *shlex.split(command)[1:], *NARROW)
    summary = last_summary(copy)
    assert summary["data_source"] == "synthetic cues"
    assert summary["model/weight_norm"] > 0
    assert summary["train/accuracy"] > 0.8


@pytest.mark.slow
def test_the_experiment_with_its_own_loop_learns(copy: Path, root: Path) -> None:
    commands = printed_commands(root / "docs" / "extending.md")
    (command,) = (line for line in commands if "experiment=learned_step" in line)
    run(copy, *shlex.split(command)[1:], *NARROW)
    runs = {path.parent: json.loads(path.read_text()) for path in copy.glob("outputs/**/summary.json")}
    own = {path.name: summary for path, summary in runs.items() if "step_size" in summary}
    assert len(own) == 4
    learned = [summary for name, summary in own.items() if name.startswith("learned")]
    fixed = [summary for name, summary in own.items() if name.startswith("fixed")]
    assert max(one["train/loss"] for one in learned) < 0.1 * min(one["train/loss"] for one in fixed)
    assert min(one["step_size"] for one in learned) > 5 * max(one["step_size"] for one in fixed)
    assert all(one["model/weight_norm"] > 0 for one in own.values())


@pytest.mark.slow
def test_method_study_and_figure_do_what_the_page_says(copy: Path, root: Path) -> None:
    commands = printed_commands(root / "docs" / "extending.md")
    (command,) = (line for line in commands if "aggregator=late_and_mask" in line)
    run(copy, *shlex.split(command)[1:], *NARROW)
    assert "scripts/study.py two_cues" in " ".join(commands)
    run(copy, "scripts/study.py", "two_cues")
    runs = pd.read_csv(copy / "results" / "two_cues" / "methods_runs.csv")
    assert runs.groupby("aggregator").size().to_dict() == {"and_mask": 2, "mean": 2, "median_sign": 2}
    assert "two_cues/methods_runs.csv" in (copy / "results" / "SHA256SUMS").read_text()
    run(copy, "scripts/make_figures.py", "two_cues")
    assert (copy / "results" / "two_cues" / "figures" / "two_cues.png").stat().st_size > 5_000
