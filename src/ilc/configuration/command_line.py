"""Runs a Hydra entrypoint so that a user's mistake ends in one message."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ilc.configuration.groups import choices_with
from ilc.configuration.keys import unknown_key
from ilc.errors import UserError


def run_command(main: Callable[[], None]) -> None:
    """Call ``main``; on a user's mistake print one message and exit with status 1.

    Errors of Hydra and OmegaConf, which come from the command line or the config files, and errors
    of the file system count as such. Anything else is a defect of ours and keeps its traceback;
    so does everything with ``HYDRA_FULL_ERROR=1``.
    """
    if os.environ.get("HYDRA_FULL_ERROR"):
        main()
        return
    # Makes Hydra hand exceptions on instead of printing them in its own way.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        main()
    except KeyboardInterrupt:
        print("Interrupted. The same command continues.", file=sys.stderr)
        sys.exit(130)
    except (UserError, HydraException, OmegaConfBaseException, OSError) as error:
        print(f"Error: {readable(error)}", file=sys.stderr)
        sys.exit(1)


def readable(error: BaseException) -> str:
    """One message: what was wrong, what was expected, the remedy."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None:
        chain.append(link)
        link = link.__cause__ or link.__context__
    for link in chain:
        if isinstance(link, UserError):
            return str(link)
    for link in chain:
        if isinstance(link, OmegaConfBaseException) and link.parent_node is not None:
            return _unknown_key(link)
    if isinstance(error, OSError) and not isinstance(error, HydraException):
        where = error.filename or "a file"
        return f"{where}: {error.strerror or error}. Check that it exists and is writable"
    # Hydra's own messages name the choices; its line breaks and search path are in the way.
    return " ".join(str(error).split("Config search path")[0].split())


def _unknown_key(error: OmegaConfBaseException) -> str:
    if "is not in struct" not in str(error) or not OmegaConf.is_dict(error.parent_node):
        return " ".join(str(error).split())
    assert error.parent_node is not None
    key = str(error.full_key)
    group, _, option = key.rpartition(".")
    others = choices_with(group, option) if group else []
    if others:
        return (
            f"{group}={error.parent_node.get('name')} has no option {option!r}, unlike {', '.join(others)}: "
            "leave it out, or choose one of those (a sweep with -m leaves it out by itself)"
        )
    return unknown_key(key, [str(key) for key in error.parent_node])
