"""From the composed config to the one that a run uses, and to the run's name."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ilc.configuration.command_line import readable
from ilc.configuration.construct import DESCRIPTIVE, check_keys, option_types, target_of
from ilc.configuration.scale import check_scale
from ilc.errors import UserError

KEYS = (
    "name",
    "seed",
    "scale",
    "device",
    "threads",
    "data_dir",
    "risk",
    "gradients",
    "dataset",
    "model",
    "aggregator",
    "optimizer",
    "trainer",
    "logger",
)

# What may differ between the two halves of an interrupted run: none of it changes the numbers
# beyond rounding. Everything else is the experiment, and part of the run's name.
NOT_THE_EXPERIMENT = ("logger", "device", "threads", "data_dir")

# Options that every aggregator accepts in a config, so that one sweep can cover them all.
SHARED_AGGREGATOR_OPTIONS = ("agreement_threshold", "rescale")


def resolve(config: DictConfig, sweep: bool = False) -> dict[str, Any]:
    """The config as plain values, checked for unknown keys.

    Args:
        config: as Hydra composed it.
        sweep: in a sweep (``-m``), options that the aggregator lacks are left out, so that all
            their values name one and the same run. In a single run they are an error.

    Raises:
        UserError: an unknown key, an option that the aggregator lacks, an unresolvable value.
    """
    try:
        # Hydra's own section refers to the run's name, which is made from the rest.
        rest = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        plain = OmegaConf.to_container(rest, resolve=True)
    except OmegaConfBaseException as error:
        raise UserError(readable(error)) from error
    assert isinstance(plain, dict)
    experiment: dict[str, Any] = {str(key): value for key, value in plain.items()}
    check_keys("", experiment, KEYS)
    check_scale(experiment["scale"])
    check_seed(experiment["seed"])
    aggregator = experiment["aggregator"]
    known = [*DESCRIPTIVE, *option_types(target_of(config.aggregator))]
    for option in SHARED_AGGREGATOR_OPTIONS:
        if option in aggregator and option not in known:
            value = aggregator.pop(option)
            if value is not None and not sweep:
                raise UserError(
                    f"aggregator.{option}={value} has no meaning for aggregator={aggregator['name']}: "
                    "leave it out, or choose an aggregator that has one (a sweep with -m runs this one once)"
                )
    return experiment


def check_seed(seed: Any) -> None:
    """Raise UserError unless the seed is a whole number from 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UserError(f"seed must be a whole number of at least 0, got {seed!r}")


def run_name(config: DictConfig) -> str:
    """``experiment/aggregator-seedS-HASH``: the same experiment always gets the same folder.

    Raises:
        UserError: as ``resolve``.
    """
    experiment = resolve(config, sweep=True)
    aggregator, seed = experiment["aggregator"]["name"], experiment["seed"]
    return f"{experiment['name']}/{aggregator}-seed{seed}-{identity(experiment)}"


def identity(experiment: dict[str, Any]) -> str:
    """Eight hexadecimal digits that stand for everything that makes the experiment."""
    essential = {key: value for key, value in experiment.items() if key not in NOT_THE_EXPERIMENT}
    text = json.dumps(essential, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The keys, dotted, in which two resolved configs are different experiments."""

    def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in values.items():
            if not prefix and key in NOT_THE_EXPERIMENT:
                continue
            if isinstance(value, dict):
                result |= flat(value, f"{prefix}{key}.")
            else:
                result[prefix + key] = value
        return result

    a, b = flat(one), flat(other)
    return sorted(key for key in a.keys() | b.keys() if a.get(key, "absent") != b.get(key, "absent"))
