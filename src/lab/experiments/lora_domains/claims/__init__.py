"""Findings on the masks, with verdicts that the numbers decide."""
