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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import OneOf, Whole, check_value
from featly.basics.progress import TimedProgress, timed_progress_bar
from featly.basics.typing import AnyArray
from featly.measures.nested_rates import FEWEST_ROWS, count_units
from featly.measures.sizes import SCORE_RULES, SIZE_RULES
from featly.study.dataset import Dataset
from featly.study.evaluate import Sizes, sizes_for
from featly.study.nested_estimate import Candidate
from featly.study.nested_folds import OuterFold, nested_folds
from featly.study.nested_result import Nested
from featly.study.paths import NO_CLASS, Path, PathRunner, PathTask
from featly.study.plan import Study

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
    fill: bool | str = False,
    resample: Any = None,
    directory: str | FilePath | None = None,
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
    fill : bool or "draw", default=False
        Fill missing values, learnt on the training rows.
    resample : imbalanced-learn sampler or None, default=None
        Balances the training rows, never others.
    directory : path or None, default=None
        Folder for the fits: a run that was stopped or killed goes on from there, and a second one
        fits nothing anew. It may be that of a study. None stores nothing.
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
        Whole(at_least=least).check(name, value)
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
    assembly = _Assembly(study, dataset, folds, repeats, inner, rule)
    with (
        timed_progress_bar(verbose, "nested cross-validation", "paths") as progress,
        PathRunner(
            dataset,
            study.methods,
            study.protocol(),
            directory=directory,
            n_jobs=n_jobs,
            progress=progress,
        ) as runner,
    ):
        runner.expect(dict.fromkeys(study.methods, sum(1 + len(p.inner) for p in parts)))
        try:
            for repeat in range(repeats):
                places, tasks = assembly.plan(parts[repeat * folds : (repeat + 1) * folds])
                assembly.add_repeat(places, tasks, list(runner.run(tasks)))
        except KeyboardInterrupt:
            if not assembly.repeats:
                raise
            raise NestedStoppedError(assembly.result()) from None
    return assembly.result()


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
    rules = [name for name in SIZE_RULES if name not in SCORE_RULES]
    check_value("rule", rule, Whole(at_least=1), OneOf(*rules))


@dataclass(frozen=True, eq=False)
class _Place:
    """The part of a nested cross-validation that a path is for; step -1 is the outer model."""

    part: OuterFold
    step: int
    method: str


class _Assembly:
    """Predictions of paths, brought together repeat by repeat."""

    def __init__(
        self,
        study: Study,
        dataset: Dataset,
        folds: int,
        repeats: int,
        inner: int,
        rule: str | int,
    ) -> None:
        self.study, self.dataset = study, dataset
        self.folds, self.planned_repeats, self.inner, self.rule = folds, repeats, inner, rule
        self.candidates: list[Candidate] = []
        self.repeats: list[dict[str, AnyArray]] = []
        self.own_sizes: dict[str, list[int]] = {}
        self.errors: list[str] = []
        self.notes: list[str] = []
        self.n_paths = 0
        self.began = time.perf_counter()

    def plan(self, parts: Sequence[OuterFold]) -> tuple[list[_Place], list[PathTask]]:
        """Return every path of the folds of one repeat, and its place."""
        places, tasks = [], []
        for part in parts:
            for step in range(-1, len(part.inner)):
                for method in self.study.methods:
                    places.append(_Place(part, step, method))
                    tasks.append(self._task(part, step, method))
        return places, tasks

    def _task(self, part: OuterFold, step: int, method: str) -> PathTask:
        if step < 0:
            return PathTask(method, part.train, part.test)
        stays = np.ones(self.dataset.n_rows, bool)
        stays[part.inner[step]] = False
        test = np.concatenate([part.inner[step], part.test])
        return PathTask(method, part.train[stays[part.train]], test)

    def add_repeat(
        self, places: Sequence[_Place], tasks: Sequence[PathTask], paths: Sequence[Path]
    ) -> None:
        """Take over the predictions of a repeat."""
        if not self.candidates:
            self.candidates = self._find_candidates(places, paths)
        has_values = any(np.isfinite(path.values).any() for path in paths)
        arrays = self._empty_arrays(has_values)
        for place, task, path in zip(places, tasks, paths, strict=True):
            self.errors += path.errors
            self.notes += [note for note in path.notes if note not in self.notes]
            if path.subset and path.order is not None:
                self.own_sizes.setdefault(place.method, []).append(len(path.order))
            self._enter(arrays, place, task, path, has_values)
        self.n_paths += len(paths)
        self.repeats.append(arrays)

    def _find_candidates(self, places: Sequence[_Place], paths: Sequence[Path]) -> list[Candidate]:
        """Return every method with every learner and size; size 0 if it chooses it itself."""
        grid = sizes_for(self.study.sizes, self.dataset.n_features)
        subsets = {p.method for p, path in zip(places, paths, strict=True) if path.subset}
        return [
            Candidate(method, learner, size)
            for method in self.study.methods
            for learner in self.study.learners
            for size in ([0] if method in subsets else grid)
        ]

    def _empty_arrays(self, has_values: bool) -> dict[str, AnyArray]:
        n, width = self.dataset.n_rows, len(self.candidates)
        arrays: dict[str, AnyArray] = {"fold_of": np.zeros(n, np.int64)}
        shapes = {"outer": (), "inner": (self.inner,), "pooled": (self.folds,)}
        for name, shape in shapes.items():
            full = (*shape, width, n)
            arrays[f"{name}_codes"] = np.full(full, NO_CLASS, np.int16)
            nothing = np.float32(np.nan)
            arrays[f"{name}_values"] = (
                np.full(full, nothing) if has_values else np.broadcast_to(nothing, full)
            )
        return arrays

    def _enter(
        self,
        arrays: dict[str, AnyArray],
        place: _Place,
        task: PathTask,
        path: Path,
        has_values: bool,
    ) -> None:
        """Enter the predictions of one path."""
        part, own = place.part, [c.method == place.method for c in self.candidates]
        mine = np.flatnonzero(own)
        targets: list[tuple[str, tuple[int, ...], slice]]
        if place.step < 0:
            arrays["fold_of"][part.test] = part.fold
            targets = [("outer", (), slice(None))]
        else:
            n_own = len(task.test) - len(part.test)
            targets = [
                ("pooled", (part.fold,), slice(n_own)),
                ("inner", (place.step,), slice(n_own, None)),
            ]
        for kind in ("codes", "values") if has_values else ("codes",):
            predictions = getattr(path, kind).reshape(-1, len(task.test))
            # a method that chooses its size has one candidate a learner, a failed fit all of them
            if len(predictions) > len(mine):
                predictions = predictions[: len(mine)]
            elif len(predictions) < len(mine):
                predictions = predictions.repeat(len(mine) // len(predictions), axis=0)
            for name, at, rows in targets:
                cells = np.ix_(mine, task.test[rows])
                arrays[f"{name}_{kind}"][at][cells] = predictions[:, rows]

    def result(self) -> Nested:
        """Return the result of the repeats that are there."""
        stacked: dict[str, Any] = {
            name: _stack([arrays[name] for arrays in self.repeats]) for name in self.repeats[0]
        }
        return Nested(
            dataset=self.dataset,
            candidates=self.candidates,
            rule=self.rule,
            folds=self.folds,
            inner=self.inner,
            repeats=len(self.repeats),
            planned_repeats=self.planned_repeats,
            **stacked,
            own_sizes={m: round(float(np.mean(s))) for m, s in self.own_sizes.items()},
            errors=tuple(self.errors),
            notes=tuple(self.notes),
            n_paths=self.n_paths,
            seconds=time.perf_counter() - self.began,
            random_state=int(self.study.random_state),
        )


def _stack(arrays: list[AnyArray]) -> AnyArray:
    """Return arrays as one; those of nothing but NaN take no memory."""
    if any(array.flags.writeable for array in arrays):
        return np.array(arrays)
    return np.broadcast_to(arrays[0], (len(arrays), *arrays[0].shape))
