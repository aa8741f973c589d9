"""A table on the host of which a GPU gets what it computes on."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from featly.basics.typing import AnyArray, ByteArray, FloatArray, IntArray
from featly.core.runtime.question import GPU
from featly.core.sources.base import Comoments, Moments, Source

__all__ = ["LentSource"]


class LentSource(Source):
    """Columns that stay on the host, and are copied to a GPU in the form that a question needs.

    What no GPU answers, the host does.

    Parameters
    ----------
    lender : Source
        The table on the host.
    """

    n_rows: int
    n_features: int
    kinds: ByteArray
    n_jobs: int | None
    memory: int | None
    lender: Source
    lies: ClassVar[str] = GPU

    def __init__(self, lender: Source) -> None:
        self.lender = lender
        self.n_rows, self.n_features = lender.n_rows, lender.n_features
        self.kinds, self.n_jobs, self.memory = lender.kinds, lender.n_jobs, lender.memory

    def n_at_once(self, n_jobs: int | None) -> int:
        """Return 1: a device computes one at a time."""
        return 1

    # ---- the storage ------------------------------------------------------------------------
    @property
    def n_atoms(self) -> int:
        """Number of atoms of all features."""
        return self.lender.n_atoms

    @property
    def atoms(self) -> IntArray:
        """The one-hot block of feature f is ``atoms[f]:atoms[f + 1]``."""
        return self.lender.atoms

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers, as they are stored."""
        return self.lender.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the dense numbers of this view."""
        return self.lender.nbytes

    def keys(self, make_key: Callable[..., str]) -> tuple[Any, ...]:
        """Return what tells this table from others."""
        return self.lender.keys(make_key)

    def has_infinite(self, n_jobs: int | None = None) -> bool:
        """Return whether a number is infinite."""
        return self.lender.has_infinite(n_jobs)

    def level_codes(self, features: IntArray) -> AnyArray:
        """Return the codes of categorical features."""
        return self.lender.level_codes(features)

    def with_jobs(self, n_jobs: int | None) -> "LentSource":
        """Return the same columns, read by so many threads."""
        return LentSource(self.lender.with_jobs(n_jobs))

    def view(self, features: IntArray) -> "LentSource":
        """Return only these features, in this order, without copying a value."""
        return LentSource(self.lender.view(features))

    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> "LentSource":
        """Return only these rows, copied on the host."""
        return LentSource(self.lender.take_rows(rows, n_jobs))

    def scaled(self, center: FloatArray, scale: FloatArray) -> "LentSource":
        """Return the columns centred and scaled when read."""
        return LentSource(self.lender.scaled(center, scale))

    def weighted(self, factor: FloatArray) -> "LentSource":
        """Return the columns with every feature multiplied by its factor when read."""
        return LentSource(self.lender.weighted(factor))

    def load(self, features: IntArray) -> FloatArray:
        """Load the atoms of some features, centred and scaled."""
        return self.lender.load(features)

    def in_memory(self) -> "LentSource":
        """Return the columns in the memory of the host, if the memory budget allows it."""
        return LentSource(self.lender.in_memory())

    def compact(self) -> "LentSource":
        """Return the columns in a layout that reads single features fast."""
        return LentSource(self.lender.compact())

    def each(self, function: Callable[[Any, Any], Any]) -> list[Any]:
        """Call ``function(part, places)`` for every block of columns, on the host."""
        return self.lender.each(function)

    # ---- answers ----------------------------------------------------------------------------
    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return moments, computed on the host."""
        return self.lender.moments(groups, n_groups)

    def comoments(self, h: FloatArray) -> Comoments:
        """Return moments together with those of h, computed on the host."""
        return self.lender.comoments(h)

    def level_counts(self) -> FloatArray:
        """Return the rows at each level of categorical features; 0 at the atoms of others."""
        return self.lender.level_counts()

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` for every feature, computed on the host."""
        return self.lender.forms(v)

    def gram(self, features: IntArray | None = None) -> FloatArray:
        """``sum_f K_f`` over some features, computed on the host."""
        return self.lender.gram(features)
