"""What a search is, and what it may hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ilc.errors import UserError
from lab.runs.one_run.selection import RULES
from lab.runs.search.space import check_range

SAMPLERS = ("random", "tpe")
DIRECTIONS = ("maximize", "minimize")


@dataclass(frozen=True)
class Definition:
    """One search.

    Attributes:
        name: of the file and everything made from it.
        fixed: Hydra overrides that all trials share (``experiment=spirals``).
        space: key -> range of the overrides that differ; see ``lab.runs.search.space``.
        objective: metric of a run's summary -> ``maximize`` or ``minimize``. The first is
            optimised, the next ones break its ties in turn, and then the earlier trial wins.
        selection: which evaluation of a run the summary reports (``trainer.selection``).
        trials: how many completed ones are wanted.
        sampler: ``random`` or ``tpe``.
        seed: of the sampler; the runs' own seed is an override.
        finalists: of how many of the best trials the configuration is written, to be made again.

    Raises:
        UserError: something of another kind, or no such sampler, direction, rule or range.
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

    @property
    def metric(self) -> str:
        """What is optimised."""
        return next(iter(self.objective))

    @property
    def rule(self) -> str:
        """How the best trial is chosen, in words."""
        words = {"maximize": "highest", "minimize": "lowest"}
        parts = [f"{words[way]} {metric}" for metric, way in self.objective.items()]
        ties = " then ".join([*parts[1:], "the earlier trial"])
        looks_at_test = self.selection == "test_oracle" or any(
            key.startswith("test") for key in self.objective
        )
        oracle = "; it looks at test data (oracle)" if looks_at_test else ""
        return f"{parts[0]}, ties by {ties}; evaluation of each run: {self.selection}{oracle}"

    def content(self) -> dict[str, Any]:
        """Everything that two halves of one search must share: all but how many trials and finalists."""
        values = asdict(self)
        del values["trials"], values["finalists"]
        return {**values, "fixed": list(self.fixed)}
