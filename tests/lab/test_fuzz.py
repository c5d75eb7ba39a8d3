"""500 generated cases of what a user might give: no traceback, no silent acceptance, no hang.

What is tried, drawn from one seed, at small sizes, over all experiments that need no collected states:

* keys (80): misspelled, unknown, deleted, added, a value instead of a section, words that are no overrides;
* types (140): any option of any section with a value of another type, NaN, infinity, lists, null;
* extremes (140): any number as 0, -1, tiny, huge, beyond 64 bits, beyond what memory holds;
* pairs (60): any experiment with any dataset, model, aggregator, optimizer, risk, way and kind of batches;
* damage (80): any file of a finished or interrupted run with a bit flipped, cut off, emptied, replaced by
  another shape or another run's file, deleted.

A case ends in one line on stderr with status 1, or in a finished run. What must be refused is known of keys
and types; an extreme or a pair may be fine, but then its numbers are finite and it is done within the time;
after damage a run ends in the numbers of the undamaged one.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

from ilc.gradients import WAYS
from ilc.objectives import RISKS
from lab.configuration.command_line import run_command
from lab.configuration.compose import compose_experiment
from lab.configuration.groups import choices
from lab.runs.sweep.sweep import train
from lab.runs.tables.export import export_runs

SECONDS = 120
"""After which a case hangs."""
COMMON = ["logger=none", "device=cpu", "threads=1", "trainer.max_epochs=2", "trainer.evaluate_every=1"]
BASES = {
    "spirals": [
        "dataset.n_environments=4",
        "dataset.examples_per_environment=16",
        "dataset.batch_size=8",
        "dataset.n_test=20",
        "model.hidden_units=4",
    ],
    "linear_sem": ["dataset.examples_per_environment=20", "dataset.n_test=20"],
    "colored_mnist": [
        "dataset.source=digits",
        "dataset.examples_per_environment=20",
        "model.hidden_units=4",
    ],
    "cifar_label_noise": [
        "dataset.source=embedded",
        "dataset.n_environments=40",
        "dataset.batch_size=20",
        "dataset.n_test=10",
        "model.width=2",
    ],
    "theory": ["problem=authors_regression", "n_seeds=1", "trainer.max_epochs=50"],
    "distillation": [
        "dataset.n_train=[16,24]",
        "dataset.dimensions=6",
        "dataset.n_test=10",
        "dataset.teacher_units=[8]",
        "batch_size=4",
        "student_steps=3",
        "teaching.n_inner=3",
    ],
}
OF_ANOTHER_TYPE: dict[type, list[str]] = {
    bool: ["no", "1", "nan", "[1,2]", "{}", "null", "yes"],
    int: ["x", "1.5", "true", "nan", "[1]", "{a: 1}", "''"],
    float: ["x", "true", "nan", "inf", "-inf", "[1]", "{a: 1}", "''"],
    str: ["5", "true", "nan", "[x]", "{a: 1}", "null"],
    list: ["x", "5", "true", "{a: 1}", "[x]", "[null]", "null"],
    type(None): ["true", "nan", "[1]", "{a: 1}"],
}
EXTREMES = [
    "0",
    "-1",
    "1e-300",
    "1e300",
    "-1e300",
    "1000000000000",
    "2147483648",
    "9223372036854775808",
    "1e18",
]
LONG = {"trainer.max_epochs", "trainer.evaluate_every"}
"""A run may be as long as somebody wants."""
SHAPES = [
    b"",
    b"[]",
    b"{}",
    b"5",
    b"null",
    b"text",
    b"\0\xff\xfe",
    b'{"step": ',
    b"a: [",
    b"\n\n",
    b"name: x\nseed: 0\n",
]

SMALL = {
    "dataset": {"n_environments": 4, "examples_per_environment": 8, "batch_size": 4, "n_test": 10},
    "model": {"width": 2, "hidden_units": 4},
}
SOURCES = {"colored_mnist": "digits", "cifar10": "embedded"}

Case = Callable[[], str | None]
"""Says what is wrong with the answer to it, or None."""


class Hangs(BaseException):
    """A case took too long."""


def ring(number: int, frame: FrameType | None) -> None:
    raise Hangs


class Bench:
    """Gives cases to the command and looks at the answers."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.drawn = random.Random(17)
        self._capfd = capfd
        self._n = 0

    def new_folder(self) -> Path:
        self._n += 1
        return self.folder / str(self._n)

    def answer(self, overrides: list[str], folder: Path) -> tuple[int, str]:
        """Status and standard error of a run."""
        return self.command(lambda: train(overrides, folder))

    def command(self, main: Callable[[], object]) -> tuple[int, str]:
        self._capfd.readouterr()
        status = 0
        signal.signal(signal.SIGALRM, ring)
        signal.alarm(SECONDS)
        try:
            run_command(lambda: main() and None)
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            signal.alarm(0)
        return status, self._capfd.readouterr().err

    def refused(self, overrides: list[str]) -> str | None:
        status, errors = self.answer(overrides, self.new_folder())
        return "silently accepted" if status == 0 else not_one_line(status, errors)

    def answered(self, overrides: list[str]) -> str | None:
        folder = self.new_folder()
        status, errors = self.answer(overrides, folder)
        if status:
            return not_one_line(status, errors)
        values = json.loads((folder / "summary.json").read_text())
        odd = [key for key, value in values.items() if isinstance(value, float) and not math.isfinite(value)]
        return f"done with {odd}" if odd else None


def not_one_line(status: int, errors: str) -> str | None:
    if status != 1 or not errors.startswith("Error: ") or len(errors.splitlines()) != 1:
        return f"status {status}: {errors}"
    return None if len(errors) < 1500 else f"a line of {len(errors)} characters"


def overrides_of(experiment: str) -> list[str]:
    common = [text for text in COMMON if experiment != "theory" or "max_epochs" not in text]
    return [f"experiment={experiment}", *BASES[experiment], *common]


def leaves(values: dict[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{place}{key}.")
        else:
            yield f"{place}{key}", value


def keys(bench: Bench) -> Iterator[tuple[str, Case]]:
    drawn = bench.drawn
    options = {name: list(leaves(compose_experiment(overrides_of(name)))) for name in BASES}
    groups = ["aggregator", "model", "trainer", "optimizer", "dataset", "logger"]
    needed = ["seed", "name", "task", "scale", "device", "threads", "data_dir", "trainer.max_epochs"]
    for _ in range(80):
        name = drawn.choice(list(BASES))
        key = drawn.choice(options[name])[0]
        cut = drawn.randrange(len(key))
        text = drawn.choice(
            [
                f"{key[:cut]}{drawn.choice('xqz')}{key[cut:]}=1",
                f"+{key}x=1",
                f"+{key.split('.')[0]}.nonsense=1",
                f"{key}.below=1",
                f"~{drawn.choice(needed)}",
                f"{drawn.choice([*groups, 'hydra'])}=null",
                f"~{drawn.choice(groups)}",
                f"{drawn.choice(['aggregator', 'model', 'dataset', 'tuned', 'experiment'])}=nonsense",
                f"{key} =1",
                f"{key}=ü",
                f"{key}=[1",
                f"{key}=${{nothing}}",
                f"{key}=???",
                f"={key}",
                key,
                "-x",
            ]
        )
        command = [*overrides_of(name), text]
        yield " ".join([name, text]), lambda command=command: bench.refused(command)  # type: ignore[misc]


def types(bench: Bench) -> Iterator[tuple[str, Case]]:
    options = {name: list(leaves(compose_experiment(overrides_of(name)))) for name in BASES}
    for _ in range(140):
        name = bench.drawn.choice(list(BASES))
        key, value = bench.drawn.choice(options[name])
        text = f"{key}={bench.drawn.choice(OF_ANOTHER_TYPE[type(value)])}"
        command = [*overrides_of(name), text]
        yield " ".join([name, text]), lambda command=command: bench.refused(command)  # type: ignore[misc]


def extremes(bench: Bench) -> Iterator[tuple[str, Case]]:
    options = {
        name: [
            key
            for key, value in leaves(compose_experiment(overrides_of(name)))
            if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in LONG
        ]
        for name in BASES
    }
    for i in range(140):
        # The small problems have a thousand steps at least, which take seconds.
        name = "theory" if i % 20 == 0 else bench.drawn.choice([n for n in BASES if n != "theory"])
        text = f"{bench.drawn.choice(options[name])}={bench.drawn.choice(EXTREMES)}"
        command = [*overrides_of(name), text]
        yield " ".join([name, text]), lambda command=command: bench.answered(command)  # type: ignore[misc]


PROBLEMS = (
    "noisy_privileged",
    "noisy_labels",
    "game_of_life",
    "mujoco_returns",
    "room_runner",
    "funnel_board",
)
"""Choices of ``dataset`` that are no environments but problems of an experiment with a loop of its own."""


def pairs(bench: Bench) -> Iterator[tuple[str, Case]]:
    drawn = bench.drawn
    groups = {
        "dataset": [name for name in choices("dataset") if name not in ("coinrun", *PROBLEMS)],
        "model": choices("model"),
        "aggregator": choices("aggregator"),
        "optimizer": choices("optimizer"),
        "risk": list(RISKS),
        "gradients": list(WAYS),
        "+dataset.batches": ["every_environment", "one_environment", "any_environment"],
    }
    for _ in range(60):
        name = drawn.choice([name for name in BASES if name not in ("theory", "distillation")])
        chosen = [
            f"{key}={drawn.choice(groups[key])}" for key in drawn.sample(list(groups), drawn.choice([2, 3]))
        ]
        own = [text for text in overrides_of(name) if not text.startswith(("dataset.", "model."))]
        words = dict(text.split("=") for text in chosen)
        sections = compose_experiment([*own, "~tuned", *chosen])
        small = [
            f"{section}.{key}={value}"
            for section, sizes in SMALL.items()
            for key, value in sizes.items()
            if key in sections[section]
        ]
        source = SOURCES.get(words.get("dataset", sections["dataset"]["name"]), "auto")
        command = [*own, "~tuned", *small, f"dataset.source={source}", *chosen]
        yield " ".join([name, *chosen]), lambda command=command: bench.answered(command)  # type: ignore[misc]


def damage(bench: Bench) -> Iterator[tuple[str, Case]]:
    drawn = bench.drawn
    overrides = overrides_of("spirals")
    whole, other = bench.new_folder(), bench.new_folder()
    assert bench.answer(overrides, whole)[0] == bench.answer([*overrides, "seed=1"], other)[0] == 0
    files = sorted(path.name for path in whole.iterdir())
    for _ in range(80):
        name, done = drawn.choice(files), drawn.random() < 0.5
        content = (whole / name).read_bytes()
        bit = drawn.randrange(max(1, 8 * len(content)))
        flipped = bytearray(content or b"\0")
        flipped[bit // 8] ^= 1 << bit % 8
        damaged = drawn.choice(
            [
                ("one bit", bytes(flipped)),
                ("cut off", content[: drawn.randrange(max(1, len(content)))]),
                ("another shape", drawn.choice(SHAPES)),
                ("another run's", (other / name).read_bytes()),
                ("deleted", None),
            ]
        )

        def case(
            name: str = name, done: bool = done, damaged: tuple[str, bytes | None] = damaged
        ) -> str | None:
            folder = Path(shutil.copytree(whole, bench.new_folder()))
            if not done:
                for gone in ("done", "summary.json"):
                    (folder / gone).unlink()
            (folder / name).unlink(missing_ok=True)
            if damaged[1] is not None:
                (folder / name).write_bytes(damaged[1])
            status, errors = bench.answer(overrides, folder)
            if status:
                return not_one_line(status, errors)
            if name in ("checkpoint.pt", "log.txt") and (folder / "done").exists():
                return None  # Nothing that a finished run's tables are made from.
            status, errors = bench.command(lambda: same_numbers(folder, whole))
            return not_one_line(status, errors) if status else None

        yield f"{name} {damaged[0]}{' of a finished run' if done else ''}", case


def same_numbers(folder: Path, whole: Path) -> None:
    """Unless the tables refuse the folder they say what those of the other say."""
    for one, two in zip(export_runs([folder]), export_runs([whole]), strict=True):
        for table in (one, two):
            table.drop(
                columns=["wall_seconds", "peak_memory_mb", "git_commit"], errors="ignore", inplace=True
            )
        assert one.equals(two), "other numbers"


KINDS: dict[str, Callable[[Bench], Iterator[tuple[str, Case]]]] = {
    "keys": keys,
    "types": types,
    "extremes": extremes,
    "pairs": pairs,
    "damage": damage,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("default")
def test_generated_cases(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    bench = Bench(tmp_path, capfd)
    found, n = [], 0
    for what, case in KINDS[kind](bench):
        monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
        n += 1
        try:
            wrong = case()
        except Hangs:
            wrong = "hangs"
        except Exception as error:
            wrong = f"traceback: {type(error).__name__}: {str(error)[:200]}"
        if wrong is not None:
            found.append(f"{what}: {wrong}")
    torch.use_deterministic_algorithms(False)
    assert n == {"keys": 80, "types": 140, "extremes": 140, "pairs": 60, "damage": 80}[kind]
    assert not found, "\n".join([f"{len(found)} of {n}", *found])
