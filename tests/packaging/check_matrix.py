"""The library with one release of torch and one Python after another: ``make matrix``.

    python tests/packaging/check_matrix.py                        every pair of PAIRS
    python tests/packaging/check_matrix.py 3.10+2.4.0 3.14+2.15.0     these pairs

The wheel is built once. Each pair gets an environment of its own with torch alone, in which the tests of
``check_wheel.py`` run, and which is then deleted: some five GB and five minutes for each pair. A pair whose
Python is not installed here, or for which pip has no torch, is named with the reason and counts as not run.
The last lines are the table of docs/releasing.md with what was run now.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import check_wheel

PYTHONS = {
    "2.4.0": ("3.10", "3.11", "3.12"),
    "2.7.0": ("3.10", "3.11", "3.12", "3.13"),
    "2.11.0": ("3.10", "3.11", "3.12", "3.13", "3.14"),
    "2.15.0": ("3.11", "3.12", "3.13", "3.14"),
}
"""For each release of torch the Pythons from 3.10 on for which it is published. ``ci.yml`` has all pairs."""

PAIRS = tuple(f"{python}+{torch}" for torch, pythons in PYTHONS.items() for python in pythons)


def main(pairs: list[str]) -> None:
    """Run the pairs and print the table."""
    unknown = [pair for pair in pairs if pair not in PAIRS]
    if unknown:
        raise SystemExit(f"Error: unknown pair {unknown[0]}: take Python+torch of {', '.join(PAIRS)}")
    found = {}
    with tempfile.TemporaryDirectory(prefix="ilc-matrix-") as name:
        folder = Path(name).resolve()
        _, wheel = check_wheel.build(folder)
        for pair in pairs or PAIRS:
            found[pair] = tested(folder / "environment", wheel, *pair.split("+"))
            print(f"{pair}: {found[pair]}", flush=True)
            shutil.rmtree(folder / "environment", ignore_errors=True)
    print("\n".join(table(found)))
    if any(answer == "failed" for answer in found.values()):
        raise SystemExit("Error: the tests fail for a pair")


def tested(environment: Path, wheel: Path, python: str, torch: str) -> str:
    """``passed``, ``failed``, or why the pair was not run."""
    interpreter = interpreter_of(python)
    if interpreter is None:
        return f"not run: Python {python} is not installed here"
    reason = check_wheel.make(environment, interpreter, torch)
    if reason is not None:
        return f"not run: {reason}"
    try:
        check_wheel.test(environment / "bin" / "python", wheel)
    except (RuntimeError, SystemExit) as error:
        print(error, flush=True)
        return "failed"
    return "passed"


def interpreter_of(python: str) -> str | None:
    """A Python of this version: on the path, or the newest of pyenv's."""
    folder = Path.home() / ".pyenv" / "versions"
    of_pyenv = sorted(
        folder.glob(f"{python}.*/bin/python"), key=lambda path: int(path.parts[-3].split(".")[2])
    )
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    for found in (shutil.which(f"python{python}"), *map(str, reversed(of_pyenv))):
        if found is not None:
            answer = subprocess.run([found, "-c", code], capture_output=True, text=True, check=False)
            if answer.stdout.strip() == python:
                return found
    return None


def table(found: dict[str, str]) -> list[str]:
    """Markdown with a row per release of torch and a column per Python."""
    columns = sorted({python for pythons in PYTHONS.values() for python in pythons}, key=lambda p: int(p[2:]))
    lines = [f"| torch | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for torch, pythons in PYTHONS.items():
        cells = [
            found.get(f"{python}+{torch}", "not run").partition(":")[0]
            if python in pythons
            else "no such torch"
            for python in columns
        ]
        lines.append(f"| {torch} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
