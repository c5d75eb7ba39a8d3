"""CIFAR-10's files: found, checked, decoded once, or a message that says what to do."""

from __future__ import annotations

import hashlib
import pickle
import tarfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lab.data.cifar10 as cifar10
from ilc.errors import UserError
from lab.data import make_labelled_images
from lab.files.sealed import save_sealed
from lab.machine.torchvision_import import import_torchvision

REAL: Any = import_torchvision("torchvision.datasets").CIFAR10


class SmallCifar10(REAL):  # type: ignore[misc]
    """torchvision's own class, which reads the files; only the hashes are those of the small ones."""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """5 x 20 training and 30 test images in the real format; the first pixel holds the label."""
    folder = tmp_path / "made" / REAL.base_folder
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)

    def save(name: str, values: dict[Any, Any]) -> list[str]:
        (folder / name).write_bytes(pickle.dumps(values))
        return [name, hashlib.md5((folder / name).read_bytes()).hexdigest()]

    def batch(name: str, n: int) -> list[str]:
        labels = random.integers(0, 10, n).tolist()
        images = random.integers(0, 255, (n, 3072), dtype=np.uint8)
        images[:, 0] = labels
        return save(name, {"data": images, "labels": labels})

    meta = save("batches.meta", {"label_names": [str(i) for i in range(10)]})
    train = [batch(f"data_batch_{i}", 20) for i in range(1, 6)]
    test = [batch("test_batch", 30)]
    path = tmp_path / "data" / REAL.filename
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, REAL.base_folder)
    monkeypatch.setattr(SmallCifar10, "train_list", train)
    monkeypatch.setattr(SmallCifar10, "test_list", test)
    monkeypatch.setattr(SmallCifar10, "meta", {"filename": meta[0], "key": "label_names", "md5": meta[1]})
    monkeypatch.setattr(SmallCifar10, "tgz_md5", hashlib.md5(path.read_bytes()).hexdigest())
    monkeypatch.setattr(cifar10, "_torchvision_cifar10", lambda: SmallCifar10)
    monkeypatch.setattr(cifar10, "SIZES", {"train": 100, "test": 30})
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_reading_and_decoding_once(archive: Path) -> None:
    first = cifar10.cifar10_images(str(archive.parent))
    assert {name: len(part.labels) for name, part in first.items()} == {"train": 100, "test": 30}
    for part in first.values():
        assert part.images.shape[1:] == (3, 32, 32)
        assert part.images.dtype == torch.uint8
        assert torch.equal(part.images[:, 0, 0, 0].long(), part.labels)
    # The decoded file alone is enough from now on.
    archive.unlink()
    for path in (archive.parent / REAL.base_folder).iterdir():
        path.write_bytes(b"spoilt")
    second = cifar10.cifar10_images(str(archive.parent))
    for name in first:
        assert torch.equal(first[name].images, second[name].images)
        assert torch.equal(first[name].labels, second[name].labels)


def test_torchvisions_folder_is_enough(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(archive.parent, filter="data")
    archive.unlink()
    assert len(cifar10.cifar10_images(str(archive.parent))["train"].labels) == 100


def test_auto_takes_files_that_are_there_and_says_so(archive: Path) -> None:
    data = make_labelled_images(data_dir=str(archive.parent), n_environments=90, n_test=30)
    assert data.source == "CIFAR-10, 90 for training"
    assert data.inputs.shape == (90, 1, 3, 32, 32)


def test_two_processes_that_unpack_at_once(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    utils = import_torchvision("torchvision.datasets.utils")
    extract = utils.extract_archive

    def slower_than_another(*arguments: Any) -> None:
        monkeypatch.setattr(utils, "extract_archive", extract)
        cifar10._unpack(archive.parent)
        extract(*arguments)

    monkeypatch.setattr(utils, "extract_archive", slower_than_another)
    cifar10._unpack(archive.parent)
    assert names(archive.parent) == {archive.name, REAL.base_folder}
    assert len(cifar10.cifar10_images(str(archive.parent))["train"].labels) == 100


def test_a_decoded_file_of_other_content_is_made_again(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, labels = torch.zeros(100, 3, 32, 32, dtype=torch.uint8), torch.arange(100) % 10
    test = (images[:30], labels[:30])
    decoded = archive.parent / cifar10._decoded_name()
    for other in (
        (images[:99], labels[:99]),
        (images[:, :1], labels),
        (images[..., :28], labels),
        (images, labels - 1),
        (images, labels + 1),
        (images, labels.float()),
        (images, labels[:99]),
    ):
        save_sealed(decoded, {"train": other, "test": test})
        parts = cifar10.cifar10_images(str(archive.parent))
        assert torch.equal(parts["train"].images[:, 0, 0, 0].long(), parts["train"].labels)
        assert f"{decoded} does not hold the expected content, so it is made again" in capsys.readouterr().out


def test_more_images_than_there_are(archive: Path) -> None:
    with pytest.raises(UserError, match="n_environments=101 is more than the 100 images that CIFAR-10 has"):
        make_labelled_images(data_dir=str(archive.parent), n_environments=101, n_test=30)


def test_a_damaged_archive_is_named(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-7])
    with pytest.raises(UserError, match=r"cifar-10-python.tar.gz is damaged.*Remove it"):
        cifar10.cifar10_images(str(archive.parent))
    assert names(archive.parent) == {archive.name}


def test_a_folder_with_another_file_is_named(archive: Path) -> None:
    cifar10._unpack(archive.parent)
    (archive.parent / REAL.base_folder / "data_batch_3").write_bytes(b"something else")
    with pytest.raises(UserError, match=r"cifar-10-batches-py holds another data_batch_3 than CIFAR-10"):
        cifar10.cifar10_images(str(archive.parent))


def test_a_part_of_the_batches_is_refused_by_what_it_lacks(archive: Path) -> None:
    cifar10._unpack(archive.parent)
    (archive.parent / REAL.base_folder / "data_batch_3").unlink()
    with pytest.raises(UserError, match=r"cifar-10-batches-py lacks data_batch_3\. .*n_environments=N"):
        cifar10.cifar10_images(str(archive.parent))


def test_a_damaged_decoded_file_is_named(archive: Path) -> None:
    decoded = archive.parent / cifar10._decoded_name()
    decoded.write_bytes(b"half of it")
    with pytest.raises(UserError, match=r"\.pt is damaged .*remove it"):
        cifar10.cifar10_images(str(archive.parent))


def unreachable(*_: object, **__: object) -> Any:
    raise urllib.error.URLError("no network")


def test_without_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    with pytest.raises(UserError, match=r"Put cifar-10-python.tar.gz there.*dataset\.source=embedded"):
        make_labelled_images(data_dir=str(tmp_path), source="cifar10")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_torchvision_still_names_this_archive() -> None:
    assert cifar10._torchvision_cifar10().filename == "cifar-10-python.tar.gz"
