"""Fashion-MNIST: the whole data set from the original files, or the part that comes with the project.

The images show ten kinds of clothes in grey, with 28 x 28 pixels. The source is Xiao, Rasul and Vollgraf,
Fashion-MNIST, arXiv 1708.07747; the licence is MIT.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.data.download import server_answers
from lab.data.idx import IdxFiles
from lab.data.images import LabelledImages
from lab.machine.torchvision_import import import_torchvision

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
"""The folder in which Debian's package ``dataset-fashion-mnist`` puts the files."""
DEBIAN_FILES = IdxFiles(
    "Debian's dataset-fashion-mnist",
    (
        ("train-images-idx3-ubyte.gz", "cf8536b0aa1a6ac5fa3f23001093305c"),
        ("train-labels-idx1-ubyte.gz", "10bea18fdb374794d4bb42e356e600c9"),
        ("t10k-images-idx3-ubyte.gz", "f78720b4224f21cce2f2ccf2d7a94c9a"),
        ("t10k-labels-idx1-ubyte.gz", "0d30e22e447f3c33dab9ed536400ac01"),
    ),
    None,
    "another dataset.source",
)
"""The original files with another gzip header.

Debian removes the date and the name from the header, so the hashes differ from torchvision's. With the date
2017-08-31 and the names put back, the hashes are the same. So the content is the original."""
PART = Path(__file__).parent / "shipped"
"""The folder of the part that comes with the project. ``scripts/embed_fashion_mnist.py`` makes that part."""
PART_FILES = IdxFiles(
    "the part of Fashion-MNIST that comes with the project",
    (
        ("train-images-idx3-ubyte.gz", "27d997d62e0d596f2bed446ce61a349a"),
        ("train-labels-idx1-ubyte.gz", "0013bf2c0663b2ef6b8967f714254bd8"),
        ("t10k-images-idx3-ubyte.gz", "6e10484da24148834e2c818942a9a542"),
        ("t10k-labels-idx1-ubyte.gz", "238b9b39190a7d18b7b097a50a2b3308"),
    ),
    None,
    "another dataset.source",
    (9_600, 2_000),
)


def fashion_mnist_is_at_hand(data_dir: str, seconds: float) -> bool:
    """Return whether the files are there, or else the server answers within ``seconds``."""
    if _files().are_in(_folder(data_dir)) or DEBIAN_FILES.are_in(DEBIAN):
        return True
    return server_answers(_torchvision_fashion_mnist().mirrors[0], seconds)


def fashion_mnist_images(data_dir: str) -> dict[str, LabelledImages]:
    """Return the parts ``train`` (60,000 images) and ``test`` (10,000), with one channel.

    The files are taken from torchvision's folder in ``data_dir`` or from Debian's folder. If they are in
    neither, they are downloaded to torchvision's.

    Raises:
        UserError: the files are not there and cannot be downloaded, or one is damaged.
    """
    folder, files = _folder(data_dir), _files()
    if not files.are_in(folder):
        if DEBIAN_FILES.are_in(DEBIAN):
            return _images(DEBIAN_FILES, DEBIAN)
        files.fetch(folder)
    return _images(files, folder)


def embedded_images() -> dict[str, LabelledImages]:
    """Return the parts ``train`` (9,600 images) and ``test`` (2,000), with equally many images of each class.

    Raises:
        UserError: a file is missing or damaged.
    """
    return _images(PART_FILES, PART)


def _images(files: IdxFiles, folder: Path) -> dict[str, LabelledImages]:
    return {
        name: LabelledImages(images.unsqueeze(1), labels)
        for name, (images, labels) in files.read(folder).items()
    }


def _folder(data_dir: str) -> Path:
    return Path(data_dir) / "FashionMNIST" / "raw"


def _files() -> IdxFiles:
    dataset = _torchvision_fashion_mnist()
    return IdxFiles(
        "Fashion-MNIST",
        tuple(dataset.resources),
        dataset.mirrors[0],
        "the embedded part of it with dataset.source=embedded",
    )


def _torchvision_fashion_mnist() -> Any:
    return import_torchvision("torchvision.datasets").FashionMNIST
