"""The trials on disk: one SQLite file, where a write that was cut off by a kill is undone."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import StudyDirection

from ilc.errors import UserError
from ilc.runs.search.definition import Definition
from ilc.seeding import seed_for

STORAGE = "study.db"
"""Its file in the search's folder."""


def open_storage(definition: Definition, folder: Path) -> optuna.Study:
    """The search's trials in ``folder``, as what Optuna calls a study; made if it is not there.

    Raises:
        UserError: the folder holds another search of the same name, or cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot use {folder}: {error.strerror}. Choose another with --output") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    stored = optuna.create_study(
        storage=f"sqlite:///{folder.resolve() / STORAGE}",
        study_name=definition.name,
        direction=StudyDirection[definition.objective[definition.metric].upper()],
        load_if_exists=True,
    )
    # Through JSON, so that what is compared is what the file keeps.
    wanted = json.loads(json.dumps(definition.content()))
    there = stored.user_attrs.get("definition")
    if there is None:
        stored.set_user_attr("definition", wanted)
    elif there != wanted:
        changed = ", ".join(key for key in wanted if there.get(key) != wanted[key])
        raise UserError(
            f"{folder} holds another search: it differs in {changed}. Choose another --output, or remove "
            "that folder to start over"
        )
    return stored


def sampler_for(definition: Definition, number: int, key: str) -> BaseSampler:
    """The sampler for one key of one trial.

    Seeded by both, so that a trial's parameters depend neither on how often the search was killed
    nor, drawn at random, on how many workers there are.
    """
    # Optuna's random states take 32 bits.
    seed = seed_for(definition.seed, f"search trial {number} {key}") % 2**32
    if definition.sampler == "random":
        return RandomSampler(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        # Trials under way count as bad ones, so that two workers do not try the same.
        return TPESampler(seed=seed, constant_liar=True)
