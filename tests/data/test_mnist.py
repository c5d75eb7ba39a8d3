"""MNIST's files: found, checked, read, or a message that says what to do."""

from __future__ import annotations

import gzip
import hashlib
import struct
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ilc.data.mnist as mnist
from ilc.data import make_colored_mnist
from ilc.errors import UserError

NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


class FakeMnist:
    """Stands in for torchvision's class, whose hashes belong to the real files."""

    mirrors = ("http://mnist.invalid/",)
    resources: tuple[tuple[str, str], ...] = ()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """120 training and 40 test images in the real format; pixel (0, 0) holds the label."""
    folder = mnist.raw_folder(str(tmp_path))
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    resources: list[tuple[str, str]] = []
    for prefix, n in (("train", 120), ("t10k", 40)):
        labels = random.integers(0, 10, n, dtype=np.uint8)
        images = random.integers(1, 255, (n, 28, 28), dtype=np.uint8)
        images[:, 0, 0] = labels
        contents = {
            f"{prefix}-images-idx3-ubyte.gz": struct.pack(">IIII", 0x803, n, 28, 28) + images.tobytes(),
            f"{prefix}-labels-idx1-ubyte.gz": struct.pack(">II", 0x801, n) + labels.tobytes(),
        }
        for name, content in contents.items():
            (folder / name).write_bytes(gzip.compress(content, mtime=0))
            resources.append((name, hashlib.md5((folder / name).read_bytes()).hexdigest()))
    monkeypatch.setattr(FakeMnist, "resources", tuple(resources))
    monkeypatch.setattr(mnist, "_torchvision_mnist", lambda: FakeMnist)
    return tmp_path


def test_reading(files: Path) -> None:
    parts = mnist.mnist_digits(str(files), torch.Generator().manual_seed(0))
    assert {name: len(part.digits) for name, part in parts.items()} == {
        "train": 100,
        "validation": 20,
        "test": 40,
    }
    for part in parts.values():
        assert part.images.shape[1:] == (1, 14, 14)
        assert torch.equal((part.images[:, 0, 0, 0] * 255).round().long(), part.digits)


def test_auto_takes_files_that_are_there_and_says_so(files: Path) -> None:
    data = make_colored_mnist(data_dir=str(files))
    assert "MNIST" in data.source
    assert data.inputs.shape == (2, 50, 2 * 14 * 14)


def test_a_damaged_file_is_named(files: Path) -> None:
    path = mnist.raw_folder(str(files)) / NAMES[0]
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(UserError, match=r"train-images.*damaged.*Remove it"):
        mnist.mnist_digits(str(files), torch.Generator())


def test_a_file_of_another_kind_is_named(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mnist.raw_folder(str(files)) / NAMES[0]
    path.write_bytes(gzip.compress(b"something else"))
    digest = hashlib.md5(path.read_bytes()).hexdigest()
    monkeypatch.setattr(FakeMnist, "resources", ((NAMES[0], digest), *FakeMnist.resources[1:]))
    with pytest.raises(UserError, match="not an MNIST file"):
        mnist.mnist_digits(str(files), torch.Generator())


def unreachable(*_: object, **__: object) -> Any:
    raise urllib.error.URLError("no network")


def test_auto_without_network_takes_the_embedded_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist, "_torchvision_mnist", lambda: FakeMnist)
    monkeypatch.setattr(FakeMnist, "resources", tuple((name, "") for name in NAMES))
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    assert make_colored_mnist(data_dir=str(tmp_path)).source == "colored digits (scikit-learn)"


def test_a_failed_download_says_what_to_do_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist, "_torchvision_mnist", lambda: FakeMnist)
    monkeypatch.setattr(FakeMnist, "resources", tuple((name, "") for name in NAMES))
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    with pytest.raises(UserError, match=r"Put train-images.*data_dir=.*dataset\.source=digits"):
        mnist.mnist_digits(str(tmp_path), torch.Generator())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_torchvision_still_names_these_files() -> None:
    assert tuple(name for name, _ in mnist._torchvision_mnist().resources) == NAMES
