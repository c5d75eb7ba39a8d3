"""The files of MNIST and of Fashion-MNIST: what is wrong with one is named in one line, through either."""

from __future__ import annotations

import gzip
import hashlib
import struct
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.data import fashion_mnist, mnist
from lab.data.idx import IdxFiles

IMAGES, LABELS, TEST_IMAGES, TEST_LABELS = NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


class DataSet:
    """One of the two data sets, with small files: stands in for torchvision's class, too."""

    def __init__(self, data_dir: Path, read: Callable[[], Any], name: str, folder: Path) -> None:
        self.data_dir, self.read, self.name, self.folder = data_dir, read, name, folder
        self.mirrors = ("http://images.invalid/",)
        self.resources: tuple[tuple[str, str], ...] = ()

    def rewrite(self, name: str, content: bytes) -> None:
        """Put another file in place, whose hash is the right one."""
        (self.folder / name).write_bytes(content)
        md5 = hashlib.md5(content).hexdigest()
        self.resources = tuple((own, md5 if own == name else old) for own, old in self.resources)

    def change(self, name: str, change: Callable[[bytes], bytes]) -> None:
        """As ``rewrite``, by what is to be done to the unpacked content."""
        self.rewrite(name, gzip.compress(change(gzip.decompress((self.folder / name).read_bytes()))))

    def refusal(self) -> str:
        with pytest.raises(UserError) as error:
            self.read()
        message = str(error.value)
        assert "\n" not in message
        return message


@pytest.fixture(params=["MNIST", "Fashion-MNIST"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    data_dir = str(tmp_path)
    if request.param == "MNIST":
        made = DataSet(
            tmp_path,
            lambda: mnist.mnist_digits(data_dir, torch.Generator()),
            "MNIST",
            tmp_path / "MNIST" / "raw",
        )
        monkeypatch.setattr(mnist, "_torchvision_mnist", lambda: made)
    else:
        made = DataSet(
            tmp_path,
            lambda: fashion_mnist.fashion_mnist_images(data_dir),
            "Fashion-MNIST",
            tmp_path / "FashionMNIST" / "raw",
        )
        monkeypatch.setattr(fashion_mnist, "_torchvision_fashion_mnist", lambda: made)
        monkeypatch.setattr(fashion_mnist, "DEBIAN", tmp_path / "nowhere")
    return made


@pytest.fixture
def files(dataset: DataSet, write_idx: Any) -> DataSet:
    dataset.resources = write_idx(dataset.folder)
    assert tuple(name for name, _ in dataset.resources) == NAMES
    dataset.read()  # They are in order.
    return dataset


def test_a_wrong_hash(files: DataSet) -> None:
    path = files.folder / TEST_LABELS
    path.write_bytes(path.read_bytes() + b"x")
    message = files.refusal()
    assert f"{path} is damaged: its MD5 is {hashlib.md5(path.read_bytes()).hexdigest()}" in message
    assert f"the MD5 of {files.name} is {dict(files.resources)[TEST_LABELS]}: remove it and give" in message


def test_a_part_of_the_data_set_is_not_called_damaged(files: DataSet) -> None:
    path = files.folder / LABELS
    some = gzip.decompress(path.read_bytes())[8:70]
    path.write_bytes(gzip.compress(struct.pack(">II", 0x801, len(some)) + some))
    message = files.refusal()
    assert f"{path} holds 62 labels, but {files.name} has 60,000 for training" in message
    assert "damaged" not in message and "Options of the dataset train on a part" in message


def test_a_cut_gzip_file(files: DataSet) -> None:
    files.rewrite(IMAGES, (files.folder / IMAGES).read_bytes()[:-1000])
    assert f"{files.folder / IMAGES} is not a complete gzip file" in files.refusal()


@pytest.mark.parametrize(
    "content",
    # A gzip file holds the time at which it was made, and test names with the time differ between workers.
    [b"", b"something else", gzip.compress(bytes(999), mtime=0)[:12] + b"\xff" * 30],
    ids=["empty", "text", "damaged"],
)
def test_no_gzip_file(content: bytes, files: DataSet) -> None:
    files.rewrite(LABELS, content)
    message = files.refusal()
    # Nothing at all unpacks to nothing.
    assert "is not a complete gzip file" in message or (not content and "begins with 0x0" in message)


@pytest.mark.parametrize(
    ("name", "magic"), [(IMAGES, 0x801), (LABELS, 0x803), (TEST_IMAGES, 0xD03), (TEST_LABELS, 0)]
)
def test_another_magic_number(name: str, magic: int, files: DataSet) -> None:
    files.change(name, lambda content: struct.pack(">I", magic) + content[4:])
    kind = "images" if "images" in name else "labels"
    expected = {"images": "0x803", "labels": "0x801"}[kind]
    assert (
        f"{files.folder / name} is not a file of {kind} of {files.name}: it begins with {magic:#x}, expected "
        f"{expected}" in files.refusal()
    )


@pytest.mark.parametrize("n_bytes", [0, 2, 4, 7])
def test_a_file_that_ends_within_its_header(n_bytes: int, files: DataSet) -> None:
    files.change(LABELS, lambda content: content[:n_bytes])
    # What is missing counts as zero: a file of no labels.
    assert str(files.folder / LABELS) in files.refusal()


def test_images_of_another_size(files: DataSet) -> None:
    files.change(IMAGES, lambda content: struct.pack(">IIII", 0x803, 480, 14, 14) + content[16:])
    message = files.refusal()
    assert f"{files.folder / IMAGES} announces 480 x 14 x 14 bytes and holds 94080" in message
    assert f"{files.name} has images of 28 x 28" in message


@pytest.mark.parametrize(("name", "held"), [(IMAGES, "120 x 28 x 28 bytes and holds 94079"), (LABELS, "120")])
def test_a_header_that_promises_more_bytes(name: str, held: str, files: DataSet) -> None:
    files.change(name, lambda content: content[:-1])
    assert f"{files.folder / name} announces {held}" in files.refusal()


def test_a_header_that_promises_fewer_bytes(files: DataSet) -> None:
    files.change(TEST_LABELS, lambda content: content + b"\0")
    assert "announces 40 bytes and holds 41" in files.refusal()


def test_as_many_labels_as_images(files: DataSet) -> None:
    files.change(TEST_LABELS, lambda content: struct.pack(">II", 0x801, 39) + content[8:-1])
    message = files.refusal()
    assert f"{files.folder / TEST_IMAGES} holds 40 images" in message
    assert f"{files.folder / TEST_LABELS} holds 39 labels" in message


def test_labels_out_of_range(files: DataSet) -> None:
    files.change(LABELS, lambda content: content[:-1] + b"\x0a")
    assert (
        f"{files.folder / LABELS} holds the label 10, but labels must lie between 0 and 9" in files.refusal()
    )


def test_what_cannot_be_downloaded_again_must_be_put_back(files: DataSet) -> None:
    shipped = IdxFiles("the part", files.resources, None, "another dataset.source")
    (files.folder / LABELS).write_bytes(b"spoilt")
    with pytest.raises(UserError, match="put the original file back, or take another dataset"):
        shipped.read(files.folder)
    (files.folder / LABELS).unlink()
    with pytest.raises(UserError, match=r"No such file or directory\): put the original file back"):
        shipped.read(files.folder)


def test_a_failed_download_says_what_to_do_and_leaves_nothing(
    dataset: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> Any:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    dataset.resources = tuple((name, "") for name in NAMES)
    message = dataset.refusal()
    assert f"{dataset.name} is not in {dataset.folder} and cannot be downloaded" in message
    assert f"Put {', '.join(NAMES)} there, name another place with data_dir=..., or take" in message
    assert "with dataset.source=" in message
    assert not [path for path in dataset.data_dir.rglob("*") if path.is_file()]
    dataset.folder.mkdir(parents=True, exist_ok=True)
    (dataset.folder / NAMES[0]).write_bytes(b"")
    assert f"a part of {dataset.name} is not in {dataset.folder}" in dataset.refusal()


def test_what_is_missing_is_downloaded(files: DataSet, tmp_path: Path) -> None:
    whole = files.read()
    mirror = files.folder.rename(tmp_path / "mirror")
    files.mirrors = (f"{mirror.as_uri()}/",)
    files.folder.mkdir()
    (files.folder / IMAGES).write_bytes((mirror / IMAGES).read_bytes())
    again = files.read()
    assert {path.name for path in files.folder.iterdir()} == set(NAMES)
    for name, part in whole.items():
        assert torch.equal(part.images, again[name].images)
