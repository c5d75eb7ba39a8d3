"""Claims: the thesis's words, ours, and a verdict that the numbers decide."""
