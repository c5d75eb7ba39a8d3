"""The number of bits that are set in a word: one instruction, which numba does not offer by itself."""

from __future__ import annotations

from typing import Any


def population_count(word: Any) -> int:
    """The number of bits that are set, in Python and, after ``teach_numba``, in kernels."""
    return int(word).bit_count()


def teach_numba() -> None:
    """Let kernels call ``population_count``."""
    from numba import types
    from numba.extending import intrinsic, overload

    def counting(context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            counted = builder.ctpop(arguments[0])
            return context.cast(builder, counted, signature.args[0], signature.return_type)

        return types.int64(word), generate

    count: Any = intrinsic(counting)
    # numba compares the signatures, annotations included.
    overload(population_count)(lambda word: lambda word: count(word))  # noqa: PLW0108
