"""Runs a command so that a mistake of the user ends in one message."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ilc.errors import UserError
from lab.configuration.groups import CONF, GROUPS_WITHOUT_KEY, foreign_option
from lab.configuration.keys import unknown_key
from lab.configuration.missing_groups import missing_group
from lab.configuration.yaml_slip import encoding_slip, yaml_slip
from lab.machine.stop_signals import listening
from lab.terminal.output import unbreakable_output


def command_parser(about: str | None) -> ArgumentParser:
    """A parser of a script's command line whose ``--help`` begins with the script's docstring."""
    return ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)


def report_command(folder: Path) -> str:
    """The command that shows the runs below a folder, for the present working folder."""
    script = os.path.relpath(CONF.parent / "scripts" / "report.py")
    return shlex.join(["python", script, str(folder)])


def run_command(main: Callable[[], None]) -> None:
    """Call ``main``, listen to signals that ask to stop, and exit with status 1 after a mistake of the user.

    A mistake gives one message. A stop gives one message too, with the status
    ``lab.machine.stop_signals.STOPPED``.

    Errors of Hydra, OmegaConf and YAML, which come from the command line or the config files, and errors of
    the file system count as mistakes of the user. Every other error is a defect of this project and keeps its
    traceback. With ``HYDRA_FULL_ERROR=1`` every error does. A reader of the output who goes away (``|
    head``) does not end the command.
    """
    shows_defects = bool(os.environ.get("HYDRA_FULL_ERROR"))
    # With this variable Hydra raises exceptions. Otherwise it prints them in its own way.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    with listening(), unbreakable_output():
        try:
            main()
        except KeyboardInterrupt:
            print("Interrupted. Run the same command again to continue.", file=sys.stderr)
            sys.exit(130)
        except Exception as error:
            if shows_defects or not _is_a_users(error):
                raise
            print_error(readable(error))
            sys.exit(1)
        finally:
            if not shows_defects:
                del os.environ["HYDRA_FULL_ERROR"]


@contextmanager
def mistake_before_hydra() -> Iterator[None]:
    """Exit with status 1 and one message after a UserError in a function of ``hydra.main``.

    Without this Hydra prints a line of its own before the message of ``run_command``.
    """
    try:
        yield
    except UserError as error:
        print_error(str(error))
        sys.exit(1)


def _is_a_users(error: BaseException) -> bool:
    """Whether the user caused an error: a UserError, an error of the system, or one that Hydra raised."""
    if isinstance(error, (UserError, HydraException, OmegaConfBaseException, YAMLError, OSError)):
        return True
    if encoding_slip(error) is not None:
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return where.split(".")[0] in ("hydra", "omegaconf", "antlr4")


def several_processes() -> bool:
    """Whether torchrun, or something like it, started this process beside others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def print_error(message: str) -> None:
    """Print a message once, also if several processes have an error. Only the first one is printed."""
    if several_processes():
        from ilc._processes import (
            first_to_speak,  # This imports torch, which takes seconds, so it is done here only.
        )

        if not first_to_speak():
            return
    sys.stdout.flush()  # In a log of both, what was printed before stands before it.
    print(f"Error: {message}", file=sys.stderr)


def readable(error: BaseException) -> str:
    """The message of an error: what was wrong, what was expected, and the remedy."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None:
        chain.append(link)
        link = link.__cause__ or link.__context__
    for link in chain:
        if isinstance(link, UserError):
            return str(link)
        if isinstance(link, YAMLError):
            return yaml_slip(link)
        if (said := encoding_slip(link)) is not None:
            return said
    for link in chain:
        if isinstance(link, OmegaConfBaseException) and link.parent_node is not None:
            return _unknown_key(link)
    if isinstance(error, OSError) and not isinstance(error, HydraException):
        return _of_a_file(error)
    # The messages of Hydra name the choices. The line breaks and the search path are left out.
    said = " ".join(str(error).split("Config search path")[0].split())
    return missing_group(said) or said


def _of_a_file(error: OSError) -> str:
    where = error.filename or "a file"
    if isinstance(error, FileExistsError):
        return f"{where} is a file, and a folder is needed there: give another path"
    return f"{where}: {error.strerror or error}. Check that it exists and is writable"


def _unknown_key(error: OmegaConfBaseException) -> str:
    if "is not in struct" not in str(error) or not OmegaConf.is_dict(error.parent_node):
        return " ".join(str(error).split())
    assert error.parent_node is not None
    key = str(error.full_key)
    group, _, option = key.rpartition(".")
    known = [str(key) for key in error.parent_node]
    if not group and OmegaConf.is_dict(error.parent_node.get("experiment")):
        return "the file of this experiment needs '# @package _global_' as its first line"
    hint = f". An option that the config leaves out needs a plus sign: +{key}=VALUE"
    if not group:
        return unknown_key(key, [*known, *GROUPS_WITHOUT_KEY]) + hint
    return foreign_option(group, error.parent_node.get("name"), option) or unknown_key(key, known) + hint
