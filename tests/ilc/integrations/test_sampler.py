"""Every batch has all environments, in order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from ilc.integrations import EnvironmentSampler

LABELS = ["b"] * 5 + ["a"] * 2 + ["c"] * 7 + ["b"] * 4


def test_batches_have_all_environments_in_the_order_of_their_first_examples() -> None:
    sampler = EnvironmentSampler(LABELS, examples=2)
    assert sampler.environments == ["b", "a", "c"]
    order = list(sampler)
    assert len(order) == len(sampler) == 5 * 3 * 2  # The largest environment has nine examples.
    for start in range(0, len(order), 6):
        assert [LABELS[i] for i in order[start : start + 6]] == ["b", "b", "a", "a", "c", "c"]


def test_all_examples_are_drawn_and_none_of_an_environment_twice_more_often_than_another() -> None:
    drawn = Counter(EnvironmentSampler(LABELS, examples=2, seed=5))
    assert drawn.keys() == set(range(len(LABELS)))
    for label in "abc":
        counts = [drawn[i] for i, one in enumerate(LABELS) if one == label]
        assert max(counts) - min(counts) <= 1


def test_epochs_differ_and_repeat_with_the_seed() -> None:
    sampler = EnvironmentSampler(LABELS, examples=2, seed=3)
    orders = [list(sampler) for _ in range(4)]
    assert all(one != other for one, other in pairwise(orders))
    again = EnvironmentSampler(LABELS, examples=2, seed=3)
    again.set_epoch(2)
    assert list(again) == orders[2]
    assert list(EnvironmentSampler(LABELS, examples=2, seed=4)) != orders[0]


def test_labels_may_be_numbers_and_tensors() -> None:
    numbers = ["abc".index(label) for label in LABELS]
    expected = list(EnvironmentSampler(LABELS, 2))
    for labels in (numbers, torch.tensor(numbers), list(torch.tensor(numbers))):
        assert list(EnvironmentSampler(labels, 2)) == expected


class Ambiguous:
    """A missing value like pandas' NA, whose comparisons have no truth value."""

    def __eq__(self, other: object) -> Any:
        return self

    __ne__ = __eq__

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    def __repr__(self) -> str:
        return "NA"


@pytest.mark.parametrize(
    ("labels", "examples", "message"),
    [
        (["a"] * 5, 2, "the labels name 1 environment, but signs can only agree or disagree between"),
        ([], 2, "the labels name 0 environment"),
        ([0.0, 1.0, float("nan"), float("nan")], 2, r"the label of example 2 is missing \(nan\)"),
        (["a", None, "b", None], 2, r"the label of example 1 is missing \(None\)"),
        (["a", "b", Ambiguous()], 2, r"the label of example 2 is missing \(NA\)"),
        (torch.zeros(4, 1), 2, r"the labels must have one axis \[N\], got 2"),
        (torch.tensor(1), 2, r"the labels must have one axis \[N\], got 0"),
        (None, 2, r"the labels must be a list or a tensor \[N\], got NoneType"),
        ("abab", 2, r"the labels must be a list or a tensor \[N\], got str"),
        ([[0], [1]], 2, "the label of example 0 is a list, which cannot tell environments apart"),
        (LABELS, 0, "a batch needs examples of each environment, got examples=0"),
        (LABELS, "2", "examples must be a whole number, got '2' of type str"),
        (LABELS, 2.0, "examples must be a whole number, got 2.0 of type float"),
        (LABELS, torch.ones(2), "examples must be a whole number, got tensor"),
    ],
)
def test_wrong_labels_are_one_line(labels: Any, examples: int, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        EnvironmentSampler(labels, examples)
    assert "\n" not in str(error.value)


def test_a_seed_that_is_no_whole_number() -> None:
    with pytest.raises(UserError, match="seed must be a whole number, got None of type NoneType"):
        EnvironmentSampler(LABELS, 2, seed=None)  # type: ignore[arg-type]


def test_nan_of_numpys_own_types() -> None:
    numpy = pytest.importorskip("numpy")
    labels = numpy.array([0, 1, numpy.nan, numpy.nan], dtype=numpy.float32)
    with pytest.raises(UserError, match="the label of example 2 is missing"):
        EnvironmentSampler(labels, 2)
