"""Signals that ask a program to stop: the first waits for what must be finished, the second does not."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from lab.machine import stop_signals
from lab.machine.stop_signals import STOPPED, Stopped, finish_first, listening, stop_requested


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGINT"])
def test_it_waits_for_what_wants_to_finish(name: str) -> None:
    with listening(), finish_first():
        assert stop_requested() is None
        os.kill(os.getpid(), getattr(signal, name))
        assert stop_requested() == name
    assert stop_requested() is None, "or the next run would stop"


def test_it_ends_what_does_not() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped) as stopped, listening():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
    assert stopped.value.code == STOPPED == 75
    assert signal.getsignal(signal.SIGTERM) is before


def test_one_signal_sent_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm signals torchrun and its processes, and torchrun signals them again."""
    monkeypatch.setattr(stop_signals, "ONE_REQUEST", 10.0)
    with listening(), finish_first():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop_requested() == "SIGTERM"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_the_second_signal_stops_at_once(name: str) -> None:
    program = (
        "import time\nfrom lab.machine import stop_signals\nstop_signals.ONE_REQUEST = 0.0\n"
        "with stop_signals.listening(), stop_signals.finish_first():\n"
        "    print('ready', flush=True)\n    while not stop_signals.stop_requested(): time.sleep(0.001)\n"
        "    print('asked', flush=True)\n    time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    with process.stdout:
        for line in ("ready", "asked"):
            assert process.stdout.readline().strip() == line
            process.send_signal(getattr(signal, name))
    assert process.wait(30) == -getattr(signal, name)


def test_a_signal_inside_a_finalizer_stops_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Python ignores what a finalizer raises, and garbage collection takes long enough to be met often."""

    class Finalized:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.001)

    with pytest.raises(Stopped), listening():
        Finalized()
        time.sleep(5)
    message = capsys.readouterr().err
    assert message == "Stopped by SIGTERM: run the same command again to continue\n"


def test_another_error_of_a_finalizer_is_shown_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: seen.append(lost.exc_type))

    class Finalized:
        def __del__(self) -> None:
            raise RuntimeError

    with listening():
        Finalized()
    assert seen == [RuntimeError]


def test_it_comes_back_from_another_process_as_it_was() -> None:
    stopped = pickle.loads(pickle.dumps(Stopped()))
    assert isinstance(stopped, Stopped)
    assert stopped.code == STOPPED
