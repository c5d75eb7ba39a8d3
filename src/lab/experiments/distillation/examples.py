"""Examples of R replicas, and how the replicas of a problem come about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.machine.seeding import generator_for


@dataclass(frozen=True)
class Examples:
    """Examples of R replicas.

    Attributes:
        inputs: what the student sees, ``[R, N, ...]``.
        privileged: what only the teacher sees, ``[R, N, ...]``.
        targets: what is to be predicted, ``[R, N, ...]``.
    """

    inputs: Tensor
    privileged: Tensor
    targets: Tensor

    def at(self, rows: Tensor) -> Examples:
        """Those that ``rows`` ``[R, B]`` names in each replica."""
        replica = torch.arange(len(rows), device=rows.device)[:, None]
        return Examples(
            self.inputs[replica, rows], self.privileged[replica, rows], self.targets[replica, rows]
        )

    def between(self, begin: int, end: int) -> Examples:
        """Those from ``begin`` up to ``end`` in every replica."""
        return Examples(self.inputs[:, begin:end], self.privileged[:, begin:end], self.targets[:, begin:end])

    def to(self, device: torch.device) -> Examples:
        """The same on a device."""
        return Examples(self.inputs.to(device), self.privileged.to(device), self.targets.to(device))


@dataclass(frozen=True)
class ProblemData:
    """The data of a problem.

    Attributes:
        training: the first ``sizes`` examples of each replica are its training set.
        test: examples that nothing is chosen by.
        sizes: of the training sets, ``[R]``.
        names: of the replicas, for metrics.
        source: where the data comes from, in words.
    """

    training: Examples
    test: Examples
    sizes: Tensor
    names: tuple[str, ...]
    source: str

    def fingerprint(self) -> str:
        """SHA-256 of all values."""
        digest = hashlib.sha256()
        for part in (self.training, self.test):
            for values in (part.inputs, part.privileged, part.targets):
                digest.update(values.contiguous().numpy().tobytes())
        return digest.hexdigest()


class Replicas:
    """Every seed with every size of the training set, side by side.

    Args:
        seed: of the first; the next has the next.
        n_seeds: seeds of every size.
        n_train: sizes of the training set.

    Raises:
        UserError: no seed, or fewer than four examples.
    """

    def __init__(self, seed: int, n_seeds: int, n_train: Sequence[int]) -> None:
        if n_seeds < 1 or not n_train or min(n_train) < 4:
            raise UserError(
                "n_seeds must be at least 1 and every size in dataset.n_train at least 4, "
                f"got n_seeds={n_seeds} and dataset.n_train={list(n_train)}"
            )
        pairs = list(product(n_train, range(seed, seed + n_seeds)))
        self.sizes = torch.tensor([size for size, _ in pairs])
        self.seeds = [s for _, s in pairs]
        self.names = tuple(f"n{size}/seed{s}" for size, s in pairs)

    def generators(self, purpose: str) -> list[torch.Generator]:
        """One for each replica: those of one seed draw the same."""
        return [generator_for(s, purpose) for s in self.seeds]

    def data(
        self,
        draw: Callable[[int, torch.Generator], tuple[Tensor, Tensor, Tensor]],
        n_test: int,
        source: str,
    ) -> ProblemData:
        """Draw the data of every seed; a smaller training set is the beginning of a larger one.

        Args:
            draw: inputs, privileged data and targets of so many examples, from a generator.
            n_test: test examples.
            source: in words.

        Raises:
            UserError: no test example.
        """
        if n_test < 1:
            raise UserError(f"dataset.n_test must be at least 1, got {n_test}")
        longest = int(self.sizes.max())
        by_seed = {s: draw(longest + n_test, generator_for(s, "data")) for s in dict.fromkeys(self.seeds)}
        stacked = Examples(*(torch.stack([by_seed[s][part] for s in self.seeds]) for part in range(3)))
        return ProblemData(
            stacked.between(0, longest),
            stacked.between(longest, longest + n_test),
            self.sizes,
            self.names,
            source,
        )
