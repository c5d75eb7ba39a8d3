"""Hashes of the committed results: ``results/SHA256SUMS``, in the format of ``sha256sum``.

The list has one line per file and is sorted by path, so that git can merge two branches that change different
files. After a conflict, call ``refresh`` with the files that both branches changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
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


def read_listed(folder: Path, path: Path) -> bytes | None:
    """Read a file below a folder, and check it if the folder's ``SHA256SUMS`` lists it; None if it is gone.

    If the list has several lines for the file, as after a conflict or a kill, the file may fit any of them.

    Raises:
        UserError: the file was changed or cannot be read, or the list is damaged.
    """
    if not path.exists():
        return None
    try:
        with locked(folder):  # Nobody writes the file and the list meanwhile.
            content = path.read_bytes()
            listed = _read(folder, strict=False).get(_name(folder, path) or "")
    except OSError as error:
        raise UserError(
            f"{path} cannot be used ({error.strerror or error}): put back the committed file, or remove it"
        ) from error
    if listed is not None and hashlib.sha256(content).hexdigest() not in listed:
        raise UserError(_does_not_fit(folder, path, "was changed"))
    return content


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
        raise UserError(_does_not_fit(folder, folder / path, wrong[path], more))
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


def list_beforehand(folder: Path, contents: Mapping[Path, bytes]) -> None:
    """Add the hashes that listed files are about to get, for a caller that has locked the folder already.

    If the caller is killed before it calls ``list_again``, the list has the old and the new hash of a file,
    so ``read_listed`` takes whichever of the two is there.
    """
    listed = _read(folder, strict=False)
    lines = sum(map(len, listed.values()))
    for path, content in contents.items():
        name = _name(folder, path) or ""
        if name in listed:
            listed[name].add(hashlib.sha256(content).hexdigest())
    if sum(map(len, listed.values())) > lines:
        _write(folder, listed)


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
        _write(folder, listed)


def _write(folder: Path, listed: Mapping[str, Iterable[str]]) -> None:
    lines = [f"{digest}  {name}\n" for name in sorted(listed) for digest in sorted(listed[name])]
    write_text(folder / SUMS, "".join(lines))


def _does_not_fit(folder: Path, path: Path, how: str, more: str = "") -> str:
    return (
        f"{path} {how}, according to {folder / SUMS}{more}: put back the committed file. If the file is "
        f"right as it is, run python scripts/checksums.py {path}"
    )


def _name(folder: Path, path: Path) -> str | None:
    """The path of a file below the folder, as the list has it; None for a file elsewhere."""
    own, above = path.resolve(), folder.resolve()
    return own.relative_to(above).as_posix() if own.is_relative_to(above) else None


def _named(folder: Path, path: Path, known: Iterable[str]) -> Iterator[str]:
    """The data files that a path names, by path below ``folder``: itself, or all below it for a folder."""
    name = _name(folder, path)
    if name is not None:
        if path.suffix in DATA:
            yield name
        else:
            yield from (file for file in known if name == "." or file.startswith(f"{name}/"))


def check_named(folder: Path, paths: Iterable[Path]) -> None:
    """Refuse a path that neither exists nor stands for a file of the list, as a mistyped one.

    Raises:
        UserError: there is such a path, or the list is damaged.
    """
    listed = _read(folder, strict=False)
    for path in paths:
        if not path.exists() and not any(name in listed for name in _named(folder, path, listed)):
            raise UserError(
                f"{path} does not exist, and {folder / SUMS} does not list it: check its spelling"
            )


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
