"""Losses of ``losses.txt``.

Outputs are ``[N, K]``, or ``[N, T, K]`` for a loss of every position. Targets: ``classes`` ``[N]``,
some of them ignored or not, ``real`` and ``binary`` ``[N, K]``, ``words`` ``[N, T]``.
"""

from __future__ import annotations

from differential.tables import read

LOSSES = read("losses.txt")
