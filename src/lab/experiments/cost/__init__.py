"""The cost of a training step in time and memory, compared with plain training."""

TITLE = "Cost"
