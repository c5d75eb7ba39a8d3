"""Sweeps over choices that have different options: each choice gets only the options that it has.

``aggregator=mean,and_mask aggregator.agreement_threshold=0.5,0.9`` makes three runs, because the mean has no
threshold. For the mean the override is left out, so that all its values give the same run. An option that no
choice of the group has is kept, and is an error when the config of the run is composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from omegaconf import DictConfig

from lab.configuration.compose import compose_config
from lab.configuration.groups import CONF, choices_with
from lab.configuration.overrides import key_of


def leave_out_foreign_options(overrides: Sequence[str]) -> list[str]:
    """The overrides of one run, without the options that only other choices of the same group have.

    Raises:
        HydraException: a choice does not exist.
    """
    choices = tuple(text for text in overrides if _is_choice(text))
    return [text for text in overrides if not _is_foreign(text, choices)]


def _is_foreign(text: str, choices: tuple[str, ...]) -> bool:
    """Whether ``GROUP.option=value`` sets an option that the choice lacks and another choice has."""
    group, _, path = text.partition("=")[0].partition(".")
    option = path.split(".")[0]
    if not option or not _choices_with(group, option):
        return False
    return option not in _chosen(choices).get(group, {})


def _is_choice(text: str) -> bool:
    """Whether an override chooses from a group, or says in which folders Hydra looks for choices."""
    key = key_of(text)
    return (CONF / key).is_dir() or key == "hydra.searchpath"


_choices_with = cache(choices_with)


@cache
def _chosen(choices: tuple[str, ...]) -> DictConfig:
    """The config of these choices, before any option is set."""
    return compose_config(choices)
