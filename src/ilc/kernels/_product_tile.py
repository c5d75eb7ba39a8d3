"""One example's gradient for a tile of a weight: it stays in the registers, and only its sums leave them.

numba compiles such loops with their sums in memory, and BLAS is slow for the shapes of one example.
So kernels call ``add_tile``, whose instructions ``_tile_instructions`` writes, vector by vector.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ilc.kernels._tile_instructions import LANES, Place, write_tile


def add_tile(
    rows: int,
    vectors: int,
    place: Place,
    delta: Any,
    x: Any,
    less: Any,
    sum_ones: Any,
    sum_normed: Any,
    total: Any,
    sign_sum: Any,
) -> None:
    """Add the tile ``sum over (i, j) of delta[i, j] x[i, j]^T`` to ``total``, and its signs to ``sign_sum``.

    Here ``delta[i, j]`` has ``rows`` channels, ``x[i, j]`` is a run of ``vectors * LANES`` numbers. With
    ``less``, the signs are those of the tile minus ``less[0] sum_ones + less[1] sum_normed``.

    Args:
        rows: a literal.
        vectors: a literal.
        place: where the tile lies.
        delta: ``[N, height, width, out]``, its last axis dense.
        x: ``[N, ...]``, flat for every example.
        less: ``[N, 2, out]``, or None.
        sum_ones: ``[kh, columns]``, the same for every row, or None.
        sum_normed: ``[out, kh, columns]``, or None.
        total: ``[parts, out, kh, columns]``, or None if nobody wants it.
        sign_sum: ``[parts, out, kh, columns]``.
    """
    part, example, first, k, at, start, row_step, column_step = place
    for row in range(first, first + rows):
        for lane in range(vectors * LANES):
            value = delta.dtype.type(0)
            for i in range(delta.shape[1]):
                for j in range(delta.shape[2]):
                    run = start + i * row_step + j * column_step
                    value += delta[example, i, j, row] * x[example, run + lane]
            if total is not None:
                total[part, row, k, at + lane] += value
            if less is not None:
                of_ones, of_normed = less[example, :, row]
                value -= of_ones * sum_ones[k, at + lane] + of_normed * sum_normed[row, k, at + lane]
            sign_sum[part, row, k, at + lane] += int(value > 0) - int(value < 0)


def teach_numba() -> None:
    """Let kernels call ``add_tile``."""
    from numba import types
    from numba.extending import intrinsic, overload

    def signature(
        context: Any, rows: Any, vectors: Any, place: Any, d: Any, x: Any,
        less: Any, s0: Any, s1: Any, t: Any, s: Any,
    ) -> Any:  # fmt: skip
        kinds = (place, d, x, less, s0, s1, t, s)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            cgutils: Any = import_module("numba.core.cgutils")

            def prepared(kind: Any, value: Any) -> Any:
                if isinstance(kind, types.NoneType):
                    return None
                return context.make_array(kind)(context, builder, value)

            where, *arrays = arguments[2:]
            values = [prepared(kind, value) for kind, value in zip(kinds[1:], arrays, strict=True)]
            numbers = Place(*cgutils.unpack_tuple(builder, where))
            write_tile(builder, rows.literal_value, vectors.literal_value, numbers, *values)
            return context.get_dummy_value()

        return types.void(rows, vectors, *kinds), generate

    add: Any = intrinsic(prefer_literal=True)(signature)
    # numba compares the signatures with their annotations, and needs a Python function.
    overload(add_tile, prefer_literal=True)(
        lambda rows, vectors, place, d, x, less, s0, s1, t, s: (
            lambda rows, vectors, place, d, x, less, s0, s1, t, s: add(  # noqa: PLW0108
                rows, vectors, place, d, x, less, s0, s1, t, s
            )
        )
    )
