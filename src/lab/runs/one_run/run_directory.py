"""The folder of one run. Its files are the record; W&B and the report are copies of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from torch import nn

from ilc.errors import UserError
from lab.configuration.resolve import differences
from lab.files.atomic import cannot_write, write_atomically, write_json, write_text
from lab.files.locked import lock
from lab.files.sealed import save_sealed
from lab.runs.one_run import run_files
from lab.runs.one_run.diverged import DivergedError


class RunDirectory:
    """Writes config, provenance, metrics, summary, checkpoint and the file that marks a run as done.

    Args:
        path: the folder; it is made if it does not exist.
        experiment: the resolved config of the run.
        writes: whether this process writes. If several processes share a run, one of them writes; in the
            others the methods that write do nothing.

    Raises:
        UserError: the folder cannot be used, or holds another experiment.
    """

    def __init__(self, path: Path, experiment: dict[str, Any], writes: bool = True) -> None:
        self.path = path
        self.writes = writes
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot use the run folder {path}: {error.strerror}. Choose another with hydra.run.dir=..."
            ) from error
        self._experiment = experiment
        if (path / run_files.CONFIG).exists() or self.is_done:
            self._check_same_experiment(run_files.read_config(path))
        elif not (path / run_files.CHECKPOINT).exists():
            self._check_nobody_elses()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for this process, and remove unfinished files of a process that was killed.

        Raises:
            UserError: another process has locked the folder.
        """
        if not self.writes:
            yield
            return
        descriptor = lock(self.path)
        if descriptor is None:
            raise UserError(
                f"another process is training in {self.path}: wait until it ends, or choose another folder "
                "with hydra.run.dir=..."
            )
        try:
            for left in self.path.glob(".*.[0-9]*.part"):
                left.unlink(missing_ok=True)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def failure_kept(self) -> Iterator[None]:
        """Keep the message of a run that diverged, until the run succeeds.

        Any other error, such as a damaged file, leaves no message: the run is tried again.
        """
        note = self.path / run_files.FAILED
        try:
            yield
        except DivergedError as error:
            if self.writes:
                write_text(note, f"{error}\n")
            raise
        if self.writes:
            note.unlink(missing_ok=True)

    def start(self, provenance: dict[str, Any]) -> None:
        """Write the config and the provenance, before the first step."""
        if not self.writes:
            return
        write_text(self.path / run_files.CONFIG, OmegaConf.to_yaml(OmegaConf.create(self._experiment)))
        write_json(self.path / run_files.PROVENANCE, provenance)

    def _check_nobody_elses(self) -> None:
        """Refuse to replace files that no run wrote: a run writes its config before every other file."""
        for name in (run_files.METRICS, run_files.SUMMARY, run_files.PROVENANCE):
            if (self.path / name).exists():
                raise UserError(
                    f"{self.path / name} exists, but the folder has no {run_files.CONFIG}, so it is not the "
                    "folder of a run, and a run would replace the file: choose another folder with "
                    "hydra.run.dir=..., or move the file away"
                )

    def _check_same_experiment(self, there: dict[str, Any]) -> None:
        changed = differences(there, self._experiment)
        if changed:
            raise UserError(
                f"{self.path} holds another experiment: it differs in {', '.join(changed)}. "
                "Choose another hydra.run.dir, or remove that folder to start over"
            )

    @property
    def is_done(self) -> bool:
        """Whether the run has ended and everything is written."""
        return run_files.is_done(self.path)

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the summary, and mark the run as done."""
        if not self.writes:
            return
        write_json(self.path / run_files.SUMMARY, summary)
        write_text(self.path / run_files.DONE, run_files.hashes(self.path))

    def append_metrics(self, values: dict[str, float | int]) -> None:
        """Add one line to ``metrics.jsonl``, in a single write.

        Raises:
            UserError: the line cannot be written, for example because the disk is full.
        """
        if not self.writes:
            return
        path = self.path / run_files.METRICS
        line = (json.dumps(values) + "\n").encode()
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                written = os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise UserError(cannot_write(path, error)) from error
        if written != len(line):
            raise UserError(
                f"cannot write {path}: no room is left. Make room and give the same command again"
            )

    def save_pictures(self, pictures: Mapping[str, bytes]) -> list[Path]:
        """Write PNG files, in place of older ones of the same names; return their paths.

        Raises:
            UserError: a file cannot be written.
        """
        if not self.writes:
            return []
        paths = {self.path / f"{name}.png": content for name, content in pictures.items()}
        for path, content in paths.items():
            write_atomically(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
        return list(paths)

    def keep_metrics(self, checkpoint: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Remove the evaluations that the checkpoint does not count, and return the others.

        The process can end between an evaluation and its checkpoint. That evaluation is then made again.
        Every evaluation is followed by a checkpoint, so a kill before the first one leaves one evaluation.

        Raises:
            UserError: evaluations that the checkpoint counts are missing, or were changed; or there are
                several evaluations, and the checkpoint is missing.
        """
        path = self.path / run_files.METRICS
        kept = 0 if checkpoint is None else checkpoint["n_evaluations"]
        sha256 = None if checkpoint is None else checkpoint.get("metrics_sha256")
        evaluations = run_files.read_metrics(self.path, kept, sha256)
        # Bytes, because lines that the checkpoint does not count may be anything.
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if checkpoint is None and len(lines) > 1:
            raise UserError(
                f"{self.path / run_files.CHECKPOINT} is missing, and {path.name} holds {len(lines)} "
                f"evaluations that the run could not continue from: {run_files.remedy(self.path)}"
            )
        if len(lines) > kept and self.writes:
            if checkpoint is None:
                print(f"{self.path} has an evaluation and no checkpoint: the run starts over")
            write_atomically(path, lambda file: file.write(b"".join(lines[:kept])))
        return evaluations

    def save_checkpoint(self, state: dict[str, Any], data: dict[str, str]) -> None:
        """Replace ``checkpoint.pt`` in one step.

        Args:
            state: the state of the run.
            data: the identity of the data, as ``data_identity`` returns it.

        Raises:
            UserError: the file cannot be written; the previous checkpoint is unharmed.
        """
        if not self.writes:
            return
        belongs_to = {
            "config": self._experiment,
            "data": data,
            "metrics_sha256": run_files.metrics_sha256(self.path),
        }
        save_sealed(self.path / run_files.CHECKPOINT, {**state, **belongs_to})

    def save_selected(self, step: int, model: nn.Module) -> None:
        """Replace ``selected.pt`` in one step: the weights of the evaluation that is selected now.

        Raises:
            UserError: the file cannot be written; the previous one is unharmed.
        """
        if self.writes:
            save_sealed(self.path / run_files.SELECTED, {"step": step, "model": model.state_dict()})

    def load_checkpoint(self, data: dict[str, str]) -> dict[str, Any] | None:
        """Read the last checkpoint; None if there is none.

        Args:
            data: the identity of the present data, as ``data_identity`` returns it.

        Raises:
            UserError: the file is damaged, belongs to another experiment, or the data has changed.
        """
        state = run_files.read_checkpoint(self.path)
        if state is None:
            return None
        if "config" not in state and not (self.path / run_files.CONFIG).exists():
            missing = self.path / run_files.CONFIG
            raise UserError(
                f"{missing} is missing, and the checkpoint does not name its experiment: "
                f"{run_files.remedy(self.path)}"
            )
        self._check_same_experiment(state.get("config", self._experiment))
        there = state.get("data", data)
        if there != data:
            raise UserError(
                f"{self.path} began with the data {_in_words(there)}, but finds {_in_words(data)} now, and a "
                "run continues only with the data that it began with: bring them back (data_dir=...), or "
                "choose another hydra.run.dir=... to start over"
            )
        return state


def _in_words(data: dict[str, str]) -> str:
    return f"{data['data_source']} (SHA-256 {data['data_sha256'][:12]}...)"
