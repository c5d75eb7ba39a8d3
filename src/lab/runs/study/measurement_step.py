"""A step of a study that measures something which is no run.

What is measured is a module with ``parts(**options)``, which returns callables by name. They are pickled, so
functions of the module or ``functools.partial`` of such. Each returns its tables, or files that are none,
by path below ``results/``; the rows of all parts make up one table, in the parts' order, with the part's
name in the column ``part``. Parts whose rows the table below ``results`` holds are done.
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
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import Place, run_jobs
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study.committed_rows import as_text, read_rows
from lab.runs.study.step import ResultPath

PART = "part"
"""Column of a table that several parts make: which of them a row is of."""

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

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """As ``Step``."""
        parts = self._parts()
        return len(parts) - len(self._missing(parts, folder, results)), len(parts)

    def make(self, folder: Path, results: Path, place: Place, progress: JobsProgress) -> list[str]:
        """As ``Step``; what a part prints goes to ``PART.log`` beside what it keeps."""
        parts = self._parts()
        jobs = []
        for name in self._missing(parts, folder, results):
            kept = self._kept(folder, name)
            jobs.append(
                Job(name, partial(measure, parts[name], self.makes, kept), kept.with_name(f"{name}.log"))
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

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """As ``Step``; a table of which nothing is measured yet has a header alone.

        There are no rows of missing parts, and no file that is no table before its part is measured.
        """
        parts = self._parts()
        kept = {name: self._kept(folder, name) for name in parts if self._kept(folder, name).exists()}
        if not (kept or unfinished):
            return {}
        contents = {}
        for file in self.makes:
            paths = {name: path / file for name, path in kept.items() if (path / file).exists()}
            if not file.endswith(".csv"):
                if paths:
                    contents[results / file] = list(paths.values())[-1].read_bytes()
                continue
            there = read_rows(results / file)
            if there is not None and PART not in there and len(kept) < len(parts):
                continue  # It holds all parts and does not say which row is whose: it stays as it is.
            table = self._table(paths, there, list(parts))
            if table is None and unfinished:
                table = pd.DataFrame(columns=[PART])
            if table is not None:
                contents[results / file] = table.to_csv(index=False).encode()
        return contents

    def _table(
        self, paths: dict[str, Path], there: pd.DataFrame | None, parts: list[str]
    ) -> pd.DataFrame | None:
        """The rows of the parts that made some here, and of the others those that are there."""
        tables = {}
        for name, path in paths.items():
            tables[name] = self._read(path)
            if len(parts) > 1 and PART not in tables[name]:
                tables[name].insert(0, PART, name)
        if there is not None and PART in there:
            tables |= {
                name: there[there[PART] == name]
                for name in parts
                if name not in tables and (there[PART] == name).any()
            }
        if not tables:
            return None
        ordered = [tables[name] for name in parts if name in tables]
        return pd.concat(ordered, ignore_index=True).fillna("")

    def _missing(self, parts: dict[str, Part], folder: Path, results: Path) -> list[str]:
        """The parts that were neither measured here nor are in the files below ``results``."""
        committed = self._committed(parts, results)
        return [name for name in parts if name not in committed and not self._kept(folder, name).exists()]

    def _committed(self, parts: dict[str, Part], results: Path) -> set[str]:
        """The parts whose rows are there; all, where every file is and none says which part it is of."""
        tables = [read_rows(results / file) for file in self.makes if file.endswith(".csv")]
        there = [table for table in tables if table is not None]
        if len(parts) > 1 and any(PART in table for table in there):
            return {name for table in there if PART in table for name in table[PART]}
        begun = any(list(table.columns) == [PART] for table in there)  # The header of an unfinished study.
        whole = all((results / file).exists() for file in self.makes)
        return set(parts) if whole and not begun else set()

    def _read(self, path: Path) -> pd.DataFrame:
        """What a part made, as the text that the table will have."""
        if self.float_format is None:
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        return as_text(pd.read_csv(path, float_precision="round_trip"), self.float_format)

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
