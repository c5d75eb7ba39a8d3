"""What commands say: examples in the help, settings at the start, numbers and where they are at the end."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.configuration.compose import compose_config, tuned_settings

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[4]
SCRIPTS = sorted(path.stem for path in (ROOT / "scripts").glob("*.py"))
BARS = ("track", "Progress")


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_help_of_every_script_shows_examples(
    script: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.setattr(sys, "argv", [str(ROOT / "scripts" / f"{script}.py"), "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(sys.argv[0], run_name="__main__")
        raise SystemExit(0)  # Hydra's help just returns.
    assert not end.value.code
    assert re.search(rf"^ +python scripts/{script}\.py", capfd.readouterr().out, re.M)


def test_the_help_of_a_run_shows_examples(train: TrainCommand) -> None:
    said = train("--help").stdout
    assert len(re.findall(r"^ *\w+: +python src/train\.py ", said, re.M)) >= 3
    assert "python scripts/report.py" in said


def test_a_run_says_what_it_takes_what_it_reached_and_what_shows_it(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for again in (False, True):
        done = train(*tiny, "hydra.run.dir=run")
        lines = done.stdout.splitlines()
        settings = "settings come from conf/tuned/spirals/and_mask.yaml, unless the command line sets them"
        assert lines[0] == f"{settings} ('~tuned' leaves them out)"
        assert ("done already" in done.stdout) == again
        reached, shown_by, place = lines[-3:]
        numbers = r"test/loss [\d.]+, test/accuracy [\d.]+ \(epoch 3, selection: last\)"
        assert re.fullmatch(f"spirals and_mask seed 0: reached {numbers}", reached)
        assert Path(place) == tmp_path / "run"
        python, script, folder = shlex.split(shown_by.removeprefix("to see a report, run: "))
        assert (python, folder) == ("python", place)
        assert (tmp_path / script).resolve() == ROOT / "scripts" / "report.py"
        assert not re.search("[\r\x1b━]", done.stdout + done.stderr)
    assert "settings of" not in train(*tiny, "~tuned", "hydra.run.dir=other").stdout


def test_a_run_that_ends_before_its_last_epoch_says_why(train: TrainCommand, tiny: tuple[str, ...]) -> None:
    for again in (False, True):
        done = train(*tiny, "trainer.stop_below=1", "optimizer.lr=1e-9", "hydra.run.dir=run")
        assert "(epoch 2, selection: last, stopped: hopeless)" in done.stdout
        assert ("done already" in done.stdout) == again


@pytest.mark.parametrize(
    ("overrides", "file"),
    [
        ([], "spirals/and_mask"),
        (["aggregator=dann", "model=dann"], None),
        (["~tuned"], None),
        (["tuned=published/spirals"], "published/spirals"),
        (["experiment=distillation"], "distillation/noisy_privileged"),
    ],
)
def test_the_settings_that_are_named_are_those_that_are_used(overrides: list[str], file: str | None) -> None:
    said = tuned_settings(compose_config(overrides).hydra.runtime.choices)
    assert (said is None) == (file is None)
    if file is not None:
        assert f"conf/tuned/{file}.yaml," in str(said)
        assert (ROOT / "conf" / "tuned" / f"{file}.yaml").is_file()


def test_no_bar_is_drawn_where_nobody_watches() -> None:
    """Every bar says when it is left out; what rich draws into a pipe stays there as debris."""
    seen, wrong = 0, []
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in BARS:
                seen += 1
                if "disable" not in {keyword.arg for keyword in node.keywords}:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert seen >= 8
    assert not wrong
