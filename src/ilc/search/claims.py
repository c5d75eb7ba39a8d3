"""Which worker has which trial: a lock, which the system frees at any death.

A trial that Optuna calls running and that nobody has locked was left by a worker that is gone.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from optuna import Study, Trial
from optuna.trial import FrozenTrial, TrialState

from ilc.errors import UserError
from ilc.locked import lock, locked
from ilc.search.definition import Definition
from ilc.search.space import Value, draw
from ilc.search.study import sampler_for


@dataclass
class Claim:
    """A trial that this process works on: its number, parameters, run folder and lock."""

    trial: Trial
    parameters: dict[str, Value]
    folder: Path
    lock: int

    @property
    def number(self) -> int:
        """Counted from 0, in the order in which the trials began."""
        return self.trial.number

    def release(self) -> None:
        """Give the lock back."""
        os.close(self.lock)


def claim(study: Study, definition: Definition, folder: Path) -> Claim | None:
    """Take up an abandoned trial, else begin a new one; None when enough are done or under way.

    Raises:
        UserError: more trials failed than are asked for.
    """
    with locked(folder):
        taken = _abandoned(study, folder)
        if taken is None:
            if not _wanted(study, definition):
                return None
            number = study.ask().number
            lock_of_trial = lock(_lock_of(folder, number))
            assert lock_of_trial is not None, "nobody else begins trials while the search's folder is locked"
            taken = number, lock_of_trial
        number, lock_of_trial = taken
        # Trial reads what was drawn before a kill; the same keys then get the same values.
        trial = Trial(study, study.get_trials(deepcopy=False)[number]._trial_id)
        parameters = {}
        for key, limits in definition.space.items():
            study.sampler = sampler_for(definition, number, key)
            parameters[key] = draw(trial, key, limits)
        return Claim(trial, parameters, folder_of(folder, number), lock_of_trial)


def folder_of(folder: Path, number: int) -> Path:
    """The run folder of a trial."""
    return folder / "trials" / f"{number:04d}"


def _lock_of(folder: Path, number: int) -> Path:
    """What the worker of a trial locks; the run folder itself is locked by the run."""
    return folder / "claims" / f"{number:04d}"


def _abandoned(study: Study, folder: Path) -> tuple[int, int] | None:
    """Number and lock of the first trial that runs without a living worker."""
    for trial in _running(study):
        lock_of_trial = lock(_lock_of(folder, trial.number))
        if lock_of_trial is None:
            continue
        # Its worker may have ended it between our look at the study and the lock.
        if trial.number in [other.number for other in _running(study)]:
            return trial.number, lock_of_trial
        os.close(lock_of_trial)
    return None


def _running(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))


def _wanted(study: Study, definition: Definition) -> bool:
    """Whether another trial must begin, counting those under way as completed ones."""
    states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
    if states[TrialState.FAIL] > definition.trials:
        messages = [t.user_attrs.get("error", "") for t in study.get_trials(states=(TrialState.FAIL,))]
        raise UserError(
            f"search {definition.name}: {len(messages)} trials failed, more than the {definition.trials} "
            f"asked for. Change its space, or ask for more --trials. The last one: {messages[-1]}"
        )
    return states[TrialState.COMPLETE] + states[TrialState.RUNNING] < definition.trials
