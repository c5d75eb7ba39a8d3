"""Every command printed anywhere works: its script, names, flags and overrides exist. Nothing is trained."""

from __future__ import annotations

import ast
import csv
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from docs.printed_files import printed_files
from lab.configuration.compose import combinations, compose_experiment
from lab.runs.search.search_file import load_definition
from lab.runs.sweep.foreign_options import leave_out_foreign_options

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.S)
COMMAND = re.compile(r"(?:\.venv/bin/)?python (?:src|scripts)/\w+\.py|make \w+$|make \w+ \w+=")
PLACEHOLDER = re.compile(r"^[A-Z]{2,}|[\[{]|\.\.\.")
"""What stands for something else: NAME, DIR, [more], {name}, ..."""


@pytest.fixture(scope="module")
def commands(root: Path, pages: list[Path]) -> dict[str, list[str]]:
    """Every command that somebody may copy, and the files that print it."""
    found: dict[str, list[str]] = {}

    def note(path: Path, printed: Iterable[str]) -> None:
        for command in printed:
            found.setdefault(command, []).append(path.relative_to(root).as_posix())

    for page in pages:
        note(page, in_markdown(page.read_text()))
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        cells = json.loads(notebook.read_text())["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        note(notebook, in_markdown(text))
    for config in sorted((root / "conf").rglob("*.yaml")):
        note(config, filter(COMMAND.match, re.findall(r"^# *(.*)", config.read_text(), re.M)))
    for settings in sorted((root / "results").rglob("*.yaml")):
        note(settings, filter(COMMAND.match, re.findall(r"^ *# *(.*)", settings.read_text(), re.M)))
    for module in sorted([*(root / "src").rglob("*.py"), *(root / "scripts").glob("*.py")]):
        note(module, in_docstrings(module.read_text()))
    return found


def in_markdown(text: str) -> Iterator[str]:
    """Lines of fenced blocks that are no Python and no YAML, and code spans."""
    for language, block in FENCE.findall(text):
        if language in ("", "sh", "bash"):
            yield from filter(COMMAND.match, block.replace("\\\n", " ").splitlines())
    for _, span in SPAN.findall(FENCE.sub("", text)):
        if COMMAND.match(span):
            yield " ".join(span.split())


def in_docstrings(source: str) -> Iterator[str]:
    """Lines of docstrings that begin with a command, without the words beside it, and code spans."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        docstring = ast.get_docstring(node) or ""
        lines = (re.split(r" {2,}", line.strip())[0] for line in docstring.splitlines())
        yield from filter(COMMAND.match, lines)
        spans = (" ".join(span.split()) for _, span in SPAN.findall(docstring))
        yield from filter(COMMAND.match, spans)


def test_commands_are_found_where_they_are_printed(commands: dict[str, list[str]]) -> None:
    """One of each kind of place, so that the tests below cannot pass for want of commands."""
    places = {place for some in commands.values() for place in some}
    known = (
        "README.md",
        "docs/spirals.md",
        "conf/experiment/spirals.yaml",
        "scripts/search.py",
        "src/train.py",
    )
    assert set(known) <= places
    assert {"make demo", "python src/train.py experiment=spirals"} <= commands.keys()


def test_scripts_and_flags_exist(commands: dict[str, list[str]], root: Path) -> None:
    """A flag must stand in the script, or in what the package reads of the command line for it."""
    shared = "".join(path.read_text() for path in (root / "src").rglob("*.py"))
    hydra = {"-m", "--multirun", "--help", "--config-name"}
    for command, place in commands.items():
        if not command.startswith("make "):
            _, script, *arguments = shlex.split(command)
            assert (root / script).is_file(), (command, place)
            known = (root / script).read_text() + shared
            for flag in (word.split("=")[0] for word in arguments if word.startswith("-")):
                assert flag in hydra or f'"{flag}"' in known, (command, place)


def test_make_targets_exist(commands: dict[str, list[str]], root: Path) -> None:
    makefile = (root / "Makefile").read_text()
    for command, place in commands.items():
        if command.startswith("make "):
            assert re.search(rf"^{command.split()[1]}:", makefile, re.M), (command, place)


def test_scripts_that_are_mentioned_exist(pages: list[Path], root: Path) -> None:
    """Also in the middle of a message, where a command has no clear end."""
    texts = [*pages, root / "Makefile", root / ".ci" / "run", *(root / "notebooks").glob("*.ipynb")]
    for folder in ("src", "scripts", "conf"):
        texts += [path for path in (root / folder).rglob("*") if path.suffix in (".py", ".yaml")]
    mentioned = {
        script: path
        for path in texts
        for script in re.findall(r"\b(?:src|scripts)/\w+\.py", path.read_text())
    }
    assert len(mentioned) > 5
    assert not {script: path for script, path in mentioned.items() if not (root / script).is_file()}


def test_names_exist(commands: dict[str, list[str]], pages: list[Path], root: Path) -> None:
    """Studies, searches, experts, benchmarks, figures. A page may print the file of a study."""
    printed = {path for page in pages for path in printed_files(page)}

    def lies_in(folder: str, suffix: str = ".yaml") -> Callable[[str], bool]:
        def lies_there(name: str) -> bool:
            pattern = f"{folder}/{name}{suffix}"
            return any(root.glob(pattern)) or any(Path(path).match(pattern) for path in printed)

        return lies_there

    def is_search(name: str) -> bool:
        return load_definition(name).name == name

    exists = {
        "study.py": lies_in("conf/study/*"),
        "search.py": is_search,
        "benchmark.py": lies_in("src/lab/experiments/cost/measurements", ".py"),
        "make_figures.py": lambda name: any(lies_in(f, ".*")(name) for f in ("results/*", "results/*/*")),
    }
    checked = set()
    for command, place in commands.items():
        if study := re.match(r"make study NAME=(\w+)", command):
            script, names = "study.py", [study[1]]
        elif command.startswith("make "):
            continue
        else:
            script, names = Path(shlex.split(command)[1]).name, positional(command)
        for name in names if script in exists else ():
            if "=" not in name and not PLACEHOLDER.search(name):
                assert exists[script](name), (command, place)
                checked.add(script)
    assert checked == exists.keys()


def positional(command: str) -> list[str]:
    """The arguments that belong to no flag."""
    arguments = shlex.split(command)[2:]
    switches = ("-m", "--list", "--export", "--help")  # They take no value.
    return [
        word
        for before, word in zip(["", *arguments], arguments, strict=False)
        if not word.startswith("-") and (not before.startswith("-") or before in switches)
    ]


@pytest.mark.slow
def test_overrides_compose(commands: dict[str, list[str]], pages: list[Path], root: Path) -> None:
    """Of all runs and sweeps that are printed, and of every table of runs that is committed.

    Those that need a file which a page prints are run by test_extending.py.

    Composing takes a tenth of a second and does not look at plain values, so it is done once per experiment
    and key, where the key's own group has that choice.
    """
    files = [Path(path) for page in pages for path in printed_files(page)]
    printed = {f"{path.parent.name}={path.stem}" for path in files if path.suffix == ".yaml"}
    seen: set[tuple[str, ...]] = set()
    for command, place in {**commands, **commands_of_tables(root)}.items():
        if not re.search(r"(src/train|scripts/run_many)\.py", command) or PLACEHOLDER.search(command):
            continue
        if printed & {*command.split()}:
            continue
        is_sweep = "run_many" in command or " -m " in command
        runs = combinations(positional(command))
        kept = leave_out_foreign_options(runs) if is_sweep else runs
        for overrides, own in zip(runs, kept, strict=True):
            new = parts(overrides, root) - seen
            if new:
                name = compose_experiment(own, is_sweep)["name"]
                assert f"experiment={name}" in overrides or name == "spirals", (command, place)
                seen |= new
    assert len(seen) > 50


def parts(overrides: list[str], root: Path) -> set[tuple[str, ...]]:
    """What decides whether overrides compose: experiment, choices, keys beside their group's choice."""
    given = dict(word.split("=", 1) if "=" in word else (word, "") for word in overrides)
    groups = {folder.name for folder in (root / "conf").iterdir() if folder.is_dir()}
    found = set()
    for key, value in given.items():
        experiment = "" if key in ("seed", "threads", "logger") else given.get("experiment", "spirals")
        group, _, option = key.partition(".")
        found.add((experiment, key, given.get(group, "") if option else value if key in groups else ""))
    return found


def commands_of_tables(root: Path) -> dict[str, list[str]]:
    """What repeats the runs of ``results/**/*.csv``, without those of an older program, which say so."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "results").rglob("*.csv")):
        if path.parent.name == "three_revolutions":
            continue
        with path.open(newline="") as file:
            found |= {row["command"]: [path.name] for row in csv.DictReader(file) if row.get("command")}
    assert len(found) > 100
    return found


def test_keys_of_the_expert_exist(commands: dict[str, list[str]], root: Path) -> None:
    for command, place in commands.items():
        if "scripts/train_expert.py" in command:
            name = re.search(r"--config-name[ =](\w+)", command)
            files = {"small.yaml", f"{name[1]}.yaml" if name else "small.yaml"}
            known = OmegaConf.merge(*(OmegaConf.load(root / "conf" / "expert" / file) for file in files))
            for word in positional(command):
                assert word.split("=")[0] in known, (command, place)
