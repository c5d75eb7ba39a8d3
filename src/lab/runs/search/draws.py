"""A trial's parameters: drawn, read back after a kill, or found to be those of a completed trial."""

from __future__ import annotations

import warnings

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from ilc._seeding import seed_for
from lab.runs.search.definition import Definition
from lab.runs.search.space import Value, draw

REPEATS = "repeats"
"""Attribute of a trial that was not trained: the number of the completed one with its parameters."""


def draw_parameters(stored: optuna.Study, definition: Definition, number: int) -> dict[str, Value]:
    """The parameters of a trial under way: key of the space -> value. What was drawn before a kill stays."""
    trial = trial_of(stored, number)
    parameters = {}
    for key, limits in definition.space.items():
        stored.sampler = _sampler(definition, number, key)
        parameters[key] = draw(trial, key, limits)
    return parameters


def completed_twin(stored: optuna.Study, number: int) -> FrozenTrial | None:
    """The trial that was trained and completed with the parameters of this one."""
    parameters = trial_of(stored, number).params
    for trial in stored.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        if trial.params == parameters and REPEATS not in trial.user_attrs:
            return trial
    return None


def trial_of(stored: optuna.Study, number: int) -> optuna.Trial:
    """The trial of this number, to be written to."""
    return optuna.Trial(stored, stored.get_trials(deepcopy=False)[number]._trial_id)


def _sampler(definition: Definition, number: int, key: str) -> BaseSampler:
    """The sampler for one key of one trial.

    Seeded by both, so that a trial's parameters depend neither on how often the search was killed
    nor, drawn at random, on how many workers or askers there are.
    """
    # Optuna's random states take 32 bits.
    seed = seed_for(definition.seed, f"search trial {number} {key}") % 2**32
    if definition.sampler == "random":
        return RandomSampler(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        # Trials under way count as bad ones, so that two workers do not try the same.
        return TPESampler(seed=seed, constant_liar=True)
