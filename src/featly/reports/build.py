"""Construction of a report: the study, the fit that is put to use, and the facts about both."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from featly.base import Ranker
from featly.basics.errors import (
    ConvergenceWarning,
    DataError,
    ParameterError,
    SchemaWarning,
)
from featly.basics.params import FLAG, OneOf, Whole, check_value
from featly.basics.privacy import SMALL_CELL
from featly.diagnostics import Findings
from featly.measures.sizes import CURVE_RULES, choose_size
from featly.reports.context import Evidence
from featly.reports.facts import gather, size_by_splits
from featly.reports.inference import Inference, infer, judged_rows
from featly.reports.report import Report
from featly.study import Advice, Dataset, Results, Study, prior_report
from featly.study.advise.advice import advise_on_training_rows
from featly.study.evaluate import fit_to_all_rows, sizes_for
from featly.study.nested_result import NESTED_METRICS
from featly.study.plan import default_learner, require_scores
from featly.study.predictability import FEWEST_SHUFFLES
from featly.study.splits import Holdout, Subsampling, as_splitter
from featly.table.frames import is_frame, open_table, take_columns
from featly.table.schema import Schema

__all__ = ["report"]

SPLITS = 20  # they show how choices vary; what is said of new rows comes from nested folds
SHOWN = 100
MOST_SHOWN = 1000
SLOW = ("forest", "wrapper", "hybrid-forward", "multiclass-svm-rfe", "perceptron")
MOST_FOR_SLOW = 50_000  # cells of a table up to which these are compared with if none is named
FEW_CLASSES, LONGEST_TITLE = 3, 60  # classes, and their letters, that a title names
RECORDED = (ConvergenceWarning, SchemaWarning)


def report(
    X: Any,
    y: Any = None,
    *,
    methods: Any = None,
    schema: Schema | Mapping[str, Any] | None = None,
    splits: Any = None,
    sizes: Any = None,
    learner: str | None = None,
    metric: str = "bcr",
    rule: str | int | None = None,
    fill: bool | str | None = None,
    resample: Any = None,
    null: int | None = None,
    thorough: bool = False,
    row_groups: Any = None,
    official: Any = None,
    individuals: bool = True,
    n_shown: int = SHOWN,
    title: str | None = None,
    names: Sequence[str] | None = None,
    findings: Findings | None = None,
    directory: str | Path | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool | Callable[..., Any] = False,
) -> Report:
    """Evaluate methods, select columns, and explain both in a report.

    The first of the methods makes the signature. It is evaluated on rows that its selection never
    saw, beside the others and beside no selection at all; then it is fitted to all rows, and its
    best columns, as many as the rule chooses, are the signature. Decide which method comes first
    before you see the results: the performance of the one that turns out best is too optimistic.

    Parameters
    ----------
    X : data frame, array or sparse matrix; object with X and y
    y : sequence or str, optional
        The class of every row, or the name of its column.
    methods : names, estimators, dict of those, Advice, or None
        First the one that makes the signature, then others to compare with. None takes those of
        :func:`featly.advise`, whose result may be passed as well; alternatives that take minutes
        are then left out. No selection at all, "none", is always among them.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
    splits : int, splitter or None, default=None
        A number is that many random splits of 90% to train and 10% to test; None takes the advised
        ones, at most 20. They show curves and how often columns are chosen; the estimates come
        from :func:`featly.study.nested`, which has folds of its own.
    learner : str or None, default=None
        The learner on the selected columns; None takes the advised one, or
        "linear-svm"; for what ranks by neighbours "linear-or-neighbours".
    metric : str, default="bcr"
        "bcr", "auc", "accuracy", "error", "sensitivity" or "specificity": those that have an
        interval for new rows.
    rule : str, int or None, default=None
        The rule for the number of columns, see :func:`featly.measures.row_rules.choose_by_rows`;
        None is "best", by which the estimates are nearest to the truth.
    sizes : as in :class:`featly.Study`, or None, default=None
        None takes the advised ones, or "powers".
    resample, random_state
        As in :class:`featly.Study`.
    null : int or None, default=None
        How often the labels are shuffled at most to test whether the columns predict, at least 19,
        however long it takes. None is 99, or 19, or none, as the time allows.
    thorough : bool, default=False
        Whether the folds are drawn five times instead of once, and advised alternatives compared,
        too: narrower intervals that depend less on the seed, in five times the time.
    fill : bool, "draw" or None, default=None
        Whether missing values are filled, from the training rows alone; None fills them if the
        first method does not take them. "draw" takes values of the same column, so that nothing is
        learnt from what is missing.
    row_groups, official : sequence or str, optional
        As in :meth:`featly.study.Dataset.of`. An official split is used for the evaluation.
    individuals : bool, default=True
        Whether values of single rows, such as patients, are shown. Else nothing on the page rests
        on fewer than five rows: see :mod:`featly.basics.privacy`.
    n_shown : int, default=100
        Columns of the ranking to show; those of the signature are always shown.
    title : str or None, default=None
    names : sequence of str or None, default=None
        Names of the columns, if the table has none.
    findings : Findings or None, default=None
        What :func:`featly.check_table` said about the table; None checks it, unless `methods` is
        an Advice, which has done so.
    directory : path or None, default=None
        Folder for the fits, so that a report that was stopped can go on.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).

    Returns
    -------
    Report
        ``report.save("report.html")`` writes the page; ``.md`` and ``.pdf`` work, too.

    See Also
    --------
    featly.advise : Which method suits a table, and why.
    featly.Study : The evaluation alone.

    Examples
    --------
    >>> import numpy as np
    >>> import featly
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 12)), np.repeat(["ill", "well"], 30)
    >>> X[:, 4] += 2 * (y == "ill")
    >>> report = featly.report(X, y, methods=["f-test"], splits=10)
    >>> report.signature
    ['x4']
    >>> report.save("report.html")  # doctest: +SKIP
    """
    start = time.perf_counter()
    _check_parameters(n_shown, metric, rule, null, thorough)
    if y is None and not is_frame(X) and hasattr(X, "X") and hasattr(X, "y"):
        schema = getattr(X, "schema", None) if schema is None else schema
        X, y = X.X, X.y
    schema = Schema.of(schema)
    if findings is None and isinstance(methods, Advice):
        findings = methods.findings.reopen()
    data = Dataset.of(
        X, y, schema=schema, row_groups=row_groups, official=official, names=names,
        findings=findings,
    )  # fmt: skip
    data = replace(data, name=title or "data", names=list(data.names))
    page_warnings: list[str] = []
    with _record_warnings(page_warnings):
        _check_classes(data, metric, individuals=individuals)
        column = official if isinstance(official, str) else None
        plan = _make_plan(data, methods, splits, fill, column, random_state, thorough)
    advice = plan.advice
    if advice is not None:
        learner = learner or advice.learner
        sizes = advice.sizes if sizes is None else sizes
    rule = "best" if rule is None else rule
    study = Study(
        plan.methods,
        data,
        plan.splits,
        sizes=_resolve_sizes(sizes, rule, data.n_features),
        learner=learner or default_learner(plan.methods.values()),
        metric=metric,
        fill=plan.fill,
        resample=resample,
        random_state=random_state,
        title=title or "",
    )
    if metric == "auc":
        for name, classifier in study.learners.items():
            require_scores(metric, name, classifier)
    results = study.run(directory, n_jobs=n_jobs, verbose=verbose)
    main = next(iter(study.methods))
    _refuse_failure(results, main)
    protocol = study.protocol()
    with _record_warnings(page_warnings):
        fitted = {
            name: fit_to_all_rows(data, method, protocol)
            for name, method in study.methods.items()
            if method is not None and _has_result(results, name)
        }
        fitted |= _fit_others(data, plan.aside, protocol)
        inference = infer(
            judged_rows(data, column),
            study,
            main,
            [name for name in study.methods if _has_result(results, name)],
            metric=metric,
            rule=rule,
            thorough=thorough,
            null=null,
            directory=directory,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        size = _signature_size(inference, results, study, main, metric, rule)
        if isinstance(fitted[main], Ranker):  # what it marks as selected is the signature
            fitted[main].set_params(n_features_to_select=size)
        prior = _report_prior(data, study, main, size, n_jobs, verbose)
    evidence = Evidence(
        table=_feature_columns(X, data),
        data=data,
        schema=schema,
        names=list(data.names),
        study=study,
        results=results,
        fitted=fitted,
        main=main,
        metric=metric,
        rule=rule,
        size=size,
        inference=inference,
        advice=advice,
        prior=prior,
        individuals=individuals,
        n_shown=n_shown,
        warnings=page_warnings,
        seed=random_state,
        null=null,
        n_jobs=n_jobs,
    )
    facts = gather(evidence)
    facts["title"] = title or _title(evidence.classes, hidden=evidence.pools_classes)
    facts["seconds"] = time.perf_counter() - start
    return Report(facts, evidence)


@contextmanager
def _record_warnings(page_warnings: list[str]) -> Iterator[None]:
    """Record the warnings that a reader of the page should know, and pass all of them on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, RECORDED) and text not in page_warnings:
            page_warnings.append(text)
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _title(classes: list[str], *, hidden: bool) -> str:
    is_short = len(classes) <= FEW_CLASSES and sum(map(len, classes)) < LONGEST_TITLE and not hidden
    return (
        f"What tells {' from '.join(classes)}" if is_short else f"What tells {len(classes)} classes"
    )


def _fit_others(data: Dataset, methods: dict[str, Any], protocol: Any) -> dict[str, Any]:
    """Fit methods to all rows that the quick mode does not judge; those that fail are left out."""
    fitted = {}
    for name, method in methods.items():
        with suppress(DataError):
            fitted[name] = fit_to_all_rows(data, method, protocol)
    return fitted


def _signature_size(
    inference: Inference, results: Results, study: Study, main: str, metric: str, rule: str | int
) -> int:
    """Return the number of columns that the rule chooses for the method that makes the signature.

    The rule is that of the estimate. Where there is none, such as with three rows of a class, the
    splits choose.
    """
    estimate = inference.estimate(main)
    if estimate is None:
        return size_by_splits(results, main, metric, rule, next(iter(study.learners)))
    return estimate.size


def _check_parameters(n_shown: Any, metric: str, rule: Any, null: Any, thorough: Any) -> None:
    """Raise an error for wrong parameters before the work instead of after it."""
    Whole(at_least=1, at_most=MOST_SHOWN).check("n_shown", n_shown)
    check_value("null", null, Whole(at_least=FEWEST_SHUFFLES), optional=True)
    FLAG.check("thorough", thorough)
    OneOf(*NESTED_METRICS).check("metric", metric)
    rules = OneOf(*CURVE_RULES, "rule-of-thumb")
    check_value("rule", rule, Whole(at_least=1), rules, optional=True)


def _check_classes(data: Dataset, metric: str, *, individuals: bool) -> None:
    """Raise DataError for the rate of one class that is too small to be shown."""
    rows = np.bincount(data.codes)
    if not individuals and metric in ("sensitivity", "specificity") and rows.min() < SMALL_CELL:
        raise DataError(
            f"class {data.classes.tolist()[int(rows.argmin())]!r} has {rows.min()} rows, which the "
            f"{metric} would tell on a page without individuals: take another metric, such as bcr"
        )


def _resolve_sizes(sizes: Any, rule: str | int, n_features: int) -> Any:
    """Return the sizes to try; that of the rule is among them."""
    if sizes is None:
        tried_sizes = sizes_for("powers", n_features)
        rule_size = rule if not isinstance(rule, str) else None
        if rule == "rule-of-thumb":
            rule_size = choose_size(None, rule, n_features=n_features)
        return (
            "powers"
            if rule_size is None or rule_size in tried_sizes
            else sorted([*tried_sizes, int(rule_size)])
        )
    tried_sizes = sizes_for(sizes, n_features)
    if not isinstance(rule, str) and rule not in tried_sizes:
        raise ParameterError(f"rule={rule}: that size is not tried, there are {tried_sizes}")
    return sizes


def _feature_columns(X: Any, data: Dataset) -> Any:
    """Return the columns to select from, with the user's own dtypes and levels."""
    if not is_frame(X):
        table = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
        return table if data.positions is None else table[:, data.positions]
    position_of = {name: k for k, name in enumerate(open_table(X).names)}
    positions = [position_of[str(name)] for name in data.names[:]]
    return X if len(positions) == len(position_of) else take_columns(X, positions)


@dataclass(frozen=True)
class _Plan:
    """Methods, splits and filling of the study, and the advice that they come from.

    Methods `aside` are advised alternatives, which the quick mode fits to all rows and does not
    judge.
    """

    methods: dict[str, Any]
    aside: dict[str, Any]
    splits: Any
    fill: bool | str
    advice: Advice | None


def _make_plan(
    data: Dataset,
    methods: Any,
    splits: Any,
    fill: bool | str | None,
    column: str | None,
    random_state: int,
    thorough: bool,
) -> _Plan:
    if data.official is not None:
        if splits is not None and not isinstance(splits, Holdout):
            raise ParameterError(
                f"official goes with a Holdout, not with splits={splits!r}: leave one of them out"
            )
        splits = Holdout(column=column or "split") if splits is None else splits
    advice = methods if isinstance(methods, Advice) else None
    if methods is None:
        advice = advise_on_training_rows(data, random_state, column)
    if advice is not None:
        methods = {
            name: method
            for name, method in advice.methods().items()
            if name == advice.method or not _is_slow(name, data)
        }
        if splits is None:
            splits = advice.splits
            if isinstance(splits, Subsampling):  # more splits would change a report little
                splits = replace(splits, n_splits=min(SPLITS, splits.n_splits))
        fill = advice.fill if fill is None else fill
    named_methods = Study(methods, data).methods  # raises errors, and names estimators
    if next(iter(named_methods.values())) is None:
        raise ParameterError("the first method makes the signature, and 'none' selects nothing")
    if None not in named_methods.values():
        named_methods |= {"none": None}
    aside = {}
    if advice is not None and not thorough:
        main = next(iter(named_methods))
        aside = {n: m for n, m in named_methods.items() if m is not None and n != main}
        named_methods = {n: m for n, m in named_methods.items() if n not in aside}
    if fill is None:
        takes_missing = getattr(next(iter(named_methods.values())), "_missing", False)
        fill = bool(data.columns_with_missing) and not takes_missing
    if splits is None:
        splits = SPLITS
    if Whole().accepts(splits):
        splits = Subsampling(int(splits), test_size=0.1, random_state=random_state)
    return _Plan(named_methods, aside, as_splitter(splits), fill, advice)


def _report_prior(
    data: Dataset, study: Study, main: str, size: int, n_jobs: int | None, verbose: Any
) -> Any:
    """Report the effect of a prior, if there is one and the method uses it."""
    method = study.methods[main]
    if data.schema is None or not data.schema.prior or "prior" not in getattr(method, "_uses", ()):
        return None
    try:
        return prior_report(
            method,
            data,
            schema=data.schema,
            size=size,
            splits=study.splits,
            learner=next(iter(study.learners.values())),
            fill=study.fill,
            random_state=study.random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
    except (DataError, ParameterError):  # such as too few splits to compare
        return None


def _is_slow(name: str, data: Dataset) -> bool:
    """Return whether an advised method would take most of the time."""
    return name in SLOW and data.n_rows * data.n_features > MOST_FOR_SLOW


def _refuse_failure(results: Results, main: str) -> None:
    """Raise DataError with the first failure if the main method has no result."""
    if not _has_result(results, main):
        import polars as pl

        failures = results.failures.filter(pl.col("method") == main)["failure"].to_list()
        raise DataError(f"{main} failed on every split: {failures[0] if failures else 'no reason'}")


def _has_result(results: Results, name: str) -> bool:
    import polars as pl

    curves = results.curves(results.about["metrics"][0])
    return not curves.filter((pl.col("method") == name) & pl.col("mean").is_not_null()).is_empty()
