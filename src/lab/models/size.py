"""A check, before the layers of a network are made, that the free memory is enough to train it."""

from __future__ import annotations

from lab.machine.free_memory import check_memory

_COPIES = 4
"""The number of values per parameter in training: itself, its gradient and Adam's two averages."""
_BYTES_PER_LAYER = 10_000
"""The memory that a layer takes even if it is small."""


def check_size(name: str, n_parameters: float, n_layers: int = 0) -> None:
    """Raise UserError if training about this number of parameters needs more memory than is free."""
    n_bytes = _COPIES * 4 * n_parameters + _BYTES_PER_LAYER * n_layers
    check_memory(f"model={name}", n_bytes, "choose a narrower model, or fewer layers")
