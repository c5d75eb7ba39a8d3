"""Hyperparameter search: Optuna studies whose trials are ordinary run folders.

``definition`` says what is searched, ``study`` keeps the trials on disk, ``claims`` hands each to
one living worker, ``worker`` trains them, ``report`` tabulates them and exports the best.
"""
