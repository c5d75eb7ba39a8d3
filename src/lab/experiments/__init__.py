"""The experiments: each has a folder with everything that only this experiment uses.

An experiment's folder holds its data, its games and the code that reads its results. Its subfolders
``figures/``, ``claims/`` and ``measurements/`` hold modules that ``lab.figures.discovery`` finds by their
path, or that a study names. No experiment imports another. Code that a second experiment needs moves to a
file of this folder (such as ``drawn_trials.py`` or ``step_cost.py``) or to another package of ``lab``.
"""
