"""What a search is: a file under ``conf/search/``, read and checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ilc.configuration.groups import CONF
from ilc.configuration.keys import check_keys
from ilc.errors import UserError
from ilc.runs.search.space import check_range
from ilc.runs.selection import RULES

FOLDER = CONF / "search"
SAMPLERS = ("random", "tpe")
DIRECTIONS = ("maximize", "minimize")


@dataclass(frozen=True)
class Definition:
    """One search.

    Attributes:
        name: of the file and everything made from it.
        fixed: Hydra overrides that all trials share (``experiment=spirals``).
        space: key -> range of the overrides that differ; see ``ilc.runs.search.space``.
        objective: metric of a run's summary -> ``maximize`` or ``minimize``. The first is
            optimised, the next ones break its ties in turn, and then the earlier trial wins.
        selection: which evaluation of a run the summary reports (``trainer.selection``).
        trials: how many completed ones are wanted.
        sampler: ``random`` or ``tpe``.
        seed: of the sampler; the runs' own seed is an override.

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

    def __post_init__(self) -> None:
        for key, value, known in (
            ("sampler", self.sampler, SAMPLERS),
            ("selection", self.selection, tuple(RULES)),
            *((f"objective.{metric}", way, DIRECTIONS) for metric, way in self.objective.items()),
        ):
            if value not in known:
                raise UserError(f"search {self.name}: {key} must be one of {', '.join(known)}, got {value!r}")
        for key, number, least in (("trials", self.trials, 1), ("seed", self.seed, 0)):
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
        """Everything that two halves of one search must share: all but the number of trials."""
        values = asdict(self)
        del values["trials"]
        return {**values, "fixed": list(self.fixed)}


def load_definition(name: str) -> Definition:
    """Read ``conf/search/NAME.yaml``, or the file itself when the name ends in ``.yaml``.

    Raises:
        UserError: no such file, an unknown key, a missing one, or as ``Definition``.
    """
    path = Path(name) if name.endswith(".yaml") else FOLDER / f"{name}.yaml"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.yaml"))) or "none"
        raise UserError(f"no search is called {name!r}: there are {known}. A file of your own ends in .yaml")
    try:
        values = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    keys = [field.name for field in fields(Definition) if field.name != "name"]
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold the keys {', '.join(keys)}")
    check_keys("", values, keys)
    missing = [key for key in keys if key not in values and key not in ("sampler", "seed")]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}")
    for key, kind, expected in (
        ("fixed", list, "a list of overrides"),
        ("space", dict, "key: range"),
        ("objective", dict, "metric: maximize or minimize"),
    ):
        if not isinstance(values[key], kind):
            raise UserError(f"{path}: {key} must be {expected}, got {values[key]!r}")
    options = {str(key): value for key, value in values.items()}
    options["fixed"] = tuple(str(override) for override in options["fixed"])
    return Definition(name=path.stem, **options)
