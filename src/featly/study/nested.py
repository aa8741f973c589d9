"""Nested cross-validation: how well the whole recipe predicts, the choice of columns included.

For every fold of every repeat, the other rows are cut into inner folds. Models of these choose the
pipeline and the number of columns by the rule that the final model uses; models of all the other
rows predict the fold. So no row has a say in the choice that is judged on it.

Varma, S. and Simon, R. (2006), Bias in error estimation when using cross-validation for model
selection, *BMC Bioinformatics* 7, 91.

Quick mode is one repeat: a fifth of the work, a wider interval, and a figure that moves more with
the seed.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.progress import TimedProgress, timed_progress_bar
from featly.basics.typing import AnyArray
from featly.measures.nested_rates import FEWEST_ROWS, count_units
from featly.measures.sizes import SIZE_RULES
from featly.study.dataset import Dataset
from featly.study.evaluate import Protocol, Sizes, sizes_for
from featly.study.nested_folds import OuterFold, nested_folds
from featly.study.nested_result import Candidate, Nested
from featly.study.paths import NO_CLASS, Path, PathRunner, PathTask
from featly.study.plan import Study
from featly.study.splitter import require_whole

__all__ = ["NestedStoppedError", "nested", "read_pipelines"]


class NestedStoppedError(KeyboardInterrupt):
    """Ctrl-C during :func:`nested`, with the result of the repeats that were done.

    Attributes
    ----------
    result : Nested
    """

    def __init__(self, result: Nested) -> None:
        super().__init__()
        self.result = result


def nested(
    methods: Any,
    data: Any,
    *,
    folds: int = 10,
    repeats: int = 5,
    inner: int = 5,
    sizes: Sizes = "powers",
    learner: Any = "linear-svm",
    balanced: bool = True,
    rule: str | int = "best",
    fill: bool = False,
    resample: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool | TimedProgress = False,
) -> Nested:
    """Judge a whole recipe on rows that had no say in it, neither in the ranking nor in the size.

    Parameters
    ----------
    methods : str, estimator, list or dict
        As for :class:`featly.Study`. Of several methods (or learners), the pair of method and size
        is chosen within each training part; each can be judged and compared alone as well.
    data : (X, y), Dataset, path, or object with X and y
        One table. Its row groups stay together.
    folds, inner : int, default=10 and 5
        Folds, and inner folds of each training part.
    repeats : int, default=5
        How often the folds are drawn; 1 is the quick mode.
    sizes : "powers", "all", "rule-of-thumb", int, list of int or callable, default="powers"
        Numbers of columns to choose from; powers go from 1 to 512.
    learner : str, classifier, list or dict, default="linear-svm"
        As for :class:`featly.Study`.
    balanced : bool, default=True
        Whether learners given by name are trained with classes of equal weight, which suits the
        balanced rate; False suits the accuracy.
    rule : str or int, default="best"
        The rule for the number of columns, by which the final model is chosen as well, see
        :func:`featly.measures.row_rules.choose_by_rows`.
    fill : bool, default=False
        Fill missing values, learnt on the training rows.
    resample : imbalanced-learn sampler or None, default=None
        Balances the training rows, never others.
    random_state : int, default=0
        Seed of the random numbers.
        Folds depend on it, and methods and learners whose own is None.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Processes are used in place of threads.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts paths, and gets a third value: the seconds left, or None.

    Returns
    -------
    Nested
        Estimates, intervals, curves and comparisons, and all predictions. Ctrl-C raises
        NestedStoppedError, a KeyboardInterrupt, with the result of the repeats that were done.

    References
    ----------
    Varma, S. and Simon, R. (2006), Bias in error estimation when using cross-validation for model
    selection, *BMC Bioinformatics* 7, 91.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import nested
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 20)), np.repeat(["ill", "well"], 30)
    >>> X[:, 4] += 2 * (y == "ill")
    >>> result = nested("f-test", (X, y), repeats=1, sizes=[1, 4], n_jobs=1)
    >>> result
    Nested(1 method, 1 learner, 1 repeat of 10 folds, 5 inner folds)
    >>> estimate = result.estimate()
    >>> estimate.size, round(estimate.value, 2), estimate.lower, estimate.upper
    (1, 0.89, 0.69, 0.96)
    """
    for name, value, least in (("folds", folds, 2), ("inner", inner, 2), ("repeats", repeats, 1)):
        require_whole(name, value, least)
    study, dataset = read_pipelines(
        methods, data, sizes=sizes, learner=learner, balanced=balanced, fill=fill,
        resample=resample, random_state=random_state,
    )  # fmt: skip
    _check_rule(rule)
    check_classes(dataset)
    parts = nested_folds(
        dataset.codes,
        folds=folds,
        repeats=repeats,
        inner=inner,
        random_state=random_state,
        groups=dataset.row_groups,
    )
    assembly = _Assembly(study, dataset, parts, folds, repeats, inner, rule)
    began = time.perf_counter()
    with (
        timed_progress_bar(verbose, "nested cross-validation", "paths") as progress,
        PathRunner(
            dataset, study.methods, study.protocol(), n_jobs=n_jobs, progress=progress
        ) as runner,
    ):
        tasks = [task for _, task in assembly.tasks()]
        runner.expect(tasks)
        try:
            for path in runner.run(tasks):
                assembly.paths.append(path)
        except KeyboardInterrupt:
            done = assembly.n_repeats_done()
            if not done:
                raise
            raise NestedStoppedError(assembly.result(done, time.perf_counter() - began)) from None
    return assembly.result(repeats, time.perf_counter() - began)


def read_pipelines(methods: Any, data: Any, **options: Any) -> tuple[Study, Dataset]:
    """Return the methods, learners and the table, read and checked as a study does."""
    study = Study(methods, data, **options)
    if len(study.datasets) != 1:
        raise ParameterError(f"data holds {len(study.datasets)} tables: give one")
    return study, next(iter(study.datasets.values()))


def check_classes(dataset: Dataset) -> None:
    """Raise DataError for a class with too few rows, or too few groups of rows."""
    groups = dataset.row_groups
    counts = count_units(dataset.codes, len(dataset.classes), groups)
    if counts.min() < FEWEST_ROWS:
        name = dataset.classes.tolist()[int(counts.argmin())]
        unit_word = "rows" if groups is None else "row groups"
        raise DataError(
            f"class {name!r} has {counts.min()} {unit_word}: with fewer than {FEWEST_ROWS} there "
            "is no figure that could be trusted. Leave the class out, or join it with another"
        )


def _check_rule(rule: Any) -> None:
    is_size = isinstance(rule, int | np.integer) and not isinstance(rule, bool) and rule > 0
    rules = [name for name in SIZE_RULES if name not in ("largest-gap", "two-variances")]
    if not is_size and rule not in rules:
        raise ParameterError(f"rule={rule!r}: give a size or one of {', '.join(rules)}")


class _Assembly:
    """The paths of a nested cross-validation, and how their predictions come together."""

    def __init__(
        self,
        study: Study,
        dataset: Dataset,
        parts: Sequence[OuterFold],
        folds: int,
        repeats: int,
        inner: int,
        rule: str | int,
    ) -> None:
        self.study, self.dataset, self.parts = study, dataset, parts
        self.folds, self.repeats, self.inner, self.rule = folds, repeats, inner, rule
        self.protocol: Protocol = study.protocol()
        self.paths: list[Path] = []

    def tasks(self) -> Iterator[tuple[tuple[OuterFold, int, str], PathTask]]:
        """Yield every path with its place: fold, inner fold (-1 for the outer one) and method."""
        for part in self.parts:
            for step in range(-1, len(part.inner)):
                for method in self.study.methods:
                    if step < 0:
                        task = PathTask(method, part.train, part.test)
                    else:
                        left_out = part.inner[step]
                        train = np.setdiff1d(part.train, left_out, assume_unique=True)
                        task = PathTask(method, train, np.concatenate([left_out, part.test]))
                    yield (part, step, method), task

    def n_repeats_done(self) -> int:
        """Return the number of repeats of which every path is there."""
        places = [place for place, _ in self.tasks()]
        left = min((part.repeat for part, _, _ in places[len(self.paths) :]), default=self.repeats)
        return left

    def result(self, repeats: int, seconds: float) -> Nested:
        """Return the result of the first repeats."""
        candidates = self._candidates()
        n, n_candidates = self.dataset.n_rows, len(candidates)

        def empty(*shape: int) -> tuple[AnyArray, AnyArray]:
            full = (*shape, n_candidates, n)
            return np.full(full, NO_CLASS, np.int16), np.full(full, np.nan, np.float32)

        outer, outer_values = empty(repeats)
        inner, inner_values = empty(repeats, self.inner)
        pooled, pooled_values = empty(repeats, self.folds)
        fold_of = np.zeros((repeats, n), np.int64)
        own_sizes: dict[str, list[int]] = {}
        errors: list[str] = []
        for ((part, step, method), task), path in zip(self.tasks(), self.paths, strict=False):
            if part.repeat >= repeats:
                break
            fold_of[part.repeat, part.test] = part.fold
            mine = np.array([k for k, c in enumerate(candidates) if c.method == method])
            if len(path.codes) == 0 or not len(mine):
                continue
            errors += path.errors
            if path.subset and path.order is not None:
                own_sizes.setdefault(method, []).append(len(path.order))
            codes = path.codes.reshape(-1, len(task.test))
            values = path.values.reshape(-1, len(task.test))
            if len(codes) != len(mine):  # nothing was ranked, of a method that chooses its size
                codes, values = codes[:1].repeat(len(mine), 0), values[:1].repeat(len(mine), 0)
            r, a = part.repeat, part.fold
            if step < 0:
                at = np.ix_(mine, part.test)
                outer[r][at], outer_values[r][at] = codes, values
                continue
            n_own = len(task.test) - len(part.test)
            at = np.ix_(mine, task.test[:n_own])
            pooled[r, a][at], pooled_values[r, a][at] = codes[:, :n_own], values[:, :n_own]
            at = np.ix_(mine, part.test)
            inner[r, step][at], inner_values[r, step][at] = codes[:, n_own:], values[:, n_own:]
        return Nested(
            dataset=self.dataset,
            candidates=candidates,
            rule=self.rule,
            folds=self.folds,
            inner=self.inner,
            repeats=repeats,
            planned_repeats=self.repeats,
            fold_of=fold_of,
            outer_codes=outer,
            outer_values=outer_values,
            inner_codes=inner,
            inner_values=inner_values,
            pooled_codes=pooled,
            pooled_values=pooled_values,
            own_sizes={m: round(float(np.mean(s))) for m, s in own_sizes.items()},
            errors=tuple(errors),
            notes=tuple(dict.fromkeys(note for path in self.paths for note in path.notes)),
            n_paths=len(self.paths),
            seconds=seconds,
            random_state=int(self.study.random_state),
        )

    def _candidates(self) -> list[Candidate]:
        """Return every method with every learner and size; size 0 if it chooses it itself."""
        grid = sizes_for(self.protocol.sizes, self.dataset.n_features)
        subsets = {
            place[2]
            for (place, _), path in zip(self.tasks(), self.paths, strict=False)
            if path.subset
        }
        return [
            Candidate(method, learner, size)
            for method in self.study.methods
            for learner in self.study.learners
            for size in ([0] if method in subsets else grid)
        ]
