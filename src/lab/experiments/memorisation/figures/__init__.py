"""Figures and tables, one per file, which is called as what it makes under ``results/``."""
