"""What the study measures, rollouts of a finished run, and how they are drawn."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lab.experiments.skip_intervals.measurements import rollouts
from lab.experiments.skip_intervals.results import FOLDER
from lab.experiments.skip_intervals.rollouts_drawing import draw_rollouts, skips

SMALL = (
    "experiment=skip_intervals",
    "dataset=room_runner",
    "dataset.n_train=20",
    "dataset.n_validation=9",
    "simulator.kernels=2",
    "steps_per_epoch=2",
    "trainer.max_epochs=1",
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Path]:
    """The rollouts of a run that is made first, and the folder of runs."""
    folder = tmp_path_factory.mktemp("runs")
    (content,) = rollouts._measure("room_runner", str(folder), (*SMALL, f"data_dir={folder}/data")).values()
    assert isinstance(content, bytes)
    return content, folder


def test_rollouts_are_those_of_the_runs_own_evaluation(kept: tuple[bytes, Path]) -> None:
    content, folder = kept
    (summary,) = pd.read_json(next(folder.rglob("summary.json")), orient="index").T.to_dict("records")
    with np.load(io.BytesIO(content)) as file:
        found = dict(file)
    assert found["calls"].mean() == pytest.approx(summary["validation/model_evaluations"])
    assert found["lengths"].shape == found["labels"].shape == found["calls"].shape == (9,)
    assert found["frames"].shape[0] == found["predicted"].shape[0] == 6
    assert found["times"].shape == (9, found["predicted"].shape[1])
    assert set(np.unique(found["frames"])) == {0, 1}
    assert (str(found["method"]), int(found["step"])) == ("adaptive", 2)


def test_a_run_that_is_done_is_not_made_again(
    kept: tuple[bytes, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content, folder = kept
    monkeypatch.setattr(
        "lab.experiments.skip_intervals.task.SkipIntervalsTask.train_epoch",
        lambda task: pytest.fail("trained again"),
    )
    (again,) = rollouts._measure("room_runner", str(folder), (*SMALL, f"data_dir={folder}/data")).values()
    assert again == content


def test_skips_are_counted_until_the_trajectory_ends() -> None:
    times = np.array([[2, 3, 7, 7], [1, 2, 3, 4]])
    found = skips(times, np.array([3, 6]))
    assert [row.tolist() for row in found] == [[2, 1, 4], [1, 1, 1, 1]]


def test_rollouts_are_drawn_below_their_matches(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    frames = np.zeros((2, 5, 3, 4, 4), np.uint8)
    predicted = np.full((2, 3, 3, 4, 4), 255, np.uint8)
    np.savez(
        tmp_path / FOLDER / "room_runner_rollouts.npz",
        lengths=np.array([5, 4]),
        labels=np.array([0, 1]),
        calls=np.array([2, 3]),
        times=np.array([[1, 4, 4], [1, 2, 3]], np.uint8),
        frames=frames,
        predicted=predicted,
        method=np.array("adaptive"),
        seed=np.array(0),
        step=np.array(7),
    )
    pd.DataFrame([{"dataset": "room_runner", "data_source": "made up"}]).to_csv(
        tmp_path / FOLDER / "data.csv", index=False
    )
    figure = draw_rollouts(tmp_path, "room_runner", ("red", "blue"), shown=2, columns=3)
    *pairs, bars = figure.axes
    ticks = [[text.get_text() for text in axes.get_xticklabels()] for axes in pairs]
    assert ticks == [["first frame", "+1", "+3"], ["first frame", "+1", "+1"], ["+1"]]
    picture = np.asarray(pairs[0].images[0].get_array())
    below = picture[7, 2::5, 0]  # a pixel of the lower row, of each column
    assert below.tolist() == pytest.approx([0.92, 1.0, 1.0])
    assert [bar.get_height() for bar in bars.patches] == pytest.approx([4 / 5, 0, 1 / 5])  # type: ignore[attr-defined]
