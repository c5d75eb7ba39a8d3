"""Sweeps over choices with different options: each choice gets those that it has.

``aggregator=mean,and_mask aggregator.agreement_threshold=0.5,0.9`` names three runs, because the mean has no
threshold: there the override is left out, so that all its values name one and the same run. An option that
no choice of the group has stays, and is an error when the run is composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from omegaconf import DictConfig

from lab.configuration.compose import compose_config
from lab.configuration.groups import CONF, choices_with


def leave_out_foreign_options(overrides: Sequence[str]) -> list[str]:
    """The overrides of one run, without the options that only other choices of their group have.

    Raises:
        HydraException: a choice that does not exist.
    """
    choices = tuple(text for text in overrides if _is_choice(text))
    return [text for text in overrides if not _is_foreign(text, choices)]


def _is_foreign(text: str, choices: tuple[str, ...]) -> bool:
    """Whether it is a ``GROUP.option=value`` that the chosen one of the group lacks and another has."""
    group, _, path = _key(text).partition(".")
    option = path.split(".")[0]
    if not option or not _choices_with(group, option):
        return False
    return option not in _chosen(choices).get(group, {})


def _is_choice(text: str) -> bool:
    """Whether it chooses from a group, or says where choices are looked for."""
    key = _key(text).lstrip("+~")
    return (CONF / key).is_dir() or key == "hydra.searchpath"


def _key(text: str) -> str:
    return text.split("=", 1)[0]


_choices_with = cache(choices_with)


@cache
def _chosen(choices: tuple[str, ...]) -> DictConfig:
    """The config before any option is set: what the chosen one of each group has."""
    return compose_config(choices)
