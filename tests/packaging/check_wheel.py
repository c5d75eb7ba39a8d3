"""What is released, with torch alone: built, read, installed in a clean environment, tested there.

    python tests/packaging/check_wheel.py                   with the Python that runs this
    python tests/packaging/check_wheel.py PYTHON...         with others, such as python3.13
    python tests/packaging/check_wheel.py --torch VERSION   with another release of torch

The sdist is built of a copy of the source, the wheel of the sdist. What passes is left in dist/.
Everything has the version that requirements.txt pins. A named Python that is not here, or for which pip
has no torch, is skipped with the reason. It is an error if none is left.
"""

from __future__ import annotations

import argparse
import email
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
TESTS = (
    *(
        f"tests/ilc/{room}"
        for room in ("aggregators", "diagnosis", "gradients", "lora", "objectives", "optim", "verification")
    ),
    "tests/packaging/test_public_names.py",
    "tests/packaging/test_snippets.py",
)
WITH_THE_SOURCE = ("README.md", "LICENSE")
WARNINGS_OF_TORCH = (
    "ignore:Failed to initialize NumPy:UserWarning",  # Whoever has torch alone sees it.
    "ignore:You are using `torch.load`:FutureWarning",  # Of 2.4, which unpickles tensors in this way.
    "ignore:`torch.cpu.amp:FutureWarning",  # Of 2.4, whose checkpoints use it.
)
TWINE = "twine==7.0.0"
"""It reads the metadata as the index will. It brings 17 packages, so it stays out of requirements.txt."""
IGNORED = tuple(part for warning in WARNINGS_OF_TORCH for part in ("-W", warning))
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *IGNORED, "--override-ini", "pythonpath=")


def main(pythons: list[str], torch: str | None) -> None:
    """Build, read, and test with each Python."""
    with tempfile.TemporaryDirectory(prefix="ilc-wheel-") as name:
        folder = Path(name).resolve()  # On macOS the name leads there by a link.
        sdist, wheel = build(folder)
        read_sdist(sdist, folder / "source")
        read_wheel(wheel, folder / "source" / "src")
        check_metadata(folder / "tools", sdist, wheel)
        tested = 0
        for python in pythons or [sys.executable]:
            environment = folder / f"environment-{tested}"
            reason = make(environment, python, torch)
            if reason is None:
                test(environment / "bin" / "python", wheel)
                tested += 1
            else:
                print(f"skipped {python}: {reason}", flush=True)
            shutil.rmtree(environment, ignore_errors=True)
        if not tested:
            raise SystemExit("Error: nothing was tested, because no environment with torch alone was made")
        leave(sdist, wheel)


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, made of a copy of what it is built from, and the wheel that is built of the sdist.

    The checkout itself is not used: an old ``build`` folder would leak into the wheel.
    """
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", *WITH_THE_SOURCE):
        shutil.copy(ROOT / name, source)
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    call(sys.executable, "-c", code, cwd=source)
    shutil.rmtree(next((source / "src").glob("*.egg-info")))  # Made by the build, no part of the source.
    (sdist,) = folder.glob("*.tar.gz")
    pip(Path(sys.executable), "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sdist)
    (wheel,) = folder.glob("*.whl")
    for path in (sdist, wheel):
        print(f"built {path.name}: {path.stat().st_size / 1e6:.2f} MB", flush=True)
    return sdist, wheel


def read_sdist(sdist: Path, source: Path) -> None:
    """The sdist has every file of the package, the build's settings, the licence and the README."""
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    wanted = {
        path.relative_to(source).as_posix() for path in (source / "src" / "ilc").rglob("*") if path.is_file()
    }
    wanted |= {"pyproject.toml", "PKG-INFO", *WITH_THE_SOURCE}
    assert wanted <= held, f"the sdist lacks {sorted(wanted - held)}"
    foreign = {name for name in held - wanted if ".egg-info/" not in name and name != "setup.cfg"}
    assert not foreign, f"the sdist has files that nobody needs: {sorted(foreign)}"


def read_wheel(wheel: Path, source: Path) -> None:
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


def check_metadata(environment: Path, sdist: Path, wheel: Path) -> None:
    """An index would take both: ``twine check``, in an environment of its own."""
    call(sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    pip(python, "install", TWINE)
    call(python, "-m", "twine", "--no-color", "check", "--strict", sdist, wheel)
    print("twine finds no fault with either", flush=True)


def leave(*built: Path) -> None:
    """Copy what passed to dist/, in place of what lies there: these very files are what is released."""
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in built:
        shutil.copy(path, folder)


def make(environment: Path, python: str, torch: str | None) -> str | None:
    """An environment with pip and torch, or the reason why there is none."""
    if shutil.which(python) is None:
        return "it is not installed here"
    try:
        call(python, "-m", "venv", environment)
        wanted = [f"torch=={torch}"] if torch else ["--constraint", ROOT / "requirements.txt", "torch"]
        pip(environment / "bin" / "python", "install", *wanted)
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
    tools = ("pytest", "hypothesis")
    try:
        pip(python, "install", "--constraint", ROOT / "requirements.txt", *tools)
    except RuntimeError:  # For an old Python there is no release of the pinned version.
        pip(python, "install", *tools)
    # Some tests train networks of the laboratory, or share a layer. Both need torch alone, too.
    beside = python.parents[1] / "beside"
    for shared in (ROOT / "src" / "lab", ROOT / "tests" / "change_of_basis"):
        shutil.copytree(shared, beside / shared.name)
    environment = outside() | {"PYTHONPATH": str(beside)}
    began = time.monotonic()
    if subprocess.run([python, *PYTEST, *TESTS], cwd=ROOT, env=environment, check=False).returncode != 0:
        raise SystemExit(f"Error: with torch alone the tests fail on Python {version}")
    seconds = time.monotonic() - began
    print(f"Python {version}: torch alone is enough, tested in {seconds:.0f} s", flush=True)


def pip(python: Path, *arguments: str | Path) -> None:
    """Run pip; an installation compiles nothing, since most of torch's files are never loaded."""
    fast = ["--no-compile"] if arguments[0] == "install" else []
    call(python, "-m", "pip", *arguments, *fast, "--quiet", "--disable-pip-version-check")


def call(*command: str | Path, cwd: Path | None = None) -> str:
    """What a program printed; if it failed, a RuntimeError with what it said."""
    answer = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=outside(), check=False)
    if answer.returncode != 0:
        said = f"{answer.stdout}\n{answer.stderr}".strip()
        raise RuntimeError(said or f"{command[0]} ended with status {answer.returncode}")
    return answer.stdout


def outside() -> dict[str, str]:
    """This environment without what would let the checkout's own code in."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--torch", metavar="VERSION")
    main(**vars(parser.parse_args()))
