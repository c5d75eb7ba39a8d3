"""Optimizers and regularizers beyond those of ``torch.optim``."""

from ilc.optim.cautious_adam import CautiousAdam
from ilc.optim.regularizer import Regularizer
from ilc.optim.temporal_mask_adam import TemporalMaskAdam

__all__ = ["CautiousAdam", "Regularizer", "TemporalMaskAdam"]
