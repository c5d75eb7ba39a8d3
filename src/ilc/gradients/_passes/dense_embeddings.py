"""Embeddings with sparse gradients, which cast their votes as dense ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def dense_embeddings(model: nn.Module) -> Iterator[None]:
    """Passes in which the model's embeddings have dense gradients, whatever ``sparse=`` they were made with.

    Votes are counted for every row of the table, so nothing is sparse once environments are added up, and
    ``torch.func`` cannot follow sparse gradients.
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
