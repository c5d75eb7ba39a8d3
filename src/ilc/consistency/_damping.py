"""The default size of the small diagonal that is added to Hessians (paper, footnote 8)."""

from __future__ import annotations

import torch

DAMPING = 0.1
"""The default diagonal beyond ``FEW_PARAMETERS``, as a share of the largest curvature."""

FEW_PARAMETERS = 60
"""Up to so many parameters the default Lanczos steps find every curvature."""


def default_damping(n_parameters: int, dtype: torch.dtype) -> float:
    """The default diagonal of both second-order forms, as a share of the largest curvature.

    Up to 60 parameters it is just above rounding, 1e-12 in float64, so that the score is that of the paper's
    formula. Beyond it is 0.1: a network has flat directions, and without a diagonal the score would be that
    of rounding. At 0.1 the default Lanczos steps find all curvature that counts of trained networks, which
    have a few large curvatures. They do not if many curvatures are nearly equal, as of a linear model whose
    inputs are uncorrelated.
    """
    rounding = max(1e-12, 8 * torch.finfo(dtype).eps)
    return rounding if n_parameters <= FEW_PARAMETERS else DAMPING
