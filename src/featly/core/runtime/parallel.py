"""Blocks of work in a thread pool.

The boundaries of the blocks depend on the data alone, and results come back in the order of the
blocks, so the number of threads changes only the time. Kernels release the GIL.
"""

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import threadpoolctl

from featly.basics.params import Threads, check_value

__all__ = ["n_threads", "run_blocks", "single_threaded_blas", "split"]

N_JOBS = Threads()

POOL = "featly-blocks"  # the names of its threads begin with this

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads that `n_jobs` stands for.

    None and -1 are all the cores that this process may use (CPU affinity and container limits
    counted); -2 is one fewer. Inside a joblib worker, which has one core, None is 1.
    """
    import joblib

    check_value("n_jobs", n_jobs, N_JOBS, optional=True)
    if n_jobs is None:
        if joblib.parallel.mp.parent_process() is not None:
            return 1
        if (joblib.parallel.get_active_backend()[0].nesting_level or 0) > 0:
            return 1
        n_jobs = -1
    return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


@functools.cache
def _cores() -> int:
    import joblib

    return int(joblib.cpu_count())  # reads files of the system: too slow for every round


def split(count: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of at most `size` that cover ``range(count)``.

    Examples
    --------
    >>> split(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(low, min(low + size, count)) for low in range(0, count, size)]


def run_blocks(
    function: Callable[[Item], Result], blocks: Sequence[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return ``[function(block) for block in blocks]``, computed by threads.

    An exception, Ctrl-C included, cancels the blocks not yet begun and is raised here. Inside a
    block of other work, blocks run one after the other: threads that wait for each other would
    wait for ever.
    """
    # n_threads takes longer than a small block
    alone = (n_jobs is None and len(blocks) <= 1) or _within_pool()
    workers = 1 if alone else min(n_threads(n_jobs), len(blocks))
    if workers <= 1:
        return [function(block) for block in blocks]
    pool = _pool(workers, os.getpid())
    tasks = [pool.submit(function, block) for block in blocks]
    try:
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread for the length of a ``with``, nested and in several threads too.

    BLAS threads compete with those of the pool, and their number changes sums. The limit holds
    for the process, so the first ``with`` to begin sets it and the last to end lifts it. With
    threadpoolctl's own context, two threads that overlap can leave the limit set for ever.
    """
    global _depth, _originals
    with _lock:
        if _depth == 0:
            _originals = [(library, library.num_threads) for library in _blas_libraries()]
            for library, _ in _originals:
                _set_threads(library, 1)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for library, count in _originals:
                    _set_threads(library, count)


_lock = threading.Lock()
_depth = 0
_originals: list[tuple[Any, int]] = []


@functools.cache
def _blas_libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  the controller sees only the BLAS libraries loaded by now

    return list(threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, count: int) -> None:
    library.set_num_threads(count)
    # in OpenBLAS only the thread that set the number may set it again, until it is released
    release = getattr(type(library), "clear_controlling_thread", None)
    if release is not None:
        release()


def _within_pool() -> bool:
    return threading.current_thread().name.startswith(POOL)


@functools.lru_cache(maxsize=4)
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    # one pool a process: the threads of a parent do not exist in a forked child
    return ThreadPoolExecutor(workers, thread_name_prefix=POOL)
