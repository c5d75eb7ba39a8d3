"""A run folder that somebody else made: reading it runs nothing and tells nothing of this machine."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import lab
from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.report.page import render
from lab.report.run_record import read_record
from lab.runs import run
from lab.runs.one_run.run_files import FAILED, LOG, hashes, read_config
from lab.runs.sweep.sweep import make_in_turn
from lab.runs.tables.export import export_runs

SECRET = "hunter2-of-this-machine"
TOY = Path(__file__).parents[1] / "toy"

FOREIGN = """
import pathlib
pathlib.Path(__file__).with_name("imported").touch()
def called(*arguments, **options):
    pathlib.Path(__file__).with_name("called").touch()
"""


@pytest.fixture(scope="module")
def overrides(tiny: tuple[str, ...]) -> list[str]:
    return [*tiny, "threads=1"]


@pytest.fixture(scope="module")
def whole(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("elsewhere") / "whole"
    run(compose_experiment(overrides), folder, "command")
    yield folder
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def with_config(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A copy of a finished run whose config was changed, by somebody who knows how ``done`` is made."""
    monkeypatch.setenv("SECRET", SECRET)

    def changed(change: Callable[[dict[str, Any]], Any] | str) -> Path:
        folder = Path(shutil.copytree(whole, tmp_path / "theirs", dirs_exist_ok=True))
        if isinstance(change, str):
            text = (folder / "config.yaml").read_text() + change
        else:
            content = yaml.safe_load((folder / "config.yaml").read_text())
            change(content)
            text = yaml.safe_dump(content)
        (folder / "config.yaml").write_text(text)
        (folder / "done").write_text(hashes(folder))
        return folder

    return changed


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a module that notes when it is imported, and when it is called."""
    place = tmp_path / "packages"
    place.mkdir()
    (place / "foreign_code.py").write_text(FOREIGN)
    monkeypatch.syspath_prepend(place)
    yield place
    sys.modules.pop("foreign_code", None)


def names(key: str, target: Any, **options: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content[key] = target if key == "task" else {"_target_": target, **options}

    return change


@pytest.mark.parametrize("key", ["task", "dataset", "model", "aggregator", "optimizer"])
@pytest.mark.parametrize(
    "target",
    ["foreign_code.called", "os.system", "lab.files.atomic.write_text", "builtins.exec", 5, ["os.system"]],
)
def test_only_the_project_s_own_choices_are_built(
    key: str, target: Any, with_config: Callable[..., Path], foreign: Path
) -> None:
    folder = with_config(names(key, target, name="x", command=f"touch {foreign / 'called'}"))
    with pytest.raises(
        UserError, match=r"which does not belong to this project .* allow its package by name"
    ) as e:
        lab.load_run(folder)
    assert str(folder / "config.yaml") in str(e.value) and "\n" not in str(e.value)
    assert sorted(path.name for path in foreign.iterdir()) == ["foreign_code.py"]


def test_one_in_the_depth_of_an_option_too(with_config: Callable[..., Path]) -> None:
    folder = with_config(lambda content: content["model"].update(of=[{"_target_": "os.system"}]))
    with pytest.raises(UserError, match=r"model\.of\.0\._target_='os\.system'"):
        lab.load_run(folder)


def test_a_package_is_allowed_by_its_whole_name(with_config: Callable[..., Path], foreign: Path) -> None:
    folder = with_config(names("model", "foreign_code.called", name="x"))
    for other in (["foreign"], ["foreign_code.called"], ["f"], []):
        with pytest.raises(UserError, match="allow its package"):
            lab.load_run(folder, allow=other)
        assert not (foreign / "imported").exists()
    for allowed in (["foreign_code"], "foreign_code"):
        # Now it is imported and called; that it makes no model is the next thing to be refused.
        with pytest.raises(UserError, match="takes only Module"):
            lab.load_run(folder, allow=allowed)
        assert (foreign / "called").exists()


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")  # The toy's.
def test_a_task_of_one_s_own_is_loaded_where_its_package_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(TOY)
    place = f"hydra.searchpath=[file://{TOY / 'conf'}]"
    options = [place, "experiment=toy", "device=cpu", "threads=1", "logger=none", "trainer.max_epochs=2"]
    run(compose_experiment(options), tmp_path / "run", "command")
    torch.use_deterministic_algorithms(False)
    with pytest.raises(UserError, match=r"task='toy_task\.ToyTask'.*allow=\['toy_task'\]"):
        lab.load_run(tmp_path / "run")
    assert len(lab.load_run(tmp_path / "run", allow=["toy_task"]).metrics) == 2


LEAK = "${oc.env:SECRET}"


def everything_said(folder: Path, overrides: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """All that the readers of a run folder make of it, refusals included."""
    said = [repr(read_config(folder)), render([read_record(folder)], {}, [], "now")]
    readers: list[Callable[[], Any]] = [
        lambda: [
            table.to_csv() for table in export_runs([folder], ["optimizer.lr", "optimizer", "data_dir"])
        ],
        lambda: lab.load_run(folder).config,
        lambda: make_in_turn({folder: overrides}),
    ]
    for read in readers:
        try:
            said.append(repr(read()))
        except UserError as error:
            said.append(str(error))
    captured = capsys.readouterr()
    return "".join([*said, captured.out, captured.err])


@pytest.mark.parametrize("key", ["optimizer.lr", "dataset.name", "data_dir", "name"])
def test_no_interpolation_is_resolved(
    key: str, with_config: Callable[..., Path], overrides: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    section, _, option = key.partition(".")

    def change(content: dict[str, Any]) -> None:
        if option:
            content[section][option] = LEAK
        else:
            content[section] = LEAK

    folder = with_config(change)
    said = everything_said(folder, overrides, capsys)
    assert SECRET not in said
    assert LEAK in said
    assert SECRET not in "".join(path.read_text(errors="replace") for path in folder.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "\nx: ${oc.env:SECRET\n",
        "\nx: !!python/object/apply:os.system ['true']\n",
        "\nx: !!python/name:os.system ''\n",
    ],
)
def test_what_is_no_plain_text_is_damage(text: str, with_config: Callable[..., Path]) -> None:
    folder = with_config(text)
    with pytest.raises(UserError, match=r"config\.yaml is damaged"):
        read_config(folder)
    assert read_record(folder).state == "damaged"


def test_a_value_with_an_escaped_dollar_is_what_was_meant(overrides: list[str], tmp_path: Path) -> None:
    content = {**compose_experiment(overrides), "data_dir": "${oc.env:SECRET}"}
    run(content, tmp_path / "run", "command")
    torch.use_deterministic_algorithms(False)
    assert read_config(tmp_path / "run")["data_dir"] == "${oc.env:SECRET}"
    assert json.loads((tmp_path / "run" / "done").read_text())


@pytest.mark.parametrize("name", [LOG, FAILED])
def test_the_report_follows_no_link_to_a_file_of_this_machine(name: str, whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "theirs"))
    (folder / "done").unlink()
    (tmp_path / "secret").write_text(SECRET)
    (folder / name).symlink_to(tmp_path / "secret")
    assert SECRET not in repr(read_record(folder))
