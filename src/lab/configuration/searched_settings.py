"""The best settings that searches found, which ``tuned=searched/NAME`` uses.

They lie beside the trials, in ``results/EXPERIMENT/search/SEARCH.yaml``: a section for each configuration,
under its NAME. Hydra finds a choice in the files of ``conf/`` or in its ConfigStore. So the sections are put
into the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

RESULTS = Path(__file__).parents[3] / "results"
"""The committed results."""

PREFIX = "searched/"
"""With what the names of such choices begin."""

SECTION = re.compile(r"^(\S+):$", re.M)
"""The line that begins a section."""

Files = tuple[tuple[Path, int], ...]


def searched_settings() -> dict[str, Path]:
    """The choices of the group ``tuned`` that searches found, each with the file that holds its settings."""
    return _choices(_files())


def store_searched_settings(words: Iterable[str]) -> None:
    """Let Hydra find the searched settings, if one of these words of a command line names any.

    Reading them takes longer than most commands need to begin, so other commands leave them out.
    """
    if any(PREFIX in word for word in words):
        _store(_files())


def _files() -> Files:
    """The files with their times of change: a study changes them while it runs."""
    return tuple((path, path.stat().st_mtime_ns) for path in sorted(RESULTS.glob("*/search/*.yaml")))


@lru_cache(maxsize=1)
def _choices(files: Files) -> dict[str, Path]:
    return {PREFIX + name: path for path, _ in files for name in SECTION.findall(path.read_text())}


@lru_cache(maxsize=1)
def _store(files: Files) -> None:
    store = ConfigStore.instance()
    for path, _ in files:
        for name, settings in OmegaConf.load(path).items():
            node = {} if settings is None else OmegaConf.to_container(settings)
            group, _, choice = f"tuned/{PREFIX}{name!s}".rpartition("/")
            store.store(choice, node, group=group, package="_global_", provider=str(path))
