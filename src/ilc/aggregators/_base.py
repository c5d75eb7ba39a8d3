"""The base class of aggregators: each takes statistics of environment gradients and returns one update."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ilc._numbers import check_number
from ilc.aggregators._statistics import GradientStatistics
from ilc.errors import UserError


class Combined(NamedTuple):
    """The update for one parameter tensor, and how much of what was voted on is in it.

    Attributes:
        update: in the shape of the parameter.
        kept_share: the mean over the voted components of the factor that the mask puts on them, between 0
            and 1, a 0-d tensor. It is taken before any rescaling. For a hard mask it is the share of kept
            components. ``SandMask`` has factors between 0 and 1. ``SignElection`` and ``GradDrop`` choose
            environments for each component, so the factor is the share of environments. ``GramAgreement`` and
            ``LayerAgreement`` vote on components in a basis of their own, in which they are counted. Methods
            without a mask say 1, whatever weights they put on environments.
    """

    update: Tensor
    kept_share: Tensor


class Aggregator:
    """Combines the gradients of E environments into one update per parameter tensor.

    A new aggregator is a subclass with ``combine`` in a file of its own. A mask never hides NaN or infinite
    gradients: they stay visible in the update.
    """

    needs_logs: ClassVar[bool] = False
    """Whether ``combine`` uses ``log_sum``."""
    needs_squares: ClassVar[bool] = False
    """Whether ``combine`` uses ``square_sum``."""
    needs_magnitudes: ClassVar[bool] = False
    """Whether ``combine`` uses ``magnitude_sum``."""
    needs_votes: ClassVar[bool] = True
    """Whether ``combine`` uses more than ``total``. If not, one backward pass is enough."""
    needs_environments: ClassVar[bool] = True
    """Whether the result depends on which environment an example belongs to."""

    follows_scale: ClassVar[bool] = True
    """Whether a factor on all losses is a factor on the update, as a ``GradScaler`` expects."""

    @property
    def is_mean(self) -> bool:
        """Whether ``combine`` returns the mean, whatever the votes are."""
        return False

    @property
    def by_component(self) -> bool:
        """Whether a component of the update depends on the statistics of this component alone.

        The kept share must then be a mean over components. Processes that share a sharded model compute such
        an update where the parameters lie. For other aggregators they gather one parameter after another.
        """
        return False

    @property
    def sums_on_request(self) -> tuple[str, ...]:
        """Which of ``ON_REQUEST`` the ways of obtaining gradients gather for ``combine``."""
        asked = {
            "log_sum": self.needs_logs,
            "square_sum": self.needs_squares,
            "magnitude_sum": self.needs_magnitudes,
        }
        return tuple(name for name, needed in asked.items() if needed)

    def combine(self, statistics: GradientStatistics) -> Combined:
        """Return the update and the kept share for one parameter tensor.

        Raises:
            UserError: the class does not define it.
        """
        kind = type(self).__name__
        raise UserError(
            f"{kind} combines nothing: define {kind}.combine(self, statistics), which returns "
            "Combined(update, kept_share)"
        )

    def state_dict(self) -> dict[str, Tensor]:
        """What the aggregator remembers from step to step. By default it remembers nothing."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a state that ``state_dict`` returned."""

    def __call__(self, gradients: Tensor) -> Tensor:
        """Combine stacked gradients ``[E, *shape]`` into one update ``[*shape]`` of the same type.

        Raises:
            UserError: there are no environments, or the tensor has no environment axis or no floating-point
                type; or it is no tensor.
        """
        if not isinstance(gradients, Tensor):
            raise UserError(
                f"gradients must be a floating-point tensor [E, *shape], got {type(gradients).__name__}: "
                "stack one gradient per environment by torch.stack"
            )
        if gradients.ndim < 1 or gradients.shape[0] < 1 or not gradients.is_floating_point():
            raise UserError(
                f"gradients must be a floating-point tensor [E, *shape] with at least one environment, "
                f"got {gradients.dtype} of shape {tuple(gradients.shape)}: stack one gradient per environment"
            )
        statistics = GradientStatistics.zeros(gradients[0], self.sums_on_request).add_(gradients)
        return combine_checked(self, statistics).update.to(gradients.dtype)


def combine_checked(aggregator: Aggregator, statistics: GradientStatistics) -> Combined:
    """Let an aggregator combine the statistics of one parameter, and check what it returns.

    Raises:
        UserError: it is not an update in the shape of the parameter and a kept share of one element.
    """
    found: object = aggregator.combine(statistics)
    shape = statistics.total.shape
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(part, Tensor) for part in found):
        update, share = found
        if update.shape == shape and share.numel() == 1:
            return Combined(update, share)
        got = f"an update of shape {tuple(update.shape)} and a kept share of shape {tuple(share.shape)}"
    elif isinstance(found, tuple) and len(found) == 2:
        named = zip(Combined._fields, found, strict=True)
        name, part = next((name, part) for name, part in named if not isinstance(part, Tensor))
        unasked = " (log_sum is None without needs_logs, the other sums likewise)" if part is None else ""
        got = f"{name} = {part!r:.80}, which is no tensor{unasked}"
    else:
        got = type(found).__name__
    raise UserError(
        f"{type(aggregator).__name__}.combine must return Combined(update, kept_share), with an update of "
        f"the parameter's shape {tuple(shape)} and a tensor of one element, got {got}"
    )


def check_threshold(agreement_threshold: float) -> float:
    """Return the threshold as a float, or raise UserError when it is no number or outside [0, 1]."""
    threshold = check_number("agreement_threshold", agreement_threshold)
    if not 0.0 <= threshold <= 1.0:
        raise UserError(
            f"agreement_threshold must lie in [0, 1], got {agreement_threshold!r}: 0 keeps every component, "
            "and 1 keeps only the components whose sign agrees in all environments"
        )
    return threshold


def agreement(statistics: GradientStatistics, agreement_threshold: float) -> Tensor:
    """The mask of the components with |sum of signs| >= threshold * E (paper, section 2.3).

    The comparison uses whole numbers, so a sum exactly at the threshold is always kept. In floating point
    0.55 * 100 is a little more than 55; ``votes_required`` subtracts 1e-9 from the threshold for this reason.
    """
    return statistics.sign_sum.abs() >= votes_required(statistics.n_environments, agreement_threshold)


def votes_required(n_environments: int, agreement_threshold: float) -> int:
    """The smallest |sum of signs| that ``agreement`` keeps."""
    return math.ceil((agreement_threshold - 1e-9) * n_environments)


def dissenters_allowed(n_environments: int, agreement_threshold: float) -> int:
    """The most environments that may dissent from a kept component, if no gradient is exactly zero.

    Thresholds with the same number keep the same components.
    """
    return (n_environments - votes_required(n_environments, agreement_threshold)) // 2


def masked(update: Tensor, keep: Tensor, rescale: bool) -> Combined:
    """Set all other components to zero; with ``rescale`` divide by the kept share of this tensor.

    A tensor without kept components stays zero (thesis, appendix B.2).
    """
    kept_share = keep.mean(dtype=update.dtype) if keep.numel() else torch.ones_like(update.sum())
    # A product and not a selection: NaN * 0 is NaN, so a NaN in the gradient stays visible.
    update = update * keep
    if rescale:
        update = update / kept_share.where(kept_share > 0, 1.0)
    return Combined(update, kept_share)
