"""A step of a study that measures something without a run.

A measurement is a module with a function ``parts(**options)``, which returns callables by name. The
callables are pickled, so they must be functions of the module, or ``functools.partial`` of such functions.
Each part returns tables, or other files, by their paths below ``results/``. The rows of all parts form one
table, in the order of the parts, with the name of the part in the column ``part``. A part is done if the
table holds its rows.
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
from lab.runs.pool.jobs import WorkersOrCluster, run_jobs
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study.committed_rows import as_text, read_rows, say_what_goes
from lab.runs.study.step import ResultPath

PART = "part"
"""The column that names the part of a row, in a table that several parts make."""

Part = Callable[[], dict[str, pd.DataFrame | bytes]]


@dataclass(frozen=True)
class MeasurementStep:
    """A measurement and its files.

    Attributes:
        module: the module with the function ``parts``.
        makes: the files that the measurement makes.
        options: the arguments of ``parts``.
        float_format: the format of numbers in the tables (``%.6g``); None for all digits.
    """

    module: str
    makes: tuple[ResultPath, ...]
    options: dict[str, Any] = field(default_factory=dict)
    float_format: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the measurement makes."""
        return self.makes

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """The number of parts that are done and of all parts."""
        parts = self._parts()
        return len(parts) - len(self._missing(parts, folder, results)), len(parts)

    def make(
        self, folder: Path, results: Path, workers: WorkersOrCluster, progress: JobsProgress
    ) -> list[str]:
        """Measure the missing parts.

        The output of a part goes to ``PART.log``, beside the files of the part.
        """
        parts = self._parts()
        jobs = []
        for name in self._missing(parts, folder, results):
            kept = self._folder_of(folder, name)
            jobs.append(
                Job(name, partial(measure, parts[name], self.makes, kept), kept.with_name(f"{name}.log"))
            )
        failures = []
        ended = run_jobs(jobs, workers)
        with closing(ended):
            for name, result in ended:
                if result is not None:
                    log = self._folder_of(folder, name).with_name(f"{name}.log")
                    failures.append(f"{self.module}, {name}: {result} (log: {log})")
                progress.advance()
        return failures

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """The contents of the files. A table without any measured part has only a header.

        A missing part has no rows. A file that is not a table exists only after its part is measured.
        """
        parts = self._parts()
        kept = {
            name: self._folder_of(folder, name) for name in parts if self._folder_of(folder, name).exists()
        }
        if not (kept or unfinished):
            return {}
        contents = {}
        for file in self.makes:
            paths = {name: path / file for name, path in kept.items() if (path / file).exists()}
            if not file.endswith(".csv"):
                if paths:
                    contents[results / file] = list(paths.values())[-1].read_bytes()
                continue
            there = read_rows(results / file, results)
            if there is not None and PART not in there and len(kept) < len(parts):
                continue  # It holds all parts, without their names. So it stays as it is.
            table = self._table(paths, kept, there, list(parts))
            if table is None and unfinished:
                table = pd.DataFrame(columns=[PART])
            if table is not None:
                if there is not None and PART in there:
                    say_what_goes(results / file, int((~there[PART].isin(list(parts))).sum()), "parts")
                contents[results / file] = table.to_csv(index=False).encode()
        return contents

    def _table(
        self, paths: dict[str, Path], kept: dict[str, Path], there: pd.DataFrame | None, parts: list[str]
    ) -> pd.DataFrame | None:
        """The rows of the parts that were measured here, and the present rows of the other parts."""
        tables = {}
        for name, path in paths.items():
            tables[name] = self._read(path, kept[name])
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
        """The parts that were not measured here and are not in the files below ``results``."""
        committed = self._committed(parts, results)
        return [
            name for name in parts if name not in committed and not self._folder_of(folder, name).exists()
        ]

    def _committed(self, parts: dict[str, Part], results: Path) -> set[str]:
        """The parts whose rows exist.

        If every file exists and no table names its parts, these are all parts.
        """
        tables = [read_rows(results / file, results) for file in self.makes if file.endswith(".csv")]
        there = [table for table in tables if table is not None]
        if len(parts) > 1 and any(PART in table for table in there):
            return {name for table in there if PART in table for name in table[PART]}
        begun = any(list(table.columns) == [PART] for table in there)  # The header of an unfinished study.
        whole = all((results / file).exists() for file in self.makes)
        return set(parts) if whole and not begun else set()

    def _read(self, path: Path, kept: Path) -> pd.DataFrame:
        """The table of one part, as the text that the whole table will have.

        Raises:
            UserError: the file is damaged.
        """
        try:
            if self.float_format is None:
                return pd.read_csv(path, dtype=str, keep_default_na=False)
            return as_text(pd.read_csv(path, float_precision="round_trip"), self.float_format)
        except ValueError as error:  # What pandas raises, and bytes that are no text.
            raise UserError(
                f"{path} is damaged ({' '.join(str(error).split())}): remove the folder {kept}, then give "
                "the same command again to measure this part anew"
            ) from error

    def _parts(self) -> dict[str, Part]:
        try:
            parts = import_module(self.module).parts
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"{self.module} is not a measurement ({error}): it must have a function parts"
            ) from error
        try:
            inspect.signature(parts).bind(**self.options)
        except TypeError as error:
            options = ", ".join(inspect.signature(parts).parameters) or "no options"
            raise UserError(
                f"{self.module} cannot be measured ({error}): its options are {options}"
            ) from error
        found: dict[str, Part] = parts(**self.options)
        return found

    def _folder_of(self, folder: Path, part: str) -> Path:
        """The folder for the files of a part. It depends on the options of the measurement."""
        text = json.dumps([self.module, self.options], sort_keys=True)
        name = f"{self.module.rsplit('.', 1)[-1]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return folder / "parts" / name / part


def measure(part: Part, makes: tuple[str, ...], kept: Path) -> None:
    """Measure a part, in a worker. Its files are kept all together; after an interruption none is kept.

    Raises:
        UserError: the part made a file that the study does not name.
    """
    files = part()
    unknown = [path for path in files if path not in makes]
    if unknown:
        raise UserError(
            f"the measurement makes {unknown[0]}, which its study does not list: add it under makes"
        )
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
