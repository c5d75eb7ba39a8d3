"""A sweep refuses a wrong option of an aggregator before its first run."""

from __future__ import annotations

import pytest

from ilc.errors import UserError
from lab.environment_task.swept_aggregators import check_swept_aggregators

RUN = ["experiment=spirals", "seed=3"]


def test_a_wrong_threshold_is_named() -> None:
    runs = [[*RUN, f"aggregator.agreement_threshold={tau}"] for tau in (0.5, 0.9, 1.5)]
    check_swept_aggregators(runs[:2])
    with pytest.raises(UserError, match=r"agreement_threshold must lie in \[0, 1\], got 1.5"):
        check_swept_aggregators(runs)


def test_other_overrides_and_other_kinds_of_experiments_pass() -> None:
    check_swept_aggregators([RUN, [*RUN, "optimizer.lr=7"], [*RUN, "aggregator=mean"]])
    check_swept_aggregators([["experiment=linear_unit_tests", "seed=0"]])
    check_swept_aggregators(
        [
            [
                "experiment=linear_unit_tests",
                "method=null",
                "aggregator=and_mask",
                "aggregator.agreement_threshold=1",
            ]
        ]
    )
