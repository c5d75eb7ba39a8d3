"""Code that all figures and tables share: style, discovery, claims, and the pages that show them.

A figure or table belongs to its experiment. It is a module ``lab/experiments/*/figures/NAME.py`` with
``draw(results) -> Figure``, ``tabulate(results) -> DataFrame`` or both. ``results`` is the folder of
committed CSV files. The figure becomes ``results/EXPERIMENT/figures/NAME.png``, and the table becomes
``results/EXPERIMENT/tables/NAME.md``. No figure trains.
"""
