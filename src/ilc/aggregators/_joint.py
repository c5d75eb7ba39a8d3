"""Aggregators that look at all environments together, because sums over environments are not enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from ilc._numbers import check_number
from ilc.aggregators._base import Aggregator, Combined
from ilc.aggregators._statistics import GradientStatistics
from ilc.errors import UserError

_COLUMNS_AT_ONCE = 2**16
"""Components of all gradients that are in double precision at once."""

JointLoss = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Sequence[Tensor]]
"""The loss, the penalty of each environment and, from a mask, the kept share of each parameter (0-d)."""


class EnvironmentsInStep(Protocol):
    """The environments of one step. If several processes share the step, this one has E' of all E.

    Attributes:
        losses: the loss of each environment, ``[E']``, with its graph.
        risks: the risk of each environment, ``[E']``, detached.
    """

    losses: Tensor
    risks: Tensor

    @property
    def n_environments(self) -> int:
        """The number of environments of all processes, E."""

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All trainable parameters, in the order of ``rows``."""

    def rows(self, create_graph: bool = False) -> Tensor:
        """The gradients over all trainable parameters, ``[E', P]``, in memory all at once."""

    def gather(self, own: Tensor) -> Tensor:
        """Collect values ``[E, ...]`` from all processes, detached; ``own`` ``[E', ...]`` are of this one."""

    def local_part(self, of_all: Tensor) -> Tensor:
        """The part ``[E', ...]`` of ``[E, ...]`` that belongs to this process."""


class JointAggregator(Aggregator):
    """An aggregator that makes one loss of all environments; a backward pass through it gives the update.

    It works with ``gradients=vectorized`` and ``sequential``. The graphs of all environments are in memory at
    once, as in plain training on all of them.
    """

    needs_votes = False
    needs_rows: ClassVar[bool] = False
    """Whether ``loss`` uses the rows. ``vectorized`` then computes them by one more backward pass."""

    def loss(self, environments: EnvironmentsInStep) -> JointLoss:
        """Return this process's part of the loss, a scalar. The gradients of all parts add up to the update.

        Returns:
            The loss, and the penalty ``[E']`` to report for each environment, detached. An aggregator that
            drops something adds the kept share of each parameter, in the order of ``parameters``.
        """
        raise NotImplementedError

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the finished update, and the kept share that came with the loss or else 1."""
        update = statistics.total / statistics.n_environments
        share = statistics.kept_share
        return Combined(update, update.new_ones(()) if share is None else share.to(update))

    def __call__(self, gradients: Tensor) -> Tensor:
        """Refuse, because stacked gradients do not include the risks.

        Raises:
            UserError: always.
        """
        raise UserError(
            f"{type(self).__name__} needs all environments and all parameters together, so it cannot be "
            "called with the stacked gradients of one parameter: give it to ilc.backward"
        )


class Weighting(JointAggregator):
    """An aggregator that puts weights on environments: the update is ``sum_e w_e g_e``."""

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Return weights ``[E]`` for risks ``[E]`` and, with ``needs_rows``, a Gram matrix ``g_e . g_f``.

        The Gram matrix is that of the gradients over all parameters, in double precision. Leading axes stand
        for several models, each with weights of its own.
        """
        raise NotImplementedError

    def kept_share(self, gram: Tensor | None) -> Tensor | None:
        """Return the kept share ``[...]`` of the same Gram matrix; None if the weights drop nothing."""
        return None

    def loss(self, environments: EnvironmentsInStep) -> JointLoss:
        """Return this process's part of the weighted sum of the losses."""
        gram = None
        if self.needs_rows:
            gram = _gram(environments.gather(environments.rows()))
        weights = self.weights(environments.gather(environments.risks), gram).to(environments.risks)
        loss = (environments.local_part(weights) * environments.losses).sum()
        penalties = environments.risks.new_zeros(len(environments.risks))
        share = self.kept_share(gram)
        return (
            (loss, penalties) if share is None else (loss, penalties, [share] * len(environments.parameters))
        )


def _gram(rows: Tensor) -> Tensor:
    """The products ``[E, E]`` of rows ``[E, P]``, in double precision.

    A product is as exact as a square. In single precision, a direction with less than a thousandth of the
    largest gradient would be rounding.
    """
    gram = rows.new_zeros(len(rows), len(rows), dtype=torch.float64)
    for few in torch.split(rows, _COLUMNS_AT_ONCE, 1):
        gram.addmm_(few.double(), few.double().T)
    return gram


def check_penalty_weight(penalty_weight: float) -> float:
    """Return the weight as a float, or raise UserError when it is no number, negative or not finite."""
    weight = check_number("penalty_weight", penalty_weight)
    if not 0 <= weight < math.inf:
        raise UserError(f"penalty_weight must be finite and at least 0, got {penalty_weight!r}")
    return weight
