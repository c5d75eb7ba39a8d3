"""The wheel with torch alone: built, read, installed in a clean environment, tested there.

    python tests/packaging/check_wheel.py               with the Python that runs this
    python tests/packaging/check_wheel.py PYTHON...     with others, such as python3.13

Everything has the version that requirements.txt pins. A named Python that is not here, or for which pip
has no torch, is skipped with the reason; without names nothing is.
"""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
TESTS = (
    *(f"tests/{room}" for room in ("aggregators", "gradients", "objectives", "optim", "verification")),
    "tests/packaging/test_public_names.py",
    "tests/packaging/test_snippets.py",
)
NO_NUMPY = "ignore:Failed to initialize NumPy:UserWarning"  # torch's own; whoever has torch alone sees it.
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", NO_NUMPY, "--override-ini", "pythonpath=")


def main(pythons: list[str]) -> None:
    """Build, read, and test with each Python."""
    with tempfile.TemporaryDirectory(prefix="ilc-wheel-") as folder:
        wheel = build(Path(folder))
        read(wheel, Path(folder) / "source" / "src")
        tested = 0
        for python in pythons or [sys.executable]:
            environment = Path(folder) / f"environment-{tested}"
            reason = make(environment, python)
            if reason is None:
                test(environment / "bin" / "python", wheel)
                tested += 1
            elif pythons:
                print(f"skipped {python}: {reason}", flush=True)
            else:
                raise SystemExit(f"Error: no environment with torch alone: {reason}")
            shutil.rmtree(environment, ignore_errors=True)


def build(folder: Path) -> Path:
    """The wheel, made of a copy of what it is built from: an old ``build`` folder would leak into it."""
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip(Path(sys.executable), "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (wheel,) = folder.glob("*.whl")
    print(f"built {wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
    return wheel


def read(wheel: Path, source: Path) -> None:
    """Every file of the package is in the wheel, nothing else is, and it asks for torch alone."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(about))
    held = {name for name in names if not name.startswith(about.removesuffix("METADATA"))}
    files = {path.relative_to(source).as_posix() for path in (source / "ilc").rglob("*") if path.is_file()}
    assert held == files, f"only in the wheel or only in src: {sorted(held ^ files)}"
    assert "ilc/py.typed" in held
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    always = [r.name for r in requirements if r.marker is None or "extra" not in str(r.marker)]
    assert always == ["torch"], f"the wheel asks for {always}, not for torch alone"


def make(environment: Path, python: str) -> str | None:
    """An environment with pip and torch, or the reason why there is none."""
    if shutil.which(python) is None:
        return "it is not installed here"
    try:
        call(python, "-m", "venv", environment)
        pip(environment / "bin" / "python", "install", "--constraint", ROOT / "requirements.txt", "torch")
    except RuntimeError as error:
        return str(error).splitlines()[-1]
    return None


def test(python: Path, wheel: Path) -> None:
    """Install the wheel and run the tests of what needs torch alone, far from the checkout's ``src``."""
    pip(python, "install", "--no-index", wheel)  # With no index: whatever else it needed would be missing.
    pip(python, "check")
    answer = call(python, "-c", "import platform, ilc; print(platform.python_version(), ilc.__file__)")
    version, place = answer.split(maxsplit=1)
    assert place.startswith(str(python.parents[1])), f"what is tested is not the wheel but {place}"
    pip(python, "install", "--constraint", ROOT / "requirements.txt", "pytest", "hypothesis")
    began = time.monotonic()
    if subprocess.run([python, *PYTEST, *TESTS], cwd=ROOT, env=outside(), check=False).returncode != 0:
        raise SystemExit(f"Error: with torch alone the tests fail on Python {version}")
    seconds = time.monotonic() - began
    print(f"Python {version}: torch alone is enough, tested in {seconds:.0f} s", flush=True)


def pip(python: Path, *arguments: str | Path) -> None:
    """Run pip; an installation compiles nothing, since most of torch's files are never loaded."""
    fast = ["--no-compile"] if arguments[0] == "install" else []
    call(python, "-m", "pip", *arguments, *fast, "--quiet", "--disable-pip-version-check")


def call(*command: str | Path) -> str:
    """What a program printed; if it failed, a RuntimeError with what it said."""
    answer = subprocess.run(command, capture_output=True, text=True, env=outside(), check=False)
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).strip()
        raise RuntimeError(said or f"{command[0]} ended with status {answer.returncode}")
    return answer.stdout


def outside() -> dict[str, str]:
    """This environment without what would let the checkout's own code in."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


if __name__ == "__main__":
    main(sys.argv[1:])
