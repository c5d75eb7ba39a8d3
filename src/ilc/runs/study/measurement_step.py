"""A step of a study that measures something which is no run.

What is measured is a module with ``parts(**options)``, which returns callables by name. They are pickled, so
functions of the module or ``functools.partial`` of such. Each returns its tables, or files that are none,
by path below ``results/``; the rows of all parts make up one table, in the parts' order.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from ilc.errors import UserError
from ilc.runs.jobs import Place, run_jobs
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.study.step import ResultPath
from ilc.runs.workers import Job

Part = Callable[[], dict[str, pd.DataFrame | bytes]]


@dataclass(frozen=True)
class MeasurementStep:
    """A measurement and what it makes.

    Attributes:
        module: with ``parts``.
        makes: the files.
        options: arguments of ``parts``.
        float_format: of the numbers in the tables (``%.6g``); None for all digits.
    """

    module: str
    makes: tuple[ResultPath, ...]
    options: dict[str, Any] = field(default_factory=dict)
    float_format: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files."""
        return self.makes

    def count(self, folder: Path) -> tuple[int, int]:
        """As ``Step``."""
        parts = self._parts()
        return sum(self._kept(folder, name).exists() for name in parts), len(parts)

    def make(self, folder: Path, place: Place, progress: JobsProgress) -> list[str]:
        """As ``Step``; what a part prints goes to ``PART.log`` beside what it keeps."""
        jobs = []
        for name, part in self._parts().items():
            kept = self._kept(folder, name)
            if not kept.exists():
                jobs.append(
                    Job(name, partial(measure, part, self.makes, kept), kept.with_name(f"{name}.log"))
                )
        failures = []
        ended = run_jobs(jobs, place)
        with closing(ended):
            for name, result in ended:
                if result is not None:
                    log = self._kept(folder, name).with_name(f"{name}.log")
                    failures.append(f"{self.module}, {name}: {result} (log: {log})")
                progress.advance()
        return failures

    def contents(self, folder: Path, results: Path) -> dict[Path, bytes]:
        """As ``Step``."""
        kept = [path for path in (self._kept(folder, name) for name in self._parts()) if path.exists()]
        contents = {}
        for file in self.makes:
            paths = [path / file for path in kept if (path / file).exists()]
            if file.endswith(".csv") and (len(paths) > 1 or (paths and self.float_format is not None)):
                tables = [pd.read_csv(path, float_precision="round_trip") for path in paths]
                table = pd.concat(tables, ignore_index=True)
                contents[results / file] = table.to_csv(index=False, float_format=self.float_format).encode()
            elif paths:
                contents[results / file] = paths[-1].read_bytes()
        return contents

    def _parts(self) -> dict[str, Part]:
        try:
            parts = import_module(self.module).parts
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"{self.module} is no measurement: {error}. It must have a function parts"
            ) from error
        try:
            inspect.signature(parts).bind(**self.options)
        except TypeError as error:
            options = ", ".join(inspect.signature(parts).parameters) or "no options"
            raise UserError(f"{self.module} cannot be measured: {error}. It takes {options}") from error
        found: dict[str, Part] = parts(**self.options)
        return found

    def _kept(self, folder: Path, part: str) -> Path:
        """Where a part's files are kept; other options have other parts."""
        text = json.dumps([self.module, self.options], sort_keys=True)
        name = f"{self.module.rsplit('.', 1)[-1]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return folder / "parts" / name / part


def measure(part: Part, makes: tuple[str, ...], kept: Path) -> None:
    """Do a part, in a worker, and keep all of its files or, when it is cut off, none.

    Raises:
        UserError: it made a file that the study does not name.
    """
    files = part()
    unknown = [path for path in files if path not in makes]
    if unknown:
        raise UserError(f"the measurement makes {unknown[0]}, which its study does not name under makes")
    unfinished = kept.with_name(f".{kept.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for path, content in files.items():
        (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            (unfinished / path).write_bytes(content)
        else:
            content.to_csv(unfinished / path, index=False)
    unfinished.rename(kept)
