"""``make figures`` draws everything from committed files and cannot train."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.figures.discovery import figure_modules, home_of

# Runs the script in a process in which every way of training is broken and no socket opens.
WITHOUT_TRAINING = """
import runpy, socket, sys
import torch
def refuse(*arguments, **options):
    raise AssertionError("make figures must neither train nor use the network")
torch.Tensor.backward = torch.autograd.grad = torch.autograd.backward = refuse
torch.optim.Optimizer.__init__ = refuse
socket.socket.connect = refuse
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
rooms = ("lab.runs", "lab.environment_task")
assert not [name for name in sys.modules if name.startswith(rooms)]
"""


def draw_everything(folder: Path, root: Path) -> Path:
    results = folder / "results"
    shutil.copytree(root / "results", results, ignore=shutil.ignore_patterns("*.png", "*.md"))
    command = [sys.executable, "-c", WITHOUT_TRAINING, str(root / "scripts" / "make_figures.py")]
    subprocess.run([*command, "--results", str(results)], check=True, capture_output=True, timeout=600)
    return results


def _files(results: Path, ending: str) -> set[str]:
    """The figures, tables and thumbnails, by path below the results."""
    paths = {path.relative_to(results) for path in results.glob(f"*/**/*{ending}")}
    return {path.as_posix() for path in paths if path.parts[0] != "docs"}


@pytest.mark.slow
def test_what_is_committed_is_what_is_drawn(tmp_path: Path, root: Path) -> None:
    """One test draws everything once: figures by their names, tables and the gallery to the letter."""
    drawn = draw_everything(tmp_path, root)
    for ending in (".png", ".md"):
        assert _files(drawn, ending) == _files(root / "results", ending)
        assert len(_files(drawn, ending)) > 40
    for path in drawn.glob("**/figures/*.png"):
        assert path.stat().st_size > 5_000, path.name
    for path in drawn.glob("**/tables/*.md"):
        assert path.read_text() == (root / "results" / path.relative_to(drawn)).read_text(), path.name
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert (drawn / "docs" / "gallery.md").read_text() == (root / "docs" / "gallery.md").read_text()


def test_every_name_makes_a_figure_or_a_table_that_is_committed(root: Path) -> None:
    for name in (*figure_modules(), "verdicts"):
        home = root / "results" / ("" if name == "verdicts" else home_of(figure_modules()[name]))
        assert (home / "figures" / f"{name}.png").exists() or (home / "tables" / f"{name}.md").exists(), name


@pytest.mark.parametrize("name", ["results", "anew"])
def test_pages_of_other_results_lie_with_them(
    name: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if their folder lies in the repository, whose own pages must stay."""
    spec = importlib.util.spec_from_file_location("make_figures", root / "scripts" / "make_figures.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    script.write_page(Path("docs/claims.md"), "text", tmp_path / name)
    (written,) = tmp_path.rglob("claims.md")
    assert written == (tmp_path if name == "results" else tmp_path / "anew") / "docs" / "claims.md"
    assert capsys.readouterr().out == ("" if name == "results" else f"{written}\n")


def test_an_unknown_name_is_a_readable_error(root: Path) -> None:
    command = [sys.executable, str(root / "scripts" / "make_figures.py"), "dmo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Error: no figure or table is called 'dmo': did you mean 'demo'? Choose one of " in done.stderr, (
        done.stderr
    )
