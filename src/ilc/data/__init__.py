"""Datasets: one per file, each handing over ``Environments``."""

from ilc.data.any_environment_batches import AnyEnvironmentBatches
from ilc.data.batches import Batches
from ilc.data.colored_mnist import make_colored_mnist
from ilc.data.environment_batches import EnvironmentBatches
from ilc.data.environments import Environments, Split
from ilc.data.example_batches import ExampleBatches
from ilc.data.labelled_images import make_labelled_images
from ilc.data.linear_sem import make_linear_sem
from ilc.data.one_environment_batches import OneEnvironmentBatches
from ilc.data.spirals import make_spirals

__all__ = [
    "AnyEnvironmentBatches",
    "Batches",
    "EnvironmentBatches",
    "Environments",
    "ExampleBatches",
    "OneEnvironmentBatches",
    "Split",
    "make_colored_mnist",
    "make_labelled_images",
    "make_linear_sem",
    "make_spirals",
]
