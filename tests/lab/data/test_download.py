"""Downloads against a small server of our own: whole, right, continued, never waited for."""

from __future__ import annotations

import hashlib
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab.data.download import download, file_md5, server_answers

CONTENT = bytes(range(256)) * 5000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT; ``breaks_after`` ends the first answer early; ``ranges`` says if it continues."""

    breaks_after: int | None = None
    ranges = True
    starts: list[int]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        self.send_error(403)

    def do_GET(self) -> None:
        wanted = self.headers.get("Range") if self.server.ranges else None
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        self.server.starts.append(start)
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        end = self.server.breaks_after
        self.server.breaks_after = None
        self.wfile.write(CONTENT[start:end])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.starts = []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/file"


def test_a_whole_file(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    download(url(server), path, MD5)
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_is_continued(server: Server, tmp_path: Path, ranges: bool) -> None:
    path = tmp_path / "file"
    server.breaks_after, server.ranges = 700_000, ranges
    with pytest.raises(OSError, match="700000 of 1280000"):
        download(url(server), path, MD5)
    assert not path.exists()
    download(url(server), path, MD5)
    assert path.read_bytes() == CONTENT
    assert server.starts == [0, 700_000 if ranges else 0]


def test_killed_between_the_last_byte_and_the_check(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".file.part").write_bytes(CONTENT)
    download(url(server), tmp_path / "file", MD5)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_wrong_file_never_appears(server: Server, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=f"MD5 is {MD5} instead of 0"):
        download(url(server), tmp_path / "file", "0" * 32)
    assert not list(tmp_path.iterdir())


def test_a_server_that_refuses_is_there(server: Server) -> None:
    assert server_answers(url(server))


def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def silent(*_: object, **__: object) -> Any:
        over.wait(60)
        raise TimeoutError

    monkeypatch.setattr(urllib.request, "urlopen", silent)
    began = time.monotonic()
    assert not server_answers("http://silent.invalid/", 0.2)
    assert time.monotonic() - began < 5
    over.set()


def test_md5_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT)
    assert file_md5(tmp_path / "file") == MD5
