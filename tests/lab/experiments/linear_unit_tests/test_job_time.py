"""The time of a job: the table's rows, with a stand-in for the authors' clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.experiments.linear_unit_tests.measurements.job_time import THEIRS, parts

MODULES = {
    "utils": "def set_seed(seed): pass\n",
    "datasets": (
        "class Data:\n"
        "    envs, task = ['E0'], 'regression'\n"
        "    def __init__(self, **sizes): pass\n"
        "    def sample(self, **how): return how['env'], how['n']\n"
        "DATASETS = {'Example1': Data}\n"
    ),
    "models": (
        "import time\n"
        "class Model:\n"
        "    def __init__(self, **options): pass\n"
        "    def fit(self, envs, steps): time.sleep(0.001 * steps)\n"
        f"MODELS = dict.fromkeys({list(THEIRS.values())}, Model)\n"
    ),
}


def test_without_a_clone_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"git clone .*InvarianceUnitTests"):
        parts(str(tmp_path))["1"]()


@pytest.mark.slow
def test_a_row_per_method(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    for name, content in MODULES.items():
        (tmp_path / "scripts" / f"{name}.py").write_text(content)
    made = parts(str(tmp_path), steps=5, repeats=1)["1"]()
    table = made["linear_unit_tests/job_time.csv"]
    assert list(table.method) == list(THEIRS)
    # A millisecond a step, ten thousand steps.
    assert table.theirs_seconds.between(10, 60).all()
    assert (table.ratio == table.theirs_seconds / table.ours_seconds).all() and (
        table.jobs_at_once == 1000
    ).all()
