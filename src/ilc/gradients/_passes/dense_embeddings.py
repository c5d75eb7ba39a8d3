"""Dense gradients for embeddings that were made with sparse ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def dense_embeddings(model: nn.Module) -> Iterator[None]:
    """Give the model's embeddings dense gradients, whatever their option ``sparse`` is.

    Votes are counted for every row of the table, so the sums over environments are dense anyway.
    ``torch.func`` cannot differentiate with sparse gradients.
    """
    sparse = [
        layer
        for layer in model.modules()
        if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)) and layer.sparse
    ]
    for layer in sparse:
        layer.sparse = False
    try:
        yield
    finally:
        for layer in sparse:
            layer.sparse = True
