"""Processes that share a run, started in a tenth of a second: copies of one that has imported everything.

A module of its own name, because what runs in another process must be importable there.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from unittest import mock

import torch.distributed as dist

SECONDS = 120
STORES: list[dist.TCPStore] = []
# The second is what the first optimizer of a process loads, for seconds.
PRELOADED = [
    "torch",
    "torch._dynamo",
    "ilc.distributed",
    "lab.runs.one_run.runner",
    "lab.environment_task",
    "lab.data",
    "lab.models",
]


def start(size: int, function: Callable[..., Any], *arguments: Any) -> list[ForkServerProcess]:
    """Call a module's function in ``size`` processes that find each other as under torchrun."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()  # It imports before it is told where from.
    # Outlives the processes, as torchrun's does.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    STORES.append(store)
    processes = []
    for rank in range(size):
        environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": store.port}
        processes.append(context.Process(target=_enter, args=(environment, function, arguments)))
        processes[-1].start()
    return processes


def wait(processes: list[ForkServerProcess]) -> list[int | None]:
    """Their exit statuses; who takes too long is killed."""
    for process in processes:
        process.join(SECONDS)
        process.kill()
    return [process.exitcode for process in processes]


def together(size: int, folder: Path, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What the function returns in each process, by rank."""
    folder.mkdir()
    statuses = wait(start(size, _keep_result, folder, function, arguments))
    assert statuses == [0] * size, "\n".join(path.read_text() for path in folder.glob("*.txt"))
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(size)]


def _enter(environment: dict[str, int], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.environ.update({key: str(value) for key, value in environment.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", TORCHELASTIC_USE_AGENT_STORE="True")
    import torch

    torch.set_num_threads(1)
    function(*arguments)


def _keep_result(folder: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    from ilc._processes import joined

    rank = os.environ["RANK"]
    try:
        with joined():
            result = function(*arguments)
    except BaseException:
        (folder / f"{rank}.txt").write_text(f"rank {rank}\n{traceback.format_exc()}")
        sys.exit(1)
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(result))


def train(content: dict[str, Any], folder: Path, said: Path | None = None) -> None:
    """A run, as ``src/train.py`` makes it: listening to signals, a user's mistake is one message."""
    from ilc.errors import UserError
    from lab.configuration.command_line import print_error
    from lab.machine.stop_signals import listening
    from lab.runs.one_run.runner import run

    if said is not None:
        sys.stdout = sys.stderr = said.open("a", buffering=1)
    with listening():
        try:
            run(content, folder, "a test")
        except UserError as error:
            print_error(str(error))
            sys.exit(1)


def train_all(contents: dict[str, dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Several runs, one after another, in the same processes: their summaries."""
    from lab.runs.one_run.runner import run

    return {name: run(content, folder / name, "a test") for name, content in contents.items()}


def train_until(step: int, content: dict[str, Any], folder: Path, said: Path) -> None:
    """The same, with a signal to one of the processes after that step."""
    from lab.environment_task import EnvironmentTask

    take_step = EnvironmentTask.take_step

    def take_step_and_be_asked(task: EnvironmentTask, *arguments: Any) -> None:
        take_step(task, *arguments)
        if task.step == step and task.processes.rank == task.processes.size - 1:
            os.kill(os.getpid(), signal.SIGTERM)

    EnvironmentTask.take_step = take_step_and_be_asked  # type: ignore[method-assign]
    train(content, folder, said)
