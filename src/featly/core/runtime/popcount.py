"""The bits of a word, counted by one instruction; several words at once where there are lanes."""

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["ones"]


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """Return the number of ones of a uint64, for use in kernels."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate
