"""The message for a config file that is not YAML: a line is indented wrongly, or a quote is missing."""

from __future__ import annotations

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
