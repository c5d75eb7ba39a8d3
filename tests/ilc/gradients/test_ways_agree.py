"""Both ways of obtaining environment gradients against a plain loop of ``autograd.grad``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import (
    Aggregator,
    AndMask,
    GeometricMean,
    Mean,
    MeanOfEnvironments,
    XorMask,
)
from ilc.errors import UserError
from ilc.gradients import backward, vectorized
from ilc.gradients._ways.pooled import pooled
from ilc.gradients._ways.sum_only import sum_only
from ilc.gradients._ways.vectorized import by_vmap
from lab.models import MLP

E, N, D = 5, 8, 6
ENVIRONMENT_WAYS = ("vectorized", "sequential")
AGGREGATORS = [Mean(), AndMask(0.5), AndMask(0.6, rescale=True), XorMask(0.5), GeometricMean(0.2)]


def mlp() -> nn.Module:
    return MLP(D, 3, hidden_units=10, hidden_layers=2)


def with_batch_norm() -> nn.Module:
    return MLP(D, 3, hidden_units=10, hidden_layers=2, batch_norm=True)


def with_layer_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))


def partly_frozen() -> nn.Module:
    model = MLP(D, 3, hidden_units=10, hidden_layers=2, batch_norm=True)
    next(model.parameters()).requires_grad_(False)
    return model


class PartlyUnused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(D, 3), nn.Linear(D, 3)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.used(x)
        return result


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, 3)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.second(self.first(x).tanh()).tanh())
        return result


MODELS: list[Callable[[], nn.Module]] = [
    mlp,
    with_batch_norm,
    with_layer_norm,
    partly_frozen,
    PartlyUnused,
    Tied,
]


def make(model: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(1)
    return model().double()


def batch() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, N, D, generator=random, dtype=torch.float64)
    return inputs, torch.randint(0, 3, (E, N), generator=random)


def plain_loop(
    model: nn.Module, inputs: Tensor, targets: Tensor, aggregator: Aggregator
) -> dict[str, Tensor]:
    """The oracle: stack all gradients, one ``autograd.grad`` per environment."""
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    rows = []
    for x, y in zip(inputs, targets, strict=True):
        gradients = torch.autograd.grad(
            F.cross_entropy(model(x), y), list(parameters.values()), allow_unused=True
        )
        rows.append(
            [
                torch.zeros_like(p) if g is None else g
                for g, p in zip(gradients, parameters.values(), strict=True)
            ]
        )
    return {
        name: aggregator(torch.stack(column))
        for name, column in zip(parameters, zip(*rows, strict=True), strict=True)
    }


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("make_model", MODELS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_gradients_match_the_plain_loop(
    way: str, make_model: Callable[[], nn.Module], aggregator: Aggregator
) -> None:
    inputs, targets = batch()
    expected = plain_loop(make(make_model), inputs, targets, aggregator)
    model = make(make_model)
    result = backward(model, F.cross_entropy, inputs, targets, aggregator, gradients=way)
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert found.keys() == expected.keys() == result.kept_share.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name])


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_risks_and_kept_shares_are_reported(way: str) -> None:
    model, (inputs, targets) = make(mlp), batch()
    result = backward(model, F.cross_entropy, inputs, targets, AndMask(0.6), gradients=way)
    expected = torch.stack([F.cross_entropy(model(x), y) for x, y in zip(inputs, targets, strict=True)])
    torch.testing.assert_close(result.risks, expected.detach())
    kept = size = 0
    for name, p in model.named_parameters():
        assert p.grad is not None
        share = (p.grad != 0).double().mean()
        torch.testing.assert_close(result.kept_share[name].double(), share)
        kept, size = kept + int((p.grad != 0).sum()), size + p.numel()
    assert float(result.overall_kept_share) == pytest.approx(kept / size)


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_batch_norm_statistics_end_as_the_mean_over_environments(way: str) -> None:
    model, (inputs, targets) = make(with_batch_norm), batch()
    after = []
    for x in inputs:
        one = make(with_batch_norm)
        one(x)
        after.append(dict(one.named_buffers()))
    backward(model, F.cross_entropy, inputs, targets, Mean(), gradients=way)
    for name, buffer in model.named_buffers():
        expected = torch.stack([buffers[name] for buffers in after]).double().mean(0)
        torch.testing.assert_close(buffer.double(), expected)


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_batch_norm_in_evaluation_mode_is_left_alone(way: str) -> None:
    model, (inputs, targets) = make(with_batch_norm).eval(), batch()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    backward(model, F.cross_entropy, inputs, targets, Mean(), gradients=way)
    for name, buffer in model.named_buffers():
        assert torch.equal(buffer, before[name])


def test_buffers_are_restored_when_an_environment_fails() -> None:
    model, (inputs, targets) = make(with_batch_norm), batch()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    assert len(inputs) > 3
    third = targets[2].clone()

    def fails_at_the_third(outputs: Tensor, labels: Tensor) -> Tensor:
        if torch.equal(labels, third):
            raise RuntimeError("third")
        return F.cross_entropy(outputs, labels)

    with pytest.raises(RuntimeError, match="third"):
        backward(model, fails_at_the_third, inputs, targets, Mean(), gradients="sequential")
    for name, buffer in model.named_buffers():
        assert torch.equal(buffer, before[name])


@pytest.mark.parametrize("way", ENVIRONMENT_WAYS)
def test_dropout_differs_between_environments_and_examples(way: str) -> None:
    """All environments and examples are equal, so only dropout can tell them apart."""
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(200, 2)).double()
    inputs = torch.ones(4, 3, 200, dtype=torch.float64)
    result = backward(
        model, F.cross_entropy, inputs, torch.zeros(4, 3, dtype=torch.long), Mean(), gradients=way
    )
    assert len(set(result.risks.tolist())) == 4
    weight = model[1].weight.grad
    assert weight is not None
    # Twelve independent masks, each keeping half at double size: column means average to 1.
    scale = weight[0].abs() / weight[0].abs().mean()
    assert 0.1 < float(scale.std()) < 0.6


def test_vectorized_in_several_passes_equals_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = batch()
    passes = {}
    for budget in (2**30, 1):
        # The module's name is hidden by the function's, hence the way through its globals.
        monkeypatch.setitem(vectorized.__globals__["_BYTES_AT_ONCE"], "cpu", budget)
        plain, normalised = make(mlp), make(with_batch_norm)
        backward(normalised, F.cross_entropy, inputs, targets, AndMask(0.0))
        passes[budget] = by_vmap(plain, F.cross_entropy, inputs, targets), normalised
    (in_one, one), (in_five, five) = passes.values()
    torch.testing.assert_close(in_five.risks, in_one.risks)
    for name in in_one.statistics:
        torch.testing.assert_close(in_five.statistics[name].total, in_one.statistics[name].total)
        assert torch.equal(in_five.statistics[name].sign_sum, in_one.statistics[name].sign_sum)
    torch.testing.assert_close(five.state_dict(), one.state_dict())


def test_votes_that_nobody_counted_are_not_a_number() -> None:
    """A mean needs no votes, so none are gathered; who looked at them would notice."""
    inputs, targets = batch()
    model = make(mlp)
    everything = vectorized(model, F.cross_entropy, inputs, targets).statistics
    for name, statistics in sum_only(model, F.cross_entropy, inputs, targets).statistics.items():
        torch.testing.assert_close(statistics.total, everything[name].total)
        assert statistics.sign_sum.isnan().all()


def test_pooled_is_plain_training() -> None:
    inputs, targets = batch()
    plain, ours = make(with_batch_norm), make(with_batch_norm)
    F.cross_entropy(plain(inputs.flatten(0, 1)), targets.flatten()).backward()
    result = backward(ours, F.cross_entropy, inputs, targets, Mean(), "pooled")
    assert result.risks.shape == (1,)
    for expected, parameter in zip(plain.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad)
    torch.testing.assert_close(ours.state_dict(), plain.state_dict())


def test_pooled_equals_vectorized_where_no_layer_mixes_examples() -> None:
    inputs, targets = batch()
    one_by_one = vectorized(make(mlp), F.cross_entropy, inputs, targets)
    together = pooled(make(mlp), F.cross_entropy, inputs, targets)
    for name, statistics in together.statistics.items():
        torch.testing.assert_close(statistics.total, one_by_one.statistics[name].total / E)


@pytest.mark.parametrize("aggregator", [AndMask(0.0), MeanOfEnvironments()])
def test_pooled_refuses_whoever_needs_environments(aggregator: Aggregator) -> None:
    inputs, targets = batch()
    with pytest.raises(UserError, match="does not tell environments apart"):
        backward(make(mlp), F.cross_entropy, inputs, targets, aggregator, "pooled")
