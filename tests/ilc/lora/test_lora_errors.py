"""What ``product_basis`` refuses, in one line each, and that a refusal leaves the model as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from change_of_basis.layer import LowRankLayer, batch, layer
from ilc import AndMask, accumulate
from ilc.errors import UserError
from ilc.gradients import backward
from ilc.integrations._update import Update
from ilc.lora import product_basis


def refused(model: nn.Module, pairs: list[tuple[str, str]] | None = None) -> str:
    with pytest.raises(UserError) as error, product_basis(model, pairs):
        pass
    return str(error.value)


def test_pairs_that_are_not_there() -> None:
    assert "no trainable LoRA module" in refused(nn.Linear(3, 2))
    assert "no parameter 'lora_C'" in refused(layer(), [("lora_A", "lora_C")])
    assert "must be [r, d_in]" in refused(layer(), [("lora_B", "lora_A")])
    assert "two pairs" in refused(layer(), [("lora_A", "lora_B"), ("lora_A", "lora_B")])
    assert "names of A and B" in refused(layer(), [("lora_A", "lora_B", "lora_A")])  # type: ignore[list-item]


def frozen(model: LowRankLayer) -> None:
    model.lora_A.requires_grad_(False)


def dependent(model: LowRankLayer) -> None:
    model.lora_A.data[1] = model.lora_A.data[0]


def zero(model: LowRankLayer) -> None:
    model.lora_A.data.zero_()


def narrow(model: LowRankLayer) -> None:
    model.to(torch.bfloat16)


def hooked(model: LowRankLayer) -> None:
    model.lora_B.register_post_accumulate_grad_hook(lambda p: None)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (frozen, "lora_A is frozen and its partner is not"),
        (dependent, "not independent"),
        (zero, "not independent"),
        (narrow, "torch.bfloat16"),
        (hooked, "has a hook"),
    ],
)
def test_pairs_that_cannot_change_their_basis(spoil: Callable[[LowRankLayer], None], said: str) -> None:
    model = layer()
    spoil(model)
    before = [p.data_ptr() for p in model.parameters()]
    assert said in refused(model)
    assert [p.data_ptr() for p in model.parameters()] == before


def test_a_value_that_is_not_finite_stays_visible() -> None:
    model, (inputs, targets) = layer(), batch()
    model.lora_B.data[0, 0] = torch.inf
    with product_basis(model):
        assert torch.equal(model.lora_A, layer().lora_A)
        backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
    assert model.lora_A.grad is not None and not bool(model.lora_A.grad.isfinite().all())


def test_frozen_pairs_are_left_out() -> None:
    both = nn.ModuleList([layer(), layer(1)])
    both[0].requires_grad_(False)
    with product_basis(both):
        assert torch.equal(both[0].lora_A, layer().lora_A)
        assert not torch.equal(both[1].lora_A, layer(1).lora_A)
    both[1].requires_grad_(False)
    assert "no trainable LoRA module" in refused(both)


def test_a_gradient_that_was_added_to() -> None:
    model, (inputs, targets) = layer(), batch()
    torch.autograd.backward(F.mse_loss(model(inputs), targets))
    with pytest.raises(UserError, match="was added to one from before"), product_basis(model):
        torch.autograd.backward(F.mse_loss(model(inputs), targets))


def test_an_error_in_the_block_leaves_the_parameters_and_gradients_of_these_parameters() -> None:
    (inputs, targets), expected, model = batch(), layer(), layer()
    with product_basis(expected):
        backward(expected, F.mse_loss, inputs, targets, AndMask(0.5))
    with pytest.raises(ZeroDivisionError), product_basis(model):
        backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
        raise ZeroDivisionError
    for p, other in zip(model.parameters(), expected.parameters(), strict=True):
        assert torch.equal(p, other) and torch.equal(p.grad, other.grad)


def test_a_second_block_without_a_step_warns() -> None:
    model, (inputs, targets) = layer(), batch()
    with product_basis(model):
        backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
    with pytest.warns(UserWarning, match="overwrites the gradients"), product_basis(model):
        backward(model, F.mse_loss, inputs + 1, targets, AndMask(0.5))


def test_a_step_that_the_end_of_the_block_would_take_back() -> None:
    model, (inputs, targets) = layer(), batch()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with (
        pytest.raises(UserError, match=r"changed inside product_basis.* after the block"),
        product_basis(model),
    ):
        backward(model, F.mse_loss, inputs, targets, AndMask(0.5))
        optimizer.step()
    for p, other in zip(model.parameters(), layer().parameters(), strict=True):
        assert torch.equal(p, other)


def test_a_factor_in_two_pairs() -> None:
    both = nn.ModuleList([layer(), layer(1)])
    both[1].lora_A = both[0].lora_A
    assert "stands in two pairs" in refused(both)


def test_a_module_in_two_places_is_one_pair() -> None:
    one = layer()
    with product_basis(nn.ModuleList([one, one])):
        assert not torch.equal(one.lora_A, layer().lora_A)
    assert torch.equal(one.lora_A, layer().lora_A)


def test_three_factors() -> None:
    model = layer()
    model.lora_E = nn.Parameter(torch.ones(len(model.lora_A), 1))
    assert "AdaLoRA" in refused(model)


def test_a_block_that_ends_before_the_update() -> None:
    model, (inputs, targets) = layer(), batch()
    with pytest.raises(UserError, match="around the whole update"), accumulate(AndMask(0.5)) as votes:
        with product_basis(model):
            votes.backward(model, F.mse_loss, inputs, targets)
        assert votes.result is None
    assert all(p.grad is None for p in model.parameters())
    with pytest.raises(UserError, match="have changed"), accumulate(AndMask(0.5)) as votes:
        with product_basis(model):
            votes.backward(model, F.mse_loss, inputs, targets)
        votes.backward(model, F.mse_loss, inputs, targets)


def test_a_block_that_ends_before_an_update_that_is_collected() -> None:
    model, (inputs, targets) = layer(), batch()
    update = Update(AndMask(0.5))
    with product_basis(model):
        update.collect(model, F.mse_loss, inputs, targets, last=True)
    with pytest.raises(UserError, match="around the whole update"):
        update.fill()
