"""V-REx: the mean risk and the variance of the risks."""

from __future__ import annotations

from torch import Tensor

from ilc.aggregators._joint import Weighting, check_penalty_weight


class VRex(Weighting):
    """Minimise ``mean R_e + penalty_weight * mean (R_e - mean R)^2`` (Krueger et al., arXiv 2003.00688).

    The derivative of this loss puts the weights ``w_e = (1 + 2 penalty_weight (R_e - mean R)) / E`` on the
    environments. Environments with small risks may get negative weights.
    Deviation: the weight is the same in every step. In DomainBed it is 1 in the first 500 steps, then 10.

    Args:
        penalty_weight: beta, at least 0. 0 is the mean.

    Raises:
        UserError: the weight is no number, negative or not finite.
    """

    def __init__(self, penalty_weight: float = 10.0) -> None:
        self.penalty_weight = check_penalty_weight(penalty_weight)

    def weights(self, risks: Tensor, gram: Tensor | None) -> Tensor:
        """Return the weights, which add up to 1."""
        return (1 + 2 * self.penalty_weight * (risks - risks.mean(-1, keepdim=True))) / risks.shape[-1]
