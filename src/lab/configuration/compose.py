"""Configs composed in this process, as ``src/train.py`` composes them from its command line."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from lab.configuration.groups import CONF, choices
from lab.configuration.overrides import check_overrides
from lab.configuration.resolve import resolve
from lab.configuration.resolvers import register_resolvers
from lab.configuration.searched_settings import searched_settings, store_searched_settings
from lab.configuration.sweep_values import check_number_of_runs, swept_values


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """The config that these overrides make, with Hydra's own section, which says what was chosen.

    Raises:
        HydraException, UserError: one of them does not fit.
    """
    check_overrides(overrides)
    register_resolvers()
    store_searched_settings(overrides)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides), return_hydra_config=True)


def compose_experiment(overrides: Sequence[str], sweep: bool = False) -> dict[str, Any]:
    """The resolved config; ``sweep`` as for ``resolve``.

    Raises:
        HydraException, UserError: an override that does not fit.
    """
    return resolve(compose_config(overrides), sweep)


def tuned_settings(chosen: Mapping[str, Any]) -> str | None:
    """What to say of the best known settings that a run uses, or None where it uses none.

    Args:
        chosen: what Hydra chose of every group, its ``runtime.choices``.
    """
    name = tuned_choice(chosen)
    if name is None:
        return None
    found = searched_settings().get(name)
    place = f"conf/tuned/{name}.yaml" if found is None else f"{name} in {found.relative_to(CONF.parent)}"
    return f"settings of {place}, unless given; '~tuned' leaves them out"


def tuned_choice(chosen: Mapping[str, Any]) -> str | None:
    """The choice of the group ``tuned`` that a run takes its settings from; see ``tuned_settings``."""
    name = chosen.get("tuned")
    return name if name in choices("tuned") else None


def command_of(overrides: Sequence[str], sweep: bool = False) -> str:
    """What repeats the run of these overrides; one of a sweep may need ``-m``, see ``resolve``."""
    return shlex.join(["python", "src/train.py", *(["-m"] if sweep else []), *overrides])


def combinations(overrides: Sequence[str]) -> list[list[str]]:
    """Every combination of overrides that name several values (``seed=0,1`` or ``seed=range(0,50)``).

    Raises:
        UserError: one of them cannot be read or names no value, or there are too many combinations.
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
