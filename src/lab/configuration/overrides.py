"""Checks the overrides of a command line before Hydra reads them, so that the error names a remedy."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from ilc.errors import UserError
from lab.configuration.groups import CONF, choices

GROUPS = ("experiment", "aggregator", "dataset", "model", "optimizer", "logger")
"""The groups whose choices people know by name."""
OPTIONAL_GROUPS = ("tuned",)
"""Groups from which nothing needs to be chosen."""
LISTED = 32
"""The largest number of choices that a message lists."""


def check_overrides(overrides: Sequence[str]) -> None:
    """Check that each override can be read, and that a choice from a group is given by its name.

    Raises:
        UserError: an override cannot be read, or does not name a choice.
    """
    parser = OverridesParser.create()
    elsewhere = any(text.startswith("hydra.searchpath=") for text in overrides)
    for text in overrides:
        try:
            read = parser.parse_override(text)
        except (HydraException, ValueError) as error:  # ValueError: a number of thousands of digits.
            raise UserError(f"cannot read {shortened(text)!r}: {_how_to_write(text, parser)}") from error
        if not read.key_or_group:
            raise UserError(f"cannot read {shortened(text)!r}: expected key=value, such as seed=1")
        check_folder_named(text)
        if (CONF / read.key_or_group).is_dir():
            _check_choice(read, elsewhere)


def check_no_dashes(argument: str) -> None:
    """Refuse ``--experiment``, which Hydra would take for the beginning of a flag of its own."""
    key = argument.lstrip("-").partition("=")[0]
    if argument.startswith("-") and key in GROUPS:
        raise UserError(f"options have no dashes: write {key}=NAME in place of {shortened(argument)}")


def folder_in(override: str) -> Path:
    """Return the folder that an override names, without the quotes that it may have.

    Raises:
        UserError: the override cannot be read, or names no folder.
    """
    check_overrides([override])
    return Path(str(OverridesParser.create().parse_override(override).value()))


def check_folder_named(override: str) -> None:
    """Refuse an option for a folder without a value, as ``hydra.run.dir=$UNSET`` gives it.

    Hydra would take the current folder, and fill it with the files of a run.
    """
    if override in ("hydra.run.dir=", "hydra.sweep.dir="):
        raise UserError(f"{override} names no folder: write {override}FOLDER ({override}. is this one)")


def _check_choice(read: Override, elsewhere: bool) -> None:
    """Check that the override of a group names a choice.

    If choices may lie elsewhere, in a folder of ``hydra.searchpath``, Hydra checks the name.
    """
    group, known = read.key_or_group, choices(read.key_or_group)
    optional = group in OPTIONAL_GROUPS
    if read.is_sweep_override() or (read.is_delete() and optional):
        return
    value = None if read.is_delete() else read.value()
    if not isinstance(value, str) or (value not in known and not elsewhere):
        close = difflib.get_close_matches(str(value), known, n=1)
        hint = f"did you mean {close[0]}? Write" if close else "write"
        raise UserError(
            f"{shortened(str(read.input_line))} does not name a choice of {group}: {hint} {group}=NAME, "
            f"where NAME is one of {_listed(known, str(value), group, optional)}"
        )


def _listed(known: list[str], wanted: str, group: str, optional: bool) -> str:
    """The choices of a group; if there are too many for a line, the most similar ones."""
    if len(known) <= LISTED:
        return ", ".join(known)
    others = f" and results/*/search/*.yaml, or leave all out with '~{group}'" if optional else ""
    nearest = difflib.get_close_matches(wanted, known, n=LISTED // 4, cutoff=0.0)
    return f"{len(known)}, such as {', '.join(nearest)} (all: conf/{group}/){others}"


def key_of(override: str) -> str:
    """The key of an override, without its value and the signs ``+`` and ``~`` before it."""
    return override.partition("=")[0].lstrip("+~")


def shortened(text: str) -> str:
    """The beginning of a text, as long as a message can show."""
    return text if len(text) <= 80 else f"{text[:80]}..."


def _how_to_write(text: str, parser: OverridesParser) -> str:
    """How to write the override: with its value in quotes, if Hydra can then read it."""
    key, equals, value = text.partition("=")
    quoted = f'{key}="{value.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"'
    try:
        parser.parse_override(quoted)
    except (HydraException, ValueError):
        return "expected key=value, such as seed=1"
    if not equals:
        group = next((group for group in GROUPS if text in choices(group)), None)
        return f"expected {key}=VALUE" if group is None else f"did you mean {group}={text}?"
    return f"write a value with such characters in quotes, {shortened(shlex.quote(quoted))}"
