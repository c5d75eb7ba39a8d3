"""Aggregators that no sum over environments will do for: they look at all environments together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Protocol

from torch import Tensor

from ilc.aggregators._base import Aggregator, Combined
from ilc.aggregators._statistics import GradientStatistics
from ilc.errors import UserError


class Together(Protocol):
    """The environments of one step. Where several processes share it, this one has E' of all E.

    Attributes:
        losses: what is differentiated in each environment, ``[E']``, with their graph.
        risks: of each environment, ``[E']``, detached.
    """

    losses: Tensor
    risks: Tensor

    @property
    def n_environments(self) -> int:
        """E."""

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that is trained, in the order of ``rows``."""

    def rows(self, create_graph: bool = False) -> Tensor:
        """The gradients over all trainable parameters, ``[E', P]``: memory E' times P."""

    def everywhere(self, own: Tensor) -> Tensor:
        """What all processes have of this, ``[E, ...]``, from ``own`` ``[E', ...]``, detached."""

    def own(self, of_all: Tensor) -> Tensor:
        """The part ``[E', ...]`` of ``[E, ...]`` that this process has."""


class JointAggregator(Aggregator):
    """Says what to differentiate, knowing all environments: one more backward pass makes the update.

    For ``gradients=vectorized`` and ``sequential``. The graphs of all environments are held at once, as in
    plain training on all of them.
    """

    needs_votes = False
    needs_rows: ClassVar[bool] = False
    """Whether ``loss`` looks at the rows; ``vectorized`` then has them from one more backward pass."""

    def loss(self, together: Together) -> tuple[Tensor, Tensor]:
        """The part of the loss that this process has, a scalar: the parts' gradients add up to the update.

        Returns:
            The loss, and what is reported as each environment's penalty, ``[E']``, detached.
        """
        raise NotImplementedError

    def combine(self, statistics: GradientStatistics) -> Combined:
        """The update is ready; nothing is masked."""
        update = statistics.total / statistics.n_environments
        return Combined(update, update.new_ones(()))

    def __call__(self, gradients: Tensor) -> Tensor:
        """Refuse: stacked gradients do not say what the risks are.

        Raises:
            UserError: always.
        """
        raise UserError(
            f"{type(self).__name__} looks at all environments and all parameters together, not at stacked "
            "gradients of one: give it to ilc.backward"
        )


class Weighting(JointAggregator):
    """Weights on environments: the update is ``sum_e w_e g_e``."""

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Weights ``[E]`` from risks ``[E]`` and, with ``needs_rows``, the Gram matrix ``g_e . g_f``.

        It is that of the gradients over all parameters. Leading axes are as many models, each by itself.
        """
        raise NotImplementedError

    def loss(self, together: Together) -> tuple[Tensor, Tensor]:
        """The weighted sum of the losses."""
        gram = None
        if self.needs_rows:
            rows = together.everywhere(together.rows())
            gram = rows @ rows.T
        weights = self.weights(together.everywhere(together.risks), gram)
        return (together.own(weights) * together.losses).sum(), together.risks.new_zeros(len(together.risks))


def check_penalty_weight(penalty_weight: float) -> float:
    """Return the weight, or raise UserError when it is negative or not finite."""
    if not 0 <= penalty_weight < math.inf:
        raise UserError(f"penalty_weight must be finite and at least 0, got {penalty_weight!r}")
    return penalty_weight
