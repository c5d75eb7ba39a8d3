"""Claims: the source's numbers, ours, and a verdict that the numbers decide."""
