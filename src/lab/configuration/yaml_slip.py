"""The message for a config file that is not YAML: a line is indented wrongly, or a quote is missing."""

from __future__ import annotations

import io
from pathlib import Path

from yaml import MarkedYAMLError, YAMLError
from yaml.reader import ReaderError


def yaml_slip(error: YAMLError) -> str:
    """One line that names the file and the line of a slip, what is wrong there, and what to check."""
    remedy = "check the indentation, the quotes and the colons of that line and of the one before it"
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        if mark is not None:
            return f"{mark.name}, line {mark.line + 1}, is not YAML ({problem}): {remedy}"
    if isinstance(error, ReaderError):
        character = error.character if isinstance(error.character, str) else f"U+{error.character:04X}"
        return (
            f"{error.name} is not YAML: character {error.position + 1} is {character}, which no text has: "
            "delete it"
        )
    return f"a config file is not YAML ({' '.join(str(error).split())}): {remedy}"


def encoding_slip(error: BaseException) -> str | None:
    """One line that names the file and the line of a byte that is not UTF-8. None for any other error."""
    if not isinstance(error, UnicodeDecodeError):
        return None
    # The error does not name the file. The function of Hydra that was reading it still has it open.
    trace, path = error.__traceback__, None
    while trace is not None:
        file = trace.tb_frame.f_locals.get("f")
        path = Path(file.name) if isinstance(file, io.TextIOWrapper) else path
        trace = trace.tb_next
    if path is None:
        return None
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError as found:
        line = found.object[: found.start].count(b"\n") + 1
        return f"{path}, line {line}, has a byte that is not UTF-8: save the file as UTF-8"
    return None
