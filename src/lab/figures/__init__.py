"""What all figures and tables share: one look, how they are found, the claims, the pages that show them.

A figure or table belongs to its experiment: a module ``lab/experiments/*/figures/NAME.py`` with
``draw(results) -> Figure``, ``tabulate(results) -> DataFrame`` or both, where ``results`` is the folder of
committed CSV files. It becomes ``NAME.png`` in
``results/EXPERIMENT/figures/`` and ``NAME.md`` in ``results/EXPERIMENT/tables/``. No figure trains.
"""
