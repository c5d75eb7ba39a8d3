"""The definition of a search, and the checks of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ilc.errors import UserError
from lab.configuration.overrides import key_of
from lab.runs.one_run.selection import RULES
from lab.runs.search.space import check_range
from lab.runs.sweep.sweep import WORKER, is_replaced

SAMPLERS = ("random", "tpe")
DIRECTIONS = ("maximize", "minimize")


@dataclass(frozen=True)
class SearchDefinition:
    """A search, as its file defines it.

    Attributes:
        name: the name of the file, and of all files that are made from it.
        fixed: the overrides that all trials share (``experiment=spirals``).
        space: key -> range of the overrides that differ; see ``lab.runs.search.space``.
        objective: metric of the summary of a run -> ``maximize`` or ``minimize``. The first metric is
            optimised. The next metrics decide between equal trials, and then the earlier trial wins.
        selection: the rule that chooses the evaluation which the summary reports (``trainer.selection``).
        trials: the number of trials that must be completed.
        sampler: ``random`` or ``tpe``.
        seed: the seed of the sampler; the seed of the runs is an override.
        finalists: the number of best trials whose settings are written to a file.
        was_default: overrides of all trials that were defaults when the committed trials were made, so that
            the commands of these trials lack them.

    Raises:
        UserError: a value has another type, there is no such sampler, direction, rule or range, or the trials
            would not follow a fixed override.
    """

    name: str
    fixed: tuple[str, ...]
    space: dict[str, dict[str, Any]]
    objective: dict[str, str]
    selection: str
    trials: int
    sampler: str = "random"
    seed: int = 0
    finalists: int = 1
    was_default: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key, value, known in (
            ("sampler", self.sampler, SAMPLERS),
            ("selection", self.selection, tuple(RULES)),
            *((f"objective.{metric}", way, DIRECTIONS) for metric, way in self.objective.items()),
        ):
            if value not in known:
                raise UserError(f"search {self.name}: {key} must be one of {', '.join(known)}, got {value!r}")
        for key, number, least in (
            ("trials", self.trials, 1),
            ("seed", self.seed, 0),
            ("finalists", self.finalists, 1),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise UserError(
                    f"search {self.name}: {key} must be a whole number of at least {least}, got {number!r}"
                )
        for key, empty in (("objective", not self.objective), ("space", not self.space)):
            if empty:
                raise UserError(f"search {self.name}: {key} is empty: name at least one key")
        for key, limits in self.space.items():
            check_range(key, limits)
        for text in self.fixed:
            self._check_read(text)

    def _check_read(self, override: str) -> None:
        """Refuse an override that the trials would not follow, because each of them sets the key itself.

        Raises:
            UserError: there is such an override.
        """
        key = key_of(override)
        if key == "trainer.selection" and override != f"{key}={self.selection}":
            raise UserError(
                f"search {self.name}: {override} is not read, because the key selection of the search's file "
                f"says {self.selection}: copy the file, change this key, and give the path of the copy"
            )
        if key in ("hydra.run.dir", "hydra.sweep.dir"):
            raise UserError(
                f"search {self.name}: {override} is not read, because every trial has a run folder of its "
                "own: name the folder of the search with --output"
            )
        if is_replaced(override):
            raise UserError(
                f"search {self.name}: {override} is not read, because every trial has "
                f"{' and '.join(WORKER)}: leave it out"
            )

    @property
    def metric(self) -> str:
        """The metric that is optimised."""
        return next(iter(self.objective))

    @property
    def rule(self) -> str:
        """The rule that chooses the best trial, in words."""
        words = {"maximize": "highest", "minimize": "lowest"}
        parts = [f"{words[way]} {metric}" for metric, way in self.objective.items()]
        ties = " then ".join([*parts[1:], "the earlier trial"])
        looks_at_test = self.selection == "test_oracle" or any(
            key.startswith("test") for key in self.objective
        )
        oracle = "; it looks at test data (oracle)" if looks_at_test else ""
        return f"{parts[0]}, ties by {ties}; evaluation of each run: {self.selection}{oracle}"

    def content(self) -> dict[str, Any]:
        """The values that must stay the same during a search: all but ``trials`` and ``finalists``."""
        values = asdict(self)
        del values["trials"], values["finalists"]
        if not self.was_default:  # It is not in the content of searches that began before there was this key.
            del values["was_default"]
        return {**values, "fixed": list(self.fixed)}


def with_overrides(definition: SearchDefinition, overrides: Sequence[str]) -> SearchDefinition:
    """Return the search with other fixed overrides; each replaces the one of the same key.

    Raises:
        UserError: an override is not ``KEY=VALUE``, or its key is one that the search varies.
    """
    own = {key_of(text): text for text in overrides}
    for key, text in own.items():
        if "=" not in text:
            raise UserError(f"an override must be KEY=VALUE, got {text!r}")
        if key in definition.space:
            raise UserError(f"search {definition.name} varies {key}, so {text} cannot hold for all trials")
    kept = [text for text in definition.fixed if key_of(text) not in own]
    was_default = tuple(text for text in definition.was_default if key_of(text) not in own)
    return replace(definition, fixed=(*kept, *own.values()), was_default=was_default)
