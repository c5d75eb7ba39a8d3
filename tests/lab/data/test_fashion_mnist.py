"""Fashion-MNIST from torchvision's folder, from Debian's, and the part of it that comes with the project."""

from __future__ import annotations

import gzip
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.data import fashion_mnist, make_labelled_images
from lab.data.idx import IdxFiles


class FakeFashionMnist:
    """Stands in for torchvision's class, whose hashes belong to the real files."""

    mirrors = ("http://fashion.invalid/",)
    resources: tuple[tuple[str, str], ...] = ()


@pytest.fixture
def torchvisions(tmp_path: Path, write_idx: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ``data_dir`` of small files where torchvision would put them."""
    resources = write_idx(tmp_path / "data" / "FashionMNIST" / "raw")
    monkeypatch.setattr(FakeFashionMnist, "resources", resources)
    monkeypatch.setattr(fashion_mnist, "_torchvision_fashion_mnist", lambda: FakeFashionMnist)
    monkeypatch.setattr(fashion_mnist, "DEBIAN", tmp_path / "debian")
    return tmp_path / "data"


@pytest.fixture
def debians(torchvisions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ``data_dir``; the same small files are in Debian's folder, under other hashes."""
    (torchvisions / "FashionMNIST" / "raw").rename(fashion_mnist.DEBIAN)
    files = IdxFiles("Debian's", FakeFashionMnist.resources, None, "another dataset.source")
    monkeypatch.setattr(fashion_mnist, "DEBIAN_FILES", files)
    monkeypatch.setattr(FakeFashionMnist, "resources", tuple((name, "0") for name, _ in files.resources))
    return torchvisions


def check_parts(data_dir: Path) -> None:
    parts = fashion_mnist.fashion_mnist_images(str(data_dir))
    assert {name: tuple(part.images.shape) for name, part in parts.items()} == {
        "train": (120, 1, 28, 28),
        "test": (40, 1, 28, 28),
    }
    for part in parts.values():
        assert part.images.dtype == torch.uint8
        assert torch.equal(part.images[:, 0, 0, 0].long(), part.labels)
    assert fashion_mnist.fashion_mnist_is_at_hand(str(data_dir), 0.0)


def test_torchvisions_folder(torchvisions: Path) -> None:
    check_parts(torchvisions)
    data = make_labelled_images(data_dir=str(torchvisions), source="fashion_mnist")
    assert data.source == "Fashion-MNIST, 120 for training"
    assert data.inputs.shape == (120, 1, 1, 28, 28)


def test_debians_folder(debians: Path) -> None:
    check_parts(debians)
    assert not list(debians.rglob("*.gz"))  # Nothing was downloaded.


def test_a_damaged_file_of_debian_is_named(debians: Path) -> None:
    path = fashion_mnist.DEBIAN / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(b"spoilt")
    with pytest.raises(
        UserError, match=f"{path} is damaged.* the MD5 of Debian's is .*: put the original file"
    ):
        fashion_mnist.fashion_mnist_images(str(debians))


def test_torchvisions_folder_comes_first(debians: Path) -> None:
    folder = debians / "FashionMNIST" / "raw"
    shutil.copytree(fashion_mnist.DEBIAN, folder)
    # Its hashes are not those that torchvision knows, so that reading it is an error.
    with pytest.raises(UserError, match=f"{folder}.* holds .* images, but Fashion-MNIST has"):
        fashion_mnist.fashion_mnist_images(str(debians))


def test_one_missing_file_is_enough_for_another_folder(debians: Path) -> None:
    folder = debians / "FashionMNIST" / "raw"
    shutil.copytree(fashion_mnist.DEBIAN, folder)
    (folder / "train-labels-idx1-ubyte.gz").unlink()
    check_parts(debians)


def test_torchvision_still_names_these_files() -> None:
    names = tuple(name for name, _ in fashion_mnist._torchvision_fashion_mnist().resources)
    assert names == tuple(name for name, _ in fashion_mnist.DEBIAN_FILES.resources)
    assert names == tuple(name for name, _ in fashion_mnist.PART_FILES.resources)


def test_the_embedded_part_is_stratified() -> None:
    parts = fashion_mnist.embedded_images()
    assert parts["train"].labels.bincount().tolist() == [960] * 10
    assert parts["test"].labels.bincount().tolist() == [200] * 10
    for part in parts.values():
        assert part.images.shape == (len(part.labels), 1, 28, 28)
        # The kinds differ: of all images of a kind the mean is nearest to that of its own half.
        means = [
            torch.stack([part.images[half::2][part.labels[half::2] == c].float().mean(0) for c in range(10)])
            for half in (0, 1)
        ]
        nearest = torch.cdist(means[0].flatten(1), means[1].flatten(1)).argmin(1)
        assert nearest.tolist() == list(range(10))


def test_the_embedded_part_is_small_and_has_its_licence() -> None:
    files = [fashion_mnist.PART / name for name, _ in fashion_mnist.PART_FILES.resources]
    assert sum(path.stat().st_size for path in files) <= 6_000_000
    licence = (fashion_mnist.PART / "LICENSE-Fashion-MNIST.txt").read_text()
    assert "MIT" in licence and "Zalando" in licence


def test_a_changed_embedded_part_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shipped"
    shutil.copytree(fashion_mnist.PART, folder)
    monkeypatch.setattr(fashion_mnist, "PART", folder)
    path = folder / "train-labels-idx1-ubyte.gz"
    labels = bytearray(gzip.decompress(path.read_bytes()))
    labels[-1] = (labels[-1] + 1) % 10
    path.write_bytes(gzip.compress(bytes(labels)))
    with pytest.raises(UserError, match=f"{path} is damaged.*put the original file back, or take another"):
        make_labelled_images(source="embedded")


@pytest.mark.slow
def test_the_script_makes_exactly_these_files(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data_dir = root / "data"
    originals = fashion_mnist._files().are_in(data_dir / "FashionMNIST" / "raw")
    if not originals and not fashion_mnist.DEBIAN_FILES.are_in(fashion_mnist.DEBIAN):
        pytest.skip("needs Fashion-MNIST: apt-get install dataset-fashion-mnist")
    script = str(root / "scripts" / "embed_fashion_mnist.py")
    monkeypatch.setattr(sys, "argv", [script, "--data-dir", str(data_dir), "--to", str(tmp_path)])
    runpy.run_path(script, run_name="__main__")
    said = capfd.readouterr().out
    for name, md5 in fashion_mnist.PART_FILES.resources:
        made, shipped = ((folder / name).read_bytes() for folder in (tmp_path, fashion_mnist.PART))
        content = gzip.decompress(shipped)
        assert gzip.decompress(made) == content
        # Another zlib may pack the same content otherwise.
        if gzip.compress(content, 9, mtime=0) == shipped:
            assert made == shipped
            assert f"{md5}  {name}" in said
