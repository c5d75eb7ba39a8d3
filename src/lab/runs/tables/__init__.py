"""Tables of runs: CSV files with one row per run, made from run folders.

``export`` reads the folders and writes the files. ``run_key`` makes the name that a run has in a table.
"""
