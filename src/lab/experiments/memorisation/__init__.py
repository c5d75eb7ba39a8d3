"""Memorisation (paper, section 3.2): images with random or wrong labels. Every example is an environment."""

TITLE = "Memorisation (section 3.2)"
