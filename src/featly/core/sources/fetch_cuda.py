"""Copies of a table on the device, for what only the CPU does."""

from typing import Any

import numpy as np

from featly.basics.typing import IntArray
from featly.core.runtime.device_cuda import to_host, xp
from featly.core.sources import DenseSource, Source, StreamedSource, questions
from featly.core.sources.source_cuda import CudaSource

__all__ = ["fetch_to_host"]


@questions.fetch_to_host.answer(CudaSource)
def fetch_to_host(source: CudaSource, memory: int, *, integers: bool = False) -> Source:
    """Fetch the numbers of a source to the host: copied where they fit, else a block at a time.

    Parameters
    ----------
    source : CudaSource
        Neither centred nor scaled, all columns of its table.
    memory : int
        Bytes of the host that may be used.
    integers : bool, default=False
        Whether whole numbers stay such; else they become floats, as they do when they are read.
    """
    store = _DeviceStore(source, integers=integers)
    return StreamedSource(store, memory, source.n_jobs).in_memory()


class _DeviceStore:
    """A table on the device as :class:`featly.core.sources.ColumnStore`."""

    def __init__(self, source: CudaSource, *, integers: bool) -> None:
        assert source.place is None
        self.values, self.kinds = source.values, source.kinds
        self.n_rows, self.feature_major = source.n_rows, source.feature_major
        own_dtype = np.dtype(self.values.dtype)
        floats = (
            own_dtype
            if own_dtype.kind == "f"
            else np.dtype(f"f{4 if own_dtype.itemsize <= 2 else 8}")
        )
        self.dtype = own_dtype if integers else floats

    def read(self, low: int, high: int) -> DenseSource:
        """Columns ``low:high``."""
        return self._fetch_block(self.values[:, low:high])

    def take(self, features: IntArray) -> DenseSource:
        """Some columns."""
        return self._fetch_block(self.values[:, xp().asarray(features)])

    def _fetch_block(self, block: Any) -> DenseSource:
        values = to_host(block.T).T if self.feature_major else to_host(block)
        return DenseSource(values.astype(self.dtype, copy=False))

    def check(self) -> None:
        """Do nothing: nobody else writes to the table."""
