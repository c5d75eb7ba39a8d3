"""The training loop and the folder of a run."""

from ilc.training.run import run

__all__ = ["run"]
