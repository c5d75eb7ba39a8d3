"""The datasets, one per file. Each function ``make_NAME`` returns ``Environments``."""

from lab.data.any_environment_batches import AnyEnvironmentBatches
from lab.data.batches import Batches
from lab.data.colored_mnist import make_colored_mnist
from lab.data.environment_batches import EnvironmentBatches
from lab.data.environments import Environments, Split
from lab.data.example_batches import ExampleBatches
from lab.data.labelled_images import make_labelled_images
from lab.data.linear_sem import make_linear_sem
from lab.data.one_environment_batches import OneEnvironmentBatches
from lab.data.spirals import make_spirals

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
