"""The instructions of ``add_tile``: they are written with llvmlite, because numba has none for vectors."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

LANES = 16
"""Numbers in a vector. A processor with shorter vectors uses several for one."""


class Place(NamedTuple):
    """Where a tile lies. Each entry is a number.

    Attributes:
        part: the sums of this thread.
        example: the number of the example.
        row: the first row of the sums, which is the first channel of ``delta``.
        k: the row of the patch.
        column: the first column of the sums within that row of the patch.
        start: where in ``x[example]`` the run of the first position begins.
        row_step: from a row of positions to the next, in ``x[example]``.
        column_step: from a position to the next.
    """

    part: Any
    example: Any
    row: Any
    k: Any
    column: Any
    start: Any
    row_step: Any
    column_step: Any


def write_tile(
    builder: Any,
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
    """Write the instructions of one call. Its arguments are those of ``add_tile``."""
    write = _Vectors(builder)
    tile = _products(write, rows, vectors, place, delta, x)
    for row, products in enumerate(tile):
        channel = write.plus(place.row, row)
        at = (place.part, channel, place.k, place.column)
        if total is not None:
            write.add_to(write.address(total, *at), products)
        values = products
        if less is not None:
            for which, taken in enumerate(
                (write.address(sum_ones, *at[2:]), write.address(sum_normed, *at[1:]))
            ):
                of_channel = write.address(less, place.example, write.number(which), channel)
                factor = builder.fneg(write.spread(of_channel))
                values = [write.fma(factor, write.load(taken, k), value) for k, value in enumerate(values)]
        write.add_signs_to(write.address(sign_sum, *at), values)


def _products(write: _Vectors, rows: int, vectors: int, place: Place, delta: Any, x: Any) -> list[list[Any]]:
    """The vectors of each row of the sum of products over all positions."""
    builder, tools = write.builder, write.tools
    # LLVM keeps values that only these places hold in registers.
    sums = [[tools.alloca_once(builder, write.vector) for _ in range(vectors)] for _ in range(rows)]
    for kept in (one for row in sums for one in row):
        builder.store(write.constant(0.0), kept)
    _, height, width, _ = tools.unpack_tuple(builder, delta.shape)
    _, down_stride, across_stride, _ = write.strides(delta)
    nought = write.number(0)
    first_channels = write.address(delta, place.example, nought, nought, place.row)
    first_run = write.address(x, place.example, place.start)
    with tools.for_range(builder, height) as down, tools.for_range(builder, width) as across:
        moved = builder.add(builder.mul(down.index, down_stride), builder.mul(across.index, across_stride))
        channels = tools.pointer_add(builder, first_channels, moved)
        of_rows = builder.mul(down.index, place.row_step)
        steps = builder.add(of_rows, builder.mul(across.index, place.column_step))
        numbers = builder.gep(first_run, [steps])
        runs = [write.load(numbers, k) for k in range(vectors)]
        for channel, of_row in enumerate(sums):
            factor = write.spread(builder.gep(channels, [write.number(channel)]))
            for run, kept in zip(runs, of_row, strict=True):
                builder.store(write.fma(factor, run, builder.load(kept)), kept)
    return [[builder.load(kept) for kept in row] for row in sums]


class _Vectors:
    """Writes instructions for vectors of ``LANES`` float32 numbers."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.tools: Any = import_module("numba.core.cgutils")
        self._ir: Any = import_module("llvmlite.ir")
        self._word = self._ir.IntType(64)
        self.vector = self._ir.VectorType(self._ir.FloatType(), LANES)
        of_three = self._ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fma.v{LANES}f32"
        self._fma = self.tools.get_or_insert_function(builder.module, of_three, name)

    def number(self, value: int) -> Any:
        return self._ir.Constant(self._word, value)

    def plus(self, number: Any, value: int) -> Any:
        return self.builder.add(number, self.number(value))

    def constant(self, value: float) -> Any:
        return self._ir.Constant(self.vector, [value] * LANES)

    def strides(self, array: Any) -> list[Any]:
        """The strides of an array, in bytes."""
        found: list[Any] = self.tools.unpack_tuple(self.builder, array.strides)
        return found

    def address(self, array: Any, *indices: Any) -> Any:
        """The address of that element."""
        offset = self.number(0)
        for index, stride in zip(indices, self.strides(array), strict=True):
            offset = self.builder.add(offset, self.builder.mul(index, stride))
        return self.tools.pointer_add(self.builder, array.data, offset)

    def _of_vector(self, pointer: Any, k: int) -> Any:
        """The address of vector ``k`` behind that of a number."""
        return self.builder.bitcast(
            self.builder.gep(pointer, [self.number(k * LANES)]), self.vector.as_pointer()
        )

    def load(self, pointer: Any, k: int) -> Any:
        """Vector ``k`` behind that address."""
        value = self.builder.load(self._of_vector(pointer, k))
        value.align = 4
        return value

    def _store(self, pointer: Any, k: int, value: Any) -> None:
        self.builder.store(value, self._of_vector(pointer, k)).align = 4

    def spread(self, pointer: Any) -> Any:
        """A vector that holds the number at that address everywhere."""
        nothing = self._ir.Constant(self.vector, self._ir.Undefined)
        first = self.builder.insert_element(nothing, self.builder.load(pointer), self.number(0))
        everywhere = self._ir.Constant(self._ir.VectorType(self._ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, nothing, everywhere)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c``, rounded once."""
        return self.builder.call(self._fma, [a, b, c])

    def add_to(self, pointer: Any, values: list[Any]) -> None:
        """Add vectors to those at that address."""
        for k, value in enumerate(values):
            self._store(pointer, k, self.builder.fadd(self.load(pointer, k), value))

    def add_signs_to(self, pointer: Any, values: list[Any]) -> None:
        """Add the signs of vectors to the vectors at that address.

        Two conditional additions are fewer instructions than to make the sign and to add it.
        """
        for k, value in enumerate(values):
            counts = self.load(pointer, k)
            for relation, vote in ((">", 1.0), ("<", -1.0)):
                holds = self.builder.fcmp_ordered(relation, value, self.constant(0.0))
                counts = self.builder.select(holds, self.builder.fadd(counts, self.constant(vote)), counts)
            self._store(pointer, k, counts)
