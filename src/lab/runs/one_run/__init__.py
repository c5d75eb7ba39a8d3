"""One run: from its config to its folder, whatever it trains.

``runner`` makes the run. ``task`` says what a run must know of what it trains. ``run_options`` reads the
config, ``run_directory`` writes the folder, and ``run_files`` reads it. ``selection`` chooses the
evaluation that the summary reports. ``loggers`` copies the metrics to W&B. ``loaded_run`` loads a run that
was made before.
"""
