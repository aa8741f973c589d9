"""Made tables: a few columns that tell something about the class, at random places in noise."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

PLANTED = 20
SHIFT = 0.8  # of a planted column of numbers, in one class, in standard deviations
TOLD = 0.15  # of the rows of a planted column of levels, where the level tells the class
CELLS = 1 << 22  # of a block
LAYOUTS = ("columns", "rows")


def made(
    n: int,
    p: int,
    table: str,
    n_classes: int = 2,
    *,
    layout: str = "columns",
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, its classes, and the columns that were planted.

    Planted column number j tells class j modulo the number of classes from the others. Given the
    class, columns are independent. Blocks have seeds of their own, so threads do not matter.
    """
    y, planted = classes_and_columns(n, p, n_classes, seed)
    lying = np.empty((p, n), np.float32 if table == "numbers" else np.uint8)
    fill = filler(y, planted, n_classes, table, seed)
    width = max(1, CELLS // n)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda low: fill(low, lying[low : low + width]), range(0, p, width)))
    return (lying.T if layout == "columns" else np.ascontiguousarray(lying.T)), y, planted


def classes_and_columns(n: int, p: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes of equal size in random order, and the places of the planted columns, sorted."""
    random = np.random.default_rng([seed, n, p])
    y = random.permutation(np.arange(n) % n_classes)
    return y, np.sort(random.choice(p, min(PLANTED, p), replace=False))


def filler(
    y: np.ndarray, planted: np.ndarray, n_classes: int, table: str, seed: int
) -> Callable[[int, np.ndarray], None]:
    """A function that fills a block of neighbouring columns, feature-major, from the first one."""

    def fill(low: int, block: np.ndarray) -> None:
        random = np.random.Generator(np.random.SFC64([seed, low, len(y)]))
        if table == "numbers":
            random.standard_normal(out=block, dtype=np.float32)
        else:
            block[...] = random.integers(0, 3, block.shape, np.uint8)
        first, last = np.searchsorted(planted, (low, low + len(block)))
        for number in range(first, last):
            column, here = block[planted[number] - low], y == number % n_classes
            if table == "numbers":
                column += np.float32(SHIFT) * here
            else:
                told = random.random(len(y)) < TOLD
                column[told] = 2 * here[told]

    return fill


def made_on_device(
    n: int, p: int, table: str, n_classes: int = 2, *, layout: str = "columns", seed: int = 0
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The same, by the random numbers of the device; the classes and the places are those above."""
    import cupy

    y, planted = classes_and_columns(n, p, n_classes, seed)
    random = cupy.random.default_rng(seed)
    lying = cupy.empty((p, n), np.float32 if table == "numbers" else np.uint8)
    width = max(1, 16 * CELLS // n)
    for low in range(0, p, width):
        block = lying[low : low + width]
        if table == "numbers":
            block[...] = random.standard_normal(block.shape, dtype=np.float32)
        else:
            numbers = random.random(block.shape, dtype=np.float32) * 3
            block[...] = cupy.minimum(numbers, 2.5).astype(np.uint8)  # a number may be 1 on some
    host = np.random.default_rng([seed, 1])
    for number, column in enumerate(planted.tolist()):
        here = y == number % n_classes
        if table == "numbers":
            lying[column] += cupy.asarray(np.float32(SHIFT) * here)
        else:
            told = cupy.asarray(host.random(n) < TOLD)
            levels = cupy.asarray((2 * here).astype(np.uint8))
            lying[column] = cupy.where(told, levels, lying[column])
    if layout == "rows":
        return cupy.ascontiguousarray(lying.T), y, planted
    return lying.T, y, planted


def accuracy(order: np.ndarray, planted: np.ndarray) -> float:
    """The share of planted columns among the first of an order, as many as were planted.

    A method that chooses fewer columns is judged by those.
    """
    first = np.asarray(order)[: len(planted)]
    return float(np.isin(first, planted).mean()) if len(first) else 0.0
