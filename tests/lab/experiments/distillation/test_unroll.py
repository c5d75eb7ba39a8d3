"""The meta-gradient against finite differences, and the functional optimizers against PyTorch's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from lab.experiments.distillation import SGD, Adam, train, unroll
from lab.experiments.distillation.functional_optimizers import FunctionalOptimizer, Tensors

OPTIMIZERS = [SGD(lr=0.05, momentum=0.75, weight_decay=1e-3), Adam(lr=0.01, beta1=0.5, weight_decay=1e-3)]
Batch = tuple[Tensor, Tensor, Tensor]


class Setting:
    """A small student whose teacher asks for its hidden layer; one ReLU is dead."""

    def __init__(self, optimizer: FunctionalOptimizer) -> None:
        torch.manual_seed(0)
        self.student = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 1)).double()
        with torch.no_grad():
            self.student[0].bias[0] = -100.0
        self.teacher = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 6)).double()
        self.optimizer = optimizer
        self.batches: list[Batch] = [
            (torch.randn(8, 5).double(), torch.randn(8, 3).double(), torch.randn(8, 1).double())
            for _ in range(10)
        ]
        start = {name: value.detach() for name, value in self.student.named_parameters()}
        self.weights, self.state = train(
            self.loss, start, optimizer, optimizer.start(start), self.batches[:3]
        )

    def loss(self, weights: Tensors, batch: Batch) -> Tensor:
        inputs, privileged, targets = batch
        hidden = nn.functional.linear(inputs, weights["0.weight"], weights["0.bias"])
        outputs = functional_call(self.student, weights, (inputs,))
        return (outputs - targets).square().mean() + (hidden - self.teacher(privileged)).square().mean()

    def outer_loss(self) -> Tensor:
        after, _ = unroll(self.loss, self.weights, self.optimizer, self.state, self.batches)
        inputs, _, targets = self.batches[0]
        return (functional_call(self.student, after, (inputs,)) - targets).square().mean()


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: type(optimizer).__name__)
def test_the_meta_gradient_is_that_of_finite_differences(optimizer: FunctionalOptimizer) -> None:
    # With carried state and a dead unit, both of which break careless implementations.
    setting = Setting(optimizer)
    assert max(float(value.abs().max()) for value in setting.state.values()) > 0
    parameters = list(setting.teacher.parameters())
    gradients = torch.autograd.grad(setting.outer_loss(), parameters)
    direction = [torch.randn_like(p) for p in parameters]
    slope = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
    values = []
    start = [p.detach().clone() for p in parameters]
    for size in (1e-5, -1e-5):
        with torch.no_grad():
            for p, s, d in zip(parameters, start, direction, strict=True):
                p.copy_(s + size * d)
        values.append(float(setting.outer_loss().detach()))
    assert (values[0] - values[1]) / 2e-5 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: type(optimizer).__name__)
def test_the_student_and_its_optimizer_are_the_same_bits_after_an_unroll(
    optimizer: FunctionalOptimizer,
) -> None:
    setting = Setting(optimizer)
    before = {name: value.clone() for name, value in {**setting.weights, **setting.state}.items()}
    setting.outer_loss().backward()
    for name, value in {**setting.weights, **setting.state}.items():
        assert torch.equal(value, before[name])
        assert value.grad is None


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: type(optimizer).__name__)
def test_steps_for_good_are_those_that_were_unrolled(optimizer: FunctionalOptimizer) -> None:
    setting = Setting(optimizer)
    unrolled = unroll(setting.loss, setting.weights, optimizer, setting.state, setting.batches)
    trained = train(setting.loss, setting.weights, optimizer, setting.state, setting.batches)
    for one, other in zip(unrolled, trained, strict=True):
        for name, value in one.items():
            torch.testing.assert_close(value, other[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (OPTIMIZERS[0], lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.75, weight_decay=1e-3)),
        (OPTIMIZERS[1], lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.5, 0.999), weight_decay=1e-3)),
    ],
    ids=["SGD", "Adam"],
)
def test_optimizers_step_as_pytorchs_do(ours: FunctionalOptimizer, theirs: object) -> None:
    torch.manual_seed(1)
    parameter = nn.Parameter(torch.randn(7, dtype=torch.float64))
    weights = {"w": parameter.detach().clone()}
    state = ours.start(weights)
    optimizer = theirs([parameter])  # type: ignore[operator]
    for _ in range(20):
        gradient = torch.randn(7, dtype=torch.float64)
        parameter.grad = gradient.clone()
        optimizer.step()
        weights, state = ours.step(weights, [gradient], state)
    torch.testing.assert_close(weights["w"], parameter.detach(), rtol=1e-7, atol=1e-10)
