"""CIFAR-10. The files are found in ``data_dir`` or downloaded, checked by their hash and decoded once."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ilc.errors import UserError
from lab.data.download import download, file_md5, server_answers
from lab.data.images import PARTS, LabelledImages, read_decoded
from lab.machine.torchvision_import import import_torchvision

SHAPE = (3, 32, 32)
SIZES = {"train": 50_000, "test": 10_000}


def cifar10_is_at_hand(data_dir: str, seconds: float) -> bool:
    """Return whether the files are there in some form, or else the server answers within ``seconds``."""
    dataset, folder = _torchvision_cifar10(), Path(data_dir)
    names = (dataset.base_folder, dataset.filename, _decoded_name())
    return any((folder / name).exists() for name in names) or server_answers(dataset.url, seconds)


def cifar10_images(data_dir: str) -> dict[str, LabelledImages]:
    """Return the parts ``train`` (50,000 images) and ``test`` (10,000).

    The files that torchvision keeps in ``data_dir`` are used as they are. The first call decodes them into
    one file beside them. Later calls read that file.

    Raises:
        UserError: the files are not there and cannot be downloaded, or one is damaged.
    """
    decoded = Path(data_dir) / _decoded_name()

    def decode() -> dict[str, LabelledImages]:
        return {name: _decode(data_dir, name == "train") for name in PARTS}

    return read_decoded(decoded, decode, SHAPE, SIZES)


def _decode(data_dir: str, train: bool) -> LabelledImages:
    dataset, folder = _torchvision_cifar10(), Path(data_dir)
    if not (folder / dataset.base_folder).exists():
        _unpack(folder)
    try:
        loaded = dataset(data_dir, train=train)  # This checks the hash of every file before it reads any.
    except RuntimeError as error:
        raise UserError(_what_is_wrong_in(folder / dataset.base_folder)) from error
    images = torch.from_numpy(np.ascontiguousarray(loaded.data.transpose(0, 3, 1, 2)))
    return LabelledImages(images, torch.tensor(loaded.targets))


def _what_is_wrong_in(folder: Path) -> str:
    """The message about a folder of torchvision that does not hold CIFAR-10 as it is."""
    dataset = _torchvision_cifar10()
    meta = (dataset.meta["filename"], dataset.meta["md5"])
    expected = dict([*dataset.train_list, *dataset.test_list, meta])
    missing = [name for name in expected if not (folder / name).exists()]
    remedy = "move it away and give the same command, which unpacks or downloads the whole data set"
    if missing:
        return (
            f"{folder} lacks {', '.join(missing)}. Only the whole CIFAR-10 goes by its name: put these files "
            f"there, or {remedy}; dataset.n_environments=N trains on N of its images"
        )
    other = [name for name, md5 in expected.items() if file_md5(folder / name) != md5]
    return f"{folder} holds another {', '.join(other)} than CIFAR-10, by the MD5: {remedy}"


def _unpack(folder: Path) -> None:
    """Put torchvision's folder in place in one step. The archive is downloaded first if it is missing."""
    dataset = _torchvision_cifar10()
    archive = folder / dataset.filename
    try:
        if not archive.exists():
            download(dataset.url, archive, dataset.tgz_md5)
    except OSError as error:
        raise UserError(
            f"CIFAR-10 is not in {folder} and cannot be downloaded ({error}). Put {dataset.filename} there, "
            "name another place with data_dir=..., or take the embedded images with dataset.source=embedded"
        ) from error
    found = file_md5(archive)
    if found != dataset.tgz_md5:
        raise UserError(
            f"{archive} is damaged: its MD5 is {found}, but the MD5 of CIFAR-10 is {dataset.tgz_md5}. Remove "
            "it and give the same command again"
        )
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        import_torchvision("torchvision.datasets.utils").extract_archive(str(archive), temporary)
        try:
            (Path(temporary) / dataset.base_folder).replace(folder / dataset.base_folder)
        except OSError:
            if not (folder / dataset.base_folder).is_dir():  # Else another process was faster.
                raise


def _decoded_name() -> str:
    # The name contains the archive's hash, so that another version cannot be mistaken for this one.
    return f"cifar-10-{_torchvision_cifar10().tgz_md5[:8]}.pt"


def _torchvision_cifar10() -> Any:
    return import_torchvision("torchvision.datasets").CIFAR10
