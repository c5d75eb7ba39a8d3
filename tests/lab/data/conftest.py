from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Resources = tuple[tuple[str, str], ...]
"""File name and MD5 of training images and labels, then test images and labels."""
WriteIdx = Callable[[Path], Resources]


@pytest.fixture
def write_idx() -> WriteIdx:
    """Writes 120 training and 40 test images in the real format; pixel (0, 0) holds the label."""

    def write(folder: Path) -> Resources:
        folder.mkdir(parents=True)
        random = np.random.default_rng(0)
        resources: list[tuple[str, str]] = []
        for prefix, n in (("train", 120), ("t10k", 40)):
            labels = random.integers(0, 10, n, dtype=np.uint8)
            images = random.integers(1, 255, (n, 28, 28), dtype=np.uint8)
            images[:, 0, 0] = labels
            contents = {
                f"{prefix}-images-idx3-ubyte.gz": struct.pack(">IIII", 0x803, n, 28, 28) + images.tobytes(),
                f"{prefix}-labels-idx1-ubyte.gz": struct.pack(">II", 0x801, n) + labels.tobytes(),
            }
            for name, content in contents.items():
                (folder / name).write_bytes(gzip.compress(content, mtime=0))
                resources.append((name, hashlib.md5((folder / name).read_bytes()).hexdigest()))
        return tuple(resources)

    return write
