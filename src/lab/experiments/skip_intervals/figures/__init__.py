"""Figures and tables of chapter 2 of the thesis, from committed results."""
