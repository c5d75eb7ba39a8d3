"""Optimizers and regularizers beyond those of ``torch.optim``."""

from ilc.optim._cautious_adam import CautiousAdam
from ilc.optim._regularizer import Regularizer
from ilc.optim._temporal_mask_adam import TemporalMaskAdam

__all__ = ["CautiousAdam", "Regularizer", "TemporalMaskAdam"]
