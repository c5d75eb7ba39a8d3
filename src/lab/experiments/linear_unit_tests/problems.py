"""The six problems of *Linear unit-tests for invariance discovery* (Aubin et al. 2021, arXiv 2102.10867).

Inputs consist of invariant and spurious features. In ``1s``, ``2s`` and ``3s`` a random rotation turns
them. In the split ``test`` the spurious features are those of another example. Everything is drawn in the
same order as in the authors' script, so that seed s is their data seed s, provided that the releases of
PyTorch draw the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

TEST = "test"


class Drawn(NamedTuple):
    """Examples of one environment: inputs ``[N, D]`` and targets ``[N]``."""

    inputs: Tensor
    targets: Tensor


class Environments:
    """The environments of a problem and one seed.

    Args:
        n_environments: E, at least 2 (at least 1 for problem 3).
        n_invariant: number of invariant features.
        n_spurious: number of spurious features.
        random: generator from which everything is drawn.
    """

    def __init__(
        self, n_environments: int, n_invariant: int, n_spurious: int, random: torch.Generator
    ) -> None:
        self.n_environments, self.n_invariant, self.n_spurious = n_environments, n_invariant, n_spurious
        self.random = random
        self.rotation = torch.eye(n_invariant + n_spurious)

    def turn(self, share: float) -> None:
        """Draw the rotation of the problems with an s; a ``share`` below 1 turns only part of the way."""
        n = len(self.rotation)
        self.rotation = torch.linalg.qr(self._normal(n, n)).Q
        if share < 1:
            self.rotation = part_of(self.rotation, share)

    def sample(self, n: int, environment: int, split: str) -> Drawn:
        """Draw ``n`` examples."""
        raise NotImplementedError

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.random)

    def _uniform(self, low: float, high: float) -> float:
        return float(torch.zeros(1).uniform_(low, high, generator=self.random))

    def _shuffled(self, values: Tensor) -> Tensor:
        return values[torch.randperm(len(values), generator=self.random)]


class CauseAndEffect(Environments):
    """Problem 1, regression of sum y: x causes y, and y causes z; environments differ in the noise."""

    def __init__(
        self, n_environments: int, n_invariant: int, n_spurious: int, random: torch.Generator
    ) -> None:
        super().__init__(n_environments, n_invariant, n_spurious, random)
        more = [10 ** self._uniform(-2, 1) for _ in range(3, n_environments)]
        self.scales = [0.1, 1.5, 2.0, *more][:n_environments]
        self.x_to_y = self._normal(n_invariant, n_invariant) / n_invariant
        # The maximum avoids a division by zero if there are no spurious features.
        self.y_to_z = self._normal(n_invariant, n_spurious) / max(1, n_spurious)

    def sample(self, n: int, environment: int, split: str) -> Drawn:
        """Draw ``n`` examples, whose targets are real numbers."""
        scale = self.scales[environment]
        x = self._normal(n, self.n_invariant) * scale
        y = x @ self.x_to_y + self._normal(n, self.n_invariant) * scale
        z = y @ self.y_to_z + self._normal(n, self.n_spurious)
        if split == TEST:
            z = self._shuffled(z)
        return Drawn(torch.cat([x, z], 1) @ self.rotation, y.sum(1))


class CowsAndCamels(Environments):
    """Problem 2, classification of an animal that is 100 times fainter than its usual background.

    Deviation: the split ``test`` shuffles the features from index ``n_spurious`` on, as the authors' script
    did when it made the published numbers. In November 2021 (commit 80bcd8b) they corrected it to
    ``n_invariant``. Without as many spurious as invariant features, some invariant ones are shuffled too, or
    some spurious ones still say the class.
    """

    def __init__(
        self, n_environments: int, n_invariant: int, n_spurious: int, random: torch.Generator
    ) -> None:
        super().__init__(n_environments, n_invariant, n_spurious, random)
        more = [(self._uniform(0.9, 1), self._uniform(0.3, 0.7)) for _ in range(3, n_environments)]
        self.shares = [(0.95, 0.3), (0.97, 0.5), (0.99, 0.7), *more][:n_environments]

    def sample(self, n: int, environment: int, split: str) -> Drawn:
        """Draw ``n`` examples, whose targets are 1 for cows and 0 for camels."""
        usual, cows = self.shares[environment]
        weights = torch.tensor([usual, 1 - usual, usual, 1 - usual])
        weights = weights * torch.tensor([cows, cows, 1 - cows, 1 - cows])
        kind = torch.multinomial(weights, n, replacement=True, generator=self.random)
        animal = torch.tensor([1.0, 1.0, -1.0, -1.0])[kind, None]
        background = torch.tensor([1.0, -1.0, -1.0, 1.0])[kind, None]
        noise = math.sqrt(10)
        x = (self._normal(n, self.n_invariant) / noise + animal) * 0.01
        z = self._normal(n, self.n_spurious) / noise + background
        features = torch.cat([x, z], 1)
        if split == TEST:
            features[:, self.n_spurious :] = self._shuffled(features[:, self.n_spurious :])
        targets = features[:, : self.n_invariant].sum(1) > 0
        return Drawn(features @ self.rotation, targets.float())


class SmallMargin(Environments):
    """Problem 3, classification: a small margin everywhere, a large one that differs by environment."""

    def __init__(
        self, n_environments: int, n_invariant: int, n_spurious: int, random: torch.Generator
    ) -> None:
        super().__init__(n_environments, n_invariant, n_spurious, random)
        self.centres = [self._normal(1, n_spurious) for _ in range(n_environments)]

    def sample(self, n: int, environment: int, split: str) -> Drawn:
        """Draw ``n`` examples, whose targets are 0 in the first half and 1 in the second."""
        half, centre = n // 2, self.centres[environment]
        x = [self._normal(half, self.n_invariant) * 0.1 + side * 0.1 for side in (1, -1)]
        z = [self._normal(half, self.n_spurious) * 0.1 + side * centre for side in (1, -1)]
        spurious = torch.cat(z)
        if split == TEST:
            spurious = self._shuffled(spurious)
        targets = torch.arange(2 * half) >= half
        return Drawn(torch.cat([torch.cat(x), spurious], 1) @ self.rotation, targets.float())


PROBLEMS: dict[str, Callable[[int, int, int, torch.Generator], Environments]] = {
    "1": CauseAndEffect,
    "2": CowsAndCamels,
    "3": SmallMargin,
}
"""The problems by their number in the paper; an s after the number means that the inputs are turned."""


def part_of(rotation: Tensor, share: float) -> Tensor:
    """Return the rotation that goes ``share`` of the way along the shortest path; 0 is no rotation.

    A reflection has no such path, so its first column is negated first.
    """
    rotation = rotation.double()
    if torch.linalg.det(rotation) < 0:
        rotation = torch.cat([-rotation[:, :1], rotation[:, 1:]], 1)
    angles, vectors = torch.linalg.eig(rotation)
    turned = vectors @ torch.diag(torch.polar(torch.ones_like(angles.angle()), share * angles.angle()))
    # This makes the result orthogonal again, because the eigenvectors have rounding errors.
    u, _, v = torch.linalg.svd((turned @ torch.linalg.inv(vectors)).real)
    part: Tensor = (u @ v).float()
    return part
