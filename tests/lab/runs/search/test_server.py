"""Many askers of one search, on a real PostgreSQL: each trial is made once, whoever dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from optuna.trial import TrialState

from ilc.errors import UserError
from lab.runs.search.asker import Asker
from lab.runs.search.storage import STORAGE, open_storage


@pytest.fixture
def url(postgres: Any, request: pytest.FixtureRequest) -> str:
    """The address of a database of the test's own."""
    address: str = postgres.database(request.node.name)
    return address


@pytest.fixture
def connect(url: str) -> Callable[[], Any]:
    from lab.runs.search.server import Server

    return lambda: Server(url)


@pytest.mark.slow
def test_askers_together_complete_as_many_trials_as_one(
    definition: Any, connect: Any, tmp_path: Path
) -> None:
    """Begun at the same moment in an empty database; every fourth trial fails, and is replaced."""
    wanted = definition(trials=12)
    trained: list[tuple[int, Any]] = []
    errors: list[BaseException] = []
    together = threading.Barrier(3)

    def ask() -> None:
        try:
            with connect() as server:
                together.wait()
                with Asker(wanted, tmp_path / "many", server) as asker:
                    while (trial := asker.next()) is not None:
                        trained.append((trial.number, trial.parameters))
                        result = {"test/accuracy": 0.5, "test/loss": float(trial.number)}
                        asker.tell(trial.number, "it diverged" if trial.number % 4 == 3 else result)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    numbers = sorted(number for number, _ in trained)
    assert numbers == list(range(len(numbers))), "a trial trained twice, or never"
    with connect() as server:
        stored = open_storage(wanted, tmp_path / "many", server)
        states = [trial.state for trial in stored.get_trials()]
    assert states.count(TrialState.COMPLETE) == 12
    assert states.count(TrialState.FAIL) == len(states) - 12 == len(numbers) - 12
    with Asker(wanted, tmp_path / "one") as asker:  # The same parameters as in a file.
        for number in numbers[:12]:
            trial = asker.next()
            assert trial is not None
            assert (trial.number, trial.parameters) in trained
            assert trial.number == number


def test_the_trials_of_a_dead_asker_are_taken_up_and_those_of_a_living_one_are_not(
    definition: Any, connect: Any, url: str, tmp_path: Path
) -> None:
    import psycopg

    wanted = definition(trials=2)
    with connect() as first, connect() as second, psycopg.connect(url, autocommit=True) as other:
        one, two = Asker(wanted, tmp_path, first), Asker(wanted, tmp_path, second)
        begun = one.next()
        assert begun is not None
        held = two.next()
        assert held is not None
        assert held.number == 1
        assert two.next() is None
        assert two.others_train
        # As when its process dies: the server ends the connections of the first.
        process = first._connection.info.backend_pid
        other.execute("SELECT pg_terminate_backend(%s)", (process,))
        again = None
        for _ in range(100):
            again = again or two.next()
        assert again == begun
        with pytest.raises(
            UserError, match=r"^--storage postgresql://ilc@127.*the same command again"
        ) as lost:
            one.tell(0, {"test/accuracy": 0.5, "test/loss": 1.0})
        assert "cret" not in str(lost.value)
        for number in (0, 1):
            assert two.tell(number, {"test/accuracy": 0.5, "test/loss": 1.0})
        assert two.next() is None
        assert not two.others_train
    with connect() as third, Asker(wanted, tmp_path, third) as asker:
        assert asker.n_complete == 2
        assert asker.next() is None


def test_mistakes_are_one_message_without_the_password(
    definition: Any, postgres: Any, url: str, tmp_path: Path
) -> None:
    from lab.runs.search.server import Server

    taken = url.replace(str(postgres.port), "9")  # Where nobody listens.
    for wrong, message in (
        (postgres.url("postgres", "another%2Fs3cret"), "password authentication failed"),
        (taken, "Check that the server runs there"),
        (postgres.url("nowhere"), 'database "nowhere" does not exist'),
        ("mysql://me:s3cret@host/x", "--storage must be postgresql://user@host"),
        ("postgresql://me:s3cret/word@host/x", "--storage must be"),
        ("postgresql://me:s3cret@word@host/x", "--storage must be"),
        ("postgresql://me:s3cret#word@host/x", "--storage must be"),
        ("postgresql://me@host/x?password=s3cret", "--storage must be"),
        ("postgresql://me:s3cret%@127.0.0.1:9/x", "--storage postgresql://me@127.0.0.1:9/x cannot be used: "),
    ):
        with pytest.raises(UserError) as error:
            Server(wrong)
        assert message in str(error.value), str(error.value)
        assert "cret" not in str(error.value)
        assert error.value.__cause__ is None
    wanted = definition()
    with Server(url) as server, Asker(wanted, tmp_path / "here", server):
        for other, folder, message in (
            (wanted, "there", "are not in .*there: give the --output with which the search began"),
            (definition(seed=1), "here", "holds another search called tiny, which differs in seed"),
        ):
            with pytest.raises(UserError, match=message):
                open_storage(other, tmp_path / folder, server)
        with pytest.raises(UserError, match=r"are on a server: add --storage postgresql://ilc@127\.0\.0\.1"):
            open_storage(wanted, tmp_path / "here")
        open_storage(wanted, tmp_path / "local")
        with pytest.raises(UserError, match=f"are in its {STORAGE}: leave out --storage"):
            open_storage(wanted, tmp_path / "local", server)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"cret" not in path.read_bytes(), path


def test_without_the_driver_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "lab.runs.search.server", raising=False)
    with pytest.raises(
        UserError, match=r"needs psycopg, which is not installed: run pip install 'ilc\[postgres\]'"
    ):
        import lab.runs.search.server  # noqa: F401


SEARCH = """
fixed: ["~tuned", experiment=spirals, aggregator=and_mask, device=cpu, dataset.n_environments=4,
  dataset.examples_per_environment=64, dataset.batch_size=16, dataset.n_test=50, model.hidden_units=16,
  trainer.max_epochs={EPOCHS}, trainer.stop_when_memorised=false]
space: {optimizer.lr: {log_uniform: [1e-3, 1e-1]}}
objective: {test/accuracy: maximize}
selection: last
trials: 5
"""
EPOCHS = 40


@pytest.mark.slow
def test_two_commands_and_one_that_is_killed(root: Path, url: str, wait_for: Any, tmp_path: Path) -> None:
    path, output = tmp_path / "tiny.yaml", tmp_path / "search"
    path.write_text(SEARCH.replace("{EPOCHS}", str(EPOCHS)))
    script = [sys.executable, str(root / "scripts" / "search.py"), str(path), "--output", str(output)]
    command = [*script, "--storage", url]
    metrics = output / "trials" / "0001" / "metrics.jsonl"
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL) as first,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second,
    ):
        wait_for(lambda: metrics.exists() or None)  # Each has a trial under way.
        first.kill()
        said, errors = second.communicate(timeout=300)
    assert second.returncode == 0, errors
    assert "tiny: 5 complete; best: trial" in said
    assert "cret" not in said + errors
    lines = [len(run.read_text().splitlines()) for run in sorted(output.glob("trials/*/metrics.jsonl"))]
    assert lines == [EPOCHS] * 5
    table = pd.read_csv(output / "trials.csv")
    assert table.number.tolist() == list(range(5))
    for file in output.rglob("*"):
        assert file.is_dir() or b"cret" not in file.read_bytes(), file
