"""A power of two made from the bits of its exponent, which numba does not offer by itself."""

from __future__ import annotations

import struct
from typing import Any


def power_of_two(bits: Any) -> float:
    """``2 ** (n - 127)`` where the lowest bits of the float32 ``bits`` are n, from 1 to 254.

    It works in Python and, after ``teach_numba``, in kernels.
    """
    (word,) = struct.unpack("I", struct.pack("f", bits))
    (power,) = struct.unpack("f", struct.pack("I", (word << 23) & 0xFFFFFFFF))
    return float(power)


def teach_numba() -> None:
    """Let kernels call ``power_of_two``."""
    from numba import types
    from numba.extending import intrinsic, overload

    def shifting(context: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = builder.bitcast(arguments[0], context.get_value_type(types.int32))
            shifted = builder.shl(word, context.get_constant(types.int32, 23))
            return builder.bitcast(shifted, context.get_value_type(types.float32))

        return types.float32(types.float32), generate

    shift: Any = intrinsic(shifting)
    # numba compares the signatures, annotations included.
    overload(power_of_two)(lambda bits: lambda bits: shift(bits))  # noqa: PLW0108
