"""Optimizers and regularizers beyond those of ``torch.optim``."""

from ilc.optim.regularizer import Regularizer
from ilc.optim.temporal_mask_adam import TemporalMaskAdam

__all__ = ["Regularizer", "TemporalMaskAdam"]
