"""Two objects may have their options in one section: each gets its own, and only its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from ilc.errors import UserError
from lab.configuration.section import OptionsIn, Section
from lab.runs.one_run.task_arguments import task_arguments


class Network:
    def __init__(self, width: int = 1) -> None:
        self.width = width


class Limits:
    """``steps`` is given by the task, so that it is no option of the config."""

    def __init__(self, steps: int, largest: float = 1.0) -> None:
        self.steps, self.largest = steps, largest


@dataclass(frozen=True)
class Course:
    decay: float = 0.5


def task(
    run: Any,
    device: Any,
    model: Section,
    limits: Annotated[Section, OptionsIn("model", Limits)],
    course: Course,
    n: int,
    word: str = "none",
) -> None:
    """Takes arguments of every kind."""


def arguments(**changes: Any) -> dict[str, Any]:
    model = {"_target_": f"{__name__}.Network", "name": "network", **changes.pop("model", {})}
    return task_arguments(task, {"model": model, "course": {}, "n": 3, **changes}, ["max_epochs"])


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own class under the name that its ``_target_`` has."""
    monkeypatch.setattr("lab.configuration.section.imported", lambda path: Network)


def test_each_object_gets_its_own_options() -> None:
    made = arguments(model={"width": 5, "largest": 2.0}, course={"decay": 0.25})
    assert made["model"].build().width == 5
    assert vars(made["limits"].build(7)) == {"steps": 7, "largest": 2.0}
    assert made["course"] == Course(0.25)
    assert made["n"] == 3
    assert "word" not in made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"widht": 5}}, "unknown key 'model.widht'. Did you mean 'width'.*largest, width"),
        ({"model": {"steps": 5}}, "unknown key 'model.steps'"),
        ({"model": {"largest": "x"}}, "model.largest must be a finite number"),
        ({"limits": {}}, "unknown key 'limits'"),
        ({"course": {"decay": 1, "more": 2}}, "unknown key 'course.more'"),
        ({"n": "many"}, "n must be a whole number"),
        ({"trainer": {"milestones": [0.5]}}, "unknown key 'trainer.milestones'.*max_epochs"),
    ],
)
def test_a_wrong_option_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        arguments(**changes)


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(UserError, match="the config lacks 'model', which task needs"):
        task_arguments(task, {}, [])
