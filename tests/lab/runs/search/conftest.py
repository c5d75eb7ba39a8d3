from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from lab.runs.search.search_definition import SearchDefinition

MakeDefinition = Callable[..., SearchDefinition]


@pytest.fixture
def definition(tiny: tuple[str, ...]) -> Iterator[MakeDefinition]:
    """Makes a search over tiny spirals; its runs, made in this process, leave torch as it was."""

    def make(*fixed: str, **changes: Any) -> SearchDefinition:
        values: dict[str, Any] = {
            "name": "tiny",
            "fixed": ("~tuned", "experiment=spirals", "aggregator=and_mask", *without_logger(tiny), *fixed),
            "space": {
                "optimizer": {"choice": ["adam", "sgd"]},
                "optimizer.lr": {"log_uniform": [1e-4, 1e-2]},
                "aggregator.rescale": {"choice": [True, False]},
                "model.hidden_layers": {"integer": [1, 3]},
            },
            "objective": {"test/accuracy": "maximize", "test/loss": "minimize"},
            "selection": "last",
            "trials": 3,
        }
        return SearchDefinition(**{**values, **changes})

    yield make
    torch.use_deterministic_algorithms(False)


def without_logger(tiny: tuple[str, ...]) -> tuple[str, ...]:
    """The search itself switches W&B off, and Hydra takes each choice once."""
    return tuple(text for text in tiny if not text.startswith("logger="))


@dataclass(frozen=True)
class Postgres:
    """A server with a database of its own for every test."""

    port: int
    password: str

    def url(self, database: str = "postgres", password: str | None = None) -> str:
        return f"postgresql://ilc:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def database(self, name: str) -> str:
        """The address of a new database."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL on a free port, of an ordinary user, which forgets everything."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'ilc[postgres]'")
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")), shutil.which("initdb")]
    initdb = next((Path(path) for path in reversed(found) if path is not None), None)
    if initdb is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    # PostgreSQL refuses root; and the folders of pytest are closed to others.
    person: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp())
    data, secret = folder / "data", "s3cret%2Fword"
    (folder / "password").write_text("s3cret/word\n")
    if person:
        for path in (folder, folder / "password"):
            shutil.chown(path, **person)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--no-sync", "--auth=scram-sha-256", "--username=ilc", f"--pwfile={folder / 'password'}")
    subprocess.run(
        [initdb, *options, "--locale=C", "--encoding=UTF8", data],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        **person,
    )
    settings = ("fsync=off", f"unix_socket_directories={folder}", "listen_addresses=127.0.0.1")
    command = [initdb.with_name("postgres"), "-D", data, "-p", str(port)]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, *(word for setting in settings for word in ("-c", setting))],
            stderr=log,
            cwd=folder,
            **person,
        )
    try:
        for _ in range(600):
            if "ready to accept connections" in (folder / "log").read_text():
                break
            assert server.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
        yield Postgres(port, secret)
    finally:
        server.send_signal(signal.SIGINT)  # Ends its connections.
        server.wait(60)
        shutil.rmtree(folder)
