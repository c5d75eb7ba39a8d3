"""The files that a page prints: each block stands below a line with the file's path and a colon."""

from __future__ import annotations

import re
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", re.M | re.S)
COMMANDS = ("", "sh", "bash")


def printed_files(page: Path) -> dict[str, str]:
    """Path from the repository's root -> the block, as it stands there."""
    return dict(FILE.findall(page.read_text()))


def blocks_without_a_file(page: Path) -> list[str]:
    """All other blocks but commands."""
    text = FILE.sub("", page.read_text())
    return [block for language, block in BLOCK.findall(text) if language not in COMMANDS]


def printed_commands(page: Path) -> list[str]:
    """The lines of the blocks of commands."""
    text = page.read_text()
    blocks = [block for language, block in BLOCK.findall(text) if language in COMMANDS]
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines() if line.strip()]
