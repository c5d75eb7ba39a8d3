"""Random models, losses and batches in every way, each against a plain loop: equal or refused in one line.

More of them: ``python scripts/differential.py --n 20000``.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from differential.case import drawn
from differential.faults import reproduction, run, smaller

OPEN: frozenset[str] = frozenset()
"""Names of pieces, losses and changes whose faults are known and not mended."""


def check(seed: int) -> None:
    case = drawn(Random(seed), OPEN)
    answer = run(case)
    if answer.wrong is not None:
        little = smaller(case, answer)
        raise AssertionError(reproduction(little, run(little)))


def cases(number: int) -> settings:
    # A seed has nothing that could be made smaller; ``smaller`` does that to the case.
    return settings(
        derandomize=True,
        database=None,
        max_examples=number,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@cases(80)
@given(st.integers(0, 2**64 - 1))
def test_equal_to_a_plain_loop_or_refused(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@cases(1000)
@given(st.integers(0, 2**64 - 1))
def test_many_more(seed: int) -> None:
    check(seed)
