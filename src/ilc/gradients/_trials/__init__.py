"""Trial passes of a first step, which find out what a model and its loss allow and change nothing."""
