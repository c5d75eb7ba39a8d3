"""Studies: which runs, searches and measurements make which files under ``results/``.

``definition`` reads ``conf/study/EXPERIMENT/NAME.yaml``. A study has steps of three kinds: ``runs_step``,
``search_step`` and ``measurement_step``. ``make`` does the steps and writes the files.
"""
