"""The experiments, each in a home of its own: what only it needs lives there, its figures and claims too.

A folder here holds ``figures/``, ``claims/`` and ``measurements/``, of which every module is found by
``lab.figures.discovery`` or named by a study, and beside them the experiment's own data, games and reading
of results. What a second experiment needs moves to a shared room; no experiment imports another.
"""
