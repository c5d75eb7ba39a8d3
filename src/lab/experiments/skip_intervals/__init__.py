"""Adaptive skip intervals: chapter 2 of the thesis.

A simulator predicts frames. Each prediction is matched with the one of the next H true frames that it fits
best. The simulator thus learns to skip frames that are hard to predict and do not matter. Use ``match`` to
do this with your own simulator.
"""

from lab.experiments.skip_intervals.matching import match

TITLE = "Skip intervals (thesis, chapter 2)"

__all__ = ["match"]
