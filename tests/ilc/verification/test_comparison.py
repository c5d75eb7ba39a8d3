"""Which signs are certain, and what counts as rounding."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ilc.aggregators import GradientStatistics
from ilc.aggregators._statistics import ON_REQUEST
from ilc.verification._comparison import compare
from ilc.verification._plain_loop import ExpectedRows, Row
from ilc.verification._possible_sums import Voters, sign_sums, wrong_sums_on_request
from ilc.verification._rounding import floors, rounding


def bounds(*columns: float) -> tuple[float, float]:
    """Of one component in several environments, where 1e-3 is rounding."""
    rows = [torch.tensor([value], dtype=torch.float64) for value in columns]
    low, high = sign_sums(Voters(rows, [1e-3] * len(columns), []))
    return float(low), float(high)


def test_certain_signs_leave_one_sum() -> None:
    assert bounds(1.0, -2.0, 3.0) == (1, 1)


def test_a_value_of_rounding_may_have_any_sign() -> None:
    assert bounds(1.0, 1e-4) == (0, 2)


def test_a_zero_may_be_a_sum_that_cancels() -> None:
    rows = [torch.tensor([1.0, 1.0]), torch.tensor([0.0, 2.0])]
    low, high = sign_sums(Voters(rows, [1e-3, 1e-3], []))
    assert (low.tolist(), high.tolist()) == ([0, 2], [2, 2])


def test_an_environment_without_any_gradient_has_no_vote() -> None:
    rows = [torch.tensor([1.0, -1.0]), torch.zeros(2), torch.tensor([2.0, 3.0])]
    low, high = sign_sums(Voters(rows, [1e-3] * 3, []))
    assert low.tolist() == high.tolist() == [2, 0]


def test_where_rounding_makes_zeros_none_is_certain() -> None:
    rows = [torch.tensor([1.0], dtype=torch.float64), torch.tensor([0.0], dtype=torch.float64)]
    low, high = sign_sums(Voters(rows, [1e-3, 1e-3], unsure_zeros=[True, True]))
    assert (float(low), float(high)) == (0, 2)


def test_what_is_not_finite_says_nothing() -> None:
    low, high = bounds(1.0, float("nan"))
    assert low <= -2 and high >= 2


@settings(derandomize=True, max_examples=50)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_true_sum_of_slightly_wrong_values_is_always_possible(
    values: list[float], random: object
) -> None:
    low, high = bounds(*values)
    moved = [value + random.uniform(-1e-3, 1e-3) * (value != 0) for value in values]  # type: ignore[attr-defined]
    assert low <= sum((value > 0) - (value < 0) for value in moved) <= high


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rounding_grows_with_the_type_and_leaves_something_to_compare(dtype: torch.dtype) -> None:
    allowed = rounding(dtype)
    assert torch.finfo(dtype).eps < allowed.own < 0.5
    row = Row(torch.tensor(1.0), {"a": torch.tensor([1.0]), "b": torch.tensor([1e-10])}, {})
    (sizes,) = floors([row], allowed)
    assert 1e-10 < sizes["b"] < sizes["a"] < 0.5


def test_a_fitted_environment_is_rounded_as_much_as_the_others() -> None:
    allowed = rounding(torch.bfloat16)
    fitted = Row(torch.tensor(1e-4), {"a": torch.tensor([1e-4])}, {})
    other = Row(torch.tensor(1.0), {"a": torch.tensor([1.0])}, {})
    of_fitted, of_other = floors([fitted, other], allowed)
    assert 1e-4 < of_fitted["a"] < of_other["a"] < 0.5


def test_parameters_without_axes_are_compared_too() -> None:
    low, high = sign_sums(Voters([torch.tensor(1.0), torch.tensor(0.0)], [1e-3, 1e-3], []))
    assert float(low) == float(high) == 1


def _expected(risks: list[float], rows: list[Tensor]) -> ExpectedRows:
    found = [Row(torch.tensor(risk), {"a": row}, {}) for risk, row in zip(risks, rows, strict=True)]
    return ExpectedRows(found, found, found)


def _found(rows: list[Tensor]) -> dict[str, GradientStatistics]:
    return {"a": GradientStatistics.zeros(rows[0]).add_(torch.stack(rows))}


@pytest.mark.parametrize(("risk", "right"), [(4e-15, True), (0.0, False), (0.5, False)])
def test_only_a_fitted_environment_may_have_a_zero_that_is_rounding(risk: float, right: bool) -> None:
    wanted = _expected([1.0, risk], [torch.tensor([1.0, -1.0]), torch.zeros(2)])
    found = _found([torch.tensor([1.0, -1.0]), torch.tensor([3e-15, 3e-15])])
    (one,) = compare(found, wanted, rounding(torch.float32))
    assert one.right == right


def test_only_what_is_zero_beside_a_nan_may_be_nan() -> None:
    wanted = _expected([1.0, 1.0], [torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, float("nan"), 1.0])])
    for total, right in (
        ([float("nan"), float("nan"), 3.0], True),
        ([0.0, float("nan"), float("nan")], False),
    ):
        found = _found([torch.tensor(total), torch.zeros(3)])
        (one,) = compare(found, wanted, rounding(torch.float32))
        assert one.wrong_sum != right


def _requested(rows: list[Tensor]) -> GradientStatistics:
    return GradientStatistics.zeros(rows[0], tuple(ON_REQUEST)).add_(torch.stack(rows))


@settings(derandomize=True, max_examples=50)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_sums_on_request_of_slightly_wrong_values_are_possible(values: list[float], random: object) -> None:
    rows = [torch.tensor([value, 1.0], dtype=torch.float64) for value in values]
    moved = [value + random.uniform(-1e-3, 1e-3) for value in values]  # type: ignore[attr-defined]
    found = _requested([torch.tensor([value, 1.0], dtype=torch.float64) for value in moved])
    assert wrong_sums_on_request(found, Voters(rows, [1.01e-3] * len(rows), []), 1e-12) == ()


@pytest.mark.parametrize("name", ON_REQUEST)
@pytest.mark.parametrize("factor", [-3.0, 0.9, 1.1, float("nan")])
def test_every_sum_on_request_is_compared(name: str, factor: float) -> None:
    rows = [torch.tensor([0.5, -0.2], dtype=torch.float64), torch.tensor([0.3, 0.0], dtype=torch.float64)]
    voters = Voters(rows, [1e-3] * 2, [])
    found = _requested(rows)
    assert wrong_sums_on_request(found, voters, 1e-6) == ()
    getattr(found, name)[0] *= factor
    assert wrong_sums_on_request(found, voters, 1e-6) == (name,)


def test_logarithms_of_an_environment_without_gradient_are_infinite() -> None:
    rows = [torch.tensor([0.5, -0.2], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)]
    found = _requested(rows)
    assert wrong_sums_on_request(found, Voters(rows, [1e-3] * 2, []), 1e-6) == ()
    assert found.log_sum is not None
    found.log_sum.fill_(-20.0)
    assert wrong_sums_on_request(found, Voters(rows, [1e-3] * 2, []), 1e-6) == ("log_sum",)
    assert wrong_sums_on_request(found, Voters(rows, [1e-3] * 2, [True, True]), 1e-6) == ()


def test_sums_on_request_beside_a_nan_say_nothing() -> None:
    rows = [torch.tensor([0.5, float("nan")]).double(), torch.tensor([0.5, 1.0]).double()]
    assert wrong_sums_on_request(_requested(rows), Voters(rows, [1e-3] * 2, []), 1e-6) == ()
