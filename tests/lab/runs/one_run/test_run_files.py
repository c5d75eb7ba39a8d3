"""A run folder that was damaged or changed, in every way: one line with the file and the remedy."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import lab
from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.data import labelled_images
from lab.files.sealed import save_sealed
from lab.runs import run
from lab.runs.tables.export import export_runs

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def overrides(tiny: tuple[str, ...]) -> list[str]:
    return [*tiny, "threads=1"]


@pytest.fixture(scope="module")
def whole(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    run(compose_experiment(overrides), folder, "command")
    yield folder
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def finished(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "finished"))


@pytest.fixture
def interrupted(whole: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(whole, tmp_path / "interrupted"))
    (folder / "done").unlink()
    (folder / "summary.json").unlink()
    return folder


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


SHAPES = ["", "[]", "5", "null", "{}", "text", '{"step": ', "\0\xff", '{"step": 1}\n']


@pytest.mark.parametrize("name", ["config.yaml", "provenance.json", "summary.json", "metrics.jsonl"])
def test_files_of_a_finished_run(name: str, finished: Path) -> None:
    """Of another shape, with one bit flipped, gone: the export names it."""
    path = finished / name
    content = path.read_bytes()
    drawn = random.Random(name)
    for damaged in [shape.encode("latin-1") for shape in SHAPES] + [
        bytes(byte ^ (1 << bit % 8) if i == bit // 8 else byte for i, byte in enumerate(content))
        for bit in drawn.sample(range(8 * len(content)), 50)
    ]:
        path.write_bytes(damaged)
        message = refusal(lambda: export_runs([finished]))
        assert str(path) in message
        assert f"remove {finished}" in message
    path.unlink()
    if name != "config.yaml":  # Without which it is no run folder.
        assert str(path) in refusal(lambda: export_runs([finished]))


@pytest.mark.parametrize("name", ["config.yaml", "provenance.json", "metrics.jsonl", "summary.json"])
def test_a_finished_run_is_not_said_to_be_done_when_it_is_damaged(
    name: str, finished: Path, overrides: list[str]
) -> None:
    content = compose_experiment(overrides)
    path = finished / name
    path.write_text(path.read_text().replace("0", "1"))
    assert f"{path} is damaged (it was changed after" in refusal(lambda: run(content, finished, "command"))
    path.unlink()
    assert f"{path} cannot be read" in refusal(lambda: run(content, finished, "command"))


@pytest.mark.parametrize("content", ["[]", "text", "{}", '{"summary.json": 5}'])
def test_a_damaged_mark(content: str, finished: Path) -> None:
    (finished / "done").write_text(content)
    assert str(finished / "done") in refusal(lambda: export_runs([finished])) or content.startswith("{")
    refusal(lambda: lab.load_run(finished))


def test_a_folder_of_before_there_were_hashes_is_read(finished: Path, overrides: list[str]) -> None:
    (finished / "done").write_text("")
    assert len(export_runs([finished])[0]) == 1
    assert run(compose_experiment(overrides), finished, "command")["epoch"] == 3


@pytest.mark.parametrize("content", ["", "[]", "5", "null", "{}", "a: [", "name: [1]\nseed: 0"])
def test_the_config_of_an_interrupted_run(content: str, interrupted: Path, overrides: list[str]) -> None:
    (interrupted / "config.yaml").write_text(content)
    for call in (
        lambda: run(compose_experiment(overrides), interrupted, "command"),
        lambda: lab.load_run(interrupted),
    ):
        message = refusal(call)
        assert str(interrupted) in message
        assert "remove" in message


def test_a_config_that_was_deleted_hides_no_other_experiment(interrupted: Path, overrides: list[str]) -> None:
    (interrupted / "config.yaml").unlink()
    other = compose_experiment([*overrides, "optimizer.lr=0.5"])
    assert "differs in optimizer.lr" in refusal(lambda: run(other, interrupted, "command"))
    assert run(compose_experiment(overrides), interrupted, "command")["epoch"] == 3


STATES = {
    "a list": lambda state: [1, 2],
    "a tensor": lambda state: torch.zeros(3),
    "of no run": lambda state: state["model"],
    "without a model": lambda state: {key: value for key, value in state.items() if key != "model"},
    "of another shape": lambda state: {
        **state, "model": {key: torch.zeros(2, 2) for key in state["model"]}
    },
    "of other parameters": lambda state: {**state, "model": {"x": torch.zeros(2)}},
    "an optimizer that is none": lambda state: {**state, "optimizer": [1]},
    "no sampler": lambda state: {**state, "sampler": None},
    "random numbers of another kind": lambda state: {**state, "random": {"torch": 5}},
    "of another experiment": lambda state: {**state, "config": {**state["config"], "seed": 7}},
    "of other data": lambda state: {**state, "data": {**state["data"], "data_sha256": "0" * 64}},
    "of other metrics": lambda state: {**state, "metrics_sha256": "0" * 64},
}  # fmt: skip


@pytest.mark.parametrize("kind", STATES)
def test_checkpoints_of_another_shape(kind: str, interrupted: Path, overrides: list[str]) -> None:
    path = interrupted / "checkpoint.pt"
    torch.save(STATES[kind](torch.load(path, weights_only=True)), path)
    message = refusal(lambda: run(compose_experiment(overrides), interrupted, "command"))
    assert str(interrupted) in message
    if "random" not in kind:  # Which loading has no use for.
        refusal(lambda: lab.load_run(interrupted))


def test_evaluations_that_were_changed(interrupted: Path, overrides: list[str]) -> None:
    path = interrupted / "metrics.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    text = path.read_text().replace(str(first["test/loss"]), "0.0")
    path.write_text(text)
    message = refusal(lambda: run(compose_experiment(overrides), interrupted, "command"))
    assert f"{path} is damaged (it was changed after the checkpoint was made)" in message


def test_what_a_killed_process_left_half_written_is_removed(interrupted: Path, overrides: list[str]) -> None:
    (interrupted / ".checkpoint.pt.4711.part").write_bytes(b"half")
    (interrupted / ".film.part").write_bytes(b"somebody's download")
    run(compose_experiment(overrides), interrupted, "command")
    assert [path.name for path in interrupted.glob(".*.part")] == [".film.part"]


@pytest.mark.parametrize("name", ["metrics.jsonl", "summary.json", "provenance.json"])
def test_files_that_no_run_wrote_are_not_replaced(name: str, overrides: list[str], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("somebody's own")
    message = refusal(lambda: run(compose_experiment(overrides), tmp_path, "command"))
    assert message.startswith(f"{path} exists, but the folder has no config.yaml")
    assert [own.name for own in tmp_path.iterdir()] == [name]
    assert path.read_text() == "somebody's own"


def test_the_selected_weights_of_an_interrupted_run(overrides: list[str], tmp_path: Path) -> None:
    """If they are gone, a run that has seen its best evaluation would end without them."""
    content = compose_experiment([*overrides, "trainer.selection=test_oracle"])
    run(content, tmp_path, "command")
    for name in ("done", "summary.json"):
        (tmp_path / name).unlink()
    path = tmp_path / "selected.pt"
    path.write_bytes(path.read_bytes()[:100])
    assert f"{path} is damaged" in refusal(lambda: run(content, tmp_path, "command"))
    path.unlink()
    message = refusal(lambda: run(content, tmp_path, "command"))
    assert message.startswith(f"{path}, which trainer.selection needs, is missing: put back a copy")


def test_a_run_continues_only_on_the_data_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``auto`` found no CIFAR-10 at first; then it appears, as do other images under the same name."""
    content = compose_experiment(
        [
            "experiment=cifar_label_noise",
            "dataset.n_environments=80",
            "dataset.batch_size=40",
            "dataset.n_test=20",
            "model.width=2",
            "trainer.max_epochs=2",
            "trainer.evaluate_every=1",
            "logger=none",
            "device=cpu",
            "threads=1",
            f"data_dir={tmp_path}",
        ]
    )
    found = []

    def other_images(data_dir: str) -> dict[str, labelled_images.LabelledImages]:
        parts = labelled_images.embedded_images()
        return {name: part._replace(images=part.images.flip(0)) for name, part in parts.items()}

    monkeypatch.setattr(labelled_images, "cifar10_is_at_hand", lambda data_dir, seconds: bool(found))
    monkeypatch.setattr(labelled_images, "fashion_mnist_is_at_hand", lambda data_dir, seconds: False)
    monkeypatch.setitem(labelled_images._READ, "cifar10", other_images)
    folder = tmp_path / "run"
    summary = run(content, folder, "command")
    assert "embedded" in summary["data_source"]
    for name in ("done", "summary.json"):
        (folder / name).unlink()
    found.append("CIFAR-10")
    for call in (lambda: run(content, folder, "command"), lambda: lab.load_run(folder)):
        message = refusal(call)
        assert "began with the data Fashion-MNIST (the part that is embedded), 80 for training" in message
        assert "finds CIFAR-10, 80 for training" in message
    found.clear()
    with monkeypatch.context() as patched:
        patched.setitem(labelled_images._READ, "embedded", other_images)
        assert "only with the data that it began with" in refusal(lambda: run(content, folder, "command"))
    again = run(content, folder, "command")
    assert again["data_source"] == summary["data_source"]
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("content", [b"\xff\xfe\0\n", b'{"step": 1'])
def test_an_evaluation_without_checkpoint_may_be_anything(
    content: bytes, interrupted: Path, overrides: list[str], whole: Path
) -> None:
    """After a crash of the machine, the first evaluation may be no text: the run starts over."""
    (interrupted / "checkpoint.pt").unlink()
    (interrupted / "metrics.jsonl").write_bytes(content)
    run(compose_experiment(overrides), interrupted, "command")
    assert (interrupted / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_the_time_of_all_parts_of_a_run_counts(interrupted: Path, overrides: list[str]) -> None:
    """The tables of hours add it up."""
    checkpoint = torch.load(interrupted / "checkpoint.pt", weights_only=True)
    save_sealed(interrupted / "checkpoint.pt", {**checkpoint, "wall_seconds": 10_000.0})
    seconds = run(compose_experiment(overrides), interrupted, "command")["wall_seconds"]
    assert 10_000 < seconds < 12_000
