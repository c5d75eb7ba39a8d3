"""Turns the composed config into the plain values of a run, and into the name of the run."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ilc.errors import UserError
from lab.configuration.command_line import readable
from lab.configuration.groups import choices_with
from lab.configuration.keys import checked_folder_name
from lab.configuration.section import Section, name_of_section, option_types
from lab.configuration.shared_keys import check_shared_keys

# These keys may change when an interrupted run continues: they change its numbers by rounding at most. All
# other keys are the experiment, and decide the name of the run.
NOT_THE_EXPERIMENT = ("logger", "device", "threads", "data_dir")

METHOD_KEYS = ("method", "aggregator")
"""The keys that name the method of a run; the first one that a config has counts."""


def resolve(config: DictConfig, sweep: bool = False) -> dict[str, Any]:
    """The config as plain values.

    Args:
        config: the config that Hydra composed.
        sweep: whether the run belongs to a sweep (``-m``). Options that the method does not have, but another
            choice of its group has, are then left out, so that all their values give the same run. In a
            single run they are an error.

    Raises:
        UserError: a value cannot be resolved, or a key that every run needs is missing or wrong.
    """
    try:
        # Hydra's own section refers to the run's name, which is made from the rest.
        rest = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        plain = OmegaConf.to_container(rest, resolve=True)
    except OmegaConfBaseException as error:
        raise UserError(readable(error)) from error
    assert isinstance(plain, dict)
    content: dict[str, Any] = {str(key): value for key, value in plain.items()}
    check_shared_keys(content)
    missing = sorted(OmegaConf.missing_keys(rest))
    if missing:
        raise UserError(f"{missing[0]} has no value yet (???): set {missing[0]}=VALUE")
    if sweep:
        for key in METHOD_KEYS:
            if isinstance(content.get(key), dict):
                content[key] = _without_options_of_others(key, content[key])
    return content


def _without_options_of_others(group: str, values: dict[str, Any]) -> dict[str, Any]:
    section = Section.of(group, values)
    own = option_types(section.target)
    foreign = [key for key in section.options if key not in own and choices_with(group, key)]
    return {key: value for key, value in values.items() if key not in foreign}


def method_of(content: dict[str, Any]) -> str:
    """The name of the method of a run. The method may be an aggregator.

    Raises:
        UserError: no folder can have this name.
    """
    for key in METHOD_KEYS:
        value = content.get(key)
        if value is not None:
            return name_of_section(key, value) if isinstance(value, dict) else checked_folder_name(key, value)
    return "run"


def run_name(config: DictConfig) -> str:
    """``experiment/method-seedS-HASH``: the same experiment always gets the same folder.

    Raises:
        UserError: as in ``resolve``.
    """
    content = resolve(config, sweep=True)
    return f"{content['name']}/{method_of(content)}-seed{content['seed']}-{identity(content)}"


def identity(content: dict[str, Any]) -> str:
    """Eight hexadecimal digits for all keys that make the experiment."""
    essential = {key: value for key, value in content.items() if key not in NOT_THE_EXPERIMENT}
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
