"""The best settings that searches found, which ``tuned=searched/NAME`` uses.

They lie beside the trials, in ``results/EXPERIMENT/search/SEARCH.yaml``: a section for each configuration,
under its NAME. Hydra finds a choice in the files of ``conf/`` or in its ConfigStore. So the sections are put
into the store.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
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

_NAME = re.compile(rf"{PREFIX}[\w./-]+")

Files = tuple[tuple[Path, int], ...]


def searched_settings() -> dict[str, Path]:
    """The choices of the group ``tuned`` that searches found, each with the file that holds its settings."""
    return _choices(_files())


def store_searched_settings(words: Iterable[str]) -> None:
    """Let Hydra find the searched settings that these words of a command line name.

    Hydra copies the whole store for every config, so the store holds no other ones. If a name does not exist,
    all are stored, so that Hydra can list them.
    """
    named = {name for word in words for name in _NAME.findall(word)}
    if named:
        files = _files()
        known = _choices(files)
        for path, _ in files:
            names = named & {name for name, file in known.items() if file == path}
            if names or not named <= known.keys():
                _store(path, names if named <= known.keys() else known.keys())


@contextmanager
def stored_searched_settings(words: Iterable[str]) -> Iterator[None]:
    """Do the same for one config, and restore the store afterwards."""
    repo = ConfigStore.instance().repo
    before = repo.pop("tuned", None)
    store_searched_settings(words)
    try:
        yield
    finally:
        repo.pop("tuned", None)
        if before is not None:
            repo["tuned"] = before


def _files() -> Files:
    """The files with their times of change: a study changes them while it runs."""
    return tuple((path, path.stat().st_mtime_ns) for path in sorted(RESULTS.glob("*/search/*.yaml")))


@lru_cache(maxsize=1)
def _choices(files: Files) -> dict[str, Path]:
    return {PREFIX + name: path for path, _ in files for name in SECTION.findall(path.read_text())}


def _store(path: Path, names: Collection[str]) -> None:
    store = ConfigStore.instance()
    for section, settings in OmegaConf.load(path).items():
        if f"{PREFIX}{section!s}" in names:
            node = {} if settings is None else OmegaConf.to_container(settings)
            group, _, choice = f"tuned/{PREFIX}{section!s}".rpartition("/")
            store.store(choice, node, group=group, package="_global_", provider=str(path))
