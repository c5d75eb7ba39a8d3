"""CoinRun as environments: mapped from files, collected when needed, in a run of the experiment."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ilc.errors import UserError
from lab.configuration.compose import compose_experiment
from lab.data import Environments
from lab.experiments.coinrun.data import make_coinrun

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]
SIZES = {"n_environments": 4, "examples_per_environment": 12, "n_test": 10}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    make_coinrun(str(folder), **SIZES)
    return folder


@pytest.fixture
def data(data_dir: Path) -> Environments:
    return make_coinrun(str(data_dir), **SIZES)


def test_environments(data: Environments) -> None:
    assert data.inputs.shape == (4, 12, 3, 64, 64)
    assert data.inputs.dtype == torch.uint8
    assert data.targets.shape == (4, 12, 15)
    assert data.evaluation["test"].inputs.shape == (10, 3, 64, 64)
    assert data.n_outputs == 15
    assert "own PPO expert" in data.source
    assert data.references["constant/kl"] > 0


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_all_states_of_other_levels_are_evaluated(scale: str) -> None:
    config = compose_experiment(["experiment=coinrun_bc", f"scale={scale}"])
    assert config["trainer"]["evaluation_examples"] is None
    training = config["dataset"]["n_environments"] * config["dataset"]["examples_per_environment"]
    assert config["trainer"]["training_examples_evaluated"] < training


def test_validation_states_leave_the_others_as_they_are(data: Environments, data_dir: Path) -> None:
    more = make_coinrun(str(data_dir), **SIZES, n_validation=7)
    assert list(data.evaluation) == ["test"] and list(more.evaluation) == ["test", "validation"]
    assert more.evaluation["validation"].inputs.shape == (7, 3, 64, 64)
    assert torch.equal(more.inputs, data.inputs)
    assert torch.equal(more.evaluation["test"].targets, data.evaluation["test"].targets)


def test_frames_stay_in_their_file(data: Environments, data_dir: Path) -> None:
    """What the tensors point to is the mapped file; moving and pooling copy nothing."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs /proc, as on Linux")
    assert data.to(torch.device("cpu")) is data
    address = data.inputs.data_ptr()
    assert data.pooled().inputs.data_ptr() == address
    for line in maps.read_text().splitlines():
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        if start <= address < end:
            assert line.endswith("train_frames.npy")
            break
    else:
        pytest.fail("the frames are nowhere")


def test_the_fingerprint_is_that_of_the_values(data: Environments) -> None:
    copy = Environments(data.inputs.clone(), data.targets.clone(), data.evaluation)
    assert data.fingerprint() == copy.fingerprint()
    copy.inputs[0, 0, 0, 0, 0] += 1
    assert data.fingerprint() != copy.fingerprint()


def test_a_damaged_file_is_named(data_dir: Path, tmp_path: Path) -> None:
    make_coinrun(str(tmp_path), **SIZES)
    (frames,) = tmp_path.glob("coinrun/*/train_frames.npy")
    content = frames.read_bytes()
    frames.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"train_frames.npy is missing or damaged"):
        make_coinrun(str(tmp_path), **SIZES)
    with pytest.raises(UserError, match=r"dataset.source must be one of auto, expert"):
        make_coinrun(str(tmp_path), source="openai", **SIZES)
    frames.write_bytes(content)
    whole = np.load(frames)
    for other in (whole[:, :, :32], whole.astype(np.float32), whole[:-1], whole[..., 0]):
        np.save(frames, other)
        with pytest.raises(UserError, match=r"train_frames.npy is missing or damaged .*instead of uint8"):
            make_coinrun(str(tmp_path), **SIZES)
    frames.write_bytes(content)
    manifest = frames.with_name("manifest.json")
    for text in ("", "[]", "{}", "5"):
        manifest.write_text(text)
        with pytest.raises(UserError, match=r"manifest.json is missing or damaged .*remove"):
            make_coinrun(str(tmp_path), **SIZES)
    manifest.unlink()
    for _ in range(2):  # Not collected again in vain, once and for ever.
        with pytest.raises(UserError, match=r"manifest.json is missing or damaged .*remove"):
            make_coinrun(str(tmp_path), **SIZES)


def test_states_beyond_the_disk_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    sizes = {**SIZES, "examples_per_environment": 10**9}
    with pytest.raises(UserError, match=r"take 49,\d{3}\.\d GB below .* are free there: make room"):
        make_coinrun(str(tmp_path), **sizes)
    assert not list(tmp_path.glob("coinrun/*.part"))


@pytest.mark.slow
def test_a_disk_that_is_full_says_so(tmp_path: Path) -> None:
    """In a process of its own, which an error of a mapped file would end; a limit stands for the disk."""
    code = (
        "import resource, signal, sys\n"
        "from lab.experiments.coinrun.data import make_coinrun\n"
        "from ilc.errors import UserError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        f"try: make_coinrun({str(tmp_path)!r}, **{SIZES})\n"
        "except UserError as error: sys.exit(str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "cannot write the CoinRun states below" in done.stderr
    assert "Make room" in done.stderr


@pytest.mark.slow
def test_the_experiment_collects_trains_and_says_so(
    train: TrainCommand, data_dir: Path, tmp_path: Path
) -> None:
    options = (
        "experiment=coinrun_bc",
        *(f"dataset.{key}={value}" for key, value in SIZES.items()),
        "dataset.batch_size=4",
        "model.width=4",
        "trainer.max_epochs=4",
        "logger=none",
        "device=cpu",
    )
    runs = {}
    for name, aggregator in (("masked", "temporal_mask"), ("plain", "mean")):
        folder = tmp_path / name
        done = train(*options, f"aggregator={aggregator}", f"hydra.run.dir={folder}")
        assert done.returncode == 0, done.stderr
        assert ("collecting 58 CoinRun states" in done.stdout) == (name == "masked")  # Once.
        runs[name] = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert {"train/kl", "test/kl", "test/accuracy", "mask/density"} <= runs[name][-1].keys()
        assert runs[name][-1]["step"] == 4 * 4
        provenance = json.loads((folder / "provenance.json").read_text())
        assert "own PPO expert" in provenance["data_source"]
    assert all(row["mask/density"] == 1 for row in runs["plain"])
    assert runs["masked"][-1]["mask/density"] < 1
    assert np.isfinite(runs["masked"][-1]["test/kl"])


def test_each_flipped_bit_of_each_file_is_named(data_dir: Path, tmp_path: Path) -> None:
    shutil.copytree(data_dir, tmp_path, dirs_exist_ok=True)
    drawn = random.Random(0)
    make_coinrun(str(tmp_path), **SIZES, n_validation=3)
    files = sorted(tmp_path.glob("coinrun/*-3-seed*/*.npy"))
    assert len(files) == 6
    for path in files:
        content = path.read_bytes()
        for bit in [0, 8 * len(content) - 1, *drawn.sample(range(8 * 128, 8 * len(content)), 3)]:
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            with pytest.raises(UserError, match=rf"{path.name} is missing or damaged \(.*remove .* again"):
                make_coinrun(str(tmp_path), **SIZES, n_validation=3)
        path.write_bytes(content)
    make_coinrun(str(tmp_path), **SIZES, n_validation=3)


def test_each_file_is_hashed_once_per_run(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, digest = [], hashlib.file_digest
    monkeypatch.setattr(
        hashlib, "file_digest", lambda file, kind: hashed.append(file.name) or digest(file, kind)
    )
    make_coinrun(str(data_dir), **SIZES)
    assert sorted(Path(name).name for name in hashed) == [
        "test_distributions.npy",
        "test_frames.npy",
        "train_distributions.npy",
        "train_frames.npy",
    ]


def test_states_without_hashes_are_collected_anew_and_others_refused(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(data_dir, tmp_path, dirs_exist_ok=True)
    (manifest,) = tmp_path.glob("coinrun/*-10-seed*/manifest.json")
    content = json.loads(manifest.read_text())
    frames = (manifest.parent / "train_frames.npy").read_bytes()
    (manifest.parent / "train_frames.npy").write_bytes(frames[:-1] + b"\0")
    manifest.write_text(json.dumps({key: value for key, value in content.items() if key != "sha256"}))
    make_coinrun(str(tmp_path), **SIZES)
    assert "so they are not trusted and are collected again" in capsys.readouterr().out
    assert (manifest.parent / "train_frames.npy").read_bytes() == frames
    for other in ({"mode": "easy"}, {"seed": 5}, {"sha256": {}}, {"sha256": []}, {"sha256": None}):
        manifest.write_text(json.dumps({**content, **other}))
        with pytest.raises(UserError, match=r"manifest.json is missing or damaged .*remove"):
            make_coinrun(str(tmp_path), **SIZES)
