"""Batches and models of transformers, tiny and with random weights, against a plain loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ilc import verify
from ilc.aggregators import AndMask
from ilc.gradients import backward

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def model() -> Any:
    """GPT-2, imported after torchvision, which transformers imports where it is installed."""
    from lab.machine.torchvision_import import import_torchvision

    import_torchvision()
    torch.manual_seed(0)
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 8, "vocab_size": 20, "n_positions": 16}
    config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config).double().eval()


def padded(n: int, length: int, seed: int) -> Any:
    random = torch.Generator().manual_seed(seed)
    # Of two tokens the only prediction sees one token, and the gradient of queries and keys is rounding.
    mask = (torch.arange(length) < torch.randint(3, length + 1, (n, 1), generator=random)).long()
    ids = torch.randint(0, 20, (n, length), generator=random)
    values = {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}
    return transformers.BatchEncoding(values | {"token_type_ids": None})


def of_output(outputs: Any) -> Tensor:
    return outputs.loss


def rows_of(model: Any, losses: list[Tensor]) -> list[Tensor]:
    rows = [torch.autograd.grad(loss, list(model.parameters())) for loss in losses]
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def assert_update(model: Any, rows: list[Tensor], aggregator: AndMask) -> None:
    for p, column in zip(model.parameters(), rows, strict=True):
        torch.testing.assert_close(p.grad, aggregator(column), rtol=1e-9, atol=1e-12)
    model.zero_grad()


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("lengths", [(8, 8, 8), (8, 5, 6)])
def test_padded_batches_with_labels(model: Any, lengths: tuple[int, ...], way: str) -> None:
    batches = [padded(3, length, seed) for seed, length in enumerate(lengths)]
    losses = [model(**batch).loss for batch in batches]
    result = backward(model, of_output, batches, aggregator=AndMask(0.8), gradients=way)
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    assert_update(model, rows_of(model, losses), AndMask(0.8))
    assert verify(model, of_output, batches, aggregator=AndMask(0.8), gradients=way).right


def test_votes_of_the_examples_of_a_padded_batch(model: Any) -> None:
    def risk(outputs: Any, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    batch = padded(5, 8, 3)
    losses = []
    for i in range(5):
        ids = batch["input_ids"][i : i + 1, : int(batch["attention_mask"][i].sum())]
        losses.append(risk(model(input_ids=ids), ids))
    inputs = {key: batch[key].unsqueeze(1) for key in ("input_ids", "attention_mask")}
    labels = batch["labels"].unsqueeze(1)
    result = backward(model, risk, inputs, labels, AndMask(0.5), "per_example_loss")
    torch.testing.assert_close(result.risks, torch.stack(losses).detach())
    assert_update(model, rows_of(model, losses), AndMask(0.5))
