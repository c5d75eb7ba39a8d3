"""The measurements, one per file. A study makes a measurement in parts."""
