"""The number and rank of this process, and the few things that processes tell each other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from ilc.errors import UserError

LOST = (
    "another process of this run has ended or no longer answers ({reason}). The files written so far stay "
    "as they are: read the message of that process, then run the same command again to continue"
)


@dataclass(frozen=True)
class Processes:
    """The place of this process among ``size`` processes that share a run. A single process sends nothing.

    Attributes:
        rank: 0 to size - 1.
        size: R, the number of processes.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_writer(self) -> bool:
        """Whether this process writes files and prints, which only rank 0 does."""
        return self.rank == 0

    def part(self, n: int) -> slice:
        """The slice of ``n`` things that this process takes. Sizes differ by at most one, down to zero."""
        size, rest = divmod(n, self.size)
        start = self.rank * size + min(self.rank, rest)
        return slice(start, start + size + (self.rank < rest))

    def sum_(self, *tensors: Tensor) -> None:
        """Replace each contiguous tensor by its sum over the processes; all are sent at the same time.

        Raises:
            UserError: a process has died.
        """
        if self.size == 1:
            return
        try:
            for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
                assert work is not None, "async_op returns one"
                work.wait()
        except RuntimeError as error:
            raise UserError(LOST.format(reason=str(error).splitlines()[0][:120])) from error

    def gathered(self, numbers: Sequence[int]) -> list[list[int]]:
        """The numbers of every process, in the order of the ranks.

        Raises:
            UserError: a process has died.
        """
        found = torch.zeros(self.size, len(numbers), dtype=torch.int64, device=_device_of_small_facts(self))
        found[self.rank] = torch.tensor(numbers)
        self.sum_(found)
        return found.tolist()

    def any(self, here: bool) -> bool:
        """Whether ``here`` is true in any process. All processes get the same answer.

        Raises:
            UserError: a process has died.
        """
        return here if self.size == 1 else any(one for (one,) in self.gathered([int(here)]))


ONE_PROCESS = Processes()


def current() -> Processes:
    """The processes of torch.distributed's default group, or ``ONE_PROCESS`` if there is no group."""
    if not dist.is_available() or not dist.is_initialized():
        return ONE_PROCESS
    return Processes(dist.get_rank(), dist.get_world_size())


@contextmanager
def joined() -> Iterator[Processes]:
    """Join the other processes that ``torchrun`` has started, if not done yet, and leave them at the end.

    Raises:
        UserError: the processes cannot be reached, or this PyTorch has no torch.distributed.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or (dist.is_available() and dist.is_initialized()):
        yield current()
        return
    if not dist.is_available():
        raise UserError(
            f"torchrun started {size} processes, but this PyTorch has no torch.distributed: start one "
            "process, or install a PyTorch that has it"
        )
    try:
        # Without a backend's name it uses gloo for tensors on the CPU and NCCL for those on CUDA.
        dist.init_process_group()
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"the {size} processes of this run cannot reach each other ({str(error).splitlines()[0][:160]}): "
            "start them with torchrun, see docs/scale.md"
        ) from error
    yield current()
    # Not after an error: if a process is missing, leaving the group may take for ever.
    dist.destroy_process_group()


def first_to_speak() -> bool:
    """Whether this process is the first to ask among those that torchrun started. Only it prints an error."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return True
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return True  # Only torchrun has a store that lives longer than the processes.
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    patience = timedelta(seconds=10)
    try:
        store = dist.TCPStore(host, port, None, False, patience, False)  # type: ignore[attr-defined]
        return int(store.add(f"ilc/error/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", 1)) == 1
    except RuntimeError:
        return True


def _device_of_small_facts(processes: Processes) -> torch.device:
    """The CPU if the group can send from there, so that nothing waits for an accelerator."""
    if processes.size == 1 or "cpu:" in dist.get_backend_config():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())
