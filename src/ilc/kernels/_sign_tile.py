"""Signs of one example's gradient for a tile of a convolution's weight that stays in the registers.

numba compiles such loops with their sums in memory, and BLAS is slow for the shapes of one example's patches.
So this file writes the instructions itself, vector by vector.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

LANES = 16
"""Numbers in a vector. A processor with shorter vectors uses several for one."""


def add_tile_signs(
    rows: int,
    vectors: int,
    delta: Any,
    x: Any,
    run: int,
    row_step: int,
    column_step: int,
    less: Any,
    sum_ones: Any,
    sum_normed: Any,
    sign_sum: Any,
) -> None:
    """Add the signs of ``sum over (i, j) of delta[i, j] x[i, j]^T - less[0] sum_ones - less[1] sum_normed``.

    Here ``delta[i, j]`` has ``rows`` channels, ``x[i, j]`` is a run of ``vectors * LANES`` numbers.

    Args:
        rows: a literal.
        vectors: a literal.
        delta: ``[height, width, at least rows]``, its last axis dense.
        x: flat; the run of position (i, j) begins at ``run + i * row_step + j * column_step``.
        run: see ``x``.
        row_step: see ``x``.
        column_step: see ``x``.
        less: ``[2, at least rows]``.
        sum_ones: at least ``vectors * LANES`` numbers, the same for every row.
        sum_normed: ``[rows, at least vectors * LANES]``.
        sign_sum: ``[rows, at least vectors * LANES]``.
    """
    for row in range(rows):
        for lane in range(vectors * LANES):
            value = -less[0, row] * sum_ones[lane] - less[1, row] * sum_normed[row, lane]
            for i in range(delta.shape[0]):
                for j in range(delta.shape[1]):
                    value += delta[i, j, row] * x[run + i * row_step + j * column_step + lane]
            sign_sum[row, lane] += int(value > 0) - int(value < 0)


def teach_numba() -> None:
    """Let kernels call ``add_tile_signs``."""
    from numba import types
    from numba.extending import intrinsic, overload

    def signature(
        context: Any, rows: Any, vectors: Any, d: Any, x: Any, run: Any, row: Any, column: Any,
        less: Any, s0: Any, s1: Any, s: Any,
    ) -> Any:  # fmt: skip
        kinds = (d, x, run, row, column, less, s0, s1, s)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = [
                context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(kinds, arguments[2:], strict=True)
            ]
            _write(builder, rows.literal_value, vectors.literal_value, *values)
            return context.get_dummy_value()

        return types.void(rows, vectors, *kinds), generate

    add: Any = intrinsic(prefer_literal=True)(signature)
    # numba compares the signatures with their annotations, and needs a Python function.
    overload(add_tile_signs, prefer_literal=True)(
        lambda rows, vectors, d, x, run, row, column, less, s0, s1, s: (
            lambda rows, vectors, d, x, run, row, column, less, s0, s1, s: add(  # noqa: PLW0108
                rows, vectors, d, x, run, row, column, less, s0, s1, s
            )
        )
    )


def _write(
    builder: Any,
    rows: int,
    vectors: int,
    delta: Any,
    x: Any,
    run: Any,
    row_step: Any,
    column_step: Any,
    less: Any,
    sum_ones: Any,
    sum_normed: Any,
    sign_sum: Any,
) -> None:
    """Write the instructions."""
    ir: Any = import_module("llvmlite.ir")
    cgutils: Any = import_module("numba.core.cgutils")

    word = ir.IntType(64)
    vector = ir.VectorType(ir.FloatType(), LANES)
    zero, one = (ir.Constant(vector, [value] * LANES) for value in (0.0, 1.0))
    nothing = ir.Constant(vector, ir.Undefined)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    of_three = ir.FunctionType(vector, [vector] * 3)
    fma = cgutils.get_or_insert_function(builder.module, of_three, f"llvm.fma.v{LANES}f32")

    def place(array: Any, *indices: Any) -> Any:
        """The address of that element, computed from the strides in bytes."""
        strides = cgutils.unpack_tuple(builder, array.strides)
        offset = ir.Constant(word, 0)
        for index, stride in zip(indices, strides, strict=True):
            number = ir.Constant(word, index) if isinstance(index, int) else index
            offset = builder.add(offset, builder.mul(number, stride))
        return cgutils.pointer_add(builder, array.data, offset)

    def load(pointer: Any) -> Any:
        value = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        value.align = 4
        return value

    def spread(pointer: Any) -> Any:
        first = builder.insert_element(nothing, builder.load(pointer), ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, nothing, everywhere)

    def ahead(pointer: Any, elements: int) -> Any:
        return builder.gep(pointer, [ir.Constant(word, elements)])

    tile = [(row, k) for row in range(rows) for k in range(vectors)]
    # LLVM keeps values that only these places hold in registers.
    sums = {at: cgutils.alloca_once(builder, vector) for at in tile}
    for at in tile:
        builder.store(zero, sums[at])
    height, width, _ = cgutils.unpack_tuple(builder, delta.shape)
    with cgutils.for_range(builder, height) as down, cgutils.for_range(builder, width) as across:
        start = builder.add(builder.mul(down.index, row_step), builder.mul(across.index, column_step))
        numbers = place(x, builder.add(run, start))
        channels = place(delta, down.index, across.index, 0)
        runs = [load(ahead(numbers, k * LANES)) for k in range(vectors)]
        for row in range(rows):
            factor = spread(ahead(channels, row))
            for k in range(vectors):
                total = builder.call(fma, [factor, runs[k], builder.load(sums[row, k])])
                builder.store(total, sums[row, k])
    for row in range(rows):
        of_ones, of_normed = (builder.fneg(spread(place(less, which, row))) for which in (0, 1))
        for k in range(vectors):
            ones, normed = load(place(sum_ones, k * LANES)), load(place(sum_normed, row, k * LANES))
            value = builder.call(fma, [of_ones, ones, builder.load(sums[row, k])])
            value = builder.call(fma, [of_normed, normed, value])
            up = builder.select(builder.fcmp_ordered(">", value, zero), one, zero)
            down_ = builder.select(builder.fcmp_ordered("<", value, zero), one, zero)
            where = place(sign_sum, row, k * LANES)
            signs = builder.fadd(load(where), builder.fsub(up, down_))
            builder.store(signs, builder.bitcast(where, vector.as_pointer())).align = 4
