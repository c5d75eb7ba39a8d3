"""Batches that no way can take: one line each, which names the environment and the remedy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import verify
from ilc.aggregators import AndMask, Mean, VRex
from ilc.errors import UserError
from ilc.gradients import backward

T = 4


class Reader(nn.Module):
    """A model with named arguments, and with a loss of its own in the output."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 3)

    def forward(self, ids: Tensor, mask: Tensor, labels: Tensor | None = None) -> dict[str, Tensor | None]:
        logits = (self.words(ids) * mask[..., None]).sum(1)
        return {"loss": None if labels is None else F.cross_entropy(logits, labels), "logits": logits}


def of_output(outputs: dict[str, Any]) -> Tensor:
    loss: Tensor = outputs["loss"]
    return loss


def environment(n: int, length: int = T) -> dict[str, Any]:
    labels = torch.zeros(n, dtype=torch.long)
    return {"ids": torch.zeros(n, length, dtype=torch.long), "mask": torch.ones(n, length), "labels": labels}


UNEQUAL = [environment(3), environment(2), environment(3)]


def without(key: str) -> list[dict[str, Any]]:
    return [*UNEQUAL[:2], {name: value for name, value in UNEQUAL[2].items() if name != key}]


def hidden(at: int) -> list[dict[str, Any]]:
    batches = [{"attention_mask": torch.ones(3, 4), "labels": torch.zeros(3)} for _ in range(3)]
    batches[at]["attention_mask"][1] = 0
    return batches


ONE = {"ids": torch.zeros(4, 1, T, dtype=torch.long), "mask": torch.ones(4, 1, T)}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no environment": ({"inputs": []}, "at least one, got batches of \\[\\]"),
    "no example": ({"inputs": [environment(3), environment(0)]}, "batches of \\[3, 0\\]"),
    "a nest without environments": ({"inputs": {"ids": torch.zeros(0, 3, 4)}}, "both at least 1"),
    "nests that differ": ({"inputs": without("mask")}, r"environment 2 .* nothing at \['mask'\].* a tensor"),
    "no axis N": ({"inputs": {"ids": torch.zeros(3, 4), "mask": torch.zeros(3)}}, r"\(3, 4\), \(3,\)"),
    "a mask that hides all": ({"inputs": hidden(1)}, "hides all of example 1 of environment 1"),
    "only ignored labels": (
        {"inputs": [{"labels": torch.tensor([1, -100])}, {"labels": torch.tensor([-100, -100])}]},
        "all labels of environment 1 are -100",
    ),
    "other arguments": ({"inputs": [{"word": torch.zeros(3, 4)}]}, "does not take these inputs .*'ids'"),
    "aggregator as targets": ({"inputs": UNEQUAL, "targets": Mean(), "aggregator": None}, "name it"),
    "no aggregator": ({"inputs": UNEQUAL, "aggregator": None}, "aggregator must be an .*NoneType"),
    "losses and a batch": ({"loss_fn": [lambda: 0], "inputs": UNEQUAL}, "give no batch, or"),
    "no losses": ({"loss_fn": []}, "there is no environment"),
    "a loss that is a number": ({"loss_fn": [lambda: 0.5]}, "the loss of environment 0: .*got float"),
    "half functions": ({"loss_fn": [lambda: 0.5, torch.zeros(())]}, "some losses are functions"),
    "losses per example": ({"loss_fn": [lambda: 0.5], "gradients": "per_example"}, "'per_example' makes its"),
    "losses for a joint one": ({"loss_fn": [lambda: 0.5], "aggregator": VRex(1.0)}, "VRex makes its own"),
    "a loss of another type": ({"loss_fn": "cross_entropy"}, "must be a function, or a list .*got str"),
    "sizes per example": ({"inputs": UNEQUAL, "gradients": "per_example"}, "not environments of different"),
    "a loss of all": (
        {"inputs": {**ONE, "labels": torch.zeros(4, 1, dtype=torch.long)}, "gradients": "per_example_loss"},
        "belongs to all of them",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_batches_are_one_line(what: str) -> None:
    change, message = WRONG[what]
    given = {"loss_fn": of_output, "inputs": None, "aggregator": AndMask(0.5), **change}
    with pytest.raises(UserError, match=message) as error:
        backward(Reader(), **given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("way", "shape", "message"),
    [
        ("vectorized", (3, 1), "every environment has one example"),
        ("sequential", (3, 1), "every environment has one example"),
        ("per_example", (1, 1), "the batch has one example"),
        ("pooled", (1, 1), "the batch has one example"),
    ],
)
def test_batch_norm_of_one_example_is_named(way: str, shape: tuple[int, int], message: str) -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    with pytest.raises(UserError, match=f"{message}, and BatchNorm in training mode"):
        backward(model, F.cross_entropy, torch.randn(*shape, 5), torch.zeros(shape).long(), Mean(), way)


def test_verify_refuses_losses_by_name() -> None:
    with pytest.raises(UserError, match="loss_fn is a list of losses"):
        verify(Reader(), [lambda: torch.zeros(())], aggregator=Mean())
