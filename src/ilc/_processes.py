"""Which of how many processes this one is, and what they tell each other: torch.distributed in four words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from ilc.errors import UserError

LOST = (
    "another process of this run has ended or no longer answers ({reason}). What was written before stays as "
    "it is: see that process's message, then give the same command again to continue"
)


@dataclass(frozen=True)
class Processes:
    """Where this process stands among ``size`` that share a run; alone, nothing is sent.

    Attributes:
        rank: 0 to size - 1.
        size: R, how many there are.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_writer(self) -> bool:
        """Whether this one writes files and talks: rank 0."""
        return self.rank == 0

    def part(self, n: int) -> slice:
        """Which of ``n`` things this process takes: contiguous, sizes differ by at most one, perhaps none."""
        share, rest = divmod(n, self.size)
        start = self.rank * share + min(self.rank, rest)
        return slice(start, start + share + (self.rank < rest))

    def sum_(self, *tensors: Tensor) -> None:
        """Replace each tensor, contiguous, by its sum over the processes, all of them on their way at once.

        Raises:
            UserError: a process has died.
        """
        if self.size == 1:
            return
        try:
            for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
                assert work is not None, "made by async_op"
                work.wait()
        except RuntimeError as error:
            raise UserError(LOST.format(reason=str(error).splitlines()[0][:120])) from error

    def gathered(self, number: int) -> list[int]:
        """That number of every process, by rank.

        Raises:
            UserError: a process has died.
        """
        numbers = torch.zeros(self.size, dtype=torch.int64, device=_device_of_small_facts(self))
        numbers[self.rank] = number
        self.sum_(numbers)
        return numbers.tolist()

    def any(self, here: bool) -> bool:
        """Whether it is so in any process: the same answer in all of them.

        Raises:
            UserError: a process has died.
        """
        return here if self.size == 1 else any(self.gathered(int(here)))


ONE_PROCESS = Processes()


def current() -> Processes:
    """The processes of torch.distributed's default group; ``ONE_PROCESS`` where there is none."""
    if not dist.is_available() or not dist.is_initialized():
        return ONE_PROCESS
    return Processes(dist.get_rank(), dist.get_world_size())


@contextmanager
def joined() -> Iterator[Processes]:
    """Join the others that ``torchrun`` has started, unless that is done; leave them at the end.

    Raises:
        UserError: they cannot be reached, or this PyTorch cannot do it.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or (dist.is_available() and dist.is_initialized()):
        yield current()
        return
    if not dist.is_available():
        raise UserError(
            f"torchrun started {size} processes, but this PyTorch has no torch.distributed: use 1"
        )
    try:
        # Without a name it takes gloo for the CPU and NCCL for CUDA, each for the tensors that lie there.
        dist.init_process_group()
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"the {size} processes of this run cannot reach each other ({str(error).splitlines()[0][:160]}): "
            "start them with torchrun, see docs/scale.md"
        ) from error
    yield current()
    # Not after an error: with a process missing, taking leave may take for ever.
    dist.destroy_process_group()


def first_to_speak() -> bool:
    """Whether this process is the first of those that torchrun started to ask: it alone prints an error."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return True
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return True  # Only torchrun keeps a store that outlives every process.
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    patience = timedelta(seconds=10)
    try:
        store = dist.TCPStore(host, port, None, False, patience, False)  # type: ignore[attr-defined]
        return int(store.add(f"ilc/error/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", 1)) == 1
    except RuntimeError:
        return True


def _device_of_small_facts(processes: Processes) -> torch.device:
    """The CPU, so that no accelerator is waited for, unless the group cannot send what lies there."""
    if processes.size == 1 or "cpu:" in dist.get_backend_config():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())
