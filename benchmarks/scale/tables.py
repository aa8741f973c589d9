"""Made tables: a few columns that depend on the class, at random positions in noise."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

PLANTED = 20
SHIFT = 0.8  # of a planted column of numbers, in one class, in standard deviations
INFORMATIVE_SHARE = (
    0.15  # of the rows of a planted column of levels, where the level is that of the class
)
CELLS = 1 << 22  # of a block
LAYOUTS = ("columns", "rows")


def make_table(
    n: int,
    p: int,
    table: str,
    n_classes: int = 2,
    *,
    layout: str = "columns",
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make a table, its classes, and the columns that were planted.

    Planted column number j separates class j, modulo the number of classes, from the others. Given
    the class, columns are independent. Blocks have seeds of their own, so threads do not matter.
    """
    y, planted = classes_and_columns(n, p, n_classes, seed)
    matrix = np.empty((p, n), np.float32 if table == "numbers" else np.uint8)
    fill = filler(y, planted, n_classes, table, seed)
    width = max(1, CELLS // n)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda low: fill(low, matrix[low : low + width]), range(0, p, width)))
    return (matrix.T if layout == "columns" else np.ascontiguousarray(matrix.T)), y, planted


def classes_and_columns(n: int, p: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw classes of equal size in random order, and sorted positions of planted columns."""
    random = np.random.default_rng([seed, n, p])
    y = random.permutation(np.arange(n) % n_classes)
    return y, np.sort(random.choice(p, min(PLANTED, p), replace=False))


def filler(
    y: np.ndarray, planted: np.ndarray, n_classes: int, table: str, seed: int
) -> Callable[[int, np.ndarray], None]:
    """Return a function that fills a block of neighbouring columns, feature-major."""

    def fill(low: int, block: np.ndarray) -> None:
        random = np.random.Generator(np.random.SFC64([seed, low, len(y)]))
        if table == "numbers":
            random.standard_normal(out=block, dtype=np.float32)
        else:
            block[...] = random.integers(0, 3, block.shape, np.uint8)
        first, last = np.searchsorted(planted, (low, low + len(block)))
        for number in range(first, last):
            column, in_class = block[planted[number] - low], y == number % n_classes
            if table == "numbers":
                column += np.float32(SHIFT) * in_class
            else:
                informative = random.random(len(y)) < INFORMATIVE_SHARE
                column[informative] = 2 * in_class[informative]

    return fill


def make_table_on_device(
    n: int, p: int, table: str, n_classes: int = 2, *, layout: str = "columns", seed: int = 0
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Make a table by the random numbers of the device; classes and planted columns agree."""
    import cupy

    y, planted = classes_and_columns(n, p, n_classes, seed)
    random = cupy.random.default_rng(seed)
    matrix = cupy.empty((p, n), np.float32 if table == "numbers" else np.uint8)
    width = max(1, 16 * CELLS // n)
    for low in range(0, p, width):
        block = matrix[low : low + width]
        if table == "numbers":
            block[...] = random.standard_normal(block.shape, dtype=np.float32)
        else:
            numbers = random.random(block.shape, dtype=np.float32) * 3
            block[...] = cupy.minimum(numbers, 2.5).astype(np.uint8)  # a number may be 1 on some
    host = np.random.default_rng([seed, 1])
    for number, column in enumerate(planted.tolist()):
        in_class = y == number % n_classes
        if table == "numbers":
            matrix[column] += cupy.asarray(np.float32(SHIFT) * in_class)
        else:
            informative = cupy.asarray(host.random(n) < INFORMATIVE_SHARE)
            levels = cupy.asarray((2 * in_class).astype(np.uint8))
            matrix[column] = cupy.where(informative, levels, matrix[column])
    if layout == "rows":
        return cupy.ascontiguousarray(matrix.T), y, planted
    return matrix.T, y, planted


def accuracy(order: np.ndarray, planted: np.ndarray) -> float:
    """Return the share of planted columns among the first of an order, as many as planted.

    A method that chooses fewer columns is judged by those.
    """
    first = np.asarray(order)[: len(planted)]
    return float(np.isin(first, planted).mean()) if len(first) else 0.0
