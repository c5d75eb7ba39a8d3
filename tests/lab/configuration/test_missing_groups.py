"""A choice that the experiment does not make: the message names experiments that do, not a plus sign."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from lab.configuration.groups import CONF
from lab.configuration.missing_groups import experiments_with, missing_group

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("sweep", [(), ("-m",)])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("experiment=distillation", "aggregator=and_mask"),
            "the experiment does not choose from conf/aggregator: leave aggregator=and_mask out, or choose "
            "an experiment that does (cifar_label_noise, ",
        ),
        (
            ("experiment=linear_unit_tests", "tuned=published/spirals"),
            "the experiment does not choose from conf/tuned: leave tuned=published/spirals out, or choose an "
            "experiment that does (cifar_label_noise, ",
        ),
        (
            ("experiment=linear_unit_tests", "~tuned"),
            "the experiment does not choose from conf/tuned, so it has nothing to leave out: write the "
            "command without '~tuned'\n",
        ),
    ],
)
def test_what_the_experiment_does_not_choose(
    arguments: tuple[str, ...], message: str, sweep: tuple[str, ...], train: TrainCommand
) -> None:
    done = train(*sweep, *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {message}") and done.stderr.count("\n") == 1


def test_experiments_that_choose_from_a_group() -> None:
    assert {"spirals", "colored_mnist", "linear_unit_tests"} <= set(experiments_with("aggregator"))
    assert not {"distillation", "theory", "skip_intervals"} & set(experiments_with("aggregator"))
    assert "linear_unit_tests" not in experiments_with("tuned") and "spirals" in experiments_with("tuned")


def test_an_own_experiment_gets_the_line_for_tuned_settings() -> None:
    """It is the line of the committed experiments."""
    said = missing_group("Could not override 'tuned'. No match in the defaults list. ... +tuned=searched/x")
    assert said is not None and "tuned=searched/x" in said and said.endswith("defaults, after _self_")
    line = said.partition("the line '")[2].partition("'")[0]
    assert f"  - _self_\n  {line}\n" in (CONF / "experiment" / "spirals.yaml").read_text()


def test_other_messages_stay() -> None:
    assert missing_group("Key 'trainr' is not in struct") is None
    assert missing_group("Could not override 'trainr'. No match in the defaults list.") is None


@pytest.mark.parametrize("sweep", [(), ("-m",)])
def test_several_seeds_without_a_sweep(sweep: tuple[str, ...], train: TrainCommand) -> None:
    done = train(*sweep, "seed=[0,1]")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("a run for each of several is a sweep, -m seed=0,1\n")
