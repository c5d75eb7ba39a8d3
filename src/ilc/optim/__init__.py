"""Optimizers and regularizers beyond those of ``torch.optim``."""

from ilc.optim.regularizer import Regularizer

__all__ = ["Regularizer"]
