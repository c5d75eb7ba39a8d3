"""MNIST as digits for Colored MNIST. The files are found in ``data_dir`` or downloaded from a mirror."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab.data.digits import DigitImages
from lab.data.download import server_answers
from lab.data.idx import IdxFiles
from lab.machine.torchvision_import import import_torchvision

N_VALIDATION = 10_000


def mnist_is_at_hand(data_dir: str) -> bool:
    """Return whether the files are there, or else a server answers within eight seconds."""
    return _files().are_in(raw_folder(data_dir)) or server_answers(_torchvision_mnist().mirrors[0])


def mnist_digits(data_dir: str, random: torch.Generator) -> dict[str, DigitImages]:
    """Return the parts ``train`` (50,000 in random order), ``validation`` (10,000) and ``test`` (10,000).

    Images are subsampled to 14 x 14 pixels, and each has one version. Deviation: the IRM authors test on
    the 10,000 images that are the validation part here. We test on MNIST's own test set.

    Raises:
        UserError: the files are not there and cannot be downloaded, or one is damaged.
    """
    folder = raw_folder(data_dir)
    if not _files().are_in(folder):
        _files().fetch(folder)
    parts = _files().read(folder)
    images, digits = parts["train"]
    order = torch.randperm(len(digits), generator=random)
    # The validation images are the last ones of the file, because the IRM authors split it so. A file of
    # another size, as the tests have, is split in the same proportion.
    n_train = len(order) - len(order) * N_VALIDATION // 60_000
    order = torch.cat([order[order < n_train], order[order >= n_train]])
    train, validation = torch.split(order, [n_train, len(order) - n_train])
    return {
        "train": _part(images[train], digits[train]),
        "validation": _part(images[validation], digits[validation]),
        "test": _part(*parts["test"]),
    }


def raw_folder(data_dir: str) -> Path:
    """Return the folder in which torchvision keeps MNIST's files."""
    return Path(data_dir) / "MNIST" / "raw"


def _part(images: Tensor, digits: Tensor) -> DigitImages:
    return DigitImages(images[:, None, ::2, ::2].float() / 255, digits)


def _files() -> IdxFiles:
    dataset = _torchvision_mnist()
    return IdxFiles(
        "MNIST",
        tuple(dataset.resources),
        dataset.mirrors[0],
        "the embedded digits with dataset.source=digits",
    )


def _torchvision_mnist() -> Any:
    return import_torchvision("torchvision.datasets").MNIST
