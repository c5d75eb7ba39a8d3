"""The experiments: each has a folder with everything that only this experiment uses.

An experiment's folder holds its data, games and the reading of its results. Its subfolders ``figures/``,
``claims/`` and ``measurements/`` hold modules that ``lab.figures.discovery`` finds by their path, or that a
study names. No experiment imports another: code that a second experiment needs moves to a file of this folder
(``measurement.py``, ``step_cost.py``) or to a room of ``lab``.
"""
