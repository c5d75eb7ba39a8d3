"""Studies: which runs, searches and measurements make which files under ``results/``.

``definition`` reads ``conf/study/NAME.yaml``; ``runs_step``, ``search_step`` and ``measurement_step`` are the
kinds of steps it may have; ``make`` does them and writes the files.
"""
