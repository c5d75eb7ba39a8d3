"""Studies: the runs, searches and measurements that make the files in ``results/``.

``study_file`` reads ``conf/study/EXPERIMENT/NAME.yaml``. A study has steps of three kinds: ``runs_step``,
``search_step`` and ``measurement_step``. ``make`` does the steps and writes the files. ``committed_rows``
reads the rows that exist already. ``own_tables`` keeps other commands away from the files of studies.
"""
