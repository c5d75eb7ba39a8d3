"""Hyperparameter search: trials that Optuna chooses and that are ordinary run folders.

``definition`` and ``space`` say what is searched, ``storage`` keeps the trials on disk, ``asker`` alone
begins them and records how they end, ``loop`` hands them to workers, ``trial`` is one of them, ``table``
lists them, ``tuned`` exports the best.
"""
