"""The task that trains with environment gradients: its loop, and the methods that change this loop."""

from lab.environment_task.method import TrainingMethod
from lab.environment_task.task import EnvironmentTask

__all__ = ["EnvironmentTask", "TrainingMethod"]
