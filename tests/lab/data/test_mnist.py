"""MNIST's files: found, checked, read, or a message that says what to do."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import torch

import lab.data.mnist as mnist
from lab.data import make_colored_mnist

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
def files(tmp_path: Path, write_idx: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """120 training and 40 test images in the real format; pixel (0, 0) holds the label."""
    monkeypatch.setattr(FakeMnist, "resources", write_idx(mnist.raw_folder(str(tmp_path))))
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


def test_colored_digits_are_every_other_pixel_of_the_files(files: Path) -> None:
    """Against the files' bytes: no image is in two parts, colours and labels follow the true digit."""
    raw = mnist._files().read(mnist.raw_folder(str(files)))
    data = make_colored_mnist(
        data_dir=str(files),
        source="mnist",
        label_noise=0.0,
        largest_color_noise=0.0,
        smallest_color_noise=0.0,
    )
    true = {
        image[::2, ::2].numpy().tobytes(): int(digit)
        for part in raw.values()
        for image, digit in zip(*part, strict=True)
    }
    assert len(true) == 160
    seen = []
    splits = {"train": data.pooled(), **{name: data.evaluation[name] for name in ("validation", "test")}}
    for name, split in splits.items():
        for inputs, label in zip((split.inputs * 255).round().byte(), split.targets, strict=True):
            channels = inputs.view(2, 14 * 14)
            digit = true[channels.sum(0, dtype=torch.uint8).numpy().tobytes()]
            assert int(label) == int(digit < 5)
            if name == "train":
                assert not channels[1 - int(label)].any()
            seen.append(channels.sum(0).numpy().tobytes())
    assert len(seen) == len(set(seen)) == 160


def unreachable(*_: object, **__: object) -> Any:
    raise urllib.error.URLError("no network")


def test_auto_without_network_takes_the_embedded_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist, "_torchvision_mnist", lambda: FakeMnist)
    monkeypatch.setattr(FakeMnist, "resources", tuple((name, "") for name in NAMES))
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    assert make_colored_mnist(data_dir=str(tmp_path)).source == "colored digits (scikit-learn)"


def test_torchvision_still_names_these_files() -> None:
    assert tuple(name for name, _ in mnist._torchvision_mnist().resources) == NAMES
