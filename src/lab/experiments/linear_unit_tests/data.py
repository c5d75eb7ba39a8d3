"""The data of a problem with many seeds: splits to train on, to choose by and to test on."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.experiments.linear_unit_tests.problems import PROBLEMS, TEST, Environments
from lab.experiments.linear_unit_tests.risks import LogisticRisk, Risk, SquaredError

SPLITS = ("train", "validation", TEST)


class UnitTests:
    """The data of S data seeds; each split is stored as a risk, a function of the weights.

    Args:
        seed: the first data seed; the others follow it.
        n_seeds: S, the number of data seeds.
        problem: 1, 1s, 2, 2s, 3 or 3s; see ``problems``.
        shuffled: whether the spurious features are shuffled in every split, so that they say nothing about
            the target; the oracle learns from such data.
        n_environments: E, 2 to 10 in the paper.
        invariant_dimensions: number of features whose relation to the target is the same everywhere.
        spurious_dimensions: number of the other features.
        examples_per_environment: N, the number of examples of each split in each environment.
        rotation: how far inputs of problems with an s are turned; 1 is the paper's rotation, 0 none.

    Raises:
        UserError: the problem is unknown, or a number is out of range.
    """

    def __init__(
        self,
        seed: int,
        n_seeds: int,
        shuffled: bool,
        problem: str | int,
        n_environments: int = 3,
        invariant_dimensions: int = 5,
        spurious_dimensions: int = 5,
        examples_per_environment: int = 10_000,
        rotation: float = 1.0,
    ) -> None:
        self.problem = str(problem)
        _check(self.problem, n_seeds, n_environments, invariant_dimensions, spurious_dimensions)
        if examples_per_environment < 2 or not 0 <= rotation <= 1:
            raise UserError(
                "dataset.examples_per_environment must be at least 2 and dataset.rotation in [0, 1], got "
                f"{examples_per_environment} and {rotation}"
            )
        if rotation < 1 and not self.problem.endswith("s"):
            raise UserError(
                f"dataset.rotation={rotation} has no effect on problem {self.problem}, which is not turned: "
                f"choose dataset.problem={self.problem}s"
            )
        if self.problem.startswith("2") and spurious_dimensions != invariant_dimensions:
            warnings.warn(
                f"with {invariant_dimensions} invariant and {spurious_dimensions} spurious dimensions "
                f"problem {self.problem} shuffles the wrong features in the test split, as in the published "
                "numbers: take equal numbers to measure whether a method leaves the shortcut",
                stacklevel=2,
            )
        self.seeds = list(range(seed, seed + n_seeds))
        self.n_environments = n_environments
        self.n_parameters = invariant_dimensions + spurious_dimensions + 1
        self.source = f"linear unit test {self.problem} (generated)"
        self._digest = hashlib.sha256()
        kind: type[Risk] = SquaredError if self.problem.startswith("1") else LogisticRisk
        parts: dict[str, list[Risk]] = {split: [] for split in SPLITS}
        for each in self.seeds:
            # The authors seed the generator in the same way, so that our data seeds are theirs.
            random = torch.Generator().manual_seed(each)
            made = PROBLEMS[self.problem[0]](
                n_environments, invariant_dimensions, spurious_dimensions, random
            )
            if self.problem.endswith("s"):
                made.turn(rotation)
            for split in SPLITS:
                drawn = self._drawn(made, examples_per_environment, TEST if shuffled else split)
                parts[split].append(kind.of(*drawn))
        self.risks = {split: kind.joined(each) for split, each in parts.items()}

    def _drawn(self, made: Environments, n: int, split: str) -> tuple[Tensor, Tensor]:
        """Return inputs ``[E, N, P]``, of which the last is 1, and targets ``[E, N]``."""
        inputs, targets = [], []
        for environment in range(made.n_environments):
            x, y = made.sample(n, environment, split)
            inputs.append(torch.cat([x, torch.ones(len(x), 1)], 1))
            targets.append(y)
        stacked = torch.stack(inputs), torch.stack(targets)
        for values in stacked:
            self._digest.update(values.numpy().tobytes())
        return stacked

    def fingerprint(self) -> str:
        """Return the SHA-256 of all values, in hexadecimal."""
        return self._digest.hexdigest()

    def to(self, device: torch.device) -> Iterator[tuple[str, Risk]]:
        """Yield each split with its risk on a device."""
        return ((split, risk.to(device)) for split, risk in self.risks.items())


def _check(problem: str, n_seeds: int, n_environments: int, n_invariant: int, n_spurious: int) -> None:
    known = [number + turned for number in PROBLEMS for turned in ("", "s")]
    if problem not in known:
        raise UserError(f"dataset.problem must be one of {', '.join(known)}, got {problem!r}")
    if n_seeds < 1 or n_environments < 2 or n_invariant < 1 or n_spurious < 0:
        raise UserError(
            "linear unit tests need n_seeds of at least 1, dataset.n_environments of at least 2, "
            "dataset.invariant_dimensions of at least 1 and dataset.spurious_dimensions of at least 0, got "
            f"{n_seeds}, {n_environments}, {n_invariant} and {n_spurious}"
        )
