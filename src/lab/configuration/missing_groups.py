"""The messages for a choice from a group that the experiment does not choose from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from omegaconf import OmegaConf

from lab.configuration.groups import CONF

OVERRIDE = re.compile(r"Could not override '([\w/]+)'\. No match in the defaults list.*?(\+\S+=\S+)?$", re.S)
DELETE = re.compile(r"Could not delete '([\w/]+)(?:=[^']*)?'\. No match in the defaults list")

OWN_TUNED = (
    ". An experiment of your own needs the line '- optional /tuned: ${experiment}/${aggregator}' in its "
    "defaults, after _self_"
)


def missing_group(said: str) -> str | None:
    """The message in place of Hydra's, which would ask for a plus sign; None if Hydra says something else.

    Args:
        said: the message of Hydra.
    """
    overridden, deleted = OVERRIDE.search(said), DELETE.search(said)
    if overridden and (CONF / overridden[1]).is_dir():
        group, choice = overridden[1], (overridden[2] or f"+{overridden[1]}=...")[1:]
        having = ", ".join(experiments_with(group)) or "none"
        own = OWN_TUNED if group == "tuned" else ""
        return (
            f"the experiment does not choose from conf/{group}: leave {choice} out, or choose an experiment "
            f"that does ({having}){own}"
        )
    if deleted and (CONF / deleted[1]).is_dir():
        return (
            f"the experiment does not choose from conf/{deleted[1]}, so it has nothing to leave out: write "
            f"the command without '~{deleted[1]}'"
        )
    return None


def experiments_with(group: str) -> list[str]:
    """The names of the experiments that choose from a group."""
    files = sorted((CONF / "experiment").glob("*.yaml"))
    return [path.stem for path in files if group in _groups_in(OmegaConf.to_container(OmegaConf.load(path)))]


def _groups_in(content: object) -> Iterator[str]:
    """The groups of the list of defaults, whose entries are ``optional /GROUP: CHOICE`` and the like."""
    defaults = content.get("defaults") if isinstance(content, dict) else None
    for entry in defaults or ():
        if isinstance(entry, dict):
            yield from (str(key).split()[-1].strip("/") for key in entry)
