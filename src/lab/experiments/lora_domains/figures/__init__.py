"""The figure and the table: one module, with the name of the files that it makes under ``results/``."""
