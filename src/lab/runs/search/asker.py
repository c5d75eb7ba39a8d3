"""The process that asks: it begins trials and records how they end; workers only train.

A trial that the storage calls running and nobody claims was left by an asker that died: it is taken up
again, with its parameters, in its folder. One with the parameters of a completed trial is not trained again:
the same command gives the same run.
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
"""Why a trial failed whose error the database lacks."""


class Asker:
    """A search that is under way: its run folders in ``folder``, its trials there or on a server.

    Raises:
        UserError: another process has the folder, it is another search's, or it or the server cannot be used.
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
        """Take up a trial that was left, else begin one; None when enough are done or under way.

        Trials that repeat a completed one are recorded on the way, with its value.

        Raises:
            UserError: more trials failed than are asked for.
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
        """Record how a trial ended: its value, or why it failed; return whether it counts.

        Raises:
            UserError: no run has the metric that is searched for, or the claims were lost.
        """
        self._locks.check_still_held()
        if isinstance(result, str):
            return self._fail(number, result)
        metric = self._definition.metric
        missing = [key for key in self._definition.objective if key not in result]
        if missing:
            raise UserError(
                f"search {self._definition.name}: no run has the metric {missing[0]}. There are "
                f"{', '.join(result)}"
            )
        value = float(result[metric])
        if not math.isfinite(value):
            return self._fail(number, f"{metric} is {value}")
        self.stored.tell(number, value)
        self._ended(number)
        return True

    @property
    def n_complete(self) -> int:
        """How many trials are done and count."""
        return len(self._numbers(TrialState.COMPLETE))

    @property
    def others_train(self) -> bool:
        """Whether other askers have trials under way."""
        return bool(self._numbers(TrialState.RUNNING) - self._under_way)

    @property
    def failures(self) -> dict[int, str]:
        """The trials that failed, and why."""
        failed = self.stored.get_trials(deepcopy=False, states=(TrialState.FAIL,))
        return {trial.number: trial.user_attrs.get("error", UNKNOWN) for trial in failed}

    def describe(self) -> str:
        """Trials under way and failed, and the best value so far."""
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
        """A trial that was left, else a new one, claimed; None when enough are done or under way."""
        number = self._left()
        if number is None and self._wants_another():
            number = self.stored.ask().number
            self._locks.lock(number)
        return number

    def _left(self) -> int | None:
        """A trial that nobody trains, now claimed."""
        for number in sorted(self._numbers(TrialState.RUNNING) - self._under_way):
            if self._locks.lock(number):
                if number in self._numbers(TrialState.RUNNING):
                    return number
                self._locks.unlock(number)  # Its asker has ended it in this moment.
        return None

    def _numbers(self, state: TrialState) -> set[int]:
        return {trial.number for trial in self.stored.get_trials(deepcopy=False, states=(state,))}

    def _wants_another(self) -> bool:
        """Whether another trial must begin, counting those under way as completed ones."""
        states = Counter(trial.state for trial in self.stored.get_trials(deepcopy=False))
        asked = self._definition.trials
        if states[TrialState.FAIL] > asked:
            failed = self.stored.get_trials(states=(TrialState.FAIL,))
            raise UserError(
                f"search {self._definition.name}: {len(failed)} trials failed, more than the {asked} "
                "asked for. Change its space, or ask for more --trials. The last one: "
                f"{failed[-1].user_attrs.get('error', UNKNOWN)}"
            )
        return states[TrialState.COMPLETE] + states[TrialState.RUNNING] < asked
