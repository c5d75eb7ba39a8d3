"""Searches of a study go on from their committed tables, and keep the rows of runs that are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from ilc.errors import UserError
from lab.runs.study.make import make_study, write_results
from lab.runs.study.study_file import Study, load_study

pytestmark = pytest.mark.usefixtures("in_this_process")

STUDY = """
about: A search
cost: none
unfinished: {unfinished}
steps:
  - search:
      names: [{folder}/toy.yaml]
      to: toy/trials
      columns: [optimizer.lr]
"""
SEARCH = """
fixed: [experiment=spirals, aggregator=mean, {tiny}]
space: {{optimizer.lr: {{log_uniform: [1.0e-4, 1.0e-2]}}}}
objective: {{test/accuracy: maximize}}
selection: last
trials: {trials}
"""
TABLE = Path("results/spirals/search/toy_trials.csv")
RUNS, CURVES = Path("results/toy/trials_runs.csv"), Path("results/toy/trials_curves.csv")


@pytest.fixture
def study(
    tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int, bool], Study]:
    """Makes a study of a search for so many trials."""
    monkeypatch.chdir(tmp_path)
    options = ", ".join(option for option in tiny if option != "logger=none")

    def write(trials: int, unfinished: bool = True) -> Study:
        (tmp_path / "toy.yaml").write_text(SEARCH.format(tiny=options, trials=trials))
        path = tmp_path / "study.yaml"
        path.write_text(STUDY.format(folder=tmp_path, unfinished=str(unfinished).lower()))
        return load_study(str(path))

    return write


def do(own: Study, folder: str) -> None:
    make_study(own, Path(folder), Path("results"), 1)
    write_results(own, Path(folder), Path("results"))


def folders(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).glob("search/*/trials/*"))


@pytest.mark.slow
def test_nothing_done_yet(study: Callable[..., Study], capsys: pytest.CaptureFixture[str]) -> None:
    write_results(study(2), Path("nowhere"), Path("results"))
    assert "0 of 2 jobs are done, the others are pending" in capsys.readouterr().out
    assert TABLE.read_text() == "search,number,state,chosen,value,error,command\n"
    assert RUNS.exists() and CURVES.exists()
    # From such tables the study can begin.
    do(study(1), "first")
    assert folders("first") == ["0000"]
    assert len(pd.read_csv(TABLE)) == len(pd.read_csv(RUNS)) == 1


def test_a_finished_study_without_any_trial_has_no_tables(study: Callable[..., Study]) -> None:
    write_results(study(2, unfinished=False), Path("nowhere"), Path("results"))
    assert not Path("results").exists()


def test_a_changed_table_of_trials_is_not_taken(study: Callable[..., Study]) -> None:
    write_results(study(2), Path("nowhere"), Path("results"))
    changed = TABLE.read_text().replace("\n", ",more\n")
    TABLE.write_text(changed)
    for call in (do, lambda own, folder: write_results(own, Path(folder), Path("results"))):
        with pytest.raises(UserError, match=f"{TABLE} was changed, according to .*SHA256SUMS: put back"):
            call(study(2), "first")
    assert TABLE.read_text() == changed
    assert not folders("first")


@pytest.mark.slow
@pytest.mark.parametrize("unfinished", [False, True])
def test_a_fresh_machine_goes_on(
    unfinished: bool, study: Callable[..., Study], capsys: pytest.CaptureFixture[str]
) -> None:
    do(study(2, unfinished), "first")
    assert capsys.readouterr().out.count("best: trial") == 1  # Once, where the search ends.
    before = {path: path.read_text().splitlines() for path in (TABLE, RUNS, CURVES)}
    (tuned_file,) = (path for path in Path("results").rglob("toy.yaml"))
    tuned = tuned_file.read_text()

    own = study(2, unfinished)
    assert own.steps[0].count(Path("second"), Path("results")) == (2, 2)
    do(own, "second")
    assert not Path("second").exists()
    assert {path: path.read_text().splitlines() for path in (TABLE, RUNS, CURVES)} == before

    own = study(3, unfinished)
    assert own.steps[0].count(Path("second"), Path("results")) == (2, 3)
    do(own, "second")
    assert folders("second") == ["0002"]
    for path in (RUNS, CURVES):
        after = path.read_text().splitlines()
        assert [line for line in after if line in before[path]] == before[path]
    assert len(pd.read_csv(RUNS)) == 3
    assert set(pd.read_csv(CURVES, dtype=str).run) == set(pd.read_csv(RUNS, dtype=str).run)
    rows = pd.read_csv(TABLE)
    assert (rows.state == "COMPLETE").tolist() == [True] * 3
    assert rows.chosen.sum() == 1
    assert "Best of 3 completed trials" in tuned_file.read_text() != tuned
