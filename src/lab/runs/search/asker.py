"""The asker: the process that asks Optuna for trials and tells it their results. Workers only train.

A trial that is running in the storage, and that no asker has locked, was left by an asker that died. It is
trained further, with its parameters, in its folder. A trial with the parameters of a completed trial is not
trained, because the same command gives the same run.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from optuna.trial import TrialState

from ilc.errors import UserError
from lab.runs.search.draws import REPEATS, completed_twin, draw_parameters, trial_of
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.storage import open_storage
from lab.runs.search.trial import Result, Trial
from lab.runs.search.trial_locks import FolderLock, ServerLocks, TrialLocks

if TYPE_CHECKING:
    from lab.runs.search.server import Server

UNKNOWN = "it left no message"
"""The reason for a failed trial whose error is not in the database."""


class Asker:
    """A search that is under way. Its run folders are in ``folder``; its trials are there or on a server.

    Raises:
        UserError: another process has locked the folder, the folder belongs to another search, or the
            folder or the server cannot be used.
    """

    def __init__(self, definition: SearchDefinition, folder: Path, server: Server | None = None) -> None:
        self._definition = definition
        self._under_way: set[int] = set()
        with ExitStack() as until_exit:
            self._locks: TrialLocks
            if server is None:
                self._locks = own = FolderLock(folder)
                until_exit.callback(own.close)
            else:
                self._locks = ServerLocks(server, definition.name)
                until_exit.enter_context(server.answering())
            self.stored = open_storage(definition, folder, server)
            self._until_exit = until_exit.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._until_exit.__exit__(kind, error, trace)

    def next(self) -> Trial | None:
        """Return a trial that was left, or begin a new one; None if enough trials are done or under way.

        A trial with the parameters of a completed trial is recorded at once, with the value of that trial.

        Raises:
            UserError: more trials have failed than the search asks for.
        """
        with self._locks.while_no_other_begins():
            while (number := self._take()) is not None:
                self._under_way.add(number)
                parameters = draw_parameters(self.stored, self._definition, number)
                twin = completed_twin(self.stored, number)
                if twin is None:
                    return Trial(number, parameters)
                trial_of(self.stored, number).set_user_attr(REPEATS, twin.number)
                self.stored.tell(number, twin.value)
                self._ended(number)
        return None

    def tell(self, number: int, result: Result) -> bool:
        """Record the value of a trial, or the reason why it failed; return whether the trial counts.

        Raises:
            UserError: the run does not have the metric of the search, or the locks were lost.
        """
        self._locks.check_still_held()
        if isinstance(result, str):
            return self._fail(number, result)
        metric = self._definition.metric
        missing = [key for key in self._definition.objective if key not in result]
        if missing:
            raise UserError(
                f"search {self._definition.name}: its runs do not have the metric {missing[0]}. Choose one "
                f"of {', '.join(result)}"
            )
        value = float(result[metric])
        if not math.isfinite(value):
            return self._fail(number, f"{metric} is {value}")
        self.stored.tell(number, value)
        self._ended(number)
        return True

    @property
    def n_complete(self) -> int:
        """The number of trials that are complete."""
        return len(self._numbers(TrialState.COMPLETE))

    @property
    def others_train(self) -> bool:
        """Whether other askers have trials under way."""
        return bool(self._numbers(TrialState.RUNNING) - self._under_way)

    @property
    def failures(self) -> dict[int, str]:
        """The numbers of the failed trials, each with its reason."""
        failed = self.stored.get_trials(deepcopy=False, states=(TrialState.FAIL,))
        return {trial.number: trial.user_attrs.get("error", UNKNOWN) for trial in failed}

    def describe(self) -> str:
        """One line with the number of running and failed trials, and the best value so far."""
        shown = f"{len(self._under_way)} running, {len(self._numbers(TrialState.FAIL))} failed"
        if self.n_complete:
            shown += f", best {self._definition.metric} {self.stored.best_value:.4g}"
        return shown

    def _fail(self, number: int, message: str) -> bool:
        trial_of(self.stored, number).set_user_attr("error", message)
        self.stored.tell(number, state=TrialState.FAIL)
        self._ended(number)
        return False

    def _ended(self, number: int) -> None:
        self._under_way.remove(number)
        self._locks.unlock(number)

    def _take(self) -> int | None:
        """Lock a trial that was left, or a new one; None if enough trials are done or under way."""
        number = self._left()
        if number is None and self._wants_another():
            number = self.stored.ask().number
            self._locks.lock(number)
        return number

    def _left(self) -> int | None:
        """Lock a trial that nobody trains; None if there is none."""
        for number in sorted(self._numbers(TrialState.RUNNING) - self._under_way):
            if self._locks.lock(number):
                if number in self._numbers(TrialState.RUNNING):
                    return number
                self._locks.unlock(number)  # Its asker has ended it a moment ago.
        return None

    def _numbers(self, state: TrialState) -> set[int]:
        return {trial.number for trial in self.stored.get_trials(deepcopy=False, states=(state,))}

    def _wants_another(self) -> bool:
        """Whether another trial must begin. Trials that are under way count as completed."""
        states = Counter(trial.state for trial in self.stored.get_trials(deepcopy=False))
        asked = self._definition.trials
        if states[TrialState.FAIL] > asked:
            failed = self.stored.get_trials(states=(TrialState.FAIL,))
            raise UserError(
                f"search {self._definition.name}: {len(failed)} trials failed, which is more than the "
                f"{asked} that it should complete. Change its space, or ask for more trials with --trials. "
                f"The last one failed with: {failed[-1].user_attrs.get('error', UNKNOWN)}"
            )
        return states[TrialState.COMPLETE] + states[TrialState.RUNNING] < asked
