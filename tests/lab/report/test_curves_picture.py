"""A run that ends leaves a picture of its curves, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib import image

from lab.report import curves_picture
from lab.report.curves_picture import PICTURE, draw_curves


def test_a_run_leaves_a_picture(train: Any, tiny: tuple[str, ...], tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = train("experiment=spirals", *tiny, f"hydra.run.dir={run}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(run)
    height, width, _ = image.imread(run / PICTURE).shape
    assert width > height > 200
    before = (run / PICTURE).stat().st_mtime_ns
    assert draw_curves(run) is None
    assert (run / PICTURE).stat().st_mtime_ns == before


def test_nothing_is_drawn_where_a_run_is_not_done_or_matplotlib_is_missing(
    train: Any, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    train("experiment=spirals", *tiny, f"hydra.run.dir={run}")
    (run / PICTURE).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(curves_picture, "find_spec", lambda name: None)
        assert draw_curves(run) is None
    (run / "done").rename(run / "not done")
    assert draw_curves(run) is None
    (run / "not done").rename(run / "done")
    assert draw_curves(run) == run / PICTURE


def test_every_split_and_part_has_a_line() -> None:
    keys = [
        "step",
        "train/accuracy",
        "train/accuracy_mislabeled",
        "test/accuracy",
        "test/loss",
        "mask/density",
    ]
    evaluations = [dict.fromkeys(keys, 0.5)]
    assert curves_picture._keys(evaluations, "accuracy") == keys[1:4]
    assert curves_picture._keys(evaluations, "loss") == ["test/loss"]


def test_one_evaluation_is_a_point_and_no_curve(tmp_path: Path) -> None:
    (tmp_path / "done").touch()  # As in a folder from before version 0.2, without hashes.
    (tmp_path / "config.yaml").write_text("name: spirals\nseed: 0\n")
    (tmp_path / "summary.json").write_text('{"step": 1}')
    for n, picture in ((1, None), (2, tmp_path / PICTURE)):
        lines = [f'{{"step": {i}, "epoch": {i}, "test/accuracy": 0.5}}\n' for i in range(n)]
        (tmp_path / "metrics.jsonl").write_text("".join(lines))
        assert draw_curves(tmp_path) == picture
