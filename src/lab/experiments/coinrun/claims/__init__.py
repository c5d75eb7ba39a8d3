"""Claims: the paper's words, ours, and a verdict that the numbers decide."""
