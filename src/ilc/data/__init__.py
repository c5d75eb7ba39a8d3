"""Datasets: one per file, each handing over ``Environments``."""

from ilc.data.environments import Environments, Split
from ilc.data.sampler import EnvironmentBatches
from ilc.data.spirals import make_spirals

__all__ = ["EnvironmentBatches", "Environments", "Split", "make_spirals"]
