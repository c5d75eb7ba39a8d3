"""What is done to a model once it is made, or between two steps: of ``changes.txt``."""

from __future__ import annotations

from differential.tables import read

CHANGES = read("changes.txt")
"""Done between two steps."""
FEATURES = {name: entry for name, entry in CHANGES.items() if "later" not in entry.words}
"""Done once to a new model too."""
