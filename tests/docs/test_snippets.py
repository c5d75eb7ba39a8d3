"""The pages' code runs as it stands there."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import nn

from lab.runs import run
from lab.runs.one_run.run_directory import RunDirectory
from lab.runs.study.study_file import load_study


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def test_snippets_of_the_gradients_page(root: Path) -> None:
    """Each stands alone and holds assertions of its own."""
    snippets = blocks(root / "docs" / "gradients.md", "python")
    assert len(snippets) == 5
    for snippet in snippets:
        assert "assert " in snippet
        exec(compile(snippet, "gradients.md", "exec"), {})


def test_method_of_the_extending_page_follows_its_steps(root: Path) -> None:
    (snippet,) = (
        text for text in blocks(root / "docs" / "extending.md", "python") if "(TrainingMethod)" in text
    )
    namespace: dict[str, Any] = {}
    exec(compile(snippet, "extending.md", "exec"), namespace)
    method = namespace["LateAndMask"](agreement_threshold=0.9, warmup_steps=2)
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    names = []
    for step in range(4):
        method.before_step(step, optimizer)
        names.append(type(method.aggregator).__name__)
    assert names == ["Mean", "Mean", "AndMask", "AndMask"]


@pytest.mark.slow
def test_the_readmes_aggregator_goes_through_the_readmes_sweep(
    root: Path, tmp_path: Path, tiny: tuple[str, ...]
) -> None:
    """One file and one config of two words, beside a choice whose threshold it does not have."""
    for folder in ("src", "conf"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (snippet,) = (text for text in blocks(root / "README.md", "python") if "class MedianSign" in text)
    (tmp_path / "src" / "ilc" / "aggregators" / "median_sign.py").write_text(snippet)
    config = tmp_path / "conf" / "aggregator" / "median_sign.yaml"
    config.write_text("_target_: ilc.aggregators.median_sign.MedianSign\n")
    swept = ("aggregator=and_mask,median_sign", "aggregator.agreement_threshold=0.5,0.9")
    subprocess.run(
        [sys.executable, str(tmp_path / "src" / "train.py"), "-m", *tiny, *swept],
        cwd=tmp_path,
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
    )
    runs = sorted(path.parent.name.split("-")[0] for path in tmp_path.rglob("summary.json"))
    assert runs == ["MedianSign", "and_mask", "and_mask"]


def test_study_of_the_extending_page_is_read(root: Path, tmp_path: Path) -> None:
    (text,) = (text for text in blocks(root / "docs" / "extending.md", "yaml") if "scripts/study.py" in text)
    path = tmp_path / "median_sign.yaml"
    path.write_text(text)
    assert load_study(str(path)).files == (
        "spirals/median_sign_runs.csv",
        "spirals/median_sign_curves.csv",
    )


@pytest.fixture
def content(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The config of the page's own experiment, whose module lies in a folder of this test."""
    page = root / "docs" / "extending.md"
    (module,) = (text for text in blocks(page, "python") if "class LearnedStep" in text)
    (config,) = (text for text in blocks(page, "yaml") if "name: learned_step" in text)
    (tmp_path / "learned_step_of_the_page.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    values: dict[str, Any] = yaml.safe_load(config)
    del values["defaults"]
    shared = {"seed": 0, "scale": "small", "device": "cpu", "threads": 1, "data_dir": "data"}
    return {**shared, "logger": {"name": "none"}, **values, "task": "learned_step_of_the_page.LearnedStep"}


def test_task_of_the_extending_page_learns(content: dict[str, Any], tmp_path: Path) -> None:
    learned = run(content, tmp_path / "learned", "")
    fixed = run({**content, "method": "fixed"}, tmp_path / "fixed", "")
    assert learned["train/loss"] < 0.1 * fixed["train/loss"]
    assert learned["step_size"] > 5 * fixed["step_size"]
    assert learned["step"] == content["trainer"]["max_epochs"]


def test_task_of_the_extending_page_continues(
    content: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after some epochs and continued, it ends with the same numbers."""
    whole = run(content, tmp_path / "whole", "")
    folder = tmp_path / "halves"
    save = RunDirectory.save_checkpoint

    def save_then_die(self: RunDirectory, state: dict[str, Any], *others: Any) -> None:
        save(self, state, *others)
        if state["epoch"] == 20:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RunDirectory, "save_checkpoint", save_then_die)
        run(content, folder, "")
    halves = run(content, folder, "")
    assert halves["train/loss"] == whole["train/loss"]
    assert halves["step_size"] == whole["step_size"]
