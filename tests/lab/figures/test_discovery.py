"""A figure is there as soon as its file is."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import lab.experiments
from ilc.errors import UserError
from lab.figures import discovery
from lab.figures.claims import title_of
from lab.figures.discovery import ORDER, experiments, figure_modules, modules


def _home(folder: Path, name: str, figure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another experiment with one figure, in a folder that also has the package's own experiments."""
    for own in discovery.FOLDER.iterdir():
        (folder / own.name).symlink_to(own)
    (folder / name / "figures").mkdir(parents=True)
    for package in (folder / name, folder / name / "figures"):
        (package / "__init__.py").touch()
    (folder / name / "figures" / f"{figure}.py").write_text("def draw(results): return 'drawn'\n")
    monkeypatch.setattr(discovery, "FOLDER", folder)
    monkeypatch.setattr(lab.experiments, "__path__", [*lab.experiments.__path__, str(folder)])


def test_one_file_adds_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _home(tmp_path, "a_new_one", "a_new_figure", monkeypatch)
    module = figure_modules()["a_new_figure"]
    assert module == "lab.experiments.a_new_one.figures.a_new_figure"
    assert import_module(module).draw(None) == "drawn"
    assert modules("a_new_one", "claims") == []
    assert experiments()[: len(ORDER)] == list(ORDER)
    others = {path.parent.name for path in tmp_path.glob("*/__init__.py")} - {*ORDER}
    assert experiments()[len(ORDER) :] == sorted(others)
    assert {"a_new_one", "cost", "skip_intervals"} <= others
    assert title_of("a_new_one") == "A new one"


def test_two_figures_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _home(tmp_path, "another_one", "demo", monkeypatch)
    with pytest.raises(UserError, match=r"spirals\.figures\.demo and .*another_one\.figures\.demo"):
        figure_modules()
