"""Composes configs in this process, as ``src/train.py`` does from its command line."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import product
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from lab.configuration.groups import CONF, choices
from lab.configuration.overrides import check_overrides
from lab.configuration.resolve import resolve
from lab.configuration.resolvers import register_resolvers
from lab.configuration.searched_settings import PREFIX, searched_settings, stored_searched_settings
from lab.configuration.sweep_values import check_number_of_runs, swept_values


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """Compose the config of these overrides, with the section of Hydra, which lists the choices.

    Raises:
        HydraException, UserError: an override does not fit.
    """
    check_overrides(overrides)
    register_resolvers()
    with stored_searched_settings(overrides), initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides), return_hydra_config=True)


def compose_run(overrides: Sequence[str]) -> DictConfig:
    """The same as ``compose_config``, for one of many runs: those that differ in the seed share the work.

    Raises:
        HydraException, UserError: an override does not fit.
    """
    seeds = [text for text in overrides if re.fullmatch(r"seed=\d+", text)]
    # What a search found may change while a command runs, so it is read anew.
    if len(seeds) != 1 or any(PREFIX in text for text in overrides):
        return compose_config(overrides)
    config = deepcopy(_composed(tuple(text for text in overrides if text not in seeds)))
    config.seed = int(seeds[0].removeprefix("seed="))
    return config


@lru_cache(maxsize=64)
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    return compose_config(overrides)


def compose_experiment(overrides: Sequence[str], sweep: bool = False) -> dict[str, Any]:
    """The resolved config; ``sweep`` as for ``resolve``.

    Raises:
        HydraException, UserError: an override does not fit.
    """
    return resolve(compose_config(overrides), sweep)


def tuned_settings(chosen: Mapping[str, Any]) -> str | None:
    """One line about the best known settings that a run uses; None if it uses none.

    Args:
        chosen: the choice from every group, from ``runtime.choices`` of Hydra.
    """
    name = tuned_choice(chosen)
    if name is None:
        return None
    found = searched_settings().get(name)
    place = f"conf/tuned/{name}.yaml" if found is None else f"{name} in {found.relative_to(CONF.parent)}"
    return f"settings come from {place}, unless the command line sets them ('~tuned' leaves them out)"


def tuned_choice(chosen: Mapping[str, Any]) -> str | None:
    """The choice of the group ``tuned`` that a run takes its settings from; see ``tuned_settings``."""
    name = chosen.get("tuned")
    return name if name in choices("tuned") else None


def command_of(overrides: Sequence[str], sweep: bool = False) -> str:
    """The command that repeats the run of these overrides; a run of a sweep needs ``-m``, see ``resolve``."""
    return shlex.join(["python", "src/train.py", *(["-m"] if sweep else []), *overrides])


def combinations(overrides: Sequence[str]) -> list[list[str]]:
    """Every combination of the values of overrides that name several (``seed=0,1`` or ``seed=range(0,50)``).

    Raises:
        UserError: an override cannot be read or names no value, or there are too many combinations.
    """
    check_overrides(overrides)
    choices = []
    for text, entry in zip(overrides, OverridesParser.create().parse_overrides(list(overrides)), strict=True):
        if entry.is_sweep_override():
            key = text.split("=", 1)[0]
            choices.append([f"{key}={value}" for value in swept_values(text, entry)])
        else:
            choices.append([text])
    check_number_of_runs(math.prod(map(len, choices)))
    return [list(combination) for combination in product(*choices)]
