"""The penalty against finite differences, closed forms, and its known zeros and biases."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.nn import functional as F

import ilc
from ilc.errors import UserError
from ilc.objectives import RiskFunction, irm_penalty

N = 9


def random_case(kind: str) -> tuple[Tensor, Tensor, RiskFunction]:
    """Double-precision outputs and targets, and the risk that belongs to them."""
    if kind == "classes":
        logits, targets = torch.randn(N, 5, dtype=torch.float64), torch.randint(0, 5, (N,))
        return logits, targets, F.cross_entropy
    if kind == "regression":
        logits, targets = torch.randn(2, N, 3, dtype=torch.float64)
        return logits, targets, F.mse_loss
    shape = (N,) if kind == "one logit" else (N, 1)
    logits, targets = torch.randn(shape, dtype=torch.float64), torch.randint(0, 2, shape)
    return logits, targets, lambda z, y: F.binary_cross_entropy_with_logits(z, y.double())


KINDS = ["classes", "regression", "one logit", "one logit in a column"]


def finite_difference(logits: Tensor, targets: Tensor, risk: RiskFunction, h: float = 1e-5) -> Tensor:
    return (risk((1 + h) * logits, targets) - risk((1 - h) * logits, targets)) / (2 * h)


@pytest.mark.parametrize("kind", KINDS)
def test_squared_norm_is_the_squared_finite_difference(kind: str) -> None:
    logits, targets, risk = random_case(kind)
    expected = finite_difference(logits, targets, risk) ** 2
    assert expected > 1e-6
    torch.testing.assert_close(irm_penalty(logits, targets), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_two_halves_is_the_product_of_finite_differences(kind: str) -> None:
    logits, targets, risk = random_case(kind)
    even, odd = (finite_difference(logits[half::2], targets[half::2], risk) for half in (0, 1))
    found = irm_penalty(logits, targets, estimator="two_halves")
    torch.testing.assert_close(found, even * odd, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("estimator", ["squared_norm", "two_halves"])
@pytest.mark.parametrize("kind", KINDS)
def test_its_gradient_agrees_with_finite_differences(kind: str, estimator: str) -> None:
    """Training differentiates the penalty itself, which makes it a second derivative of the risk."""
    logits, targets, _ = random_case(kind)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: irm_penalty(z, targets, estimator=estimator), (logits,))


def test_closed_forms() -> None:
    logits, targets, _ = random_case("classes")
    slope = ((logits.softmax(1) - F.one_hot(targets, 5)) * logits).sum(1).mean()
    torch.testing.assert_close(irm_penalty(logits, targets), slope**2)
    logits, targets, _ = random_case("regression")
    torch.testing.assert_close(irm_penalty(logits, targets), (2 * (logits - targets) * logits).mean() ** 2)


@pytest.mark.parametrize("estimator", ["squared_norm", "two_halves"])
@pytest.mark.parametrize("kind", KINDS)
def test_constant_zero_outputs_have_exactly_zero_penalty(kind: str, estimator: str) -> None:
    logits, targets, _ = random_case(kind)
    zero = torch.zeros_like(logits, requires_grad=True)
    penalty = irm_penalty(zero, targets, estimator=estimator)
    assert float(penalty.detach()) == 0.0
    # No way back either: the gradient is zero too, so the penalty cannot lead out of a collapse.
    (gradient,) = torch.autograd.grad(penalty, zero)
    assert not gradient.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("constant", [0.0, -1.7, 3.1])
def test_the_same_logit_for_all_classes_has_exactly_zero_penalty(
    constant: float, n_classes: int, dtype: torch.dtype
) -> None:
    logits = torch.full((11, n_classes), constant, dtype=dtype)
    assert float(irm_penalty(logits, torch.randint(0, n_classes, (11,)))) == 0.0


def test_scaling_to_the_optimum_leaves_no_penalty() -> None:
    """Logits that are the best multiple of themselves for these targets."""
    features, targets = torch.randn(2, 50, 1, dtype=torch.float64)
    best = features * (features * targets).sum() / (features**2).sum()
    assert float(irm_penalty(best, targets)) < 1e-28
    assert float(irm_penalty(1.1 * best, targets)) > 1e-6


def test_bias_of_the_two_estimators() -> None:
    """Over many small samples one overshoots by the variance of the slope, the other does not."""
    n, samples = 6, 40_000
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(samples, n, 1, generator=random, dtype=torch.float64)
    targets = 0.8 * logits + torch.randn(samples, n, 1, generator=random, dtype=torch.float64)
    # Per example: 2 (z - y) z with mean 2 (1 - 0.8) = 0.4 over the population.
    true = 0.4**2
    slopes = (2 * (logits - targets) * logits).mean((1, 2))
    squared = vmap(irm_penalty)(logits, targets)
    product = vmap(lambda z, y: irm_penalty(z, y, estimator="two_halves"))(logits, targets)
    error = float(product.std()) / samples**0.5
    assert abs(float(product.mean()) - true) < 4 * error
    assert float(squared.mean()) == pytest.approx(true + float(slopes.var()), rel=0.02)
    assert float(squared.mean()) > 2 * true
    assert bool((product < 0).any())


def test_under_vmap_and_grad() -> None:
    logits, targets = torch.randn(4, N, 3, dtype=torch.float64), torch.randint(0, 3, (4, N))
    found = vmap(grad(irm_penalty))(logits, targets)
    for row, z, y in zip(found, logits, targets, strict=True):
        leaf = z.clone().requires_grad_()
        (expected,) = torch.autograd.grad(irm_penalty(leaf, y), leaf)
        torch.testing.assert_close(row, expected)


def test_name_in_the_package() -> None:
    assert ilc.irm_penalty is irm_penalty


@pytest.mark.parametrize(
    ("logits", "targets", "options", "message"),
    [
        (torch.zeros(4, 2), torch.zeros(3).long(), {}, "equally many targets"),
        (torch.zeros(4, 2), torch.zeros(4, 3), {}, "class indices"),
        (torch.zeros(4, 2), torch.zeros(4).long(), {"estimator": "three"}, "one of squared_norm, two_halves"),
        (torch.zeros(1, 2), torch.zeros(1).long(), {"estimator": "two_halves"}, "at least two examples"),
        (torch.zeros(4, 2).long(), torch.zeros(4).long(), {}, "floating-point logits"),
        ([[1.0, 2.0]], torch.zeros(1).long(), {}, "got logits of type list"),
        (torch.zeros(4, 2), torch.zeros(4).long(), {"risk": "mse"}, "must be a function"),
    ],
)
def test_errors(logits: Any, targets: Tensor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        irm_penalty(logits, targets, **options)


@pytest.mark.parametrize("estimator", ["squared_norm", "two_halves"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [False, True])
def test_no_examples_have_no_penalty(kind: str, estimator: str, given: bool) -> None:
    logits, targets, risk = random_case(kind)
    with pytest.raises(UserError, match="no examples"):
        irm_penalty(logits[:0], targets[:0], risk if given else None, estimator=estimator)
    with pytest.raises(UserError, match="no examples"):
        vmap(lambda z, y: irm_penalty(z, y, risk if given else None, estimator=estimator))(
            logits[None, :0].expand(3, *logits[:0].shape), targets[None, :0].expand(3, *targets[:0].shape)
        )


@pytest.mark.parametrize("shape", [(N,), (N, 1)])
@pytest.mark.parametrize("bad", [-1, 2, 255])
@pytest.mark.parametrize("where", [0, N - 1])
def test_two_classes_are_0_and_1(shape: tuple[int, ...], bad: int, where: int) -> None:
    targets = torch.zeros(shape, dtype=torch.long)
    targets[where] = bad
    every = torch.stack([torch.zeros_like(targets), targets])
    with pytest.raises(UserError, match=f"classes 0 and 1, got values from {min(0, bad)} to {max(0, bad)}"):
        irm_penalty(torch.randn(shape), targets)
    with pytest.raises(UserError, match="classes 0 and 1"):
        vmap(grad(irm_penalty))(torch.randn(2, *shape), every)
    irm_penalty(torch.randn(shape), torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3)])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.0), (1.0, 1.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_zeros_and_ones_say_which_loss(
    shape: tuple[int, ...], values: tuple[float, float], dtype: torch.dtype
) -> None:
    logits, targets = torch.randn(shape, dtype=dtype), torch.full(shape, values[0], dtype=dtype)
    targets[::2] = values[1]
    with pytest.raises(UserError, match=r"risk=.*binary_cross_entropy_with_logits or risk=.*mse_loss"):
        irm_penalty(logits, targets)
    with pytest.raises(UserError, match="say which"):
        vmap(irm_penalty)(logits[None], targets[None])
    try:
        F.mse_loss(logits, targets)
    except RuntimeError:
        return  # An old torch has none for half precision on a CPU.
    for risk in (F.mse_loss, F.binary_cross_entropy_with_logits):
        assert float(irm_penalty(logits, targets, risk)) > 0
    targets[0] = 0.5
    assert torch.equal(irm_penalty(logits, targets), irm_penalty(logits, targets, F.mse_loss))


def test_where_all_targets_are_ignored_the_penalty_is_no_number() -> None:
    """Zero would be the perfect penalty."""
    logits, targets = torch.randn(3, N, 4), torch.randint(0, 4, (3, N))
    targets[1] = -100
    found = vmap(irm_penalty)(logits, targets)
    one_by_one = torch.stack([irm_penalty(z, y) for z, y in zip(logits, targets, strict=True)])
    assert found.isnan().tolist() == [False, True, False]
    torch.testing.assert_close(found, one_by_one, equal_nan=True)
    gradients = grad(lambda z: vmap(irm_penalty)(z, targets)[[0, 2]].sum())(logits)
    assert bool(gradients[[0, 2]].isfinite().all())
