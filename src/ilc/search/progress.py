"""How far a search is: a bar with the time left on a terminal, a line per finished trial elsewhere."""

from __future__ import annotations

import time
from collections import Counter

from optuna import Study
from optuna.study import StudyDirection
from optuna.trial import TrialState

from ilc.runs.progress import TerminalBar
from ilc.search.definition import Definition


class SearchProgress(TerminalBar):
    """Shows completed, failed and running trials, the best value and the time left."""

    def __init__(self, study: Study, definition: Definition) -> None:
        self._study, self._definition = study, definition
        self._done = self._start = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
        super().__init__(definition.name, definition.trials, self._start)
        self._began = time.monotonic()

    def update(self) -> None:
        """Look at the study again."""
        trials = self._study.get_trials(deepcopy=False)
        states = Counter(trial.state for trial in trials)
        done = states[TrialState.COMPLETE]
        values = [t.value for t in trials if t.state == TrialState.COMPLETE and t.value is not None]
        shown = f"{states[TrialState.RUNNING]} running, {states[TrialState.FAIL]} failed"
        if values:
            best = max(values) if self._study.direction == StudyDirection.MAXIMIZE else min(values)
            shown += f", best {self._definition.metric} {best:.4g}"
        self._bar.update(self._task, completed=done, shown=shown)
        if done > self._done and not self._is_terminal:
            elapsed = time.monotonic() - self._began
            left = elapsed / (done - self._start) * max(0, self._definition.trials - done)
            name, total = self._definition.name, self._definition.trials
            print(f"{name}: {done} of {total} trials, {shown}, about {left:.0f} s left", flush=True)
        self._done = done
