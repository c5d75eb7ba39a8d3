"""Hyperparameter search: trials that Optuna chooses and that are ordinary run folders.

``search_definition`` and ``space`` say what is searched; ``search_file`` reads it. ``storage`` keeps the
trials in a file or on a ``server``. ``asker`` starts trials and records their results; ``trial_locks`` say
which asker has which trial. ``loop`` gives the trials to workers. ``trial`` is one trial, ``table`` lists
all, and ``tuned`` writes the best settings.
"""
