"""Adaptive skip intervals: chapter 2 of the thesis.

A simulator of frames whose every prediction is matched with whichever of the next H frames it fits best, so
that it learns to skip what is hard to predict and does not matter. ``match`` is the part to use with a
simulator of one's own.
"""

from lab.experiments.skip_intervals.matching import match

TITLE = "Skip intervals (thesis, chapter 2)"

__all__ = ["match"]
