"""Memorisation (paper, section 3.2): random and wrong labels on images, every example an environment."""

TITLE = "Memorisation (section 3.2)"
