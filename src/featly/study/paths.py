"""Paths: one ranking, the models of all sizes, and their predictions of rows not trained on.

A path is what inference by rows is made of: nested cross-validation, tests by shuffled labels and
the stability of halves fit nothing else. All that learns from labels (ranking, filling, resampling,
tuning, the learner) sees the training rows alone. Paths run in this process until it is clear that
worker processes would help; the result is the same.
"""

import functools
import os
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any, Generic, Self, TypeVar
from typing import Protocol as Protocol_

import numpy as np

from featly.basics.errors import StudyError
from featly.basics.progress import TimedProgress
from featly.basics.typing import AnyArray, IntArray
from featly.core.runtime.parallel import n_threads
from featly.study.dataset import Dataset
from featly.study.evaluate import (
    Parts,
    Protocol,
    copy_unfitted,
    rank_columns,
    sizes_for,
    warning_texts,
)
from featly.study.path_journal import PathJournal, pack, unpack
from featly.study.predict import columns_of, error_text, predict_sizes
from featly.study.run import (
    LONG_TRIAL_SECONDS,
    PORTION_SECONDS,
    PORTIONS_PER_WORKER,
    START_SECONDS,
    TRIAL_FITS,
    TRIAL_SECONDS,
    Clock,
    start_workers,
)
from featly.study.shared_tables import end_with_parent, open_shared, share
from featly.study.splits import Split
from featly.study.training_part import HeldParts, TrainingPart

__all__ = ["Path", "PathRunner", "PathTask", "Task", "fit_path"]

Outcome = TypeVar("Outcome")

NO_CLASS = -1  # the code of a row that was not predicted


@dataclass(frozen=True, eq=False)
class PathTask:
    """A path that is to be fitted.

    Attributes
    ----------
    method : str
    train, test : int64 arrays
        Rows to train on, and rows to predict; none to predict is a ranking alone.
    codes : int64 array or None
        The class of every row of the table, where labels are shuffled.
    """

    method: str
    train: IntArray
    test: IntArray
    codes: IntArray | None = None

    @property
    def kind(self) -> str:
        """The method, by which the time left is told."""
        return self.method

    def run(
        self, dataset: Dataset, methods: Mapping[str, Any], protocol: Protocol, held: HeldParts
    ) -> "Path":
        """Fit the path."""
        return fit_path(dataset, methods[self.method], protocol, self)

    def times(self, path: "Path") -> list[float]:
        """Return the seconds of everything of this kind that was done."""
        return [path.seconds]

    def key(self, journal: PathJournal) -> str:
        """Return the key of the outcome in a journal."""
        return journal.key(("path", self.train, self.test, self.codes), (self.method,))

    def pack(self, path: "Path") -> bytes:
        """Return the outcome as bytes."""
        arrays = {"codes": path.codes, "values": path.values}
        if path.order is not None:
            arrays["order"] = path.order
        names = ("subset", "seconds", "errors", "notes")
        return pack(arrays, {name: getattr(path, name) for name in names})

    def unpack(self, kept: bytes) -> "Path":
        """Return the outcome that was kept."""
        arrays, meta = unpack(kept)
        texts = {name: tuple(meta.pop(name)) for name in ("errors", "notes")}
        parts: dict[str, Any] = {"order": None} | arrays | meta | texts
        return Path(**parts)


@dataclass(frozen=True, eq=False)
class Path:
    """Predictions of some rows at every size, by models of other rows.

    Attributes
    ----------
    codes : int array of shape (n_learners, n_sizes, n_rows)
        The predicted class, -1 where the fit failed.
    values : float array of shape (n_learners, n_sizes, n_rows)
        Of two classes how far a row is on the side of the second one: a decision value or the
        log-odds of a probability. NaN where there is none.
    order : int array or None
        The ranking, best first, up to the largest size; None where it failed.
    subset : bool
        Whether the method chose the number of columns itself, so that there is one size.
    seconds : float
    errors, notes : tuples of str
        What failed, and what was warned of.
    """

    codes: AnyArray
    values: AnyArray
    order: AnyArray | None
    subset: bool
    seconds: float
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def fit_path(
    dataset: Dataset,
    method: Any,
    protocol: Protocol,
    task: PathTask,
    part: TrainingPart | None = None,
) -> Path:
    """Rank on the training rows, train at every size, predict the test rows.

    Parameters
    ----------
    dataset : Dataset
    method : estimator or None
        None takes all columns.
    protocol : Protocol
        Learners, sizes, filling and resampling.
    task : PathTask
    part : TrainingPart or None, default=None
        The same rows, if they were taken and read before.

    Returns
    -------
    Path
        What fails is not predicted, and its error is text.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import FTest
    >>> from featly.learners import LinearSVM
    >>> from featly.study import Dataset
    >>> from featly.study.evaluate import Protocol
    >>> from featly.study.paths import PathTask, fit_path
    >>> X, y = np.random.default_rng(0).normal(size=(40, 6)), np.repeat([0, 1], 20)
    >>> X[:, 2] += 4 * y
    >>> task = PathTask("f-test", np.arange(0, 40, 2), np.arange(1, 40, 2))
    >>> path = fit_path(Dataset.of(X, y), FTest(), Protocol({"svm": LinearSVM()}), task)
    >>> path.codes.shape, int(path.order[0])
    ((1, 3, 20), 2)
    """
    began = time.perf_counter()
    if task.codes is not None:
        dataset = replace(dataset, codes=task.codes, y=dataset.classes[task.codes])
    sizes = sizes_for(protocol.sizes, dataset.n_features)
    n_rows, errors = len(task.test), []
    order, subset = None, False
    codes = np.full((len(protocol.learners), len(sizes), n_rows), NO_CLASS, np.int16)
    values = np.full(codes.shape, np.nan, np.float32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if part is None:
                parts = Parts.from_split(dataset, Split(0, task.train, task.test), protocol)
                order, subset = rank_columns(parts, method, dataset, protocol)
            else:
                parts = part.relabel(dataset)
                order, subset = part.rank(task.method, method, parts, dataset)
        except Exception as problem:  # of any kind: the other paths go on
            errors.append(error_text(problem))
        if order is not None:
            if subset:
                sizes = [len(order)]
                codes, values = codes[:, :1], values[:, :1]
            order = order[: sizes[-1]]
            for k, learner in enumerate(protocol.learners.values() if n_rows else ()):
                codes[k], values[k], failures = _predict(learner, parts, order, sizes, protocol)
                errors += failures
    seconds = time.perf_counter() - began
    notes = tuple(warning_texts(caught))
    return Path(codes, values, order, subset, seconds, tuple(errors), notes)


def _predict(
    learner: Any, parts: Parts, order: AnyArray, sizes: Sequence[int], protocol: Protocol
) -> tuple[AnyArray, AnyArray, list[str]]:
    """Return predicted classes and decision values of the test rows at every size, and errors."""
    path = predict_sizes(
        copy_unfitted(learner, protocol),
        columns_of(parts.X, order),
        parts.y,
        columns_of(parts.X_test, order),
        sizes,
        parts.classes,
    )
    codes = np.full((len(sizes), len(parts.codes_test)), NO_CLASS, np.int16)
    values = np.full(codes.shape, np.nan, np.float32)
    for k, predictions in enumerate(path):
        if predictions.codes is not None:
            codes[k] = predictions.codes
            if predictions.scores is not None and predictions.scores.ndim == 1:
                values[k] = predictions.scores
    errors = [predictions.error for predictions in path if predictions.error is not None]
    return codes, values, list(dict.fromkeys(errors))


class Task(Protocol_, Generic[Outcome]):
    """Work of a :class:`PathRunner`: a path, or runs of several."""

    @property
    def kind(self) -> str:
        """For the time left: tasks of a kind take about as long."""

    def run(
        self, dataset: Dataset, methods: Mapping[str, Any], protocol: Protocol, held: HeldParts
    ) -> Outcome:
        """Do it, in any process."""

    def times(self, outcome: Outcome) -> list[float]:
        """Return the seconds of everything of this kind that was done."""

    def key(self, journal: PathJournal) -> str:
        """Return the key of the outcome in a journal: a hash of all that it depends on."""

    def pack(self, outcome: Outcome) -> bytes:
        """Return the outcome as bytes."""

    def unpack(self, kept: bytes) -> Outcome:
        """Return the outcome that was kept."""


class PathRunner:
    """Fit many paths of one table, in this process or in several.

    Parameters
    ----------
    dataset : Dataset
    methods : mapping of name to estimator
    protocol : Protocol
    n_parts : int, default=0
        The number of training parts that are held for tasks that share them.
    directory : path or None, default=None
        Folder for a journal of all outcomes: what it holds is not done again.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    progress : callable or None
        Called with (done, total, seconds left).
    """

    dataset: Dataset
    methods: dict[str, Any]
    protocol: Protocol
    clock: Clock

    def __init__(
        self,
        dataset: Dataset,
        methods: Mapping[str, Any],
        protocol: Protocol,
        *,
        n_parts: int = 0,
        directory: str | FilePath | None = None,
        n_jobs: int | None = None,
        progress: TimedProgress | None = None,
    ) -> None:
        self.dataset, self.methods, self.protocol = dataset, dict(methods), protocol
        self.held: HeldParts = HeldParts(dataset, n_parts)
        self._journal = (
            None if directory is None else PathJournal(directory, dataset, self.methods, protocol)
        )
        self.workers: int = n_threads(n_jobs)
        self.clock = Clock(progress)
        self._starting: threading.Thread | None = None
        self._scratch: FilePath | None = None
        self._began: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._starting is not None:
            self._starting.join()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    @property
    def has_workers(self) -> bool:
        """Return whether other processes have fitted any path."""
        return self._scratch is not None

    def expect(self, counts: Mapping[str, int]) -> None:
        """Count the tasks of each method for the time left, before they are run."""
        for method, count in counts.items():
            self.clock.expect(method, count)

    def run(self, tasks: Sequence[Task[Outcome]]) -> Iterator[Outcome]:
        """Do expected tasks that are not in the journal; yield all outcomes in the same order."""
        journal = self._journal
        if journal is None:
            yield from self._run(tasks)
            return
        keys = [task.key(journal) for task in tasks]
        is_done = [journal.has(key) for key in keys]
        fresh = self._run([task for task, done in zip(tasks, is_done, strict=True) if not done])
        for task, key, done in zip(tasks, keys, is_done, strict=True):
            kept = journal.read(key) if done else None
            if kept is None:
                outcome = next(fresh)
            else:
                outcome = task.unpack(kept)
                for _ in task.times(outcome):
                    self.clock.skip(task.kind)
            yield outcome
        for _ in fresh:  # nothing is left, but the generator ends only when asked
            pass

    def _run(self, tasks: Sequence[Task[Outcome]]) -> Iterator[Outcome]:
        """Do tasks; yield their outcomes in the same order."""
        self._began = time.perf_counter() if self._began is None else self._began
        protocol = replace(self.protocol, one_thread=self.workers == 1)
        position = 0
        while position < len(tasks):
            if self._is_ready():
                yield from self._run_in_workers(tasks[position:])
                return
            task = tasks[position]
            yield self._count(task, task.run(self.dataset, self.methods, protocol, self.held))
            position += 1

    def _count(self, task: Task[Outcome], outcome: Outcome) -> Outcome:
        if self._journal is not None:  # before Ctrl-C can come from the progress
            self._journal.write(task.key(self._journal), task.pack(outcome))
        for seconds in task.times(outcome):
            self.clock.finish(task.kind, seconds)
        return outcome

    def _is_ready(self) -> bool:
        """Return whether workers are at hand; start them where they would help."""
        if self.workers == 1 or self._began is None:
            return False
        if self._starting is None:
            spent = time.perf_counter() - self._began
            is_tried = spent > TRIAL_SECONDS and self.clock.fewest_done() >= TRIAL_FITS
            left = self.clock.left()
            if not (is_tried or spent > LONG_TRIAL_SECONDS) or (
                left is not None and left <= START_SECONDS
            ):
                return False
            self._starting = threading.Thread(
                target=start_workers, args=(self.workers,), daemon=True
            )
            self._starting.start()
        return not self._starting.is_alive()

    def _run_in_workers(self, tasks: Sequence[Task[Outcome]]) -> Iterator[Outcome]:
        from joblib import Parallel, delayed

        if self._scratch is None:
            self._scratch = FilePath(tempfile.mkdtemp(prefix="featly-paths-"))
            share(self.dataset, self._scratch / "table")
        self.clock.workers = self.workers
        portions = self._portions(tasks)
        common = str((self._scratch / "table").absolute()), self.held.n_parts, self.methods
        protocol = replace(self.protocol, one_thread=True)
        pool = Parallel(
            n_jobs=self.workers,
            return_as="generator",
            batch_size=1,
            pre_dispatch=f"{PORTIONS_PER_WORKER} * n_jobs",
        )
        batches = pool(
            delayed(_work)(*common, protocol, portion, os.getpid()) for portion in portions
        )
        try:
            for portion, outcomes in zip(portions, batches, strict=True):
                for task, outcome in zip(portion, outcomes, strict=True):
                    yield self._count(task, outcome)
        except BrokenProcessPool:
            raise StudyError(
                "a process died, perhaps because memory ran out: n_jobs=1 needs the least memory"
            ) from None
        finally:
            with warnings.catch_warnings():  # joblib warns of results that are not taken
                warnings.simplefilter("ignore")
                batches.close()

    def _portions(self, tasks: Sequence[Task[Outcome]]) -> list[list[Task[Outcome]]]:
        """Return tasks by portions that take a fifth of a second, and one for each worker."""
        portions: list[list[Task[Outcome]]] = []
        seconds, most = 0.0, max(1, len(tasks) // (2 * self.workers))
        for task in tasks:
            if not portions or seconds >= PORTION_SECONDS or len(portions[-1]) >= most:
                portions.append([])
                seconds = 0.0
            portions[-1].append(task)
            seconds += self.clock.mean(task.kind)
        return portions


def _work(
    folder: str,
    n_parts: int,
    methods: dict[str, Any],
    protocol: Protocol,
    tasks: Sequence[Task[Outcome]],
    parent: int,
) -> list[Outcome]:
    """Do some tasks in a worker."""
    end_with_parent(parent)
    dataset, held = open_shared(folder), _held_parts(folder, n_parts)
    return [task.run(dataset, methods, protocol, held) for task in tasks]


@functools.lru_cache(maxsize=1)
def _held_parts(folder: str, n_parts: int) -> HeldParts:
    """Return the training parts that this process holds of a table."""
    return HeldParts(open_shared(folder), n_parts)
