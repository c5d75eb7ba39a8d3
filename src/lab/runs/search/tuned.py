"""The best settings of a search, as files for Hydra and as sections of one file of settings."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping
from typing import Any

import optuna
import pandas as pd
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from lab.configuration.compose import compose_config, tuned_choice
from lab.configuration.groups import CONF
from lab.configuration.overrides import key_of
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.table import finalists
from lab.runs.search.trial import overrides_of

PLACES = "hydra.searchpath"
"""The folders of somebody else's experiments. Only a command line can name them, so settings leave it out."""

PACKAGE = "# @package _global_"
HEAD = "# Best settings, made by scripts/search.py: tuned=searched/NAME takes those below NAME.\n"

# Overrides that are not settings: they say what runs where, and how the search saves time.
NOT_SETTINGS = (
    *("experiment", "tuned", "seed", "device", "threads", "data_dir", "logger"),
    *("trainer.stop_below", "trainer.stop_when_solved", "trainer.stop_when_still"),
    *("trainer.evaluate_every", "trainer.evaluation_examples"),
)


def with_rank(name: str, rank: int) -> str:
    """The name of the best settings is that of the search; the second best are ``NAME_2``, and so on."""
    return name if rank == 1 else f"{name}_{rank}"


def tuned_configs(
    stored: optuna.Study, trials: pd.DataFrame, definition: SearchDefinition, made_by: str | None = None
) -> list[str]:
    """The best settings as text, the best ones first. Comments say where they come from.

    Args:
        stored: the trials of the search.
        trials: the table of these trials.
        definition: the search, which says how many settings are kept.
        made_by: the command that makes the files; None for the export of a search below ``conf/search``.

    Raises:
        UserError: no trial has completed.
    """
    ranked = enumerate(finalists(trials, definition).iterrows(), start=1)
    made_by = made_by or f"python scripts/search.py {definition.name} --export"
    return [_config(stored, trials, definition, made_by, best, rank) for rank, (_, best) in ranked]


def with_sections(text: str, configs: Mapping[str, str]) -> str:
    """A file of settings with these configurations; sections of the same names are replaced.

    Args:
        text: the file so far, empty for a new one.
        configs: name of a section -> a configuration as ``tuned_configs`` returns it.
    """
    head, *rest = re.split(r"^(?=\S+:$)", text or HEAD, flags=re.M)
    sections = {section.partition(":\n")[0]: section for section in rest}
    for name, config in configs.items():
        lines = config.removeprefix(f"{PACKAGE}\n")
        sections[name] = f"{name}:\n{textwrap.indent(lines, '  ')}"
    return head + "".join(sections.values())


def _config(
    stored: optuna.Study,
    trials: pd.DataFrame,
    definition: SearchDefinition,
    made_by: str,
    best: pd.Series,
    rank: int,
) -> str:
    # The storage keeps the types of the values. The columns of a table do not.
    overrides = overrides_of(definition, stored.get_trials()[int(best.number)].params)
    groups, settings = _settings(overrides)
    base = tuned_choice(compose_config(overrides).hydra.runtime.choices)
    states = trials.state.value_counts()
    chosen = [text for text in definition.fixed if key_of(text) in (PLACES, "experiment")]
    tuned = f"tuned=searched/{with_rank(definition.name, rank)}"
    kind = {"random": "random search", "tpe": "Optuna's TPE"}[definition.sampler]
    lines = [
        PACKAGE,
        f"# {shlex.join(['python', 'src/train.py', *chosen, tuned, 'seed=0'])}",
        f"# {'Best' if rank == 1 else f'Number {rank}'} of {states['COMPLETE']} completed trials "
        f"({states.get('FAIL', 0)} failed) by {kind}:",
        f"# trial {best.number}, {definition.metric} {best.value:.6g}.",
        *(f"# {part}" for part in f"Rule: {definition.rule}.".split("; ")),
        f"# Made by: {made_by}",
    ]
    if groups or base is not None:
        # The file that the trials started from comes first, so that their own choices replace its values.
        lines += ["defaults:", *([] if base is None else [f"  - /tuned/{base}", "  - _self_"])]
        lines += [f"  - override /{group}: {choice}" for group, choice in groups.items()]
    return "\n".join(lines) + "\n" + (OmegaConf.to_yaml(OmegaConf.create(settings)) if settings else "")


def _settings(overrides: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The overrides of a run, as choices of groups and as nested values."""
    groups: dict[str, str] = {}
    settings = OmegaConf.create({})
    kept = [text for text in overrides if not text.startswith("~")]
    for entry in OverridesParser.create().parse_overrides(kept):
        key = entry.key_or_group.lstrip("+")
        if key in NOT_SETTINGS or key.startswith("hydra."):
            continue
        if (CONF / key).is_dir():
            groups[key] = str(entry.value())
        else:
            OmegaConf.update(settings, key, entry.value(), force_add=True)
    nested = OmegaConf.to_container(settings)
    assert isinstance(nested, dict)
    return groups, {str(key): value for key, value in nested.items()}
