"""The files that a block opens are seen each time, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lab.figures.files_read import files_read


def test_the_files_that_are_read_are_seen_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    pd.DataFrame({"x": [1]}).to_csv(tmp_path / "a" / "one.csv")
    np.savez(tmp_path / "two.npz", x=np.ones(1))
    for _ in range(2):
        with files_read(tmp_path) as read:
            pd.read_csv(tmp_path / "a" / "one.csv")
            Path(__file__).read_text()
        assert read == {"a/one.csv"}
    with files_read(tmp_path) as read:
        np.load(tmp_path / "two.npz").close()
    pd.read_csv(tmp_path / "a" / "one.csv")
    assert read == {"two.npz"}


def test_an_outer_block_hears_the_inner_one_and_goes_on(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("")
    with files_read(tmp_path) as outer:
        with files_read(tmp_path) as inner:
            (tmp_path / "one").read_text()
        (tmp_path / "two").read_text()
    assert (outer, inner) == ({"one", "two"}, {"one"})
