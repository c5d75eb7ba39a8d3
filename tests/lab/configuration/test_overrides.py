"""What is wrong with the words of a command line, in one line, before Hydra reads them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hydra.core.config_store import ConfigStore

from ilc.errors import UserError
from ilc.gradients import WAYS
from ilc.objectives import RISKS
from lab.configuration.groups import choices
from lab.configuration.overrides import check_overrides, folder_in
from lab.runs.one_run.device import CHOICES
from lab.runs.one_run.selection import RULES

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]
GROUPS = ("aggregator", "dataset", "experiment", "logger", "model", "optimizer", "trainer")


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("text", ["{}=null", "~{}", "{}=[a,b]", "{}=5", "{}=true", "{}={{a: 1}}"])
def test_a_group_is_chosen_by_name(group: str, text: str) -> None:
    with pytest.raises(
        UserError, match=f"does not name a choice of {group}: .* one of .*{choices(group)[0]}"
    ):
        check_overrides([text.format(group)])


def test_the_best_known_settings_can_be_left_out_but_not_mistyped() -> None:
    check_overrides(["~tuned", "tuned=searched/spirals/l1", "tuned=spirals/mean,published/spirals"])
    for text in ("tuned=nothing", "tuned=null", "tuned=[a]"):
        with pytest.raises(UserError, match=r"a choice of tuned: .* leave all out with '~tuned'$"):
            check_overrides([text])
    with pytest.raises(UserError, match="such as published/spirals, ") as caught:
        check_overrides(["tuned=publisched/spirals"])
    assert len(str(caught.value)) < 500
    check_overrides(["hydra.searchpath=[file:///elsewhere]", "tuned=nothing"])


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("data_dir=/tmp/düne", "'data_dir=\"/tmp/düne\"'"),
        ('data_dir=/tmp/a,"b', '\'data_dir="/tmp/a,\\"b"\''),
        ("hydra.run.dir=(x", "'hydra.run.dir=\"(x\"'"),
        ("seed", "expected seed=VALUE"),
        ("=3", "expected key=value"),
        ("hydra.run.dir=", "names no folder: write hydra.run.dir=FOLDER"),
        ("a b", "expected"),
        (f"seed={'9' * 5000}", "cannot read"),
    ],
)
def test_what_cannot_be_read(text: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        check_overrides([text])
    assert remedy in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_path_in_quotes_works(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    done = train(*tiny, f'hydra.run.dir="{tmp_path / "düne, (a) b"}"')
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "düne, (a) b" / "done").exists()


@pytest.mark.parametrize("later", [(), ("hydra.sweep.dir=runs",)])
def test_a_sweep_into_an_unnamed_folder_is_refused(
    later: tuple[str, ...], train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """As ``hydra.sweep.dir=$UNSET`` would ask for."""
    done = train(*tiny, "-m", "seed=0,1", "hydra.sweep.dir=", *later)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: hydra.sweep.dir= names no folder: write hydra.sweep.dir=FOLDER")
    assert not (tmp_path / "spirals").exists()


def test_a_sweep_in_the_middle_of_overrides(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    done = train(*tiny, "trainer.max_epochs=1", "-m", "seed=0,1")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("outputs/spirals/*/done"))) == 2
    for flags in (("-m", "--cfg", "job"), ("--cfg", "-m")):
        done = train(*tiny, *flags)
        assert done.returncode == 1
        assert done.stderr == "Error: -m accepts only overrides (KEY=VALUE): leave --cfg out\n"


def test_an_option_that_is_written_as_a_flag(train: TrainCommand) -> None:
    done = train("--epochs", "3")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: options are written KEY=VALUE, such as ")


@pytest.mark.slow
def test_help_names_every_choice(train: TrainCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    # A new process has read no settings of searches; Hydra's help copies whatever other tests have read.
    monkeypatch.delitem(ConfigStore.instance().repo.get("tuned", {}), "searched", raising=False)
    shown = train("--help").stdout
    for group in ("experiment", "aggregator", "dataset", "model", "optimizer", "logger", "tuned"):
        assert f"\n{group}: {', '.join(choices(group))}\n" in shown
    for key, known in (
        ("gradients", WAYS),
        ("risk", RISKS),
        ("trainer.selection", RULES),
        ("device", CHOICES),
        ("scale", ("small", "paper")),
    ):
        line = next(line for line in shown.splitlines() if line.startswith(f"{key}: "))
        assert set(line.removeprefix(f"{key}: ").split(", ")) == set(known)
    for refused in ("cluster:", "expert:", "search:", "study:"):
        assert f"\n{refused}" not in shown
    content = yaml.safe_load(shown.partition("(KEY=VALUE) ==\n")[2].partition("\nhydra.run.dir")[0])
    assert content["dataset"]["n_environments"] == 32


@pytest.mark.slow
def test_nobody_reads_the_output(root: Path, tiny: tuple[str, ...], tmp_path: Path) -> None:
    """As with ``| head -1``: the run goes on to its end."""
    import os
    import sys

    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, str(root / "src/train.py"), *tiny, f"hydra.run.dir={tmp_path / 'x'}"]
    done = subprocess.run(command, check=False, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "x" / "done").exists()


@pytest.mark.parametrize("written", ["/tmp/runs", '"/tmp/runs"', "'/tmp/runs'"])
def test_a_folder_may_stand_in_quotes(written: str) -> None:
    assert folder_in(f"hydra.sweep.dir={written}") == Path("/tmp/runs")


def test_a_folder_that_cannot_be_read_is_shown_in_quotes() -> None:
    assert folder_in('hydra.sweep.dir="/tmp/a, b"') == Path("/tmp/a, b")
    with pytest.raises(UserError, match="in quotes"):
        folder_in("hydra.sweep.dir=/tmp/(a")
    with pytest.raises(UserError, match="names no folder"):
        folder_in("hydra.sweep.dir=")
