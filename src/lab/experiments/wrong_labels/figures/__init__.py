"""The figures and tables, one per file. The file has the name of the figure or table under ``results/``."""
