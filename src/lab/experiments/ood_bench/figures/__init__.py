"""Figures and tables: one module for each, with the name of the file that it makes under ``results/``."""
