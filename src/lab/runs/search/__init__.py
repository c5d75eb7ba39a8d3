"""Hyperparameter search: trials that Optuna chooses and that are ordinary run folders.

``definition`` and ``space`` say what is searched, ``storage`` keeps the trials, on disk or on a ``server``,
``asker`` begins those that it ``claims`` and records how they end, ``loop`` hands them to workers, ``trial``
is one of them, ``table`` lists them, ``tuned`` exports the best.
"""
