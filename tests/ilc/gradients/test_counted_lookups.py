"""Look-ups that divide gradients by how often an index occurs, without a module that says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import backward


class Words(nn.Module):
    def __init__(self, look_up: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.table, self.last, self.look_up = nn.Parameter(torch.randn(9, 4)), nn.Linear(4, 2), look_up

    def forward(self, indices: Tensor) -> Tensor:
        result: Tensor = self.last(self.look_up(indices, self.table))
        return result


LOOK_UPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "embedding": lambda i, table: F.embedding(i, table, scale_grad_by_freq=True).mean(-2),
    "by place": lambda i, table: F.embedding(i, table, None, None, 2.0, True).mean(-2),
    "torch": lambda i, table: torch.embedding(table, i, -1, True, False).mean(-2),
    "bag": lambda i, table: F.embedding_bag(i, table, scale_grad_by_freq=True, mode="sum"),
}


@pytest.mark.parametrize("look_up", LOOK_UPS.values(), ids=LOOK_UPS)
def test_environments_go_one_after_another(
    look_up: Callable[[Tensor, Tensor], Tensor], same_as_loop: Callable[..., None]
) -> None:
    """The first batch has no word twice, so that it shows nothing."""
    torch.manual_seed(0)
    model = Words(look_up)
    unlike = torch.arange(9).view(3, 1, 3)
    for words in (unlike, torch.tensor([0, 0, 1, 1, 2, 0, 2, 2, 2]).view(3, 1, 3)):
        targets = torch.randint(0, 2, words.shape[:2])
        same_as_loop(model, F.cross_entropy, words, targets, "vectorized", Mean())


@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
@pytest.mark.parametrize("look_up", LOOK_UPS.values(), ids=LOOK_UPS)
def test_votes_of_examples_are_refused(look_up: Callable[[Tensor, Tensor], Tensor], way: str) -> None:
    torch.manual_seed(0)
    words, targets = torch.randint(0, 9, (6, 1, 3)), torch.randint(0, 2, (6, 1))
    with pytest.raises(UserError, match="how often an index occurs"):
        backward(Words(look_up), F.cross_entropy, words, targets, AndMask(0.5), way)


def test_a_look_up_without_counts_goes_on() -> None:
    torch.manual_seed(0)
    model = Words(lambda i, table: F.embedding(i, table).mean(-2))
    words, targets = torch.randint(0, 9, (6, 1, 3)), torch.randint(0, 2, (6, 1))
    result = backward(model, F.cross_entropy, words, targets, AndMask(0.5), "per_example")
    assert result.risks.isfinite().all()
