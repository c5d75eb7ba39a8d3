"""Examples of R replicas, and the construction of a problem's replicas."""

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
        inputs: the student's inputs, ``[R, N, ...]``.
        privileged: data that only the teacher sees, ``[R, N, ...]``.
        targets: targets of the student's predictions, ``[R, N, ...]``.
    """

    inputs: Tensor
    privileged: Tensor
    targets: Tensor

    def at(self, rows: Tensor) -> Examples:
        """Return the examples whose numbers are in ``rows`` ``[R, B]``, for each replica."""
        replica = torch.arange(len(rows), device=rows.device)[:, None]
        return Examples(
            self.inputs[replica, rows], self.privileged[replica, rows], self.targets[replica, rows]
        )

    def between(self, begin: int, end: int) -> Examples:
        """Return the examples from ``begin`` up to, but not including, ``end`` in every replica."""
        return Examples(self.inputs[:, begin:end], self.privileged[:, begin:end], self.targets[:, begin:end])

    def to(self, device: torch.device) -> Examples:
        """Return the examples on a device."""
        return Examples(self.inputs.to(device), self.privileged.to(device), self.targets.to(device))


@dataclass(frozen=True)
class ProblemData:
    """The data of a problem.

    Attributes:
        training: examples to train on; the training set of replica r is its first ``sizes[r]`` examples.
        test: examples that are not used to choose anything.
        sizes: sizes of the training sets, ``[R]``.
        names: names of the replicas in metrics.
        source: text that says where the data come from.
    """

    training: Examples
    test: Examples
    sizes: Tensor
    names: tuple[str, ...]
    source: str

    def fingerprint(self) -> str:
        """Return the SHA-256 of all values, in hexadecimal."""
        digest = hashlib.sha256()
        for part in (self.training, self.test):
            for values in (part.inputs, part.privileged, part.targets):
                digest.update(values.contiguous().numpy().tobytes())
        return digest.hexdigest()


class Replicas:
    """One replica for every seed and every size of the training set.

    Args:
        seed: the first seed; the others follow it.
        n_seeds: number of seeds of every size.
        n_train: sizes of the training set.

    Raises:
        UserError: there is no seed, a size is below four examples, or two sizes are equal.
    """

    def __init__(self, seed: int, n_seeds: int, n_train: Sequence[int]) -> None:
        if n_seeds < 1 or not n_train or min(n_train) < 4:
            raise UserError(
                "n_seeds must be at least 1 and every size in dataset.n_train at least 4, "
                f"got n_seeds={n_seeds} and dataset.n_train={list(n_train)}"
            )
        if len(set(n_train)) < len(n_train):
            raise UserError(f"dataset.n_train must give different sizes, got {list(n_train)}")
        pairs = list(product(n_train, range(seed, seed + n_seeds)))
        self.sizes = torch.tensor([size for size, _ in pairs])
        self.seeds = [s for _, s in pairs]
        self.names = tuple(f"n{size}/seed{s}" for size, s in pairs)

    def generators(self, purpose: str) -> list[torch.Generator]:
        """Return one generator for each replica; replicas with the same seed draw the same numbers."""
        return [generator_for(s, purpose) for s in self.seeds]

    def data(
        self,
        draw: Callable[[int, torch.Generator], tuple[Tensor, Tensor, Tensor]],
        n_test: int,
        source: str,
    ) -> ProblemData:
        """Draw the data of every seed; a smaller training set is the beginning of a larger one.

        Args:
            draw: function of a number of examples and a generator; it returns inputs, privileged data and
                targets.
            n_test: number of test examples.
            source: text that says where the data come from.

        Raises:
            UserError: ``n_test`` is below 1.
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
