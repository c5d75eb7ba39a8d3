"""Sweeps over choices that have different options: each choice gets only the options that it has.

``aggregator=mean,and_mask aggregator.agreement_threshold=0.5,0.9`` makes three runs, because the mean has no
threshold. For the mean the override is left out, so that all its values give the same run. An option that no
choice of the same command has is kept, and is an error when the config of the run is composed: whoever varies
it expects runs that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from omegaconf import DictConfig

from ilc.errors import UserError
from lab.configuration.compose import compose_config, compose_run
from lab.configuration.groups import CONF, foreign_option
from lab.configuration.overrides import key_of
from lab.configuration.resolve import METHOD_KEYS, resolve

Choices = tuple[str, ...]
"""The overrides of a run that choose from a group, or say in which folders Hydra looks for choices."""


def leave_out_foreign_options(runs: Sequence[Sequence[str]]) -> list[list[str]]:
    """The overrides of each run, without the options that only choices of other runs have.

    Args:
        runs: the overrides of every run of one command.

    Raises:
        HydraException: a choice does not exist.
    """
    chosen = [tuple(text for text in overrides if _is_choice(text)) for overrides in runs]
    every = tuple(dict.fromkeys(chosen))
    return [
        [text for text in overrides if not _is_foreign(text, own, every)]
        for overrides, own in zip(runs, chosen, strict=True)
    ]


def check_added_options(runs: Sequence[Sequence[str]]) -> None:
    """Refuse an option of the method that a plus sign adds (``+aggregator.option=1``) and no run takes.

    A run of a sweep is made without the options of other methods, so all values would give the same run.

    Args:
        runs: the overrides of every run of one command.

    Raises:
        UserError: no run takes the option.
    """
    for text in dict.fromkeys(text for own in runs for text in own if text.startswith("+")):
        group, _, option = key_of(text).partition(".")
        if group in METHOD_KEYS and option:
            sections = [resolve(compose_run(own), sweep=True).get(group) for own in runs if text in own]
            methods = [section for section in sections if isinstance(section, dict)]
            message = methods and foreign_option(group, methods[0].get("name"), option)
            if message and not any(option in method for method in methods):
                raise UserError(message)


@cache
def _is_foreign(text: str, own: Choices, every: tuple[Choices, ...]) -> bool:
    """Whether ``GROUP.option=value`` sets an option that these choices lack and other ones have."""
    group, _, path = text.partition("=")[0].partition(".")
    option = path.split(".")[0]
    if not option or not (CONF / group).is_dir() or _has(own, group, option):
        return False
    return any(_has(choices, group, option) for choices in every)


def _is_choice(text: str) -> bool:
    key = key_of(text)
    return (CONF / key).is_dir() or key == "hydra.searchpath"


def _has(choices: Choices, group: str, option: str) -> bool:
    return option in (_chosen(choices).get(group) or {})


@cache
def _chosen(choices: Choices) -> DictConfig:
    """The config of these choices, before any option is set."""
    return compose_config(choices)
