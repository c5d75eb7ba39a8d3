"""Environments of different sizes, given as lists: each weighs the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.errors import UserError
from ilc.gradients import backward
from ilc.objectives import Objective

SIZES = (4, 7, 2, 4, 3, 7)
D = 5


def batches(sizes: tuple[int, ...] = SIZES) -> tuple[list[Tensor], list[Tensor]]:
    random = torch.Generator().manual_seed(2)
    inputs = [torch.randn(n, D, generator=random, dtype=torch.float64) for n in sizes]
    return inputs, [torch.randint(0, 3, (n,), generator=random) for n in sizes]


def make() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3)).double()


def penalised(outputs: Tensor, targets: Tensor) -> Objective:
    risk, penalty = F.cross_entropy(outputs, targets), outputs.square().mean()
    return Objective(risk + 2 * penalty, risk, penalty)


@pytest.mark.parametrize(
    "aggregator", [Mean(), AndMask(0.6), GeometricMean(0.3)], ids=lambda a: type(a).__name__
)
@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_every_environment_weighs_the_same(way: str, aggregator: Aggregator) -> None:
    inputs, targets = batches()
    plain, model = make(), make()
    start = {name: buffer.clone() for name, buffer in plain.named_buffers()}
    rows, risks, penalties, buffers = [], [], [], []
    for x, y in zip(inputs, targets, strict=True):
        plain.load_state_dict(start, strict=False)
        loss, risk, penalty = penalised(plain(x), y)
        rows.append(torch.autograd.grad(loss, list(plain.parameters())))
        risks.append(risk.detach())
        penalties.append(penalty.detach())
        buffers.append([buffer.clone() for buffer in plain.buffers()])
    result = backward(model, penalised, inputs, targets, aggregator, way)
    torch.testing.assert_close(result.risks, torch.stack(risks))
    torch.testing.assert_close(result.penalties, torch.stack(penalties))
    for p, column in zip(model.parameters(), zip(*rows, strict=True), strict=True):
        torch.testing.assert_close(p.grad, aggregator(torch.stack(column)))
    for buffer, values in zip(model.buffers(), zip(*buffers, strict=True), strict=True):
        torch.testing.assert_close(buffer.double(), torch.stack(values).double().mean(0))


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_lists_of_equal_sizes_are_a_tensor(way: str) -> None:
    inputs, targets = batches((4, 4, 4))
    one, other = make(), make()
    backward(one, F.cross_entropy, inputs, targets, AndMask(0.6), way)
    backward(other, F.cross_entropy, torch.stack(inputs), torch.stack(targets), AndMask(0.6), way)
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        assert p.grad is not None and q.grad is not None and torch.equal(p.grad, q.grad)


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_a_loss_without_targets(way: str) -> None:
    """Every size is a group here too, so that ``vectorized`` makes fewer passes than environments."""
    inputs, _ = batches()
    one, other, passes = make(), make(), []

    def small(outputs: Tensor) -> Tensor:
        passes.append(len(outputs))
        return outputs.square().mean()

    backward(one, small, inputs, aggregator=AndMask(0.6), gradients=way)
    passes.clear()
    one.zero_grad()
    backward(one, small, inputs, aggregator=AndMask(0.6), gradients=way)
    assert sorted(passes) == sorted(set(SIZES) if way == "vectorized" else SIZES)
    backward(other, lambda outputs, y: small(outputs), inputs, inputs, AndMask(0.6), way)
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_lists() -> None:
    inputs, targets = batches()
    one, other = make(), make()
    backward(one, F.cross_entropy, inputs, targets, AndMask(0.6), "sequential")
    nested = torch.nested.nested_tensor(inputs), torch.nested.nested_tensor(targets)
    backward(other, F.cross_entropy, *nested, AndMask(0.6), "sequential")
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        # To rounding: a nested tensor's parts lie elsewhere in memory, where some CPUs round in another way.
        torch.testing.assert_close(p.grad, q.grad)


def test_buffers_are_put_back_when_a_later_size_fails() -> None:
    inputs, targets = batches((4, 4, 1))  # BatchNorm cannot normalise a single example.
    model = make()
    before = [buffer.clone() for buffer in model.buffers()]
    with pytest.raises(UserError, match="environment 2 has one example, and BatchNorm in training mode"):
        backward(model, F.cross_entropy, inputs, targets, AndMask(0.6))
    assert all(torch.equal(buffer, start) for buffer, start in zip(model.buffers(), before, strict=True))


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (
            lambda x, y: (x, y[:-1]),
            r"equally many batches, and both batches of an environment must have equally many",
        ),
        (
            lambda x, y: (x, [y[0][:-1], *y[1:]]),
            r"equally many batches, and both batches of an environment must have equally many",
        ),
        (lambda x, y: ([x[0][:0], *x[1:]], [y[0][:0], *y[1:]]), r"at least one"),
        (lambda x, y: ([], []), r"at least one"),
        (lambda x, y: ([one.tolist() for one in x], y), r"lists of a tensor \[N, ...\] per environment, got"),
        (lambda x, y: (x, torch.zeros(len(x))), r"lists of a tensor \[N, ...\] per environment, got"),
        (lambda x, y: (iter(x), y), r"a list with an entry per environment, got list_iterator"),
        (
            lambda x, y: (tuple(x[:2]), tuple(y[:2])),
            r"A tuple or a dictionary holds the arguments of the model",
        ),
    ],
)
def test_what_is_no_list_of_batches_is_one_line(give: Callable[..., Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        backward(make(), F.cross_entropy, *give(*batches()), AndMask(0.6))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("way", ["pooled", "per_example", "per_example_share", "per_example_loss"])
def test_ways_that_make_one_batch_say_which_do_not(way: str) -> None:
    with pytest.raises(UserError, match="take gradients='vectorized' or 'sequential'"):
        backward(make(), F.cross_entropy, *batches(), Mean(), way)
