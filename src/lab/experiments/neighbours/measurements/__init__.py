"""Measurements: one per file, made in parts by a study."""
