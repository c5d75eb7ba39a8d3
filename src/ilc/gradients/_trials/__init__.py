"""Trials: passes that find out what a model and its loss allow, and leave both as they were."""
