"""Every aggregator against a slow, plain rewriting of its definition, and its limits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ilc.aggregators import (
    Aggregator,
    AndMask,
    Combined,
    GeometricMean,
    GradientStatistics,
    Mean,
    XorMask,
)
from ilc.errors import UserError
from ilc.gradients import backward

THRESHOLDS = ("0", "0.2", "0.5", "0.55", "0.8", "1")


def oracle(gradients: Tensor, method: str, threshold: str = "0", rescale: bool = False) -> Tensor:
    """One component after another, votes counted in exact arithmetic."""
    n = gradients.shape[0]
    columns = gradients.reshape(n, -1).T.tolist()
    values, kept = [], 0
    for column in columns:
        votes = sum((g > 0) - (g < 0) for g in column)
        agrees = abs(votes) >= Fraction(threshold) * n
        keep = {"mean": True, "xor": not agrees}.get(method, agrees)
        kept += keep
        if method == "geometric":
            size = 0.0 if 0.0 in column else math.exp(sum(math.log(abs(g)) for g in column) / n)
            value = size * ((votes > 0) - (votes < 0))
        else:
            value = sum(column) / n
        values.append(value if keep else 0.0)
    if rescale and kept:
        values = [value * len(values) / kept for value in values]
    return torch.tensor(values, dtype=gradients.dtype).reshape(gradients.shape[1:])


# Few distinct values, so that zeros, ties and full agreement all occur.
components = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0])
matrices = st.integers(1, 20).flatmap(
    lambda n: st.lists(st.lists(components, min_size=6, max_size=6), min_size=n, max_size=n)
)


@given(matrices, st.sampled_from(THRESHOLDS), st.booleans())
def test_every_aggregator_matches_its_definition(
    rows: list[list[float]], threshold: str, rescale: bool
) -> None:
    gradients = torch.tensor(rows, dtype=torch.float64).reshape(len(rows), 2, 3)
    tau = float(threshold)
    for aggregator, expected in (
        (Mean(), oracle(gradients, "mean")),
        (AndMask(tau, rescale), oracle(gradients, "and", threshold, rescale)),
        (XorMask(tau), oracle(gradients, "xor", threshold)),
        (GeometricMean(tau, rescale), oracle(gradients, "geometric", threshold, rescale)),
    ):
        torch.testing.assert_close(aggregator(gradients), expected)


@given(matrices, st.sampled_from(THRESHOLDS))
def test_order_of_environments_does_not_matter(rows: list[list[float]], threshold: str) -> None:
    gradients = torch.tensor(rows, dtype=torch.float64)
    tau = float(threshold)
    for aggregator in (Mean(), AndMask(tau), XorMask(tau), GeometricMean(tau)):
        torch.testing.assert_close(aggregator(gradients.flip(0)), aggregator(gradients))


@given(matrices, st.sampled_from(THRESHOLDS))
def test_and_plus_xor_is_the_mean(rows: list[list[float]], threshold: str) -> None:
    gradients = torch.tensor(rows)
    tau = float(threshold)
    torch.testing.assert_close(AndMask(tau)(gradients) + XorMask(tau)(gradients), Mean()(gradients))


def test_frozen_values() -> None:
    gradients = torch.tensor([[1.0, 1.0, -1.0, 4.0], [1.0, -3.0, -2.0, 1.0], [4.0, 1.0, -4.0, 0.0]])
    frozen = {
        Mean(): [2.0, -1 / 3, -7 / 3, 5 / 3],
        AndMask(1.0): [2.0, 0.0, -7 / 3, 0.0],
        AndMask(1.0, rescale=True): [4.0, 0.0, -14 / 3, 0.0],
        AndMask(0.5): [2.0, 0.0, -7 / 3, 5 / 3],
        XorMask(0.5): [0.0, -1 / 3, 0.0, 0.0],
        GeometricMean(1.0): [4 ** (1 / 3), 0.0, -2.0, 0.0],
    }
    for aggregator, expected in frozen.items():
        torch.testing.assert_close(aggregator(gradients), torch.tensor(expected))


def test_threshold_zero_is_the_mean() -> None:
    gradients = torch.randn(7, 50)
    torch.testing.assert_close(AndMask(0.0)(gradients), gradients.mean(0))


def test_one_environment_is_the_plain_gradient() -> None:
    gradient = torch.randn(1, 50)
    for aggregator in (Mean(), AndMask(1.0), GeometricMean(1.0)):
        torch.testing.assert_close(aggregator(gradient), gradient[0])


def test_full_disagreement_is_zero() -> None:
    gradients = torch.tensor([[1.0, -2.0], [-1.0, 2.0]])
    for aggregator in (
        AndMask(0.1),
        AndMask(1.0, rescale=True),
        GeometricMean(0.1),
        GeometricMean(1.0, True),
    ):
        assert not aggregator(gradients).any()


@pytest.mark.parametrize(
    "aggregator", [Mean(), AndMask(0.0), AndMask(1.0, True), XorMask(0.5), GeometricMean(0.0)]
)
def test_all_zeros_give_zeros(aggregator: Aggregator) -> None:
    assert torch.equal(aggregator(torch.zeros(4, 3, 2)), torch.zeros(3, 2))


@pytest.mark.parametrize("n", [10, 20, 25, 50, 75, 80, 100])
def test_a_tie_at_the_threshold_is_kept(n: int) -> None:
    """For instance 0.28 * 25, which is 7.000000000000001 in floating point."""
    for percent in range(101):
        surplus, rest = divmod(percent * n, 100)
        if rest or (n - surplus) % 2:
            continue
        positive = (n + surplus) // 2
        signs = torch.cat([torch.ones(positive), -torch.ones(n - positive)])
        gradients = torch.stack([signs, signs * 2], dim=1)
        assert torch.equal(AndMask(percent / 100)(gradients), gradients.mean(0))
        if surplus > 1:
            fewer = torch.cat([torch.ones(positive - 1), -torch.ones(n - positive + 1)])
            assert not AndMask(percent / 100)(fewer[:, None]).any()


def test_an_exact_zero_has_no_vote_but_counts_as_an_environment() -> None:
    gradients = torch.tensor([[1.0], [1.0], [1.0], [0.0]])
    assert AndMask(0.75)(gradients).item() == pytest.approx(0.75)
    assert AndMask(0.76)(gradients).item() == 0.0


def test_geometric_mean_neither_overflows_nor_underflows() -> None:
    large, small = torch.full((100, 1), 1e30), torch.full((100, 1), 1e-30)
    torch.testing.assert_close(GeometricMean(1.0)(large), large[0], rtol=1e-3, atol=0)
    torch.testing.assert_close(GeometricMean(1.0)(small), small[0], rtol=1e-3, atol=0)


@pytest.mark.parametrize("aggregator", [Mean(), AndMask(1.0), XorMask(1.0), GeometricMean(1.0)])
@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_broken_gradient_stays_visible(aggregator: Aggregator, broken: float) -> None:
    gradients = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
    gradients[0, 0] = broken
    assert not aggregator(gradients)[0].isfinite()


@pytest.mark.parametrize("threshold", [-0.1, 1.5, math.nan, 10**400])
@pytest.mark.parametrize("kind", [AndMask, XorMask, GeometricMean])
def test_a_threshold_outside_0_1_is_refused(kind: type, threshold: object) -> None:
    with pytest.raises(UserError, match=r"must lie in \[0, 1\]"):
        kind(threshold)


def test_what_is_no_tensor_is_refused() -> None:
    rows: Any = [[1.0, 2.0], [1.0, -2.0]]
    with pytest.raises(UserError, match=r"got list: stack one gradient per environment by torch\.stack"):
        AndMask(0.5)(rows)


@pytest.mark.parametrize(
    "gradients", [torch.zeros(0, 3), torch.tensor(1.0), torch.ones(2, 3, dtype=torch.long)]
)
def test_no_environments_are_refused(gradients: Tensor) -> None:
    with pytest.raises(UserError, match="at least one environment"):
        AndMask(0.5)(gradients)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_dtype_is_kept_and_many_votes_are_counted_exactly(dtype: torch.dtype) -> None:
    """In bfloat16 a sum of 513 ones would stop at 256."""
    gradients = torch.ones(513, 1, dtype=dtype)
    update = AndMask(1.0)(gradients)
    assert update.dtype == dtype
    assert update.item() != 0


@pytest.mark.parametrize("kind", [AndMask, GeometricMean])
@pytest.mark.parametrize("word", ["false", "no", None])
def test_a_word_is_no_truth_value(kind: Any, word: Any) -> None:
    with pytest.raises(UserError, match="rescale must be True or False, got"):
        kind(0.5, rescale=word)


@pytest.mark.parametrize("kind", [AndMask, XorMask, GeometricMean])
@pytest.mark.parametrize("kept", [0.8, 0.55, 0.1, 1.0])
@pytest.mark.parametrize("of", ["float16", "float32", "float64"])
def test_a_number_of_numpy_is_the_threshold_that_the_user_wrote(kind: type, kept: float, of: str) -> None:
    np = pytest.importorskip("numpy")
    made = kind(getattr(np, of)(kept))
    assert made.agreement_threshold == kept
    assert type(made.agreement_threshold) is float
    assert kind(np.int64(1)).agreement_threshold == 1.0
    with pytest.raises(UserError, match="agreement_threshold must lie in"):
        kind(np.float32(1.5))


@pytest.mark.parametrize("wrong", ["0.5", None, True, [0.5], torch.tensor(0.5), torch.ones(40)])
def test_what_is_no_number_is_named_in_one_line(wrong: object) -> None:
    message = f"^agreement_threshold must be a number, got .* of type {type(wrong).__name__}: give"
    for kind in (AndMask, XorMask, GeometricMean):
        with pytest.raises(UserError, match=message):
            kind(wrong)  # type: ignore[arg-type]


class Nothing(Aggregator):
    """An aggregator without ``combine``."""


class Returns(Aggregator):
    """An aggregator that returns what it is told."""

    def __init__(self, what: Any) -> None:
        self._what = what

    def combine(self, statistics: GradientStatistics) -> Combined:
        result: Combined = self._what
        return result


@pytest.mark.parametrize(
    ("aggregator", "message"),
    [
        (Nothing(), r"define Nothing\.combine\(self, statistics\)"),
        (Returns((torch.ones(3), 0.5)), r"got kept_share = 0\.5, which is no tensor$"),
        (Returns((None, torch.ones(()))), r"got update = None, .*\(log_sum is None without needs_logs"),
        (Returns(torch.ones(3)), r"Returns\.combine must return Combined.* shape \(3,\) .*got Tensor"),
        (Returns(Combined(torch.ones(2), torch.ones(()))), r"got an update of shape \(2,\)"),
        (Returns((torch.ones(3),)), "got tuple"),
        (Returns(Combined(torch.ones(3), torch.ones(3))), r"a kept share of shape \(3,\)"),
    ],
)
def test_what_an_aggregator_of_the_users_returns_is_checked(aggregator: Aggregator, message: str) -> None:
    with pytest.raises(UserError, match=message):
        aggregator(torch.ones(2, 3))
    layer = torch.nn.Linear(3, 1, bias=False)
    shapes = message.replace(r"\(3,\)", r"\((3,|1, 3)\)")
    with pytest.raises(UserError, match=shapes):
        backward(layer, torch.nn.functional.mse_loss, torch.ones(2, 4, 3), torch.ones(2, 4, 1), aggregator)
