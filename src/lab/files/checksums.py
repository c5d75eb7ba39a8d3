"""Hashes of the committed results: ``results/SHA256SUMS``, in the format of ``sha256sum``.

The list has one line per file and is sorted by path, so that git can merge two branches that change different
files. After a conflict, call ``refresh`` with the files that both branches changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ilc.errors import UserError
from lab.files.atomic import write_text
from lab.files.locked import locked

SUMS = "SHA256SUMS"
DATA = (".csv", ".npz", ".pt")
"""The endings of the listed files: figures, tables and claims are made from these files."""

_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_MARKER = re.compile(r"(<{7}|={7}|>{7}|\|{7})( |$)")
"""A line that git writes into a file after a conflict."""


def check(folder: Path) -> int:
    """Check the data files below a folder against its ``SHA256SUMS``; return the number of files.

    Raises:
        UserError: the list is missing or damaged, or a file was changed, is missing, or is not listed.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: name one that holds results")
    with locked(folder):
        listed = _read(folder, strict=True)
        there = _data(folder)
        wrong = dict.fromkeys(listed.keys() - there, "is missing")
        wrong |= dict.fromkeys(there - listed.keys(), "is not listed")
        for path in listed.keys() & there:
            if listed[path] != {_sha256(folder / path)}:
                wrong[path] = "was changed"
    if wrong:
        path = min(wrong)
        more = f" (other files that do not fit it: {len(wrong) - 1})" if len(wrong) > 1 else ""
        raise UserError(
            f"{folder / path} {wrong[path]}, according to {folder / SUMS}{more}: put back the committed "
            f"file. If the file is right as it is, run python scripts/checksums.py {folder / path}"
        )
    return len(there)


def refresh(folder: Path, paths: Iterable[Path]) -> None:
    """Write the present hashes of these files below ``folder`` into the list, and remove files that are gone.

    A folder stands for all files in it, also a folder that is gone. Other files keep their line. Files
    outside of the folder, and files that are not data, are ignored.

    Raises:
        UserError: the list is damaged or cannot be written.
    """
    with locked(folder):
        list_again(folder, paths)


def list_again(folder: Path, paths: Iterable[Path]) -> None:
    """Do the same as ``refresh``, for a caller that has locked the folder already."""
    listed = _read(folder, strict=False)
    before = {path: set(own) for path, own in listed.items()}
    known = listed.keys() | _data(folder)
    for name in sorted({name for path in paths for name in _named(folder, path, known)}):
        listed.pop(name, None)
        if (folder / name).exists():
            listed[name] = {_sha256(folder / name)}
    for name, own in listed.items():
        if len(own) > 1 and (folder / name).exists():  # Both sides of a conflict: the file itself decides.
            listed[name] = own & {_sha256(folder / name)} or own
    if listed != before or not (folder / SUMS).exists():
        lines = [f"{digest}  {name}\n" for name in sorted(listed) for digest in sorted(listed[name])]
        write_text(folder / SUMS, "".join(lines))


def _named(folder: Path, path: Path, known: Iterable[str]) -> Iterator[str]:
    """The data files that a path names, by path below ``folder``: itself, or all below it for a folder."""
    if path.resolve().is_relative_to(folder.resolve()):
        name = path.resolve().relative_to(folder.resolve()).as_posix()
        if path.suffix in DATA:
            yield name
        elif not path.suffix:
            yield from (file for file in known if file.startswith(f"{name}/"))


def _data(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in DATA and path.is_file()
    }


def _read(folder: Path, strict: bool) -> dict[str, set[str]]:
    """Path below the folder -> its hash, or its hashes if the list has several lines for it.

    Args:
        folder: the folder of the list.
        strict: whether the list must exist and must not hold marks of a conflict.
    """
    path = folder / SUMS
    try:
        lines = path.read_text().splitlines() if strict or path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}): put back the committed file") from error
    listed: dict[str, set[str]] = {}
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is not None:
            listed.setdefault(match[2], set()).add(match[1])
        elif strict or _MARKER.match(line) is None:
            raise UserError(
                f"line {number} of {path} does not have the format of sha256sum: put back the committed "
                "file, or, after a merge conflict, run python scripts/checksums.py with the files that both "
                "sides changed"
            )
    return listed


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
