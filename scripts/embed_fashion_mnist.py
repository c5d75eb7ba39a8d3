"""Make the part of Fashion-MNIST that comes with the project, from the original files.

    python scripts/embed_fashion_mnist.py

It draws 960 training and 200 test images of each class with seed 0 and keeps their order in the original
files. It writes four IDX files to ``src/lab/data/shipped``. It looks for the original files in ``--data-dir``
and in Debian's folder, and otherwise downloads them. At the end it prints the MD5 hashes that
``lab.data.fashion_mnist`` must hold.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import torch
from torch import Tensor

from lab.configuration.command_line import command_parser, run_command
from lab.data.download import file_md5
from lab.data.fashion_mnist import PART, PART_FILES, fashion_mnist_images
from lab.data.images import N_CLASSES
from lab.files.atomic import write_atomically
from lab.machine.seeding import generator_for

PER_CLASS = {"train": 960, "test": 200}


def main() -> None:
    """Draw, write and print the hashes."""
    parser = command_parser(__doc__)
    parser.add_argument("--data-dir", default="data", help="folder of the original files (default: data)")
    parser.add_argument("--to", type=Path, default=PART, help=f"folder to write to (default: {PART})")
    arguments = parser.parse_args()
    parts = fashion_mnist_images(arguments.data_dir)
    names = iter(name for name, _ in PART_FILES.resources)
    for part, (images, labels) in parts.items():
        rows = stratified(labels, PER_CLASS[part], generator_for(0, f"embedded {part}"))
        for values in (images[rows, 0], labels[rows].byte()):
            path = arguments.to / next(names)
            path.parent.mkdir(parents=True, exist_ok=True)
            content = gzip.compress(idx(values), compresslevel=9, mtime=0)
            write_atomically(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
            print(f"{file_md5(path)}  {path.name}  {path.stat().st_size:,} bytes")


def stratified(labels: Tensor, n: int, random: torch.Generator) -> Tensor:
    """Return the indices of ``n`` random rows of every class, in the order of the file."""
    rows = [torch.nonzero(labels == c)[:, 0] for c in range(N_CLASSES)]
    return torch.cat([own[torch.randperm(len(own), generator=random)[:n]] for own in rows]).sort().values


def idx(values: Tensor) -> bytes:
    """Return the bytes of an IDX file: the magic number, the sizes of the axes and the values."""
    header = torch.tensor([0x800 + values.ndim, *values.shape]).numpy().astype(">u4")
    return header.tobytes() + values.contiguous().numpy().tobytes()


if __name__ == "__main__":
    run_command(main)
