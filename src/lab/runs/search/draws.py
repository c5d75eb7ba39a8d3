"""The parameters of a trial: they are drawn, or read from the storage after the process was killed."""

from __future__ import annotations

import warnings

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from lab.machine.seeding import seed_for
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.space import Value, draw

REPEATS = "repeats"
"""Attribute of a trial that was not trained: the number of the completed trial with the same parameters."""


def draw_parameters(stored: optuna.Study, definition: SearchDefinition, number: int) -> dict[str, Value]:
    """The parameters of a trial: key of the space -> value. Values that were drawn before a kill are kept."""
    trial = trial_of(stored, number)
    parameters = {}
    for key, limits in definition.space.items():
        stored.sampler = _sampler(definition, number, key)
        parameters[key] = draw(trial, key, limits)
    return parameters


def completed_twin(stored: optuna.Study, number: int) -> FrozenTrial | None:
    """The completed trial that was trained with the parameters of this trial, or None."""
    parameters = trial_of(stored, number).params
    for trial in stored.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        if trial.params == parameters and REPEATS not in trial.user_attrs:
            return trial
    return None


def trial_of(stored: optuna.Study, number: int) -> optuna.Trial:
    """The trial of this number, as an object that can be changed."""
    return optuna.Trial(stored, stored.get_trials(deepcopy=False)[number]._trial_id)


def _sampler(definition: SearchDefinition, number: int, key: str) -> BaseSampler:
    """The sampler for one key of one trial.

    Key and number of the trial give its seed. So the parameters of a trial do not depend on how often the
    search was killed; with random sampling they do not depend on the number of workers or askers either.
    """
    # Optuna's random states take 32 bits.
    seed = seed_for(definition.seed, f"search trial {number} {key}") % 2**32
    if definition.sampler == "random":
        return RandomSampler(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        # Trials under way count as bad ones, so that two workers do not try the same values.
        return TPESampler(seed=seed, constant_liar=True)
