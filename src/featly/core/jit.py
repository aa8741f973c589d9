"""The rules of compiled code, in one decorator.

Kernels are compiled once and cached on disk. numba notices an edited function but not an edited
helper in another file, so the cache folder is named after a hash of every file in ``core``: a
change anywhere starts an empty folder. Where no folder can be written, kernels compile in memory.

``FEATLY_CACHE_DIR`` names another place for the cache.
"""

import functools
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import config

__all__ = ["cache_folder", "kernel", "lane_kernel"]


@functools.cache
def cache_folder() -> str | None:
    """The folder of compiled kernels of exactly this code, or None if none can be written."""
    core = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(core.rglob("*.py")):
        if "cuda" in source.parts:  # nothing there is compiled by numba
            continue
        digest.update(source.relative_to(core).as_posix().encode())
        digest.update(source.read_bytes())
    folder = _cache_root() / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return None
    return str(folder)


def _cache_root() -> Path:
    if chosen := os.environ.get("FEATLY_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(base).expanduser() / "featly" / "kernels"


def kernel(function: Callable[..., Any], *, lanes: bool = False) -> Callable[..., Any]:
    """Compile a loop over arrays: no GIL, cached on disk, IEEE arithmetic.

    Never ``parallel`` (see :mod:`featly.core.parallel`) and never ``fastmath``: with either, two
    equal columns could get two different sums. The one exception is :func:`lane_kernel`.
    """
    folder = cache_folder()
    # numba chooses the place of a cache when the function is decorated, from a global setting
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = folder or ""  # type: ignore[attr-defined]
    try:
        return numba.njit(
            nogil=True,
            cache=folder is not None,
            error_model="numpy",
            fastmath={"reassoc"} if lanes else False,
        )(function)
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]


def lane_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose sums over contiguous memory may be split into lanes by the compiler.

    Three times faster than a sum in strict order. The split depends on the length alone, so equal
    columns still get equal bits, which a test asserts.
    """
    return kernel(function, lanes=True)
