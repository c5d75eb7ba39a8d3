"""The task of training with environment gradients: the loop, and the methods that touch it."""

from lab.environment_task.method import TrainingMethod
from lab.environment_task.task import EnvironmentTask

__all__ = ["EnvironmentTask", "TrainingMethod"]
