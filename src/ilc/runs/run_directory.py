"""The folder of one run: the files are the truth, everything else mirrors them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from ilc.atomic import in_memory, write_atomically, write_json, write_text
from ilc.configuration.resolve import differences
from ilc.errors import UserError
from ilc.locked import lock


class RunDirectory:
    """Config, provenance, metrics, summary, checkpoint and the mark that the run is done.

    Args:
        path: the folder; made if it is not there.
        experiment: the resolved config of the run that wants to use it.

    Raises:
        UserError: the folder cannot be used, or holds another experiment.
    """

    def __init__(self, path: Path, experiment: dict[str, Any]) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot use the run folder {path}: {error.strerror}. Choose another with hydra.run.dir=..."
            ) from error
        self._experiment = experiment
        if (path / "config.yaml").exists():
            self._check_same_experiment(experiment)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of the folder.

        Raises:
            UserError: one is in it.
        """
        descriptor = lock(self.path)
        if descriptor is None:
            raise UserError(
                f"another process is training in {self.path}: wait until it ends, or choose another folder "
                "with hydra.run.dir=..."
            )
        try:
            yield
        finally:
            os.close(descriptor)

    def start(self, provenance: dict[str, Any]) -> None:
        """Write down what is about to run."""
        write_text(self.path / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(self._experiment)))
        write_json(self.path / "provenance.json", provenance)

    def _check_same_experiment(self, experiment: dict[str, Any]) -> None:
        try:
            there = OmegaConf.to_container(OmegaConf.load(self.path / "config.yaml"))
        except Exception as error:
            raise UserError(
                f"{self.path / 'config.yaml'} cannot be read: {error}. Remove the folder"
            ) from error
        assert isinstance(there, dict)
        changed = differences({str(k): v for k, v in there.items()}, experiment)
        if changed:
            raise UserError(
                f"{self.path} holds another experiment: it differs in {', '.join(changed)}. "
                "Choose another hydra.run.dir, or remove that folder to start over"
            )

    @property
    def is_done(self) -> bool:
        """Whether the run has ended and everything is written."""
        return (self.path / "done").exists()

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the summary and mark the run as done."""
        write_json(self.path / "summary.json", summary)
        write_text(self.path / "done", "")

    def summary(self) -> dict[str, Any]:
        """The summary of a run that is done."""
        values: dict[str, Any] = json.loads((self.path / "summary.json").read_text())
        return values

    def append_metrics(self, values: dict[str, float | int]) -> None:
        """Add one line to ``metrics.jsonl``, in a single write.

        Raises:
            UserError: the disk is full, ...
        """
        path = self.path / "metrics.jsonl"
        line = (json.dumps(values) + "\n").encode()
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                written = os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise UserError(
                f"cannot write {path}: {error.strerror}. Make room and give the same command"
            ) from error
        if written != len(line):
            raise UserError(f"cannot write {path}: no room left. Make room and give the same command")

    def keep_metrics(self, n_lines: int) -> list[dict[str, Any]]:
        """Drop everything after the first ``n_lines`` evaluations and return those.

        An interruption can fall between an evaluation and its checkpoint: the evaluation is then
        made again.
        """
        path = self.path / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        if len(lines) < n_lines:
            raise UserError(
                f"{path} holds {len(lines)} evaluations, its checkpoint was made after {n_lines}: "
                "the file was changed. Remove the folder to start over"
            )
        if len(lines) > n_lines:
            write_text(path, "".join(lines[:n_lines]))
        return [json.loads(line) for line in lines[:n_lines]]

    def save_checkpoint(self, state: dict[str, Any]) -> None:
        """Replace ``checkpoint.pt`` atomically.

        Raises:
            UserError: it cannot be written; the previous checkpoint is unharmed.
        """
        # Through memory, because torch turns a full disk into an error of its own kind.
        content = in_memory(lambda file: torch.save(state, file))
        write_atomically(self.path / "checkpoint.pt", lambda file: file.write(content))

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The last checkpoint, or None when there is none.

        Raises:
            UserError: the file is damaged.
        """
        path = self.path / "checkpoint.pt"
        if not path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise UserError(
                f"{path} is damaged ({type(error).__name__}) and cannot be continued from: put back a copy, "
                f"or remove {self.path} to start over"
            ) from error
        return state
