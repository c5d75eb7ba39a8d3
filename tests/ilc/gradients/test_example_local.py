"""The local vote: own risk, batch statistics followed into the layer below, and the true batch gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, GeometricMean, GradientStatistics, Mean
from ilc.errors import UserError
from ilc.gradients import backward, example_local, example_loss
from ilc.gradients._example_terms import convolution, sums
from lab.models import MLP, FastResNet

N = 6


def head(channels: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, 3)]


class Volume(nn.Module):
    """BatchNorm of one, two and three dimensions, each after its convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.three, self.norm_three = nn.Conv3d(1, 3, (2, 3, 3)), nn.BatchNorm3d(3)
        self.one, self.norm_one = nn.Conv1d(9, 5, 3, padding=1, stride=2), nn.BatchNorm1d(5)
        self.last = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm_three(self.three(x.unsqueeze(1))).tanh()
        result: Tensor = self.last(self.norm_one(self.one(hidden.flatten(1, 2).flatten(2))).tanh().mean(2))
        return result


class Branching(nn.Module):
    """A convolution whose output goes through BatchNorm and past it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(4, 5, 3), nn.BatchNorm2d(5)
        self.rest = nn.Sequential(*head(5))

    def forward(self, x: Tensor) -> Tensor:
        z = self.first(x)
        result: Tensor = self.rest(self.norm(z).tanh() + z.sin())
        return result


class OutOfOrder(nn.Module):
    """Named and registered in another order than it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_b, self.norm_a = nn.BatchNorm2d(5), nn.BatchNorm2d(5)
        self.b, self.a = nn.Conv2d(5, 5, 3), nn.Conv2d(4, 5, 3)
        self.rest = nn.Sequential(*head(5))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.rest(self.norm_b(self.b(self.norm_a(self.a(x)).tanh())).tanh())
        return result


MIXING: dict[str, Callable[[], nn.Module]] = {
    "fast resnet": lambda: FastResNet(4, 3, width=4),
    "perceptron": lambda: nn.Sequential(nn.Flatten(), MLP(4 * 81, 3, 8, 2, batch_norm=True)),
    "groups, stride, reflection": lambda: nn.Sequential(
        nn.Conv2d(4, 6, 3, groups=2, stride=2, padding=1, padding_mode="reflect"),
        nn.BatchNorm2d(6),
        nn.Tanh(),
        nn.Conv2d(6, 5, (2, 1), bias=False, dilation=(2, 1), padding="same"),
        nn.BatchNorm2d(5, affine=False),
        nn.Tanh(),
        *head(5),
    ),
    "reflection and a dilated same": lambda: nn.Sequential(
        nn.Conv2d(4, 6, 3, stride=2, padding=1, padding_mode="reflect"),
        nn.BatchNorm2d(6),
        nn.Tanh(),
        nn.Conv2d(6, 6, 3, padding="same"),
        nn.BatchNorm2d(6),
        nn.Tanh(),
        nn.Conv2d(6, 5, (2, 1), bias=False, dilation=(2, 1), padding="same"),
        nn.BatchNorm2d(5),
        nn.Tanh(),
        *head(5),
    ),
    "without running statistics": lambda: nn.Sequential(
        nn.Conv2d(4, 6, 3),
        nn.BatchNorm2d(6, track_running_stats=False).eval(),
        nn.ReLU(inplace=True),
        *head(6),
    ),
    "one, two and three dimensions": Volume,
    "branching": Branching,
    "out of order": OutOfOrder,
    "on data": lambda: nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 6, 3), nn.Tanh(), *head(6)),
}


def make(name: str) -> nn.Module:
    torch.manual_seed(3)
    model = MIXING[name]().double()
    for p in model.parameters():  # Scales and shifts of their own, some of them negative.
        p.data += 0.5 * torch.randn_like(p)
    return model


def batch() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(4)
    return torch.randn(N, 1, 4, 9, 9, generator=random, dtype=torch.float64), torch.arange(N)[:, None] % 3


def cut_at_layers(model: nn.Module, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """The oracle: a backward pass per example, the others' gradients cut at each layer's input."""
    example = 0

    def cut(layer: nn.Module, arguments: tuple[Tensor, ...]) -> Tensor | None:
        if not arguments[0].requires_grad:
            return None
        x = arguments[0].view_as(arguments[0])
        rows = torch.arange(len(x)).view(-1, *[1] * (x.ndim - 1))
        x.register_hook(lambda gradient: gradient * (rows == example))  # type: ignore[no-untyped-call]
        return x

    kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
    handles = [m.register_forward_pre_hook(cut) for m in model.modules() if isinstance(m, kinds)]
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    outputs = model(inputs[:, 0])
    for handle in handles:
        handle.remove()
    rows = []
    for example in range(N):
        loss = F.cross_entropy(outputs[example : example + 1], targets[example])
        rows.append(torch.autograd.grad(loss, list(parameters.values()), retain_graph=True))
    return {
        name: torch.stack(column) for name, column in zip(parameters, zip(*rows, strict=True), strict=True)
    }


def assert_votes(found: dict[str, GradientStatistics], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, statistics in found.items():
        # A bias below BatchNorm has a gradient of rounding errors: no vote.
        rows = expected[name] * (expected[name].abs() > 1e-12)
        assert statistics.n_environments == N
        assert torch.equal(statistics.sign_sum, rows.sign().sum(0)), name
        if statistics.log_sum is not None:
            clear = rows.ne(0).all(0)
            torch.testing.assert_close(statistics.log_sum[clear], rows.abs().log().sum(0)[clear])


def batch_gradient(model: nn.Module, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    F.cross_entropy(model(inputs[:, 0]), targets[:, 0]).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("many_positions", [0, 10**6])
@pytest.mark.parametrize("name", MIXING)
def test_votes_are_those_of_autograd_cut_at_each_layer(
    name: str, many_positions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolution, "_MANY_POSITIONS", many_positions)
    inputs, targets = batch()
    expected = cut_at_layers(make(name), inputs, targets)
    found = example_local(make(name), F.cross_entropy, inputs, targets, also=("log_sum",))
    assert_votes(found.statistics, expected)


@pytest.mark.parametrize("name", MIXING)
def test_the_kernels_count_the_same_votes(name: str) -> None:
    """They work in single precision, without further sums."""
    inputs, targets = batch()
    expected = cut_at_layers(make(name), inputs, targets)
    found = example_local(make(name).float(), F.cross_entropy, inputs.float(), targets).statistics
    n_compared = 0
    for parameter, statistics in found.items():
        rows = expected[parameter]
        clear = (rows.abs() > 1e-4 * rows.abs().max()).all(0) & (rows.abs() > 1e-6).all(0)
        assert torch.equal(statistics.sign_sum[clear], rows.sign().sum(0)[clear].float()), parameter
        n_compared += int(clear.sum())
    # Behind a ReLU most examples have gradients of zero.
    assert n_compared > 0.1 * sum(rows[0].numel() for rows in expected.values())


@pytest.mark.parametrize("enough", [1, 4])
@pytest.mark.parametrize("budget", [1, 500, 2**28])
def test_any_chunk_size_gives_the_same(budget: int, enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = batch()
    expected = cut_at_layers(make("fast resnet"), inputs, targets)
    monkeypatch.setattr(sums, "_ELEMENTS_AT_ONCE", {False: budget, True: budget})
    monkeypatch.setattr(sums, "_ENOUGH_EXAMPLES", enough)
    assert_votes(example_local(make("fast resnet"), F.cross_entropy, inputs, targets).statistics, expected)


@pytest.mark.parametrize(
    "frozen", ["features.0", "features.3.change.0.0", "features.8.change.1.1", "classifier"]
)
def test_frozen_layers_are_left_out_and_the_rest_is_unchanged(frozen: str) -> None:
    inputs, targets = batch()
    model = make("fast resnet")
    for name, p in model.named_parameters():
        p.requires_grad_(not name.startswith(frozen))
    expected = cut_at_layers(model, inputs, targets)
    found = example_local(model, F.cross_entropy, inputs, targets).statistics
    assert_votes(found, expected)
    for name, gradient in batch_gradient(model, inputs, targets).items():
        torch.testing.assert_close(found[name].total / N, gradient)


def test_at_the_last_batch_norm_and_above_the_vote_is_exact() -> None:
    inputs, targets = batch()
    local = example_local(make("fast resnet"), F.cross_entropy, inputs, targets).statistics
    exact = example_loss(make("fast resnet"), F.cross_entropy, inputs, targets).statistics
    for name in local:
        same = torch.equal(local[name].sign_sum, exact[name].sign_sum)
        assert same == name.startswith(("features.8.change.1", "classifier")), name


@pytest.mark.parametrize("name", MIXING)
@pytest.mark.parametrize("aggregator", [Mean(), AndMask(0.0)])
def test_the_mean_and_threshold_zero_are_the_plain_gradient(name: str, aggregator: Mean | AndMask) -> None:
    inputs, targets = batch()
    expected = batch_gradient(make(name), inputs, targets)
    model = make(name)
    backward(model, F.cross_entropy, inputs, targets, aggregator, gradients="per_example")
    for parameter_name, p in model.named_parameters():
        torch.testing.assert_close(p.grad, expected[parameter_name])


def test_a_geometric_mean_works_too() -> None:
    inputs, targets = batch()
    expected = cut_at_layers(make("perceptron"), inputs, targets)
    model = make("perceptron")
    backward(model, F.cross_entropy, inputs, targets, GeometricMean(0.6), gradients="per_example")
    weight = dict(model.named_parameters())["1.layers.3.weight"].grad
    torch.testing.assert_close(weight, GeometricMean(0.6)(expected["1.layers.3.weight"]))


def test_running_statistics_move_once() -> None:
    inputs, targets = batch()
    plain, ours = make("fast resnet"), make("fast resnet")
    plain(inputs[:, 0])
    example_local(ours, F.cross_entropy, inputs, targets)
    torch.testing.assert_close(ours.state_dict(), plain.state_dict(), rtol=0, atol=0)


def test_autocast() -> None:
    inputs, targets = batch()
    model = make("fast resnet").float()
    exact = example_local(model, F.cross_entropy, inputs.float(), targets).statistics
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = example_local(model, F.cross_entropy, inputs.float(), targets).statistics
    for name, ours in mixed.items():
        assert ours.total.dtype == ours.sign_sum.dtype == torch.float32
        assert torch.equal(ours.sign_sum, ours.sign_sum.round())
        if ours.total.ndim > 1:
            cosine = F.cosine_similarity(ours.sign_sum.flatten(), exact[name].sign_sum.flatten(), dim=0)
            assert cosine > 0.8, name


class PreActivation(nn.Module):
    """BatchNorm on what an addition left: no weights directly below."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm, self.first = (
            nn.Conv2d(4, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.Conv2d(4, 4, 1),
        )
        self.rest = nn.Sequential(*head(4))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.rest(self.first(self.norm(self.stem(x) + x).relu()))
        return result


class Twice(nn.Module):
    """One convolution below two BatchNorms."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.one, self.two = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        self.rest = nn.Sequential(*head(4))

    def forward(self, x: Tensor) -> Tensor:
        z = self.stem(x)
        result: Tensor = self.rest(self.one(z).relu() + self.two(z).tanh())
        return result


class OverPositions(nn.Module):
    """The channels that BatchNorm sees are the positions of the linear layer below."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.norm, self.last = nn.Linear(9, 8), nn.BatchNorm1d(4), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.norm(self.mix(x[:, :, 0])).relu().mean(1))
        return result


class Same(nn.BatchNorm2d):
    """A kind that may do anything."""


UNFOLLOWABLE: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "after an addition": (PreActivation, r"cannot follow the batch statistics of norm \(BatchNorm2d\)"),
    "after an activation in place": (
        lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(inplace=True), nn.BatchNorm2d(4), *head(4)),
        r"cannot follow the batch statistics of 2 \(BatchNorm2d\)",
    ),
    "two on one": (Twice, r"stem \(Conv2d\) feeds two BatchNorms"),
    "other channels": (OverPositions, r"cannot follow the batch statistics of norm \(BatchNorm1d\)"),
    "another kind": (
        lambda: nn.Sequential(nn.Conv2d(4, 4, 3), Same(4, affine=False), *head(4)),
        r"no rule for the batch statistics of 1 \(Same\)",
    ),
}


@pytest.mark.parametrize("case", UNFOLLOWABLE)
def test_batch_statistics_that_cannot_be_followed(case: str) -> None:
    make_model, message = UNFOLLOWABLE[case]
    inputs, targets = batch()
    with pytest.raises(UserError, match=message) as error:
        example_local(make_model().double(), F.cross_entropy, inputs, targets)
    for remedy in ("per_example_share", "per_example_loss", "GroupNorm"):
        assert remedy in str(error.value)


@pytest.mark.parametrize("case", UNFOLLOWABLE)
def test_in_evaluation_there_is_nothing_to_follow(case: str) -> None:
    inputs, targets = batch()
    model = UNFOLLOWABLE[case][0]().double().eval()
    if case == "another kind":
        model[1] = nn.BatchNorm2d(4, affine=False).double().eval()  # type: ignore[operator]
    local = example_local(model, F.cross_entropy, inputs, targets).statistics
    exact = example_loss(model, F.cross_entropy, inputs, targets).statistics
    for name in local:
        assert torch.equal(local[name].sign_sum, exact[name].sign_sum)
