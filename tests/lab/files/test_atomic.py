"""Files that are whole or not there, and what is said where they cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.files.atomic import cannot_write, check_file_path, write_text


@pytest.mark.parametrize("path", [".", "..", "/", "folder", "folder/", "folder/..", "./.", "folder/."])
def test_a_folder_is_no_file(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for call in (check_file_path, lambda path: write_text(path, "x")):
        with pytest.raises(UserError, match=r"cannot write .*: it is a folder\. Name a file in it"):
            call(Path(path))  # type: ignore[operator]
    assert [entry.name for entry in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("path", ["file/x", "file/x/y/z"])
def test_nothing_is_below_a_file(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(UserError, match=r"file is a file, not a folder\. Name another path"):
        check_file_path(tmp_path / path)


def test_a_name_that_is_too_long_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 5000)
    check_file_path(path)
    with pytest.raises(UserError, match="File name too long"):
        write_text(path, "x")


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def renamed(folder: Path) -> None:
    folder.rename(folder.with_name("other"))


@pytest.mark.parametrize("happens", [gone, renamed])
def test_a_folder_that_is_gone_is_said_to_be(happens: Callable[[Path], None], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    write_text(folder / "a", "x")
    happens(folder)
    with pytest.raises(UserError, match=rf"The folder {folder} no longer exists: .* to start over") as caught:
        write_text(folder / "a", "x")
    assert "room" not in str(caught.value)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_only_a_full_disk_asks_for_room(number: int, tmp_path: Path) -> None:
    assert "make room" in cannot_write(tmp_path / "x", OSError(number, os.strerror(number)))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENAMETOOLONG])
def test_other_reasons_do_not(number: int, tmp_path: Path) -> None:
    message = cannot_write(tmp_path / "x", OSError(number, os.strerror(number)))
    assert "room" not in message and os.strerror(number) in message
