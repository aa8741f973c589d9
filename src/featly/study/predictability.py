r"""A yes or no by shuffled labels: do the columns predict the outcome at all?

.. math::

    p = \frac{1 + \#\{k : S(y^{(k)}) \ge S(y)\}}{1 + m}

S is one run of five folds of the whole protocol: the mean over all sizes of the area under the ROC
curve of pairs of rows in one fold (of the balanced rate, for more classes or a learner without
decision values). Folds are dealt once, labels are shuffled within them, and everything is repeated.
After Besag and Clifford it ends when five shuffles do as well, which on noise takes about 18; else
after 99. A shuffle ends when the folds that are left cannot bring it to the observed value.

Methods that are solved step by step are solved less exactly here, with the real labels as with
shuffled ones (`_rough`).

Ojala, M. and Garriga, G. C. (2010), Permutation tests for studying classifier performance, *Journal
of Machine Learning Research* 11, 1833-1863. Besag, J. and Clifford, P. (1991), Sequential Monte
Carlo p-values, *Biometrika* 78, 301-304.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.progress import TimedProgress, timed_progress_bar
from featly.measures.shuffle_test import (
    MOST_SHUFFLES,
    STOP,
    ShuffleTest,
    is_reached,
    shuffle_test,
)
from featly.study.dataset import Dataset
from featly.study.evaluate import Sizes
from featly.study.nested import check_classes, read_pipelines
from featly.study.nested_estimate import NestedEstimate
from featly.study.paths import PathRunner
from featly.study.shuffle_runs import KIND, ShuffleDesign, ShuffleRun, ShuffleTask

__all__ = ["Predictability", "predictability"]

FOLDS = 5  # of a run
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
    fill: bool | str = False,
    resample: Any = None,
    blocks: Any = None,
    most: int = MOST_SHUFFLES,
    time_limit: float | None = None,
    estimate: NestedEstimate | None = None,
    directory: str | Path | None = None,
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
        theirs as wholes, with groups of equal size. Labels stay in their fold, unless that leaves
        fewer than 1,000 arrangements: then folds are dealt anew for each shuffle.
    most : int, default=99
        Shuffles to draw at most.
    time_limit : float or None, default=None
        Seconds that all shuffles may take, were nothing else running, and none ended early. If 99
        would take longer, 19 are drawn; if those would, too, the answer is that of `estimate`, or
        there is none.
    estimate : NestedEstimate or None, default=None
        A balanced rate, whose lower limit answers where there is no time for shuffles.
    directory : path or None, default=None
        As for :func:`featly.study.nested`.
    random_state : int, default=0
        Seed of the random numbers.
        It is used for shuffles and folds, and for methods and learners whose own is None.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Processes are used in place of threads.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts runs, and gets a third value: the seconds left, or None.

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
    n_units = dataset.n_rows
    if dataset.row_groups is not None:
        n_units = len(np.unique(dataset.row_groups))
    design = ShuffleDesign(dataset, min(FOLDS, n_units), block_of, int(study.random_state))
    if design.n_arrangements <= FEWEST_SHUFFLES:
        reason = f"there are only {design.n_arrangements} different ways to shuffle the labels"
        return _answer_without_test(estimate, dataset, reason, "auc", 0.0)
    methods = {name: _solve_roughly(method) for name, method in study.methods.items()}
    with (
        timed_progress_bar(verbose, "shuffled labels", "runs") as progress,
        PathRunner(
            dataset,
            methods,
            study.protocol(),
            n_parts=design.n_folds if design.keeps_folds else 0,
            directory=directory,
            n_jobs=n_jobs,
            progress=progress,
        ) as runner,
    ):
        shuffles = _Shuffles(runner, design)
        observed = shuffles.observe()
        if observed.errors and np.isnan(observed.value):
            raise DataError(f"no fit has a prediction: {observed.errors[0]}")
        statistic = shuffles.statistic
        if time_limit is not None:
            seconds = shuffles.estimate_seconds(time_limit)
            if seconds * most > time_limit:
                most = FEWEST_SHUFFLES
            if seconds * most > time_limit:
                reason = f"{most} shuffles would take about {seconds * most:,.0f} seconds"
                spent = time.perf_counter() - began
                return _answer_without_test(estimate, dataset, reason, statistic, spent)
        test = shuffle_test(observed.value, shuffles.draw(most), most=most)
    spent = time.perf_counter() - began
    if shuffles.was_stopped and test.drawn < FEWEST_SHUFFLES and test.reached < STOP:
        return _answer_without_test(estimate, dataset, "it was stopped", statistic, spent, test)
    answer = "yes" if test.is_yes else "no"
    reason = "stopped early" if shuffles.was_stopped else ""
    return Predictability(answer, "shuffles", test, statistic, reason, spent)


def _solve_roughly(method: Any) -> Any:
    """Return a copy of a method that is solved less exactly, where it can be."""
    rough = getattr(method, "_rough", None)
    if not rough:
        return method
    parameters = method.get_params(deep=False)
    return clone(method).set_params(
        **{name: max(value, parameters[name]) for name, value in rough.items()}
    )


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
    """Runs of the protocol on real labels (run 0) and on shuffled ones (runs 1, 2, ...)."""

    def __init__(self, runner: PathRunner, design: ShuffleDesign) -> None:
        self.runner, self.design = runner, design
        self.statistic = "auc"
        self.was_stopped = False
        self._observed = float("nan")
        self._drawn: list[ShuffleRun] = []  # ahead of the test

    def observe(self) -> ShuffleRun:
        """Do the run with the real labels."""
        self.runner.expect({KIND: 1})
        (run,) = self._do([0])
        is_area = run.has_values and len(self.runner.dataset.classes) == 2
        self.statistic = "auc" if is_area else "bcr"
        self._observed, self._first = run.value, run
        return run

    def estimate_seconds(self, limit: float) -> float:
        """Return the seconds that a shuffle takes when all workers are busy.

        By a shuffle that is drawn for it: the run with the real labels has also read the table.
        No path of it is counted as saved, lest the time, and with it the number of shuffles, depend
        on how well the columns predict.
        """
        run, n_paths = self._first, self.design.n_folds * len(self.runner.methods)
        if _seconds(run) * n_paths < limit * self.runner.workers:
            self.runner.expect({KIND: 1})
            self._drawn = self._do([1])
            run = self._drawn[0]
        return _seconds(run) * n_paths / self.runner.workers

    def draw(self, most: int) -> Iterator[float]:
        """Yield the statistics of shuffled labels; Ctrl-C ends them.

        They are computed by as many at a time as are needed at least before the test can end, by
        more when an early end is unlikely, and so that all workers are busy.
        """
        drawn = reached = 0
        self.runner.expect({KIND: most - len(self._drawn)})  # fewer where the answer is clear
        while drawn < most:
            runs = self._drawn
            if drawn or not runs:
                wave = max(STOP - reached, drawn // 2)
                wave = -(-wave // self.runner.workers) * self.runner.workers
                try:
                    runs = self._do(range(drawn + 1, drawn + 1 + min(wave, most - drawn)))
                except KeyboardInterrupt:
                    self.was_stopped = True
                    return
            drawn += len(runs)
            reached += sum(is_reached(run.value, self._observed) for run in runs)
            yield from (run.value for run in runs)

    def _do(self, numbers: Sequence[int]) -> list[ShuffleRun]:
        """Do some expected runs."""
        draws = [self.design.draw(number) for number in numbers]
        # parts that are too large to be held are made once for all draws of a task
        share = 1 if self.runner.held.holds_all else -(-len(draws) // self.runner.workers)
        is_first = draws[0].number == 0
        tasks = [
            ShuffleTask(
                draws[low : low + share],
                tuple(self.runner.methods),
                self.design.n_folds,
                self.design.keeps_folds,
                None if is_first else self.statistic,
                None if is_first else self._observed,
            )
            for low in range(0, len(draws), share)
        ]
        return [run for runs in self.runner.run(tasks) for run in runs]


def _seconds(run: ShuffleRun) -> float:
    """Return the mean seconds of a path of a run."""
    return run.seconds / max(1, run.n_paths)
