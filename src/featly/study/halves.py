r"""Stability between complementary halves, beside the same index under shuffled labels.

.. math::

    \Phi(s) = \frac1R \sum_r \frac{|A_r \cap B_r| - s^2 / p}{s - s^2 / p}

Each split cuts the rows into two halves that share none, and the method ranks on either. So the
index says what fresh tables of half the size would give; splits that share most of their rows
agree on noise, too.

Meinshausen, N. and Bühlmann, P. (2010), Stability selection, *J. R. Statist. Soc. B* 72, 417-473.
Shah, R. D. and Samworth, R. J. (2013), Variable selection with error control: another look at
stability selection, *J. R. Statist. Soc. B* 75, 55-80.
"""

import time
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.params import Whole
from featly.basics.progress import TimedProgress, timed_progress_bar
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.measures.stability import half_index
from featly.study.dataset import Dataset
from featly.study.evaluate import Sizes, sizes_for
from featly.study.nested import read_pipelines
from featly.study.nested_folds import deal_folds, shuffle_labels
from featly.study.paths import Path, PathRunner, PathTask

if TYPE_CHECKING:
    import polars as pl

__all__ = ["HalfStability", "half_stability"]

SPLITS = 20
HALVES, LABELS = 5, 6  # parts of seeds
MOST_DEALS = 100  # attempts at halves with two classes each


@dataclass(frozen=True, eq=False, repr=False)
class HalfStability:
    """Agreement of complementary halves, for real and for shuffled labels.

    Attributes
    ----------
    sizes : dict of str to int array
        The numbers of columns of each method; its mean number, if it chooses it itself.
    values : dict of str to float array of shape (n_splits, n_sizes)
        The index of every split; NaN where a fit failed, and at all columns.
    null_values : dict of str to float array of shape (n_splits, n_sizes)
        The same with labels shuffled anew for each split.
    n_splits : int
    errors : tuple of str
        What failed.
    seconds : float

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import half_stability
    >>> X, y = np.random.default_rng(0).normal(size=(80, 30)), np.tile([0, 1], 40)
    >>> X[:, :2] += 2 * y[:, None]
    >>> stability = half_stability("f-test", (X, y), sizes=[2, 8], n_jobs=1)
    >>> value, null = stability.at("f-test", 2)
    >>> round(value, 2), abs(null) < 0.2
    (1.0, True)
    """

    sizes: dict[str, IntArray]
    values: dict[str, FloatArray]
    null_values: dict[str, FloatArray]
    n_splits: int
    errors: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        return f"HalfStability({', '.join(self.sizes)}; {self.n_splits} splits into halves)"

    def at(self, method: str, size: int | None = None) -> tuple[float, float]:
        """Return the index at a size, and that of shuffled labels.

        Parameters
        ----------
        method : str
        size : int or None, default=None
            One of the sizes; None for a method that chooses the number of columns itself.

        Returns
        -------
        value, null : float
        """
        sizes = self.sizes[method]
        if size is None and len(sizes) != 1:
            raise DataError(f"give one of the sizes of {method}: {sizes.tolist()}")
        if size is not None and size not in sizes and len(sizes) > 1:
            raise DataError(f"size {size} of {method} was not tried, there are {sizes.tolist()}")
        column = 0 if len(sizes) == 1 else int(np.flatnonzero(sizes == size)[0])
        return _mean(self.values[method][:, column]), _mean(self.null_values[method][:, column])

    def table(self) -> "pl.DataFrame":
        """Return all of it as a table.

        Returns
        -------
        polars.DataFrame
            method, size, stability, null, n (splits with a value).
        """
        import polars as pl

        rows = [
            {
                "method": method,
                "size": int(size),
                "stability": _mean(self.values[method][:, k]),
                "null": _mean(self.null_values[method][:, k]),
                "n": int((~np.isnan(self.values[method][:, k])).sum()),
            }
            for method, sizes in self.sizes.items()
            for k, size in enumerate(sizes)
        ]
        return pl.DataFrame(rows).with_columns(pl.col("stability", "null").fill_nan(None))


def half_stability(
    methods: Any,
    data: Any,
    *,
    splits: int = SPLITS,
    sizes: Sizes = "powers",
    fill: bool | str = False,
    resample: Any = None,
    blocks: Any = None,
    directory: str | FilePath | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool | TimedProgress = False,
) -> HalfStability:
    """Compare the columns that each method takes on two halves of the rows.

    Parameters
    ----------
    methods : str, estimator, list or dict
        As for :class:`featly.Study`; no selection at all is left out.
    data : (X, y), Dataset, path, or object with X and y
        One table. Its row groups stay together.
    splits : int, default=20
        How often the rows are cut into halves, stratified by class. There are four rankings a
        split: two of real and two of shuffled labels.
    sizes, fill, resample
        As for :func:`featly.study.nested`.
    blocks : sequence of shape (n_rows,) or None, default=None
        Rows of one block, such as one site, swap labels with each other only.
    directory : path or None, default=None
        As for :func:`featly.study.nested`.
    random_state : int, default=0
        Seed of the random numbers.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Processes are used in place of threads.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts rankings, and gets a third value: the seconds left, or None.

    Returns
    -------
    HalfStability

    References
    ----------
    Shah, R. D. and Samworth, R. J. (2013), Variable selection with error control: another look at
    stability selection, *J. R. Statist. Soc. B* 75, 55-80.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import half_stability
    >>> X, y = np.random.default_rng(0).normal(size=(60, 40)), np.tile([0, 1], 30)
    >>> table = half_stability("f-test", (X, y), sizes=[4], n_jobs=1).table()
    >>> table.columns, abs(table["stability"][0]) < 0.2
    (['method', 'size', 'stability', 'null', 'n'], True)
    """
    Whole(at_least=1).check("splits", splits)
    study, dataset = read_pipelines(
        methods, data, sizes=sizes, fill=fill, resample=resample, random_state=random_state
    )
    selectors = {name: method for name, method in study.methods.items() if method is not None}
    block_of = None if blocks is None else np.asarray(blocks)
    tasks = []
    for split in range(splits):
        for shuffled in (False, True):
            tasks += _tasks(dataset, selectors, split, shuffled, block_of, random_state)
    began = time.perf_counter()
    with (
        timed_progress_bar(verbose, "halves", "rankings") as progress,
        PathRunner(
            dataset,
            selectors,
            study.protocol(),
            directory=directory,
            n_jobs=n_jobs,
            progress=progress,
        ) as runner,
    ):
        runner.expect(dict.fromkeys(selectors, 4 * splits))
        paths = list(runner.run(tasks))
    grid = np.array(sizes_for(study.sizes, dataset.n_features))
    result_sizes: dict[str, IntArray] = {}
    values: dict[str, FloatArray] = {}
    null_values: dict[str, FloatArray] = {}
    for name in selectors:
        own = [path for task, path in zip(tasks, paths, strict=True) if task.method == name]
        is_subset = any(path.subset for path in own)
        lengths = [len(path.order) for path in own if path.order is not None]
        if is_subset:
            result_sizes[name] = np.array([round(float(np.mean(lengths)))])
        else:
            result_sizes[name] = grid
        wanted = np.array([0]) if is_subset else grid
        index = _index(own, wanted, dataset.n_features)
        values[name], null_values[name] = index[::2], index[1::2]
    errors = tuple(error for path in paths for error in path.errors)
    return HalfStability(
        result_sizes, values, null_values, splits, errors, time.perf_counter() - began
    )


def _tasks(
    dataset: Dataset,
    methods: dict[str, Any],
    split: int,
    shuffled: bool,
    blocks: AnyArray | None,
    random_state: int,
) -> list[PathTask]:
    """Return the rankings of one split: both halves of every method."""
    codes, groups = dataset.codes, dataset.row_groups
    if shuffled:
        generator = _generator(random_state, LABELS, split)
        codes = shuffle_labels(codes, generator, groups=groups, blocks=blocks)
    for deal in range(MOST_DEALS):
        generator = _generator(random_state, HALVES, split, int(shuffled), deal)
        half_of = deal_folds(codes, 2, generator, groups)
        halves = [np.flatnonzero(half_of == half) for half in (0, 1)]
        if all(len(np.unique(codes[rows])) == len(dataset.classes) for rows in halves):
            break
    else:
        missing = next(
            code
            for rows in halves
            for code in range(len(dataset.classes))
            if not (codes[rows] == code).any()
        )
        raise DataError(
            f"class {dataset.classes.tolist()[missing]!r} is absent from one half of the rows in "
            f"{MOST_DEALS} attempts: it has too few rows or row groups for halves. Leave it out"
        )
    nothing = np.empty(0, np.int64)
    return [
        PathTask(method, rows, nothing, codes if shuffled else None)
        for method in methods
        for rows in halves
    ]


def _index(paths: list[Path], sizes: IntArray, n_features: int) -> FloatArray:
    """Return the index of each pair of halves; NaN where one could not be ranked."""
    index = np.full((len(paths) // 2, len(sizes)), np.nan)
    for pair in range(len(index)):
        a, b = paths[2 * pair].order, paths[2 * pair + 1].order
        if a is not None and b is not None:
            index[pair] = half_index([a], [b], sizes, n_features)[0]
    return index


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _generator(*seed: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(list(seed)))
