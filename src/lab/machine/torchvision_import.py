"""torchvision beside a CPU-only torch.

torchvision's published wheel is built against CUDA torch. Beside a CPU-only torch its compiled
operators do not load, and ``import torchvision`` stops with ``operator torchvision::nms does not
exist``: it describes operators to the compiler that are not there. Datasets, transforms and models
need none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import torch


def import_torchvision(name: str = "torchvision") -> ModuleType:
    """Import torchvision, or a submodule such as ``torchvision.datasets``.

    Where torchvision's operators load, this is a plain import.
    """
    with _missing_operators_skipped():
        return import_module(name)


@contextmanager
def _missing_operators_skipped() -> Iterator[None]:
    """Inside the block, ``torch.library.register_fake`` ignores missing operators of torchvision."""
    register_fake = torch.library.register_fake

    def tolerant(operator: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(operator, str) and operator.startswith("torchvision::") and not _exists(operator):
            return _unchanged
        return register_fake(operator, *arguments, **options)

    torch.library.register_fake = tolerant
    try:
        yield
    finally:
        torch.library.register_fake = register_fake


def _exists(operator: str) -> bool:
    namespace, name = operator.split("::")
    return hasattr(getattr(torch.ops, namespace), name.split(".")[0])


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function
