"""IGA: the mean risk and how far the environments' gradients are from their mean."""

from __future__ import annotations

from torch import Tensor

from ilc.aggregators._joint import JointAggregator, Together, check_penalty_weight


class Iga(JointAggregator):
    """Minimise ``mean R_e + penalty_weight * sum_e |g_e - mean g|^2``.

    Source: Koyama and Yamaguchi, arXiv 2008.01883. Needs second derivatives: of
    ``g_e . d_e`` with ``d_e = g_e - mean g`` held fixed, because what the mean adds cancels in the sum.
    The sum over environments is DomainBed's and the linear unit tests'.

    Args:
        penalty_weight: lambda, at least 0; 0 is the mean. DomainBed and the linear unit tests: 1000.

    Raises:
        UserError: a weight that is negative or not finite.
    """

    needs_rows = True

    def __init__(self, penalty_weight: float = 1000.0) -> None:
        self.penalty_weight = check_penalty_weight(penalty_weight)

    def loss(self, together: Together) -> tuple[Tensor, Tensor]:
        """One row per environment with its graph, then one backward pass through all of them."""
        rows = together.rows(create_graph=True)
        differences = rows.detach() - together.everywhere(rows).mean(0)
        aligned = (rows * differences).sum()
        mean = together.losses.sum() / together.n_environments
        return mean + 2 * self.penalty_weight * aligned, differences.square().sum(1)
