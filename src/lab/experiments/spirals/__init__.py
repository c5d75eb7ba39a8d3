"""The spirals (paper, section 3.1): shortcuts that differ between environments, a mechanism that does not."""

TITLE = "Spirals (section 3.1)"
