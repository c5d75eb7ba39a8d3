"""``tuned=published/coinrun_N`` is row N of the paper's table 3, as the table here prints it."""

from __future__ import annotations

import pytest

from lab.configuration.compose import compose_experiment
from lab.experiments.coinrun.figures.table3 import PAPER


@pytest.mark.parametrize("number", range(1, len(PAPER) + 1))
def test_a_published_configuration_is_its_row(number: int) -> None:
    config = compose_experiment(["experiment=coinrun_bc", f"tuned=published/coinrun_{number}"])
    optimizer, mask = config["optimizer"], config["aggregator"]
    assert (optimizer["name"], mask["name"]) == ("adam", "temporal_mask")
    settings = (
        *(optimizer["lr"], optimizer["betas"][0], mask["beta_3"]),
        *(mask["agreement_threshold"], optimizer["weight_decay"]),
    )
    _, *printed = PAPER[number - 1]
    assert settings == tuple(float(value) for value in printed)
    assert optimizer["decoupled"], "decay as a second update, after the mask"
    assert not mask["pytorch_form"], "Adam as the paper prints it"
