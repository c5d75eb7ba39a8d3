"""The text files of this folder: blocks of a name in brackets, words, and lines of code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """What stands behind a name, and the lines below."""

    words: tuple[str, ...]
    lines: str


def read(file: str) -> dict[str, Entry]:
    """The entries of a file, by name."""
    text = (Path(__file__).parent / file).read_text()
    blocks = re.findall(r"^\[(.+?)\] ?(.*)\n((?:.+\n?)*)", text, re.M)
    found = {name: Entry(tuple(words.split(", ")), lines) for name, words, lines in blocks}
    if len(found) != len(blocks):
        raise ValueError(f"{file} has a name twice")
    return found


def filled(lines: str, **values: object) -> str:
    """The lines with ``{name}`` replaced; other braces stay."""
    for name, value in values.items():
        lines = lines.replace("{" + name + "}", str(value))
    return lines
