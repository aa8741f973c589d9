"""All pairs of columns against numpy.corrcoef and pandas, where p x p fits; and RedundancyFilter.

NumPy and pandas compute the same: the pairs of columns whose correlation reaches 0.9. They
hold a square of p x p on the way; notes give the memory that each takes beyond the table.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Row, best_of, peak_over
from featly import FCBF, RedundancyFilter, redundancy

THRESHOLD = 0.9
NEAREST = 10
LIMIT = "256MB"  # for what featly holds ready
# beyond, a square of float64 takes more than a small machine has
MOST_FOR_NUMPY, MOST_FOR_PANDAS = 20_000, 5_000


def pairs() -> Iterator[Row]:
    yield from _pairs(((200, 2_000), (200, 5_000), (200, 20_000), (200, 50_000)))


def _pairs(sizes: tuple[tuple[int, int], ...]) -> Iterator[Row]:
    for n, p in sizes:
        X, _ = table(n, p)
        problem = f"all pairs above {THRESHOLD}, {n:,} x {p:,}"
        redundancy(X[:, :100], threshold=THRESHOLD, device="cpu")

        def ours(X: Any = X) -> Any:
            return redundancy(X, threshold=THRESHOLD, device="cpu", memory_limit=LIMIT)

        yield from _measure(problem, "featly", ours, lambda result: len(result.pairs), ours=True)
        if p <= MOST_FOR_NUMPY:
            yield from _measure(problem, "numpy.corrcoef", lambda X=X: by_numpy(X), len)
        if p <= MOST_FOR_PANDAS:
            yield from _measure(problem, "pandas.DataFrame.corr", lambda X=X: by_pandas(X), len)
        problem = f"{NEAREST} nearest of each column, {n:,} x {p:,}"
        yield from _measure(
            problem,
            "featly",
            lambda X=X: redundancy(X, neighbours=NEAREST, device="cpu", memory_limit=LIMIT),
            lambda result: result.neighbours.size,
            ours=True,
        )
        if p <= MOST_FOR_NUMPY:
            yield from _measure(
                problem,
                "numpy.corrcoef and argpartition",
                lambda X=X: nearest_by_numpy(X),
                lambda result: result.size,
            )


def ranks_and_levels() -> Iterator[Row]:
    yield from _ranks_and_levels(200, 5_000)


def _ranks_and_levels(n: int, p: int) -> Iterator[Row]:
    X, _ = table(n, p)
    for measure in ("spearman", "information"):
        problem = f"all pairs above {THRESHOLD} by {measure}, {n:,} x {p:,}"
        redundancy(X[:, :100], threshold=THRESHOLD, measure=measure, device="cpu")

        def ours(X: Any = X, measure: str = measure) -> Any:
            return redundancy(X, threshold=THRESHOLD, measure=measure, device="cpu")

        yield from _measure(problem, "featly", ours, lambda result: len(result.pairs), ours=True)
        if measure == "spearman":
            ranks = pd.DataFrame(X).rank().to_numpy()
            yield from _measure(
                problem, "numpy.corrcoef of ready ranks", lambda ranks=ranks: by_numpy(ranks), len
            )


def filters() -> Iterator[Row]:
    yield from _filters(((200, 5_000), (200, 20_000)))


def _filters(sizes: tuple[tuple[int, int], ...]) -> Iterator[Row]:
    for n, p in sizes:
        X, y = table(n, p)
        problem = f"without what repeats better columns, {n:,} x {p:,}"
        method = RedundancyFilter(threshold=THRESHOLD, device="cpu", memory_limit=LIMIT)
        method.fit(X[:, :100], y)

        def describe_columns(result: Any) -> str:
            return f"{len(result.order_):,} columns stay"

        def ours(X: Any = X, y: Any = y, method: Any = method) -> Any:
            return method.fit(X, y)

        yield from _measure(problem, "RedundancyFilter", ours, describe_columns, ours=True)
        if p <= MOST_FOR_NUMPY:
            yield from _measure(
                problem,
                "numpy.corrcoef and a loop",
                lambda X=X, y=y: by_loop(X, y),
                lambda chosen: f"{len(chosen):,} columns stay",
            )
        problem = f"a few columns of those that say the same of the class, {n:,} x {p:,}"
        for other in (RedundancyFilter(rule="groups"), FCBF()):
            name = type(other).__name__
            other.fit(X[:, :100], y)
            yield from _measure(
                problem,
                f"{name}, groups (FAST)" if name == "RedundancyFilter" else name,
                lambda X=X, y=y, other=other: other.fit(X, y),
                describe_columns,
                ours=name == "RedundancyFilter",
            )


def _measure(
    problem: str,
    tool: str,
    call: Callable[[], Any],
    describe: Callable[[Any], Any],
    *,
    ours: bool = False,
) -> Iterator[Row]:
    """Measure the shortest time of a call, and its memory above that of the table."""
    _, memory, _ = peak_over(call)
    seconds, result = best_of(call, 3)
    summary = describe(result)
    words = f"{summary:,} found" if isinstance(summary, int) else summary
    yield Row(problem, tool, seconds, f"{words}; {memory / 1e6:,.0f} MB", ours=ours)


def table(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Make normal columns, of which one in ten repeats another one with a little noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    y = np.arange(n) % 2
    X[:, :50] += 0.6 * y[:, None]
    copies = p // 10
    X[:, p - copies :] = X[:, :copies] + 0.1 * X[:, p - copies :]
    return X, y


# ---- peers ---------------------------------------------------------------------------------------
def by_numpy(X: np.ndarray) -> np.ndarray:
    """Pairs above the threshold."""
    square = np.abs(np.corrcoef(X, rowvar=False))
    return np.argwhere(np.triu(square >= THRESHOLD, 1))


def nearest_by_numpy(X: np.ndarray) -> np.ndarray:
    """The nearest columns of each, in no order."""
    square = np.abs(np.corrcoef(X, rowvar=False))
    np.fill_diagonal(square, -1.0)
    return np.argpartition(-square, NEAREST, axis=1)[:, :NEAREST]


def by_pandas(X: np.ndarray) -> np.ndarray:
    """Pairs above the threshold."""
    square = pd.DataFrame(X).corr().abs().to_numpy()
    return np.argwhere(np.triu(square >= THRESHOLD, 1))


def by_loop(X: np.ndarray, y: np.ndarray) -> list[int]:
    """The usual loop: columns by F, without those that are near to a better one."""
    from sklearn.feature_selection import f_classif

    square = np.abs(np.corrcoef(X, rowvar=False))
    chosen: list[int] = []
    for column in np.argsort(-f_classif(X, y)[0], kind="stable").tolist():
        if not chosen or square[column, chosen].max() < THRESHOLD:
            chosen.append(column)
    return chosen


CASES = {
    "redundancy": pairs,
    "redundancy-measures": ranks_and_levels,
    "redundancy-filter": filters,
}
