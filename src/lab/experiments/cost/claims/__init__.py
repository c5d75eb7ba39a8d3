"""The claims: the words of the paper, our result, and a verdict that the numbers decide."""
