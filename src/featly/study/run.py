"""The fits of a study that are left to do, in this process and in worker processes.

Fits run in this process until it is clear that they will take longer than workers take to start,
and while the workers start. Then the workers take over. Every process maps the same tables. Only
this process writes.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.errors import StudyError
from featly.basics.progress import TimedProgress, timed_progress_bar
from featly.basics.typing import AnyArray
from featly.core.runtime.parallel import n_threads
from featly.study.dataset import Dataset
from featly.study.evaluate import Protocol, evaluate, sizes_for
from featly.study.kept import KEPT_BYTES, KeptPredictions, PredictionWriter, bytes_per_row
from featly.study.results import Results, restrict_to_plan
from featly.study.shared_tables import end_with_parent, open_shared, share
from featly.study.splits import Split
from featly.study.store import (
    ALL_ROWS,
    SCRATCH,
    Fit,
    Journal,
    Key,
    read_compacted,
    remove_leftovers,
)

if TYPE_CHECKING:
    import polars as pl

    from featly.study.plan import Study

__all__ = ["run", "start_workers", "stop_workers"]

START_SECONDS = 4.0  # with less work than this left, workers would start too late to help
# This process decides about workers after so many seconds and so many fits of every kind (the
# first fit loads what later ones use), or after LONG_TRIAL_SECONDS, whatever the number of fits.
TRIAL_SECONDS = 0.4
TRIAL_FITS = 2
LONG_TRIAL_SECONDS = 3.0
PORTION_SECONDS = 0.2  # of work that is handed to a worker at once
PORTIONS_PER_WORKER = 3  # running and waiting
# parts of a plan that are the same in every run in a folder
FIXED_PARTS = (
    "splits", "sizes", "balanced", "learners", "selection", "cut_at_relevant", "fill", "resample",
    "random_state",
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A fit that is left to do.

    `order` is the ranking of an earlier fit, `error` says why that fit failed.
    """

    dataset: str
    method: str
    split: Split
    null_draw: int = 0
    order: AnyArray | None = None
    subset: bool = False
    error: str | None = None

    @property
    def key(self) -> Key:
        """Identity of the fit among all others."""
        return self.dataset, self.method, self.split.number, self.null_draw


def run(
    study: "Study", folder: Path, *, n_jobs: int | None, verbose: bool | TimedProgress
) -> Results:
    """Run the fits of a study that are left, compact the journal and return the results."""
    about, counts = study.describe(), _count_fits(study)
    about["keep_predictions"] = keeps_predictions(study, counts)
    finished = _read_if_finished(study, folder, about, counts)
    if finished is None:
        with Journal(folder) as journal:
            journal.sweep()
            # another run may have finished the study since the first look
            finished = _read_if_finished(study, folder, about, counts)
            if finished is None:
                with timed_progress_bar(verbose, study.title or "study", "fits") as progress:
                    merged_plan = resume(journal, folder, about)
                    with closing(_PredictionFile(study, folder, about)) as predictions:
                        workers = n_threads(n_jobs)
                        _Runner(study, journal, predictions, workers, progress, counts).run()
                results = Results(*journal.frames(), merged_plan, KeptPredictions.in_folder(folder))
                journal.compact(results.rows, results.rankings, merged_plan)
                return restrict_to_plan(results.rows, results.rankings, about, results.predictions)
    remove_leftovers(folder, finished[1])
    return restrict_to_plan(*finished[:2], about, KeptPredictions.in_folder(folder))


def resume(journal: Journal, folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Put earlier fits into the journal; return the plan of all fits of the folder."""
    finished, journal_plan = read_compacted(folder), journal.about()
    for earlier in (journal_plan, finished[2] if finished is not None else {}):
        if earlier:  # of one folder the predictions of all fits are kept, or of none
            about["keep_predictions"] = earlier.get("keep_predictions", False)
    if journal_plan:
        _check_same(journal_plan, about, folder)
        about = merge_plans(journal_plan, about)
    if finished is not None:
        about = merge_plans(finished[2], about)
        if not journal.done():
            journal.restore(finished[0], finished[1])
    journal.describe(about)
    return about


def keeps_predictions(study: "Study", counts: dict[str, int]) -> bool:
    """Return whether a study keeps predictions: as it says, or if they take KEPT_BYTES at most."""
    if study.keep_predictions != "auto":
        return bool(study.keep_predictions)
    fits = (study.null + 1) * len(study.methods) * len(study.learners)
    total = 0.0
    for name, data in study.datasets.items():
        n_rows = study.splits.total_test_rows(counts[name], data.n_rows)
        n_sizes = len(sizes_for(study.sizes, data.n_features))
        total += fits * n_sizes * n_rows * bytes_per_row(len(data.classes))
    return total <= KEPT_BYTES


def _count_fits(study: "Study") -> dict[str, int]:
    """Return the number of fits of a method to each dataset, without shuffled labels."""
    return {
        name: study.splits.count(
            data.X if study.splits.needs_table else None,
            data.codes,
            row_groups=data.row_groups,
            official=data.official,
        )
        + _needs_fit_on_all_rows(study)
        for name, data in study.datasets.items()
    }


def _needs_fit_on_all_rows(study: "Study") -> bool:
    """Return whether methods are also fitted to all rows."""
    return study.selection == "outside" or study.splits.needs_apparent


def _read_if_finished(
    study: "Study", folder: Path, about: dict[str, Any], counts: dict[str, int]
) -> "tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]] | None":
    """Return what the folder holds if all of the plan has been done, else None."""
    stored = read_compacted(folder)
    if stored is None:
        return None
    _check_same(stored[2], about, folder)
    about["keep_predictions"] = stored[2].get("keep_predictions", False)
    return stored if _is_complete(stored[1], study, counts) else None


def _is_complete(rankings: "pl.DataFrame", study: "Study", counts: dict[str, int]) -> bool:
    """Return whether `rankings` has all fits of a plan."""
    import polars as pl

    wanted = rankings.filter(pl.col("null_draw") <= study.null)
    done = {(d, m): n for d, m, n in wanted.group_by("dataset", "method").len().rows()}
    return all(
        done.get((name, method), 0) >= count * (study.null + 1)
        for name, count in counts.items()
        for method in study.methods
    )


def merge_plans(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Merge the plan of a folder with a later one: methods, datasets and shuffles of both."""
    return later | {
        "methods": earlier["methods"] | later["methods"],
        "datasets": earlier["datasets"] | later["datasets"],
        "null": max(earlier["null"], later["null"]),
    }


def _check_same(earlier: dict[str, Any], later: dict[str, Any], folder: Path) -> None:
    """Refuse to mix two studies in one folder; methods, datasets and shuffles may be added."""
    # of studies made before these were parameters
    earlier = {"balanced": False, "cut_at_relevant": False} | earlier
    for part in FIXED_PARTS:
        if earlier.get(part) != later[part]:
            raise StudyError(
                f"{str(folder)!r} holds a study with {part} = {earlier.get(part)}, this one has "
                f"{part} = {later[part]}: use another folder"
            )
    for part, singular in (("methods", "method"), ("datasets", "dataset")):
        for name, value in later[part].items():
            old = earlier[part].get(name)
            if old is None:
                continue
            if part == "datasets":
                old, value = (" ".join([d["hash"], *d.get("sizes", [])]) for d in (old, value))
            if old != value:
                raise StudyError(
                    f"{singular} {name!r} is not what it was when the study in {str(folder)!r} "
                    f"began ({old} then, {value} now): use another folder or another name"
                )


class _PredictionFile:
    """The file for the predictions of a study, or none."""

    def __init__(self, study: "Study", folder: Path, about: dict[str, Any]) -> None:
        self.n_classes = {name: len(data.classes) for name, data in study.datasets.items()}
        self.writer = PredictionWriter(folder) if about["keep_predictions"] else None

    def write(self, fit: Fit) -> None:
        """Write the predictions of a fit, if they are kept."""
        if self.writer is not None and fit.split != ALL_ROWS:
            self.writer.write(fit, self.n_classes[fit.dataset])

    def close(self) -> None:
        """Close the file."""
        if self.writer is not None:
            self.writer.close()


class _Runner:
    """The fits of one study that are left."""

    def __init__(
        self,
        study: "Study",
        journal: Journal,
        predictions: _PredictionFile,
        workers: int,
        progress: TimedProgress | None,
        counts: dict[str, int],
    ) -> None:
        self.study, self.journal, self.workers = study, journal, workers
        self.predictions = predictions
        self.done = journal.done()
        self.clock = Clock(progress)
        kinds = {(name, method): n for name, n in counts.items() for method in study.methods}
        for kind, count in kinds.items():
            self.clock.expect(kind, count * (study.null + 1))
        for name, method, _, draw in self.done:
            if (name, method) in kinds and draw <= study.null:
                self.clock.skip((name, method))

    def run(self) -> None:
        """Run all of them."""
        if _needs_fit_on_all_rows(self.study):
            self._do(self._tasks_on_all_rows())
        tasks = self._tasks_by_split()
        self._do(tasks if self.study.selection == "inside" else self._add_rankings(tasks))

    # ---- tasks ------------------------------------------------------------------------------
    def _tasks_on_all_rows(self) -> Iterator[Task]:
        """Yield the task of every method on all rows."""
        for name, data in self.study.datasets.items():
            rows = np.arange(data.n_rows)
            for method in self.study.methods:
                for draw in range(self.study.null + 1):
                    yield Task(name, method, Split(ALL_ROWS, rows, rows), draw)

    def _tasks_by_split(self) -> Iterator[Task]:
        """Yield the first split of every dataset, then the second: the time left is soon known."""
        study = self.study
        splits = {
            (name, draw): study.splits.split(
                data.X if study.splits.needs_table else None,
                data.codes if draw == 0 else data.shuffled(draw, study.random_state).codes,
                row_groups=data.row_groups,
                official=data.official,
            )
            for draw in range(study.null + 1)
            for name, data in study.datasets.items()
        }
        while splits:
            for (name, draw), source in list(splits.items()):
                split = next(source, None)
                if split is None:
                    del splits[name, draw]
                    continue
                for method in study.methods:
                    yield Task(name, method, split, draw)

    def _add_rankings(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield the tasks with the rankings that were made on all rows."""
        # read beforehand: joblib draws tasks in other threads, where the journal cannot be read
        draws = range(self.study.null + 1)
        rankings = {
            (name, method, draw): self.journal.ranking((name, method, ALL_ROWS, draw))
            for name in self.study.datasets
            for method in self.study.methods
            for draw in draws
        }
        return (_add_ranking(t, rankings[t.dataset, t.method, t.null_draw]) for t in tasks)

    # ---- running them -----------------------------------------------------------------------
    def _do(self, tasks: Iterable[Task]) -> None:
        tasks_left = (task for task in tasks if task.key not in self.done)
        if self._work_alone(tasks_left):
            return
        with self._share_tables() as (folders, protocol):
            from joblib import Parallel, delayed

            pool = Parallel(
                n_jobs=self.workers,
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch=f"{PORTIONS_PER_WORKER} * n_jobs",
            )
            common = folders, self.study.methods, protocol
            seed, parent = self.study.random_state, os.getpid()
            batches = pool(
                delayed(_work)(*common, portion, seed, parent)
                for portion in self._portions(tasks_left)
            )
            try:
                for fits in batches:
                    for fit in fits:
                        self._record_fit(fit)
            except BrokenProcessPool:
                raise StudyError(
                    "a process of the study died, perhaps because memory ran out: finished fits "
                    "are kept, run again to go on; n_jobs=1 needs the least memory"
                ) from None
            finally:
                batches.close()

    def _portions(self, tasks: Iterator[Task]) -> Iterator[list[Task]]:
        """Yield tasks that take a fifth of a second, so that handing them over costs little."""
        portion: list[Task] = []
        seconds = 0.0
        for task in tasks:
            portion.append(task)
            seconds += self.clock.mean((task.dataset, task.method))
            if seconds >= PORTION_SECONDS:
                yield portion
                portion, seconds = [], 0.0
        if portion:
            yield portion

    def _work_alone(self, tasks: Iterator[Task]) -> bool:
        """Run fits in this process until workers are ready; return whether all are done."""
        starting: threading.Thread | None = None
        protocol = self._protocol(one_thread=self.workers == 1)
        began = time.perf_counter()
        for task in tasks:
            data = self.study.datasets[task.dataset]
            if task.null_draw:
                data = data.shuffled(task.null_draw, self.study.random_state)
            self._record_fit(_evaluate_task(data, self.study.methods[task.method], protocol, task))
            if starting is None and self.workers > 1 and self._needs_workers(began):
                starting = threading.Thread(target=start_workers, args=(self.workers,), daemon=True)
                starting.start()
            if starting is not None and not starting.is_alive():
                return False
        if starting is not None:
            starting.join()
        return True

    def _needs_workers(self, began: float) -> bool:
        """Return whether enough work is left for workers to help."""
        spent = time.perf_counter() - began
        is_tried = spent > TRIAL_SECONDS and self.clock.fewest_done() >= TRIAL_FITS
        if not is_tried and spent <= LONG_TRIAL_SECONDS:
            return False
        seconds = self.clock.left()
        return seconds is None or seconds > START_SECONDS

    def _protocol(self, *, one_thread: bool) -> Protocol:
        keep = self.predictions.writer is not None
        return replace(self.study.protocol(one_thread=one_thread), keep_predictions=keep)

    def _record_fit(self, fit: Fit) -> None:
        self.predictions.write(fit)  # first: a fit in the journal is never without them
        self.journal.write(fit)
        spent = fit.seconds + sum(outcome.seconds for outcome in fit.outcomes)
        self.clock.finish((fit.dataset, fit.method), spent)

    @contextmanager
    def _share_tables(self) -> Iterator[tuple[dict[str, str], Protocol]]:
        """Write the tables where all processes can map them."""
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=self.journal.folder))
        self.clock.workers = self.workers
        try:
            folders = {
                name: share(data, scratch / str(number))
                for number, (name, data) in enumerate(self.study.datasets.items())
            }
            yield folders, self._protocol(one_thread=True)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def stop_workers() -> None:
    """End the worker processes, which else would wait some minutes for another study."""
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(loky, "_executor", None)
    if executor is not None:
        executor.terminate(kill_workers=True)


def _add_ranking(task: Task, ranking: tuple[AnyArray, bool] | None) -> Task:
    if ranking is None:
        return replace(task, error="no selection: it failed on all rows")
    return replace(task, order=ranking[0].astype(np.int64), subset=ranking[1])


def start_workers(workers: int) -> None:
    """Start the workers and let them import what fits need."""
    from joblib import Parallel, delayed

    Parallel(n_jobs=workers, batch_size=1)(delayed(_warm_up)(os.getpid()) for _ in range(workers))


def _warm_up(parent: int) -> None:
    end_with_parent(parent)
    time.sleep(0.1)  # or the first worker to start would run the calls meant for the others


def _work(
    folders: dict[str, str],
    methods: dict[str, Any],
    protocol: Protocol,
    tasks: list[Task],
    random_state: int,
    parent: int,
) -> list[Fit]:
    """Run some fits in a worker."""
    end_with_parent(parent)
    fits = []
    for task in tasks:
        data = open_shared(folders[task.dataset])
        if task.null_draw:
            data = data.shuffled(task.null_draw, random_state)
        fits.append(_evaluate_task(data, methods[task.method], protocol, task))
    return fits


def _evaluate_task(data: Dataset, method: Any, protocol: Protocol, task: Task) -> Fit:
    if task.error is not None:
        n_train, n_test = len(task.split.train), len(task.split.test)
        return Fit(*task.key, n_train, n_test, error=task.error)
    return evaluate(
        data,
        task.method,
        method,
        task.split,
        protocol,
        null_draw=task.null_draw,
        order=task.order,
        subset=task.subset,
    )


# ---- time left -----------------------------------------------------------------------------------
class Clock:
    """Number of fits done, and an estimate of the seconds that the others will take.

    A kind of fit is a method on a dataset. Kinds differ a thousandfold in cost, so the time left
    is the sum over kinds of the fits left times the mean seconds of those done. It is None until
    every kind has been run once. The first fit of a kind counts only until there is a second: it
    may have loaded or compiled something.

    Examples
    --------
    >>> from featly.study.run import Clock
    >>> clock = Clock()
    >>> clock.expect("quick", 10)
    >>> clock.expect("slow", 10)
    >>> clock.finish("quick", 0.1)
    >>> clock.left() is None
    True
    >>> clock.finish("slow", 5.0)
    >>> clock.finish("slow", 4.0)
    >>> round(clock.left(), 1)
    32.9
    """

    done: int
    total: int

    def __init__(self, progress: TimedProgress | None = None) -> None:
        self.progress = progress
        self.workers = 1
        self.done = self.total = 0
        self._expected: dict[Any, int] = defaultdict(int)
        self._seconds: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._n_done: dict[Any, int] = defaultdict(int)

    def expect(self, kind: Any, count: int) -> None:
        """Add a number of fits of a kind to those that are to be done."""
        self._expected[kind] += count
        self.total += count

    def skip(self, kind: Any) -> None:
        """Count a fit that was done in an earlier run."""
        self._expected[kind] -= 1
        self.done += 1

    def finish(self, kind: Any, seconds: float) -> None:
        """Count a fit of a kind that took so many seconds."""
        self._n_done[kind] += 1
        if self._n_done[kind] == 2:
            self._seconds[kind] = [0.0, 0.0]
        spent = self._seconds[kind]
        spent[0] += seconds
        spent[1] += 1
        self.skip(kind)
        if self.progress is not None:
            self.progress(self.done, self.total, self.left())

    def mean(self, kind: Any) -> float:
        """Return the mean seconds of a fit of a kind; infinite if none is done."""
        seconds, number = self._seconds[kind]
        return seconds / number if number else float("inf")

    def fewest_done(self) -> int:
        """Return the smallest number of fits done among the unfinished kinds."""
        return min(
            (self._n_done[kind] for kind, n in self._expected.items() if n), default=self.done
        )

    def left(self) -> float | None:
        """Return the seconds until all fits are done; None if they cannot be estimated yet."""
        total = 0.0
        for kind, count in self._expected.items():
            seconds, number = self._seconds[kind]
            if count and not number:
                return None
            total += count * seconds / max(number, 1)
        return total / self.workers
