"""An experiment is removed by deleting its folders: the rest imports, composes, lists and draws as before."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.figures.discovery import experiments, modules

FOLDERS = (
    "src/lab/experiments/{}",
    "tests/lab/experiments/{}",
    "results/{}",
    "conf/study/{}",
    "conf/search/{}",
    "conf/tuned/{}",
    "docs/{}.md",
)
"""What docs/architecture.md says is to be deleted, beside the choices in ``conf/`` that name its classes."""

DEFAULT = "spirals"
"""The experiment that a command without ``experiment=`` trains."""

REST = """
import pkgutil, runpy, sys
from importlib import import_module
from pathlib import Path
import ilc, lab
from lab.configuration.compose import compose_experiment
from lab.configuration.groups import choices
from lab.machine.torchvision_import import import_torchvision
from lab.runs.study.study_file import load_study, study_names
root, experiment, drawn = Path(sys.argv[1]), *sys.argv[2:]
import_torchvision()  # Packages that ilc.integrations imports import torchvision without this.
assert Path(lab.__file__).is_relative_to(root), lab.__file__
for package in (ilc, lab):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name != "ilc.__main__":
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:  # What an extra brings.
                assert error.name.split(".")[0] not in ("ilc", "lab"), error
for name in choices("experiment"):
    assert compose_experiment([f"experiment={name}", "logger=none"])
for name in study_names():
    assert load_study(name).files
for script, *arguments in (
    ("study", "--list"), ("checksums", f"results/{experiment}"), ("make_figures", drawn, "verdicts")
):
    sys.argv = [f"scripts/{script}.py", *arguments]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def copy_without(experiment: str, root: Path, copy: Path) -> None:
    """A copy of the files that git knows, without those of one experiment."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, copy / name)
    for pattern in FOLDERS:
        path = copy / pattern.format(experiment)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for path in (copy / "conf").rglob("*.yaml"):
        if f"lab.experiments.{experiment}." in path.read_text():
            path.unlink()
    orphans(copy)


def orphans(copy: Path) -> None:
    """Experiments whose only dataset went with it, and the tables that other pages show."""
    datasets = {path.stem for path in (copy / "conf" / "dataset").glob("*.yaml")}
    for path in (copy / "conf" / "experiment").glob("*.yaml"):
        chosen = re.search(r"^  - /dataset: (\w+)", path.read_text(), re.M)
        if chosen and chosen[1] not in datasets:
            path.unlink()
    tables = {path.stem for path in (copy / "results").glob("**/tables/*.md")}
    for path in [copy / "README.md", *(copy / "docs").glob("*.md")]:
        blocks = re.compile(r"<!-- table:(\w+) -->\n.*?<!-- end -->\n", re.S)
        path.write_text(blocks.sub(lambda mark: mark[0] if mark[1] in tables else "", path.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("experiment", experiments())
def test_the_rest_works_without(experiment: str, root: Path, tmp_path: Path) -> None:
    copy_without(experiment, root, tmp_path)
    assert not [path for path in tmp_path.rglob(experiment) if experiment != DEFAULT]

    other = next(name for name in experiments() if name != experiment and modules(name, "figures"))
    drawn = "demo" if other == "spirals" else "figure8_epochs"
    done = subprocess.run(  # All in one process: each would import torch.
        [sys.executable, "-c", REST, str(tmp_path), experiment, drawn],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search(rf"│ {experiment} +│", done.stdout) and done.stdout.count("│\n") > 30
    assert (tmp_path / "results" / other / "figures" / f"{drawn}.png").exists()
    assert f"_{experiment} -->" not in (tmp_path / "README.md").read_text()
