"""The study on disk: one SQLite file, safe with several processes and when any of them is killed.

SQLite rather than Optuna's journal, because the kernel releases its locks with the process and a
write that was cut off is undone; the journal's lock would outlive its holder by half a minute.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import RDBStorage
from optuna.study import StudyDirection

from ilc.errors import UserError
from ilc.search.definition import Definition
from ilc.seeding import seed_for

SECONDS_FOR_A_LOCK = 60


def open_study(definition: Definition, folder: Path) -> optuna.Study:
    """The search's study in ``folder``, made if it is not there.

    Raises:
        UserError: the folder holds another search of the same name, or cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot use {folder}: {error.strerror}. Choose another with --output") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = RDBStorage(
        f"sqlite:///{folder.resolve() / 'study.db'}",
        engine_kwargs={"connect_args": {"timeout": SECONDS_FOR_A_LOCK}},
    )
    study = optuna.create_study(
        storage=storage,
        study_name=definition.name,
        direction=StudyDirection[definition.objective[definition.metric].upper()],
        load_if_exists=True,
    )
    # Through JSON, so that what is compared is what the file keeps.
    wanted = json.loads(json.dumps(definition.content()))
    there = study.user_attrs.get("definition")
    if there is None:
        study.set_user_attr("definition", wanted)
    elif there != wanted:
        changed = ", ".join(key for key in wanted if there.get(key) != wanted[key])
        raise UserError(
            f"{folder} holds another search: it differs in {changed}. Choose another --output, or remove "
            "that folder to start over"
        )
    return study


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
        # Trials that still run count as bad ones, so that two workers do not try the same.
        return TPESampler(seed=seed, constant_liar=True)
