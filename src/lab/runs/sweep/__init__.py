"""Several runs of one command: every combination of its overrides, each in its own run folder."""
