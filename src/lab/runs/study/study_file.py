"""What a study is: a file ``conf/study/EXPERIMENT/NAME.yaml``, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.groups import CONF, file_of
from lab.configuration.keys import check_keys, unknown_name
from lab.runs.study.measurement_step import MeasurementStep
from lab.runs.study.runs_step import RunsStep
from lab.runs.study.search_step import SearchStep
from lab.runs.study.step import Step, read_fields

FOLDER = CONF / "study"
NEEDED = ("about", "cost", "steps")
KEYS = (*NEEDED, "unfinished")
KINDS: dict[str, type[RunsStep] | type[SearchStep] | type[MeasurementStep]] = {
    "runs": RunsStep,
    "search": SearchStep,
    "measurement": MeasurementStep,
}


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        name: the name of its file.
        about: the question of the study, in one sentence.
        cost: the time that it takes, in words.
        steps: the steps, in the order in which they are done.
        unfinished: whether its committed files may be incomplete. The files then say what is missing.
    """

    name: str
    about: str
    cost: str
    steps: tuple[Step, ...]
    unfinished: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the study makes, as paths below ``results/``."""
        return tuple(file for step in self.steps for file in step.files)


def study_names() -> list[str]:
    """The names of all studies, by experiment."""
    return [path.stem for path in sorted(FOLDER.glob("*/*.yaml"))]


def experiment_of(name: str) -> str:
    """The experiment that a study belongs to, which is the folder of its file."""
    path = file_of("study", name)
    if path is None:
        raise UserError(_unknown(name))
    return path.parent.name


def load_study(name: str) -> Study:
    """Read ``conf/study/EXPERIMENT/NAME.yaml``, or the file itself when the name ends in ``.yaml``.

    Raises:
        UserError: there is no such file, a key is unknown or missing, or a value has another type.
    """
    path = Path(name) if name.endswith(".yaml") else file_of("study", name)
    if path is None or not path.exists():
        raise UserError(_unknown(name))
    try:
        values = OmegaConf.to_container(OmegaConf.load(path))
    except Exception as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold the keys {', '.join(NEEDED)}")
    check_keys("", values, KEYS)
    missing = [key for key in NEEDED if key not in values]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}")
    for key in ("about", "cost"):
        if not isinstance(values[key], str):
            raise UserError(f"{path}: {key} must be a text, got {values[key]!r}")
    unfinished = values.get("unfinished", False)
    if not isinstance(unfinished, bool):
        raise UserError(f"{path}: unfinished must be true or false, got {unfinished!r}")
    if not isinstance(values["steps"], list) or not values["steps"]:
        raise UserError(f"{path}: steps must be a list of steps, each of them {' or '.join(KINDS)}")
    steps = tuple(_step(path, number, step) for number, step in enumerate(values["steps"], 1))
    return Study(path.stem, values["about"], values["cost"], steps, unfinished)


def _unknown(name: str) -> str:
    return f"{unknown_name('study', name, study_names())}, or give the path of a file that ends in .yaml"


def _step(path: Path, number: int, values: object) -> Step:
    if not isinstance(values, dict) or len(values) != 1 or next(iter(values)) not in KINDS:
        raise UserError(f"{path}: step {number} must be one of {', '.join(KINDS)}, got {values!r}")
    ((kind, content),) = values.items()
    return read_fields(KINDS[str(kind)], f"{path}: step {number}: {kind}", content)
