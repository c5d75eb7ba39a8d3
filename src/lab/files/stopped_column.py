"""The column ``stopped`` of a table of runs: how each run ended, and whether it is made yet."""

STOPPED = "stopped"
PENDING = "pending"
"""The value for a run that nobody has made yet. A study with ``unfinished: true`` commits such rows."""
DIVERGED = "failed"
"""The value for a run that ended with an error. A study commits such rows if its runs may diverge."""
