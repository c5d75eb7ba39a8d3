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
from torch import nn

from docs.printed_files import printed_files
from lab.configuration.compose import compose_experiment
from lab.machine.torchvision_import import import_torchvision
from lab.runs import run
from lab.runs.one_run.run_directory import RunDirectory


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.slow
def test_snippets_of_the_gradients_page(root: Path) -> None:
    """Each stands alone and holds assertions of its own."""
    snippets = blocks(root / "docs" / "gradients.md", "python")
    assert len(snippets) == 5
    for snippet in snippets:
        assert "assert " in snippet
        exec(compile(snippet, "gradients.md", "exec"), {})


@pytest.mark.parametrize("page", ["diagnosis.md", "consistency.md"])
def test_pages_with_a_printed_answer(root: Path, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each snippet runs by itself, and the first one prints lines that begin as the page says."""
    first, *others = blocks(root / "docs" / page, "python")
    exec(compile(first, page, "exec"), {})
    said = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("ilc: ")]
    (printed,) = blocks(root / "docs" / page, "text")
    assert [line.split()[0] for line in printed.splitlines()] == [line.split()[0] for line in said]
    for snippet in others:
        exec(compile(snippet, page, "exec"), {})
    assert all("assert " in snippet for snippet in (first, *others))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_snippets_of_the_batches_page(root: Path, number: int) -> None:
    """The first one needs transformers, which imports torchvision where it is installed."""
    snippets = blocks(root / "docs" / "batches.md", "python")
    assert len(snippets) == 4
    if "transformers" in snippets[number]:
        pytest.importorskip("transformers")
        import_torchvision()
    assert "assert " in snippets[number]
    exec(compile(snippets[number], "batches.md", "exec"), {})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_snippet_of_the_transformers_page(root: Path) -> None:
    import_torchvision()
    for name in ("transformers", "peft"):
        pytest.importorskip(name)
    (snippet,) = blocks(root / "docs" / "transformers.md", "python")
    assert "assert " in snippet
    exec(compile(snippet, "transformers.md", "exec"), {})


def executed(root: Path, page: str, name: str) -> dict[str, Any]:
    """What the printed file ``.../NAME.py`` of a page defines."""
    (text,) = (text for path, text in printed_files(root / page).items() if path.endswith(f"/{name}.py"))
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def test_method_of_the_extending_page_follows_its_steps(root: Path) -> None:
    late_and_mask = executed(root, "docs/extending.md", "late_and_mask")["LateAndMask"]
    method = late_and_mask(agreement_threshold=0.9, warmup_steps=2)
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
    """Its class and its config, beside a choice whose threshold it does not have."""
    for folder in ("src", "conf"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in printed_files(root / "README.md").items():
        (tmp_path / path).write_text(text)
    swept = ("aggregator=and_mask,median_sign", "aggregator.agreement_threshold=0.5,0.9")
    subprocess.run(
        [sys.executable, str(tmp_path / "src" / "train.py"), "-m", *tiny, *swept],
        cwd=tmp_path,
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
    )
    runs = sorted(path.parent.name.split("-")[0] for path in tmp_path.rglob("summary.json"))
    assert runs == ["and_mask", "and_mask", "median_sign"]


@pytest.fixture
def content(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The resolved config of the page's own experiment, read from outside the repository."""
    files = printed_files(root / "docs" / "extending.md")
    module = files["src/lab/experiments/learned_step/task.py"]
    (tmp_path / "learned_step_of_the_page.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "learned_step.yaml").write_text(files["conf/experiment/learned_step.yaml"])
    place = f"hydra.searchpath=[file://{tmp_path}]"
    task = "task=learned_step_of_the_page.LearnedStep"
    return compose_experiment([place, "experiment=learned_step", task, "logger=none", "device=cpu"])


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
