"""Find, download, check by hash and read the IDX files of MNIST and of Fashion-MNIST."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ilc.errors import UserError
from lab.data.download import download
from lab.data.images import N_CLASSES

SIDE = 28
"""The number of pixels on a side of an image, in both data sets."""
_MAGIC = {"images": 0x803, "labels": 0x801}
"""The number that a file begins with. The 8 stands for bytes; the last digit is the number of axes."""


@dataclass(frozen=True)
class IdxFiles:
    """The four files of a data set.

    Attributes:
        name: the name of the data set, for messages.
        resources: the file name and the MD5 of each file, in the order of torchvision: training images,
            training labels, test images, test labels.
        mirror: the address that the file names are appended to; None where nothing is downloaded.
        instead: what a user can take instead of these files, for messages.
        sizes: the numbers of training and of test images.
    """

    name: str
    resources: tuple[tuple[str, str], ...]
    mirror: str | None
    instead: str
    sizes: tuple[int, int] = (60_000, 10_000)

    def are_in(self, folder: Path) -> bool:
        """Return whether all four files are in ``folder``."""
        return all((folder / name).exists() for name, _ in self.resources)

    def fetch(self, folder: Path) -> None:
        """Download the missing files. Each appears in ``folder`` only when it is whole.

        Raises:
            UserError: the network fails or the server does not send the files.
        """
        missing = {name: md5 for name, md5 in self.resources if not (folder / name).exists()}
        what = self.name if len(missing) == len(self.resources) else f"a part of {self.name}"
        try:
            for name, md5 in missing.items():
                download(f"{self.mirror}{name}", folder / name, md5)
        except OSError as error:
            raise UserError(
                f"{what} is not in {folder} and cannot be downloaded ({error}). Put "
                f"{', '.join(missing)} there, name another place with data_dir=..., or take {self.instead}"
            ) from error

    def read(self, folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
        """Return the parts ``train`` and ``test``: images ``[M, 28, 28]`` (uint8) and labels ``[M]`` (int64).

        Raises:
            UserError: a file is missing or damaged, holds a part of the data set, or does not hold what it
                should.
        """
        paths = [(folder / name, md5) for name, md5 in self.resources]
        images, labels = (
            [self._array(path, md5, kind) for path, md5 in paths[first::2]]
            for first, kind in enumerate(_MAGIC)
        )
        for i, (some, own) in enumerate(zip(images, labels, strict=True)):
            if len(some) != len(own):
                raise UserError(
                    f"{paths[2 * i][0]} holds {len(some)} images and {paths[2 * i + 1][0]} holds {len(own)} "
                    f"labels, but both numbers must be equal: {self._remedy}"
                )
        parts = zip(images, (own.long() for own in labels), strict=True)
        return dict(zip(("train", "test"), parts, strict=True))

    @property
    def _remedy(self) -> str:
        """Advice for messages: what a user can do about a damaged file."""
        if self.mirror is None:
            return f"put the original file back, or take {self.instead}"
        return "remove it and give the same command, which downloads it again"

    def _array(self, path: Path, md5: str, kind: str) -> Tensor:
        """Read one file: images ``[M, 28, 28]`` or labels ``[M]``, uint8."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror}): {self._remedy}") from error
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found != md5:
            n = _number_in(content, kind)
            if n is not None and n not in self.sizes:
                raise UserError(
                    f"{path} holds {n:,} {kind}, but {self.name} has {self.sizes[0]:,} for training and "
                    f"{self.sizes[1]:,} for tests. Results name their data, so a part does not go by the "
                    "name of the whole. Move the file away and put the whole one there, or take "
                    f"{self.instead}. Options of the dataset train on a part"
                )
            raise UserError(
                f"{path} is damaged: its MD5 is {found}, but the MD5 of {self.name} is {md5}: {self._remedy}"
            )
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not a complete gzip file ({error}): {self._remedy}") from error
        magic, shape, values = _parts_of(content, kind)
        if magic != _MAGIC[kind]:
            raise UserError(
                f"{path} is not a file of {kind} of {self.name}: it begins with {magic:#x}, expected "
                f"{_MAGIC[kind]:#x}: {self._remedy}"
            )
        if (kind == "images" and shape[1:] != [SIDE, SIDE]) or values.size != int(np.prod(shape)):
            raise UserError(
                f"{path} announces {' x '.join(map(str, shape))} bytes and holds {values.size}, but both "
                f"numbers must agree, and {self.name} has images of {SIDE} x {SIDE}: {self._remedy}"
            )
        if kind == "labels" and values.size and values.max() >= N_CLASSES:
            raise UserError(
                f"{path} holds the label {values.max()}, but labels must lie between 0 and {N_CLASSES - 1}: "
                f"{self._remedy}"
            )
        return torch.from_numpy(values.reshape(shape).copy())


def _parts_of(content: bytes, kind: str) -> tuple[int, list[int], NDArray[np.uint8]]:
    """The magic number, the length of each axis, and the bytes of an unpacked file of this kind."""
    # The header holds big-endian numbers: a magic number, whose last byte is the number of axes, and then
    # the length of each axis. What is missing counts as zero.
    n_axes = _MAGIC[kind] & 0xFF
    length = 4 + 4 * n_axes
    magic, *shape = np.frombuffer(content[:length].ljust(length, b"\0"), ">u4").tolist()
    return magic, shape, np.frombuffer(content, np.uint8, offset=min(len(content), length))


def _number_in(packed: bytes, kind: str) -> int | None:
    """The number of images or labels in a file that is whole, whoever made it; None for a damaged file."""
    try:
        magic, shape, values = _parts_of(gzip.decompress(packed), kind)
    except (OSError, EOFError, zlib.error):
        return None
    return shape[0] if magic == _MAGIC[kind] and values.size == int(np.prod(shape)) else None
