"""The command that installs an extra of this package, for messages about packages that are missing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def install_command(extra: str) -> str:
    """Return the command that installs this extra.

    ``pip install 'ilc[extra]'`` adds to the ``ilc`` that pip has installed. If pip has installed none, as in
    a clone that is used in place, the same command would look for a package on the network. The command then
    names the folder of the clone.
    """
    try:
        distribution("ilc")
    except PackageNotFoundError:
        return f"pip install '{Path(__file__).parents[2]}[{extra}]'"
    return f"pip install 'ilc[{extra}]'"
