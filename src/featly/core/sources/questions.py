"""Questions that every source answers by a method of its own, so that a method can name them."""

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.question import question
from featly.core.sources.base import Comoments, Moments, Source

__all__ = ["comoments", "fetch_to_host", "forms", "gram", "moments", "single_columns"]


@question(gpu=True)
def moments(source: Source, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
    """Return count, mean and squared deviations of continuous and ordinal features by group."""
    return source.moments(groups, n_groups)


@question
def comoments(source: Source, h: FloatArray) -> Comoments:
    """Return moments of continuous and ordinal features together with those of h."""
    return source.comoments(h)


@question(gpu=True)
def forms(source: Source, v: FloatArray) -> FloatArray:
    """Return ``v' K_f v`` for every feature f, where K_f is its linear kernel."""
    return source.forms(v)


@question(gpu=True)
def gram(source: Source, features: IntArray | None = None) -> FloatArray:
    """Return ``sum_f K_f`` over some features."""
    return source.gram(features)


@question(gpu="featly.core.sources.fetch_cuda")
def fetch_to_host(source: Source, memory: int, *, integers: bool = False) -> Source:
    """Return a source on the host; one that is there already as it is.

    Parameters
    ----------
    source : Source
    memory : int
        Bytes of the host that may be used.
    integers : bool, default=False
        Whether whole numbers stay such; else they become floats, as they do when they are read.
    """
    return source


@question(disk=False)
def single_columns(source: Source, features: IntArray) -> FloatArray:
    """Load any columns at any time, which only a table in memory gives quickly."""
    return source.load(features)
