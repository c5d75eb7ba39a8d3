"""The four problems of the thesis's chapter 4, each a ``Problem``."""
