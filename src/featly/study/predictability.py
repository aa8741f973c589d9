r"""A yes or no by shuffled labels: do the columns predict the outcome at all?

.. math::

    p = \frac{1 + \#\{k : S(y^{(k)}) \ge S(y)\}}{1 + m}

S is one run of five folds of the whole protocol: the mean over all sizes of the area under the ROC
curve of the predictions of all rows (of the balanced rate, for more classes or a learner without
decision values). Labels are shuffled, folds drawn anew and everything repeated. After Besag and
Clifford it ends when five shuffles do as well, which on noise takes about 18; else after 99.

Ojala, M. and Garriga, G. C. (2010), Permutation tests for studying classifier performance, *Journal
of Machine Learning Research* 11, 1833-1863. Besag, J. and Clifford, P. (1991), Sequential Monte
Carlo p-values, *Biometrika* 78, 301-304.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.progress import TimedProgress, timed_progress_bar
from featly.basics.typing import FloatArray, IntArray
from featly.measures.nested_auc import mean_area
from featly.measures.shuffle_test import (
    MOST_SHUFFLES,
    ShuffleTest,
    is_reached,
    mean_rate,
    shuffle_test,
)
from featly.study.dataset import Dataset
from featly.study.evaluate import Sizes
from featly.study.nested import check_classes, read_pipelines
from featly.study.nested_estimate import NestedEstimate
from featly.study.nested_folds import count_arrangements, deal_folds, shuffle_labels
from featly.study.paths import Path, PathRunner, PathTask

__all__ = ["Predictability", "predictability"]

FOLDS, LABELS, DEAL = 5, 3, 4  # folds of a run, and parts of seeds
FEWEST_SHUFFLES = 19  # below it p cannot be 5%


@dataclass(frozen=True, eq=False)
class Predictability:
    """Result of :func:`predictability`.

    Attributes
    ----------
    answer : {"yes", "no", "not tested"}
    by : {"shuffles", "interval", None}
        Where the answer comes from.
    test : ShuffleTest or None
        None where no label was shuffled.
    statistic : str
        "auc" or "bcr": what was averaged over sizes.
    reason : str
        Why there is no better answer; may be empty.
    seconds : float

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import predictability
    >>> X, y = np.random.default_rng(0).normal(size=(40, 10)), np.tile([0, 1], 20)
    >>> result = predictability("f-test", (X, y), n_jobs=1)
    >>> result.answer, result.by, result.test.reached
    ('no', 'shuffles', 5)
    """

    answer: str
    by: str | None
    test: ShuffleTest | None
    statistic: str
    reason: str
    seconds: float

    @property
    def p_value(self) -> float | None:
        """The p-value of the shuffles, or None."""
        return None if self.test is None else self.test.p_value

    def __str__(self) -> str:
        if self.by == "shuffles" and self.test is not None:
            begin = (
                "With shuffled outcomes the same recipe does as well in "
                f"{self.test.reached} of {self.test.drawn} tries"
            )
            if self.answer == "yes":
                return f"{begin}, so the columns do predict."
            return f"{begin}: the columns are not shown to predict."
        if self.by == "interval":
            return (
                "The whole interval lies above guessing, so the columns do predict; shuffled "
                f"outcomes were not tried: {self.reason}."
            )
        return f"Whether the columns predict was not tested: {self.reason}."


def predictability(
    methods: Any,
    data: Any,
    *,
    sizes: Sizes = "powers",
    learner: Any = "linear-svm",
    balanced: bool = True,
    fill: bool = False,
    resample: Any = None,
    blocks: Any = None,
    most: int = MOST_SHUFFLES,
    time_limit: float | None = None,
    estimate: NestedEstimate | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool | TimedProgress = False,
) -> Predictability:
    """Test whether the columns predict, by running the whole protocol on shuffled labels.

    Parameters
    ----------
    methods, data, sizes, learner, balanced, fill, resample
        As for :func:`featly.study.nested`. Of several methods or learners all count.
    blocks : sequence of shape (n_rows,) or None, default=None
        Rows of one block, such as one site, swap labels with each other only. Groups of rows swap
        theirs as wholes, with groups of equal size.
    most : int, default=99
        Shuffles to draw at most.
    time_limit : float or None, default=None
        Seconds that all shuffles may take, were nothing else running. If 99 would take longer, 19
        are drawn; if those would, too, the answer is that of `estimate`, or there is none.
    estimate : NestedEstimate or None, default=None
        A balanced rate, whose lower limit answers where there is no time for shuffles.
    random_state : int, default=0
        Seed of the random numbers.
        It is used for shuffles and folds, and for methods and learners whose own is None.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Processes are used in place of threads.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts paths, and gets a third value: the seconds left, or None.

    Returns
    -------
    Predictability
        Ctrl-C ends the shuffles; those that were drawn count, from 19 on.

    References
    ----------
    Ojala, M. and Garriga, G. C. (2010), Permutation tests for studying classifier performance,
    *Journal of Machine Learning Research* 11, 1833-1863.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import predictability
    >>> X, y = np.random.default_rng(0).normal(size=(40, 10)), np.tile([0, 1], 20)
    >>> X[:, 3] += 2 * y
    >>> result = predictability("f-test", (X, y), most=19, n_jobs=1)
    >>> result.answer, result.p_value
    ('yes', 0.05)
    """
    Whole(at_least=FEWEST_SHUFFLES).check("most", most)
    if time_limit is not None and not time_limit > 0:
        raise ParameterError(f"time_limit={time_limit!r}: give seconds above 0, or None")
    study, dataset = read_pipelines(
        methods, data, sizes=sizes, learner=learner, balanced=balanced, fill=fill,
        resample=resample, random_state=random_state,
    )  # fmt: skip
    check_classes(dataset)
    block_of = None if blocks is None else np.asarray(blocks)
    if block_of is not None and block_of.shape != (dataset.n_rows,):
        raise DataError(f"blocks have shape {block_of.shape}: give one for each row")
    began = time.perf_counter()
    arrangements = count_arrangements(dataset.codes, groups=dataset.row_groups, blocks=block_of)
    if arrangements <= FEWEST_SHUFFLES:
        reason = f"there are only {arrangements} different ways to shuffle the labels"
        return _answer_without_test(estimate, dataset, reason, "auc", 0.0)
    with (
        timed_progress_bar(verbose, "shuffled labels", "paths") as progress,
        PathRunner(
            dataset, study.methods, study.protocol(), n_jobs=n_jobs, progress=progress
        ) as runner,
    ):
        shuffles = _Shuffles(runner, dataset, block_of, random_state)
        shuffles.expect(1)
        observed = shuffles.evaluate([0])[0]
        if shuffles.errors and np.isnan(observed):
            raise DataError(f"no fit has a prediction: {shuffles.errors[0]}")
        statistic = "auc" if shuffles.has_values else "bcr"
        if time_limit is not None:
            seconds = shuffles.seconds_each / runner.workers
            if seconds * most > time_limit:
                most = FEWEST_SHUFFLES
            if seconds * most > time_limit:
                reason = f"{most} shuffles would take about {seconds * most:,.0f} seconds"
                spent = time.perf_counter() - began
                return _answer_without_test(estimate, dataset, reason, statistic, spent)
        test = shuffle_test(observed, shuffles.draw(most), most=most)
    spent = time.perf_counter() - began
    if shuffles.was_stopped and test.drawn < FEWEST_SHUFFLES and test.reached < shuffles.stop:
        return _answer_without_test(estimate, dataset, "it was stopped", statistic, spent, test)
    answer = "yes" if test.is_yes else "no"
    reason = "stopped early" if shuffles.was_stopped else ""
    return Predictability(answer, "shuffles", test, statistic, reason, spent)


def _answer_without_test(
    estimate: NestedEstimate | None,
    dataset: Dataset,
    reason: str,
    statistic: str,
    seconds: float,
    test: ShuffleTest | None = None,
) -> Predictability:
    """Return yes where an interval lies above guessing; else it was not tested."""
    is_rate = estimate is not None and estimate.metric == "bcr" and estimate.has_interval
    if is_rate and estimate is not None and estimate.lower > 1 / len(dataset.classes):
        return Predictability("yes", "interval", test, statistic, reason, seconds)
    return Predictability("not tested", None, test, statistic, reason, seconds)


class _Shuffles:
    """Runs of the protocol on real labels (draw 0) and on shuffled ones (draws 1, 2, ...)."""

    stop = 5

    def __init__(
        self, runner: PathRunner, dataset: Dataset, blocks: Any, random_state: int
    ) -> None:
        self.runner, self.dataset, self.blocks = runner, dataset, blocks
        self.random_state = int(random_state)
        n_units = dataset.n_rows
        if dataset.row_groups is not None:
            n_units = len(np.unique(dataset.row_groups))
        self.folds = min(FOLDS, n_units)
        self.has_values = False
        self.was_stopped = False
        self.seconds_each = 0.0
        self.errors: list[str] = []
        self._values: list[float] = []

    def draw(self, most: int) -> Iterator[float]:
        """Yield the statistics of shuffled labels; Ctrl-C ends them.

        They are computed by as many at a time as are needed at least before the test can end, or
        as keep all workers busy.
        """
        drawn = reached = 0
        observed = self._values[0]
        self.expect(most)  # fewer where the answer is clear
        while drawn < most:
            wave = max(self.stop - reached, -(-self.runner.workers // self.folds))
            try:
                values = self.evaluate(range(drawn + 1, drawn + 1 + min(wave, most - drawn)))
            except KeyboardInterrupt:
                self.was_stopped = True
                return
            drawn += len(values)
            reached += sum(is_reached(value, observed) for value in values)
            yield from values

    def expect(self, n_draws: int) -> None:
        """Count the paths of so many draws for the time left."""
        self.runner.expect(dict.fromkeys(self.runner.methods, n_draws * self.folds))

    def evaluate(self, draws: Sequence[int]) -> list[float]:
        """Return the statistic of each expected draw."""
        began = time.process_time()
        plans = [self._plan(draw) for draw in draws]
        tasks = [task for _, tasks in plans for task in tasks]
        paths = self.runner.run(tasks)
        values = []
        for (codes, own_tasks), draw in zip(plans, draws, strict=True):
            own_paths = [next(paths) for _ in own_tasks]
            if draw == 0:
                spent = time.process_time() - began
                self.seconds_each = _seconds(own_paths, self.runner.has_workers, spent)
                self.errors = [error for path in own_paths for error in path.errors]
                known = (np.isfinite(path.values).any() for path in own_paths)
                self.has_values = len(self.dataset.classes) == 2 and any(known)
            values.append(self._statistic(codes, own_tasks, own_paths))
        for _ in paths:  # nothing is left, but the generator ends only when asked
            pass
        self._values += values
        return values

    def _plan(self, draw: int) -> tuple[IntArray, list[PathTask]]:
        """Return the labels of a draw, and its paths."""
        codes, groups = self.dataset.codes, self.dataset.row_groups
        if draw:
            codes = shuffle_labels(
                codes, self._generator(LABELS, draw), groups=groups, blocks=self.blocks
            )
        fold_of = deal_folds(codes, self.folds, self._generator(DEAL, draw), groups)
        tasks = [
            PathTask(
                method,
                np.flatnonzero(fold_of != fold),
                np.flatnonzero(fold_of == fold),
                codes if draw else None,
            )
            for fold in range(self.folds)
            for method in self.runner.methods
        ]
        return codes, tasks

    def _generator(self, part: int, draw: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.random_state, part, draw]))

    def _statistic(self, y: IntArray, tasks: Sequence[PathTask], paths: Sequence[Path]) -> float:
        """Return the mean over methods, learners and sizes; NaN where nothing was predicted."""
        means: list[float] = []
        for method in self.runner.methods:
            own = [(t, p) for t, p in zip(tasks, paths, strict=True) if t.method == method]
            # a method that chooses its size has one candidate, and a failed fit those of the grid
            n_sizes = min(path.codes.shape[1] for _, path in own)
            n_learners = own[0][1].codes.shape[0]
            shape = (n_learners * n_sizes, len(y))
            codes = np.full(shape, -1, np.int16)
            values: FloatArray = np.full(shape, np.nan)
            for task, path in own:
                codes[:, task.test] = path.codes[:, :n_sizes].reshape(-1, len(task.test))
                values[:, task.test] = path.values[:, :n_sizes].reshape(-1, len(task.test))
            if (codes < 0).all():
                continue
            if self.has_values:
                values[codes < 0] = np.nan
                means.append(mean_area(values, y, undefined=0.5))
            else:
                means.append(mean_rate(codes, y))
        return float(np.mean(means)) if means else float("nan")


def _seconds(paths: Sequence[Path], has_workers: bool, spent: float) -> float:
    """Return the seconds that paths took in all.

    Where this process did the work itself it is its own time, so that what else the machine does
    does not decide on the number of shuffles.
    """
    return sum(path.seconds for path in paths) if has_workers else spent
