"""IGA: the mean risk, plus a penalty on the distance of the environments' gradients from their mean."""

from __future__ import annotations

from torch import Tensor

from ilc.aggregators._joint import EnvironmentsInStep, JointAggregator, check_penalty_weight


class Iga(JointAggregator):
    """Minimise ``mean R_e + penalty_weight * sum_e |g_e - mean g|^2``.

    Source: Koyama and Yamaguchi, arXiv 2008.01883. The penalty needs second derivatives. It is differentiated
    as ``g_e . d_e`` with ``d_e = g_e - mean g`` held fixed, because the derivatives of the mean cancel in the
    sum. The sum over environments is taken as in DomainBed and in the linear unit tests.

    Args:
        penalty_weight: lambda, at least 0. 0 is the mean. DomainBed and the linear unit tests take 1000.

    Raises:
        UserError: the weight is no number, negative or not finite.
    """

    needs_rows = True
    follows_scale = False

    def __init__(self, penalty_weight: float = 1000.0) -> None:
        self.penalty_weight = check_penalty_weight(penalty_weight)

    def loss(self, environments: EnvironmentsInStep) -> tuple[Tensor, Tensor]:
        """Return the loss, made of one row per environment with its graph."""
        rows = environments.rows(create_graph=True)
        differences = rows.detach() - environments.gather(rows).mean(0)
        aligned = (rows * differences).sum()
        mean = environments.losses.sum() / environments.n_environments
        return mean + 2 * self.penalty_weight * aligned, differences.square().sum(1)
