"""MNIST: found in ``data_dir`` or downloaded with torchvision, checked by hash, read into memory."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ilc.data.digits import DigitImages
from ilc.data.download import download, server_answers
from ilc.errors import UserError
from ilc.torchvision_import import import_torchvision

N_VALIDATION = 10_000
_IMAGE_MAGIC, _LABEL_MAGIC = 0x803, 0x801


def mnist_is_at_hand(data_dir: str) -> bool:
    """Whether the files are there, or else a server answers within eight seconds."""
    folder = raw_folder(data_dir)
    if all((folder / name).exists() for name, _ in _torchvision_mnist().resources):
        return True
    return server_answers(_torchvision_mnist().mirrors[0])


def mnist_digits(data_dir: str, random: torch.Generator) -> dict[str, DigitImages]:
    """The parts ``train`` (50,000 in random order), ``validation`` (10,000) and ``test`` (10,000).

    Images are subsampled to 14 x 14, one version each. Deviation: the IRM authors test on the
    10,000 that are validation here; ours tests on MNIST's own test set.

    Raises:
        UserError: the files are not there and cannot be downloaded, or one is damaged.
    """
    folder = raw_folder(data_dir)
    names = [name for name, _ in _torchvision_mnist().resources]
    if not all((folder / name).exists() for name in names):
        _download(folder)
    train_images, train_digits, test_images, test_digits = (
        _read(folder / name, md5) for name, md5 in _torchvision_mnist().resources
    )
    order = torch.randperm(len(train_digits), generator=random)
    # The validation images are the last ones of the file, as the IRM authors split it; a file of
    # another size, as in tests, is split in the same proportion.
    n_train = len(order) - len(order) * N_VALIDATION // 60_000
    order = torch.cat([order[order < n_train], order[order >= n_train]])
    train, validation = torch.split(order, [n_train, len(order) - n_train])
    return {
        "train": _part(train_images[train], train_digits[train]),
        "validation": _part(train_images[validation], train_digits[validation]),
        "test": _part(test_images, test_digits),
    }


def raw_folder(data_dir: str) -> Path:
    """Where torchvision keeps MNIST's files."""
    return Path(data_dir) / "MNIST" / "raw"


def _part(images: Tensor, digits: Tensor) -> DigitImages:
    return DigitImages(images[:, None, ::2, ::2].float() / 255, digits.long())


def _torchvision_mnist() -> Any:
    return import_torchvision("torchvision.datasets").MNIST


def _download(folder: Path) -> None:
    """Fetch all four files; they appear in ``folder`` only when they are whole."""
    mnist = _torchvision_mnist()
    try:
        for name, md5 in mnist.resources:
            if not (folder / name).exists():
                download(mnist.mirrors[0] + name, folder / name, md5)
    except OSError as error:
        files = ", ".join(name for name, _ in mnist.resources)
        raise UserError(
            f"MNIST is not in {folder} and cannot be downloaded ({error}). Put {files} there, name another "
            "place with data_dir=..., or take the embedded digits with dataset.source=digits"
        ) from error


def _read(path: Path, md5: str) -> Tensor:
    """One file of the idx format: images ``[M, 28, 28]`` or labels ``[M]``, uint8."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != md5:
        raise UserError(
            f"{path} is damaged: its MD5 is {found}, MNIST's is {md5}. Remove it and give the same command"
        )
    # Big-endian header: a magic number whose last byte is the number of axes, then the axes.
    content = gzip.decompress(content)
    magic = int.from_bytes(content[:4], "big")
    if magic not in (_IMAGE_MAGIC, _LABEL_MAGIC):
        raise UserError(f"{path} is not an MNIST file: it begins with {magic:#x}")
    n_axes = magic & 0xFF
    shape = np.frombuffer(content, ">u4", count=n_axes, offset=4).tolist()
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes).reshape(shape).copy())
