"""Votes of examples against one backward pass per example, layer by layer."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, GradientStatistics, Mean
from ilc.errors import UserError
from ilc.gradients import EnvironmentGradients, backward, example_local
from ilc.gradients._example_terms import convolution, sums
from ilc.gradients._ways.example_loss import chunk_that_fits, example_loss
from ilc.gradients._ways.example_share import example_share
from lab.models import FastResNet

N = 6


def head(channels: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, 3)]


def conv(**options: object) -> nn.Module:
    first = nn.Conv2d(4, 6, 3, **options)  # type: ignore[arg-type]
    return nn.Sequential(first, nn.Tanh(), nn.Conv2d(6, 5, (2, 1)), *head(5))


class Words(nn.Module):
    """Images to word indices, so that one kind of input serves all models."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.mix, self.last = nn.Embedding(7, 5, padding_idx=0), nn.LayerNorm(5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        words = (x.flatten(1)[:, :9].abs() * 3).long() % 7
        result: Tensor = self.last(self.mix(self.table(words)).mean(1))
        return result


class Turned(nn.Module):
    """A norm whose output's gradient does not lie in memory row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 8), nn.BatchNorm1d(8).eval(), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.first(x.mean((2, 3)))).T.contiguous().T
        result: Tensor = self.last(hidden.tanh())
        return result


class Sequence(nn.Module):
    """A linear layer over positions, and norms over several axes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(9, 8), nn.LayerNorm([4, 8]), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.first(x[:, :, 0]))
        result: Tensor = self.last(hidden.tanh()).mean(1)
        return result


UNMIXED: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(4 * 81, 8), nn.ReLU(), nn.Linear(8, 3)),
    "conv": conv,
    "conv stride padding": lambda: conv(stride=2, padding=1),
    "conv dilation": lambda: conv(dilation=2, padding=2),
    "conv groups": lambda: conv(groups=2, bias=False),
    "conv depthwise and same": lambda: nn.Sequential(nn.Conv2d(4, 4, 3, groups=4, padding="same"), *head(4)),
    "conv reflect": lambda: conv(padding=1, padding_mode="reflect"),
    "group norm": lambda: nn.Sequential(
        nn.Conv2d(4, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(inplace=True), *head(6)
    ),
    "layer norm": Sequence,
    "a turned gradient": Turned,
    "embedding": Words,
    "batch norm in evaluation": lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), *head(6)).eval(),
    "fast resnet": lambda: FastResNet(4, 3, width=8, norm="group"),
}


def make(name: str) -> nn.Module:
    torch.manual_seed(3)
    return UNMIXED[name]().double()


def batch() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(4)
    return torch.randn(N, 1, 4, 9, 9, generator=random, dtype=torch.float64), torch.arange(N)[:, None] % 3


def loop(model: nn.Module, inputs: Tensor, targets: Tensor) -> dict[str, GradientStatistics]:
    """The oracle: one forward pass, one ``autograd.grad`` per example with the graph retained."""
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    outputs = model(inputs[:, 0])
    rows = [
        torch.autograd.grad(
            F.cross_entropy(outputs[i : i + 1], targets[i]), list(parameters.values()), retain_graph=True
        )
        for i in range(len(inputs))
    ]
    return {
        name: GradientStatistics.zeros(p, also=("log_sum",)).add_(torch.stack(column))
        for (name, p), column in zip(parameters.items(), zip(*rows, strict=True), strict=True)
    }


def assert_same(found: dict[str, GradientStatistics], expected: dict[str, GradientStatistics]) -> None:
    assert found.keys() == expected.keys()
    for name, ours in found.items():
        theirs = expected[name]
        assert ours.n_environments == theirs.n_environments == N
        torch.testing.assert_close(ours.total, theirs.total)
        # A gradient that is zero but for rounding has no reliable sign.
        clear = theirs.total.abs() > 1e-9
        assert torch.equal(ours.sign_sum[clear], theirs.sign_sum[clear])
        if ours.log_sum is not None and theirs.log_sum is not None:
            torch.testing.assert_close(ours.log_sum[clear], theirs.log_sum[clear], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("many_positions", [0, 10**6])
@pytest.mark.parametrize("name", UNMIXED)
def test_without_mixing_the_share_is_the_gradient_of_the_examples_risk(
    name: str, many_positions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both ways to make a convolution's shares, whatever its size.
    monkeypatch.setattr(convolution, "_MANY_POSITIONS", many_positions)
    inputs, targets = batch()
    expected = loop(make(name), inputs, targets)
    found = example_share(make(name), F.cross_entropy, inputs, targets, also=("log_sum",)).statistics
    assert_same(found, expected)


def test_as_many_at_once_as_fit() -> None:
    assert chunk_that_fits(80, free=0, activations=0, parameters=100) == 1
    assert chunk_that_fits(80, free=7 * 2 * 150, activations=50, parameters=100) == 7
    assert chunk_that_fits(80, free=10**9, activations=50, parameters=100) == 80


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device can be used here")
@pytest.mark.parametrize("way", [example_local, example_loss, example_share])
def test_votes_on_a_gpu_are_those_on_a_cpu(way: Callable[..., EnvironmentGradients]) -> None:
    inputs, targets = batch()
    model = FastResNet(4, 3, width=4).double()
    expected = way(model, F.cross_entropy, inputs, targets).statistics
    found = way(model.cuda(), F.cross_entropy, inputs.cuda(), targets.cuda()).statistics
    for name, ours in found.items():
        torch.testing.assert_close(ours.total.cpu(), expected[name].total)
        clear = expected[name].total.abs() > 1e-9
        assert torch.equal(ours.sign_sum.cpu()[clear], expected[name].sign_sum[clear])


@pytest.mark.parametrize("norm", ["batch", "group"])
@pytest.mark.parametrize("chunk_size", [None, 1, 4, 6])
def test_example_loss_is_the_plain_loop(norm: str, chunk_size: int | None) -> None:
    inputs, targets = batch()
    models = [FastResNet(4, 3, width=4, norm=norm).double() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    expected = loop(models[0], inputs, targets)
    result = example_loss(models[1], F.cross_entropy, inputs, targets, chunk_size=chunk_size)
    assert_same(result.statistics, expected)
    torch.testing.assert_close(models[1].state_dict(), models[0].state_dict())


@pytest.mark.parametrize("chunk_size", [2, 6])
def test_what_torch_cannot_batch_goes_one_by_one(chunk_size: int) -> None:
    class Twice(torch.autograd.Function):
        """Twice the input. The backward pass reads a number, which a batched pass cannot."""

        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, *deltas: Tensor) -> Tensor:
            assert float(deltas[0].abs().sum()) >= 0
            return 2 * deltas[0]

    class Model(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            outputs: Tensor = Twice.apply(super().forward(x.flatten(1)))
            return outputs

    inputs, targets = batch()
    model = Model(nn.Linear(inputs[0].numel(), 3)).double()
    expected = loop(model, inputs, targets)
    found = example_loss(model, F.cross_entropy, inputs, targets, chunk_size=chunk_size)
    assert_same(found.statistics, expected)


def test_under_batch_norm_both_votes_sum_to_the_batch_gradient_but_differ() -> None:
    inputs, targets = batch()
    torch.manual_seed(5)
    model = FastResNet(4, 3, width=4).double()
    share = example_share(model, F.cross_entropy, inputs, targets).statistics
    loss = example_loss(model, F.cross_entropy, inputs, targets).statistics
    F.cross_entropy(model(inputs[:, 0]), targets[:, 0], reduction="sum").backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(share[name].total, p.grad)
        torch.testing.assert_close(loss[name].total, p.grad)
    first = "features.0.0.weight"
    assert not torch.equal(share[first].sign_sum, loss[first].sign_sum)


@pytest.mark.parametrize("enough", [1, 4])
@pytest.mark.parametrize("budget", [1, 2_500, 2**28])
def test_any_chunk_size_gives_the_same(budget: int, enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = batch()
    expected = example_share(make("fast resnet"), F.cross_entropy, inputs, targets).statistics
    monkeypatch.setattr(sums, "_ELEMENTS_AT_ONCE", {False: budget, True: budget})
    monkeypatch.setattr(sums, "_ENOUGH_EXAMPLES", enough)
    assert_same(example_share(make("fast resnet"), F.cross_entropy, inputs, targets).statistics, expected)


def test_frozen_layers_are_left_out_and_the_rest_is_unchanged() -> None:
    inputs, targets = batch()
    model = make("fast resnet")
    expected = loop(model, inputs, targets)
    for name, p in model.named_parameters():
        p.requires_grad_(not name.startswith(("features.0", "features.3.change.0.0")))
    found = example_share(model, F.cross_entropy, inputs, targets).statistics
    assert found.keys() == {name for name, p in model.named_parameters() if p.requires_grad}
    assert_same(found, {name: expected[name] for name in found})


def test_autocast() -> None:
    inputs, targets = batch()
    model = make("fast resnet").float()
    exact = example_share(model, F.cross_entropy, inputs.float(), targets).statistics
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = example_share(model, F.cross_entropy, inputs.float(), targets).statistics
    for name, ours in mixed.items():
        assert ours.total.dtype == torch.float32
        cosine = F.cosine_similarity(ours.total.flatten(), exact[name].total.flatten(), dim=0)
        assert cosine > 0.9, name


@pytest.mark.slow
@pytest.mark.parametrize("way", [example_share, example_loss])
def test_nothing_is_left_behind(way: Callable[..., object]) -> None:
    inputs, targets = batch()
    model = make("fast resnet")
    before = dict(model.named_parameters())

    def tensors() -> int:
        while gc.collect():  # What other tests left may take several passes.
            pass
        return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())

    way(model, F.cross_entropy, inputs, targets)
    alive = tensors()
    for _ in range(3):
        way(model, F.cross_entropy, inputs, targets)
    assert tensors() == alive
    assert all(
        p is before[name] and p.requires_grad and p.grad is None for name, p in model.named_parameters()
    )
    assert all(not layer._forward_hooks and not layer._backward_hooks for layer in model.modules())


def test_nothing_is_left_behind_after_an_error() -> None:
    inputs, targets = batch()
    model = make("fast resnet")
    with pytest.raises(ValueError, match="third"):
        example_share(model, lambda o, t: (_ for _ in ()).throw(ValueError("third")), inputs, targets)
    assert all(not layer._forward_hooks for layer in model.modules())


def test_threshold_zero_trains_like_the_plain_batch() -> None:
    inputs, targets = batch()
    model = make("fast resnet")
    result = backward(model, F.cross_entropy, inputs, targets, AndMask(0.0), gradients="per_example")
    found = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad()
    F.cross_entropy(model(inputs[:, 0]), targets[:, 0]).backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(found[name], p.grad)
    assert result.risks.shape == (N,)


@pytest.mark.parametrize("way", [example_share, example_loss])
def test_environments_of_several_examples_are_refused(way: Callable[..., object]) -> None:
    inputs, targets = batch()
    with pytest.raises(UserError, match=r"reshape \[E, N, ...\] to \[E \* N, 1, ...\]"):
        way(make("linear"), F.cross_entropy, inputs.reshape(3, 2, 4, 9, 9), targets.reshape(3, 2))


@pytest.mark.parametrize("way", [example_share, example_loss])
def test_a_detached_risk_is_refused(way: Callable[..., object]) -> None:
    inputs, targets = batch()
    with pytest.raises(UserError, match="does not depend on any trainable parameter"):
        way(make("linear"), lambda o, t: F.cross_entropy(o.detach(), t), inputs, targets)


def test_per_example_works_with_every_aggregator_by_name() -> None:
    inputs, targets = batch()
    model = make("linear")
    result = backward(model, F.cross_entropy, inputs, targets, Mean(), gradients="per_example")
    assert float(result.overall_kept_share) == 1.0


def test_where_a_product_underflows_the_signs_of_its_factors_still_vote() -> None:
    model = nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    inputs = torch.tensor([[[1e-30, 0.0]], [[1e-30, 1.0]]])
    targets = torch.zeros(2, 1)
    # Output gradients of 1e-30, so that the first weight's gradients of 1e-60 are 0 in single precision.
    arguments = (model, lambda o, t: 1e-30 * o.sum(), inputs, targets)
    found = example_share(*arguments, also=("log_sum",), written_out=False)
    statistics = found.statistics["weight"]
    assert statistics.total[0, 0] == 0
    assert statistics.sign_sum.tolist() == [[2.0, 1.0]]
    assert statistics.log_sum is not None
    assert float(statistics.log_sum[0, 0]) == pytest.approx(-4 * 30 * 2.302585, rel=1e-4)
    assert float(statistics.log_sum[0, 1]) == -torch.inf


def test_a_layer_of_one_output_votes_alike_written_out_or_not() -> None:
    model = nn.Linear(3, 1).double()
    inputs, targets = torch.randn(6, 1, 3).double(), torch.randn(6, 1, 1).double()
    one, other = (
        example_share(model, F.mse_loss, inputs, targets, written_out=way).statistics for way in (True, False)
    )
    for name, statistics in one.items():
        torch.testing.assert_close(statistics.total, other[name].total)
        assert torch.equal(statistics.sign_sum, other[name].sign_sum)
