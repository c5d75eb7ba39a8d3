"""Risks of linear models, computed at once for S data seeds, E environments and M models per seed.

The letters of the shapes are: S data seeds, E environments, N examples, P parameters (the last is the
bias), M models per seed. Weights are ``[S, P, M]``. Gradients in each environment are ``[S, E, P, M]``.
"""

from __future__ import annotations

from typing import Protocol, Self

import torch
from torch import Tensor

from ilc.kernels._compiled import usable
from lab.experiments.linear_unit_tests.logistic_kernel import gradient_sums, hessian_sums

# The number of outputs, models times examples, that are held at once. On a CPU they then stay in its cache.
# A GPU should get all of them at once.
_OUTPUTS_AT_ONCE = {"cpu": 2**18}
_OUTPUTS_AT_ONCE_ON_ACCELERATORS = 2**30


class Point(Protocol):
    """The risks, gradients and Hessian products at given weights."""

    gradients: Tensor
    """The gradients in every environment, ``[S, E, P, M]``."""

    @property
    def risks(self) -> Tensor:
        """The risks in every environment, ``[S, E, M]``."""

    def hessian_products(self, directions: Tensor) -> Tensor:
        """Return the Hessian in every environment times ``directions`` ``[S, E, P, M]``."""


class Risk(Protocol):
    """The mean loss of each environment, as a function of the weights."""

    @property
    def dtype(self) -> torch.dtype:
        """The type that the weights should have."""

    @property
    def seeds_at_once(self) -> int:
        """The number of seeds to train at once."""

    @classmethod
    def of(cls, inputs: Tensor, targets: Tensor) -> Self:
        """Return the risk of one seed, from inputs ``[E, N, P]`` and targets ``[E, N]``."""

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return one risk of all seeds, from the risks of single seeds."""

    def to(self, device: torch.device) -> Self:
        """Return the risk on a device."""

    def of_seeds(self, seeds: slice) -> Self:
        """Return the risk of some of the seeds."""

    def at(self, weights: Tensor) -> Point:
        """Return the point at these weights, which has gradients and Hessians."""

    def errors(self, weights: Tensor) -> Tensor:
        """Return the paper's measure, ``[S, E, M]``: mean squared error, or share of wrong classes."""


class SquaredError:
    """The risk ``mean (x w - y)^2``, computed from sufficient statistics; N examples cost as much as one.

    Attributes:
        second: the mean of ``x x^T``, ``[S, E, P, P]``.
        cross: the mean of ``x y``, ``[S, E, P, 1]``.
        power: the mean of ``y^2``, ``[S, E, 1]``.
    """

    dtype = torch.float64  # The risk is a small difference of large sums.

    def __init__(self, second: Tensor, cross: Tensor, power: Tensor) -> None:
        self.second, self.cross, self.power = second, cross, power

    @property
    def seeds_at_once(self) -> int:
        """The number of all seeds, because the statistics are small."""
        return len(self.second)

    @classmethod
    def of(cls, inputs: Tensor, targets: Tensor) -> Self:
        """Return the risk of one seed."""
        x, y = inputs.to(cls.dtype), targets.to(cls.dtype)[..., None]
        n = x.shape[1]
        power = y.square().mean(1)
        return cls((x.mT @ x / n)[None], (x.mT @ y / n)[None], power[None])

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return one risk of all seeds, from the risks of single seeds."""
        return cls(*(torch.cat(each) for each in zip(*(part.tensors for part in parts), strict=True)))

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The three statistics: ``second``, ``cross`` and ``power``."""
        return self.second, self.cross, self.power

    def to(self, device: torch.device) -> Self:
        """Return the risk on a device."""
        return type(self)(*(each.to(device) for each in self.tensors))

    def of_seeds(self, seeds: slice) -> Self:
        """Return the risk of some of the seeds."""
        return type(self)(*(each[seeds] for each in self.tensors))

    def at(self, weights: Tensor) -> _OfSquares:
        """Return the point at these weights, which has gradients and Hessians."""
        return _OfSquares(self, weights)

    def errors(self, weights: Tensor) -> Tensor:
        """Return ``w A w - 2 c w + mean y^2``, the mean squared error."""
        w = weights[:, None]
        return (w * (self.second @ w - 2 * self.cross)).sum(2) + self.power


class _OfSquares:
    def __init__(self, risk: SquaredError, weights: Tensor) -> None:
        self._risk, self._weights = risk, weights
        self.gradients = 2 * (risk.second @ weights[:, None] - risk.cross)

    @property
    def risks(self) -> Tensor:
        """The mean squared errors, ``[S, E, M]``."""
        return self._risk.errors(self._weights)

    def hessian_products(self, directions: Tensor) -> Tensor:
        """Return ``2 A u``, which does not depend on the weights."""
        return 2 * (self._risk.second @ directions)


class LogisticRisk:
    """The risk ``mean log(1 + exp(-m))`` of margins ``m = z w``, which has no sufficient statistics.

    Attributes:
        examples: z, ``[S, E, P, N]``: the inputs if the class is 1, and their negatives if it is 0.
    """

    dtype = torch.float32

    def __init__(self, examples: Tensor) -> None:
        self.examples = examples
        self._scratch: dict[str, Tensor] = {}

    @property
    def seeds_at_once(self) -> int:
        """The number of seeds to train at once: one on a CPU, all on a GPU.

        On a CPU the examples of one seed stay in the cache for many steps.
        """
        return 1 if self.examples.device.type == "cpu" else len(self.examples)

    @classmethod
    def of(cls, inputs: Tensor, targets: Tensor) -> Self:
        """Return the risk of one seed."""
        return cls((inputs * (2 * targets[..., None] - 1)).mT.contiguous()[None])

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return one risk of all seeds, from the risks of single seeds."""
        return cls(torch.cat([part.examples for part in parts]))

    def to(self, device: torch.device) -> Self:
        """Return the risk on a device."""
        return type(self)(self.examples.to(device))

    def of_seeds(self, seeds: slice) -> Self:
        """Return the risk of some of the seeds."""
        return type(self)(self.examples[seeds])

    def at(self, weights: Tensor) -> Point:
        """Return the point at these weights, which is valid until the next call."""
        return (_OfMarginsAgain if usable(self.examples) else _OfMargins)(self, weights)

    def errors(self, weights: Tensor) -> Tensor:
        """Return the share of margins that are not positive, ``[S, E, M]``."""
        wrong = [(w @ z <= 0).to(self.dtype).mean(2) for z, w in self.few(self.rows(weights))]
        return torch.cat(wrong).reshape(*self.examples.shape[:2], -1)

    def rows(self, weights: Tensor) -> Tensor:
        """Return the weights ``[S, P, M]`` repeated for every environment, ``[S, E, M, P]``."""
        return weights.mT[:, None].expand(-1, self.examples.shape[1], -1, -1)

    def few(self, rows: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return pairs of examples ``[few, P, N]`` and rows ``[few, M, P]``.

        ``few`` is the number of environments that are computed at once.
        """
        z, v = self.examples.flatten(0, 1), rows.flatten(0, 1)
        budget = _OUTPUTS_AT_ONCE.get(z.device.type, _OUTPUTS_AT_ONCE_ON_ACCELERATORS)
        few = max(1, budget // (z.shape[2] * v.shape[1]))
        return list(zip(torch.split(z, few), torch.split(v, few), strict=True))

    def products(self, name: str, rows: Tensor, z: Tensor) -> Tensor:
        """Return ``rows @ z`` in memory that is reused, because new memory costs as much as the product."""
        shape = (*rows.shape[:2], z.shape[2])
        if name not in self._scratch or self._scratch[name].shape != shape:
            self._scratch[name] = z.new_empty(shape)
        return torch.bmm(rows, z, out=self._scratch[name])

    def by_environment(self, sums: list[Tensor]) -> Tensor:
        """Turn sums ``[few, M, P]`` into means ``[S, E, P, M]``."""
        means = torch.cat(sums).div_(self.examples.shape[3])
        return means.reshape(*self.examples.shape[:2], *means.shape[1:]).mT


class _OfMargins:
    """The point computed by PyTorch, for accelerators and for machines without numba."""

    def __init__(self, risk: LogisticRisk, weights: Tensor) -> None:
        self._risk = risk
        self._unlikely: list[Tensor] = []
        sums = []
        # The weights are negated, so that no extra pass is needed to negate the margins.
        for part, (z, w) in enumerate(risk.few(risk.rows(-weights))):
            unlikely = risk.products(f"margins {part}", w, z).sigmoid_()
            sums.append(torch.bmm(unlikely, z.mT))
            self._unlikely.append(unlikely)
        self.gradients = risk.by_environment(sums).neg_()
        """The gradients ``-mean sigmoid(-m) z``."""

    @property
    def risks(self) -> Tensor:
        """The risks ``-mean log(1 - sigmoid(-m))``."""
        found = [-torch.log1p(-unlikely).mean(2) for unlikely in self._unlikely]
        return torch.cat(found).reshape(*self._risk.examples.shape[:2], -1)

    def hessian_products(self, directions: Tensor) -> Tensor:
        """Return ``mean sigmoid(-m) (1 - sigmoid(-m)) (z u) z``."""
        sums = []
        parts = self._risk.few(directions.mT)
        for unlikely, (z, u) in zip(self._unlikely, parts, strict=True):
            slopes = self._risk.products("slopes", u, z).mul_(unlikely)
            sums.append(torch.bmm(slopes.addcmul_(slopes, unlikely, value=-1), z.mT))
        return self._risk.by_environment(sums)


class _OfMarginsAgain:
    """The point computed by the numba kernels.

    The kernels compute the margins again for Hessians, which is faster than to store and read them.
    """

    def __init__(self, risk: LogisticRisk, weights: Tensor) -> None:
        self._risk = risk
        self._rows = risk.rows(weights).flatten(0, 1)
        sums = gradient_sums(risk.examples.flatten(0, 1), self._rows)
        self.gradients = risk.by_environment([sums]).neg_()

    @property
    def risks(self) -> Tensor:
        """The risks ``mean log(1 + exp(-m))``."""
        margins = self._risk.products("margins", self._rows, self._risk.examples.flatten(0, 1))
        losses = torch.nn.functional.softplus(margins.neg_()).mean(2)
        return losses.reshape(*self._risk.examples.shape[:2], -1)

    def hessian_products(self, directions: Tensor) -> Tensor:
        """Return ``mean sigmoid(-m) (1 - sigmoid(-m)) (z u) z``."""
        rows = directions.mT.flatten(0, 1)
        return self._risk.by_environment([hessian_sums(self._risk.examples.flatten(0, 1), self._rows, rows)])
