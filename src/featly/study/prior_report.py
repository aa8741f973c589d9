r"""Effects of a prior: on the signature, the predictions, the stability.

.. math::

    \hat d \pm t_{K-1} \sqrt{\frac{K - 1}{K} \sum_i \bigl(\hat d_{(i)} - \bar d\bigr)^2},
    \qquad d = \Phi^{\text{with}} - \Phi^{\text{without}}

where :math:`\hat d_{(i)}` is the difference of the two stabilities when split i is left out.
Arvesen, J. N. (1969), Jackknifing U-statistics, *Ann. Math. Statist.* 40, 2076-2100.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from featly.base import Ranker
from featly.basics.errors import (
    Column,
    DataError,
    Field,
    NoEvidenceWarning,
    ParameterError,
    SchemaError,
)
from featly.basics.params import Whole
from featly.basics.progress import TimedProgress
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.measures.corrected_t import FRACTION
from featly.measures.stability import nogueira_stability
from featly.measures.statistics import corrected_resampled_t
from featly.preprocessing import Filler
from featly.registry import METHODS
from featly.study.dataset import Dataset, _schema_by_position
from featly.study.evaluate import fill_rule
from featly.study.plan import Study, _method
from featly.study.prior_words import Compared, Interval, PriorReport
from featly.study.results import Results
from featly.study.split_values import split_values
from featly.study.splits import Subsampling
from featly.study.store import ALL_ROWS
from featly.table.frames import DefaultNames, is_frame, library_of
from featly.table.schema import Schema

__all__ = ["PriorReport", "prior_report", "stability_without_each"]

WITH, WITHOUT = "with", "without"
FEWEST_SPLITS = 3  # of which one is left out, and two are needed to compare selections


# ---- the report ----------------------------------------------------------------------------------
def prior_report(
    method: Any,
    X: Any,
    y: Any = None,
    *,
    schema: Schema | Mapping[str, Any] | None = None,
    size: int = 30,
    sizes: Sequence[int] = (),
    splits: Any = 50,
    learner: Any = "linear-svm",
    without: Mapping[str | int, float] | None = None,
    fill: bool | str = False,
    row_groups: Any = None,
    level: float = 0.95,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool | TimedProgress = False,
) -> PriorReport:
    r"""Report the effect of a prior on the selected columns, the prediction and the stability.

    The method is fitted to all rows with the prior and without it, which gives two signatures. It
    is also evaluated with and without it on the same splits, on rows that the selection never saw.

    The difference of the balanced rates has the interval of Nadeau and Bengio, which allows for
    splits that share rows. Kuncheva's index is a mean over pairs of splits, a U-statistic, and so
    is the difference of two of them on the same splits: its interval is that of the jackknife over
    splits. (Adding two intervals would ignore that both selections use the same rows.) Splits of
    one table are independent given that table only, so intervals of the stability say how far more
    splits would move it, nothing about another table.

    A favoured column is chosen more often by that alone, so a prior, even one drawn at random, can
    raise the stability. The stability of the columns that are not favoured shows whether they
    became more stable, too; `without` compares with another prior.

    A prior that was chosen by looking at the same table makes the balanced rate too good: no
    split can correct that.

    Parameters
    ----------
    method : ranker that uses the prior, or its name
        Not fitted. Its `schema` has the prior, unless `schema` is given.
    X : data frame, array or sparse matrix; Dataset; object with X and y
    y : sequence or str, optional
        The class of every row, or the name of its column.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It has the prior. None takes the schema of `method`.
    size : int, default=30
        Columns of a signature.
    sizes : sequence of int
        Further sizes to compare at.
    splits : int or splitter, default=50
        A number is that many random splits of 90% to train and 10% to test.
    learner : str or classifier, default="linear-svm"
        The classifier trained on the selected columns.
    without : mapping of column to number, default=None
        Another prior to compare with, such as one that favours as many columns drawn at random.
        None compares with no prior.
    fill : bool or "draw", default=False
        Fill missing values, as :class:`Study` does.
    row_groups : sequence or str, optional
        Groups of rows that belong together: a label for every row, or the name of a column.
    level : float, default=0.95
        Of the intervals.
    random_state : int, default=0
        Seed of the random numbers.
        It draws the splits.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Processes are used in place of threads; -1 means all cores, too.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        Fits are counted. The function gets a third value: the seconds left, or None while they
        cannot be estimated.

    Returns
    -------
    PriorReport
        ``print`` shows it as text; ``table()`` has a row for every column.

    References
    ----------
    Helleputte, T. and Dupont, P. (2009), Partially supervised feature selection with regularized
    linear models, *ICML*, 409-416. Nadeau, C. and Bengio, Y. (2003), Inference for the
    generalization error, *Machine Learning* 52, 239-281. Arvesen, J. N. (1969), Jackknifing
    U-statistics, *Ann. Math. Statist.* 40, 2076-2100.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import SignalToNoise
    >>> from featly.study import prior_report
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 50)), np.repeat(["ill", "well"], 30)
    >>> X[:, :8] += 0.8 * (y == "ill")[:, None]
    >>> method = SignalToNoise(schema={"prior": {"x6": 10, "x7": 10}})
    >>> report = prior_report(method, X, y, size=5, splits=20)
    >>> report.came_in, report.went_out
    (['x6'], ['x2'])
    >>> report.bcr.verdict()
    'no difference can be told'
    """
    method = _require_prior_method(method)
    FRACTION.check("level", level)
    used_schema = schema if schema is not None else method.schema
    data = _dataset(X, y, used_schema, row_groups)
    schema_with_prior, prior = _read_prior(data, used_schema)
    wanted = _check_sizes(size, sizes, data.n_features)
    baseline = replace(schema_with_prior, prior=_read_other_prior(without, data))
    variants = {
        WITH: clone(method).set_params(schema=schema_with_prior),
        WITHOUT: clone(method).set_params(schema=baseline),
    }
    study = Study(
        variants,
        data,
        _splitter(splits, random_state),
        sizes=wanted,
        learner=_require_one_learner(learner),
        keep_predictions=False,
        fill=fill,
        random_state=random_state,
    )
    # all rows first, so that an error in the table is raised before the long work
    fits, notes = _fit_on_all_rows(variants, data, fill=fill)
    results = study.run(n_jobs=n_jobs, verbose=verbose)
    figures, n_splits = _figures(results, wanted, prior > prior.min(), level)
    frame = X if is_frame(X) else getattr(X, "X", None)
    return PriorReport(
        method=type(method).__name__,
        size=int(size),
        names=data.names,
        prior=prior,
        rank_with=fits[WITH].ranking_,
        rank_without=fits[WITHOUT].ranking_,
        figures=figures,
        splits=_describe_splits(study.splits, n_splits),
        learner=next(iter(study.learners)),
        level=level,
        n_rows=data.n_rows,
        n_splits=n_splits,
        results=results,
        notes=list(dict.fromkeys([*notes, *results.notes])),
        other={data.names[int(j)]: value for j, value in baseline.prior.items()},
        library=library_of(frame) if is_frame(frame) else None,
    )


# ---- reading the parameters ----------------------------------------------------------------------
def _require_prior_method(method: Any) -> Ranker:
    method = _method(method)
    methods = [m.class_name for m in METHODS.values() if "prior" in m.uses]
    if not isinstance(method, Ranker) or "prior" not in method._uses:
        name = "no selection" if method is None else type(method).__name__
        raise ParameterError(f"{name} does not rank by a prior: use one of {', '.join(methods)}")
    return method


def _dataset(X: Any, y: Any, schema: Any, row_groups: Any) -> Dataset:
    if not isinstance(X, Dataset):
        return Dataset.of(X, y, schema=schema, row_groups=row_groups)
    if y is not None or row_groups is not None:
        raise ParameterError("X is a Dataset, which has its target and row groups: give X alone")
    if schema is None:
        return X
    columns = Schema.of(schema).resolve(X.names, X.kinds)
    if (columns.kinds != X.kinds).any():
        raise SchemaError("X is a Dataset, which has its kinds: declare them when it is made")
    return replace(X, schema=_schema_by_position(columns))


def _read_prior(data: Dataset, schema: Any) -> tuple[Schema, FloatArray]:
    """Return the schema by position, and the prior of every column."""
    known = data.schema or Schema()
    prior = np.ones(data.n_features)
    for j, value in known.prior.items():
        prior[int(j)] = value
    if prior.max() > prior.min():
        return known, prior
    if prior.max() > 1:
        raise SchemaError(f"prior is {prior[0]:g} for every column, so it favours none: name fewer")
    remedy = "its prior is 1 for all, give more" if Schema.of(schema).prior else "say which"
    example = f"{{'prior': {{{data.names[0]!r}: 10}}}}"
    raise SchemaError(f"the schema favours no column: {remedy}, such as schema={example}")


def _read_other_prior(without: Any, data: Dataset) -> dict[str | int, float]:
    """Return the prior to compare with, by position."""
    if without is None:
        return {}
    prior = Schema(prior=without).resolve(data.names, data.kinds).prior
    return {} if prior is None else {int(j): float(prior[j]) for j in np.flatnonzero(prior > 1)}


def _check_sizes(size: Any, sizes: Any, n_features: int) -> list[int]:
    try:
        wanted = [size, *sizes]
    except TypeError:
        raise ParameterError(f"sizes={sizes!r}: give a list of whole numbers") from None
    for n_columns in wanted:
        if not Whole(at_least=1, below=n_features).accepts(n_columns):
            raise ParameterError(
                f"size={n_columns!r}: give a whole number from 1 and below the {n_features} "
                "columns of the table"
            )
    return sorted({int(n_columns) for n_columns in wanted})


def _splitter(splits: Any, random_state: int) -> Any:
    if not Whole().accepts(splits):
        return splits
    if splits < FEWEST_SPLITS:
        raise ParameterError(f"splits={splits}: give at least {FEWEST_SPLITS}")
    return Subsampling(int(splits), test_size=0.1, random_state=random_state)


def _require_one_learner(learner: Any) -> Any:
    if isinstance(learner, Mapping | list | tuple):
        raise ParameterError(f"learner={learner!r}: give one")
    return learner


# ---- fits and figures ----------------------------------------------------------------------------
def _fit_on_all_rows(
    methods: Mapping[str, Ranker], data: Dataset, *, fill: bool | str
) -> tuple[dict[str, Ranker], list[str]]:
    """Fit the methods to all rows; return them and their warnings."""
    X = data.X
    if fill and data.columns_with_missing:
        filler = Filler(columns=data.columns_with_missing, rule=fill_rule(fill))
        X = filler.fit_transform(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", NoEvidenceWarning)  # nothing is selected here
        try:
            fitted = {
                name: method.set_params(schema=data.declare_classes(method.schema)).fit(X, data.y)
                for name, method in methods.items()
            }
        except DataError as problem:
            raise problem.replace_fields(lambda field: _name_column(field, data)) from None
    return fitted, [f"{w.category.__name__}: {w.message}" for w in caught]


def _name_column(field: Field, data: Dataset) -> Field:
    """Return a column of an array under the name that it had in the table; others unchanged."""
    if not isinstance(field, Column) or is_frame(data.X):
        return field
    position = DefaultNames(data.n_features).position(field.name)
    return field if position is None else Column(str(data.names[position]))


def _figures(
    results: Results, sizes: Sequence[int], favoured: BoolArray, level: float
) -> tuple[dict[int, dict[str, Compared]], int]:
    """Compare with and without the prior at every size, over the splits without a failure."""
    orders = {name: _orders(results, name) for name in (WITH, WITHOUT)}
    rates = {name: _rates(results, name) for name in (WITH, WITHOUT)}
    common = [split for split in orders[WITH] if split in orders[WITHOUT]]
    usable = [s for s in common if all((s, size) in rates[m] for m in rates for size in sizes)]
    if len(usable) < FEWEST_SPLITS:
        why = results.failures["failure"].to_list()[:1]
        raise DataError(
            f"{len(usable)} splits can be compared, where {FEWEST_SPLITS} are needed"
            + (f": {why[0]}" if why else ", use more splits")
        )
    train, test = results._parts(next(iter(results.about["datasets"])))
    figures: dict[int, dict[str, Compared]] = {}
    for size in sizes:
        values = {m: np.array([rates[m][split, size] for split in usable]) for m in rates}
        sets = {m: [orders[m][split][:size] for split in common] for m in orders}
        not_favoured = {m: [s[~favoured[s]] for s in chosen] for m, chosen in sets.items()}
        figures[size] = {
            "bcr": _compare_rates(values, train, test, level),
            "stability": _compare_stability(sets, len(favoured), level),
            "stability of the others": _compare_stability(
                not_favoured, len(favoured), level, favoured
            ),
        }
    return figures, len(usable)


def _orders(results: Results, method: str) -> dict[int, IntArray]:
    import polars as pl

    fits = results.rankings.filter(
        (pl.col("method") == method) & (pl.col("split") != ALL_ROWS) & pl.col("order").is_not_null()
    )
    return {
        split: order.to_numpy() for split, order in zip(fits["split"], fits["order"], strict=True)
    }


def _rates(results: Results, method: str) -> dict[tuple[int, int], float]:
    import polars as pl

    rows = split_values(results, "bcr", draws=False)
    rows = rows.filter((pl.col("method") == method) & pl.col("value").is_not_null())
    return {
        (split, size): v for split, size, v in rows.select("split", "size", "value").iter_rows()
    }


def _compare_rates(
    values: Mapping[str, FloatArray], train: float, test: float, level: float
) -> Compared:
    parts = [values[WITH], values[WITHOUT], values[WITH] - values[WITHOUT]]
    tests = [corrected_resampled_t(part, train, test, level) for part in parts]
    return Compared(*(Interval(t.mean, t.lower, t.upper) for t in tests))


def _compare_stability(
    sets: Mapping[str, list[IntArray]],
    n_features: int,
    level: float,
    left_out: BoolArray | None = None,
) -> Compared:
    """Compare stabilities: Nogueira's intervals, and the jackknife's of the difference."""
    if left_out is not None:  # such columns do not count among n_features either
        position = np.cumsum(~left_out) - 1
        sets = {name: [position[s] for s in chosen] for name, chosen in sets.items()}
        n_features = int((~left_out).sum())
    values = {name: nogueira_stability(chosen, n_features, level) for name, chosen in sets.items()}
    each = {name: stability_without_each(chosen, n_features) for name, chosen in sets.items()}
    difference = each[WITH] - each[WITHOUT]
    n_splits = len(difference)
    error = np.sqrt((n_splits - 1) / n_splits * ((difference - difference.mean()) ** 2).sum())
    half = float(stats.t.ppf((1 + level) / 2, n_splits - 1) * error)
    value = float(values[WITH].value - values[WITHOUT].value)
    intervals = {
        name: Interval(float(estimate.value), float(estimate.lower), float(estimate.upper))
        for name, estimate in values.items()
    }
    return Compared(
        intervals[WITH], intervals[WITHOUT], Interval(value, value - half, value + half)
    )


def stability_without_each(selections: Sequence[IntArray], n_features: int) -> AnyArray:
    r"""Compute Nogueira's stability with each selection left out in turn.

    Without selection i the pairs that disagree about a column are, summed over the columns and
    counted twice, :math:`\sum_f c_f (K - 1 - c_f) + \sum_{f \in S_i} (2 c_f - K)`, where
    :math:`c_f` of all K selections hold column f.

    Parameters
    ----------
    selections : sequence of int arrays
    n_features : int

    Returns
    -------
    float array of shape (n_selections,)
        nan where the others are all empty, or all hold every column.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.measures.stability import nogueira_stability
    >>> from featly.study.prior_report import stability_without_each
    >>> runs = [np.array(run) for run in ([0, 1], [0, 1, 2], [0, 3], [1])]
    >>> stability_without_each(runs, 8).round(3).tolist()
    [0.111, 0.242, 0.556, 0.395]
    >>> round(nogueira_stability(runs[1:], 8).value, 3)
    0.111
    """
    n_runs = len(selections)
    sizes = np.array([len(selection) for selection in selections])
    counts = np.bincount(np.concatenate(selections), minlength=n_features)
    company = np.array([counts[selection].sum() for selection in selections])
    apart = (counts * (n_runs - 1 - counts)).sum() + 2 * company - n_runs * sizes
    mean = (sizes.sum() - sizes) / (n_runs - 1)
    denominator = mean * (1 - mean / n_features)
    share = np.full(n_runs, np.nan)
    np.divide(apart / ((n_runs - 1) * (n_runs - 2)), denominator, out=share, where=denominator > 0)
    return 1 - share


def _describe_splits(splitter: Any, n_splits: int) -> str:
    if isinstance(splitter, Subsampling):
        return f"{n_splits} random splits"
    return f"{n_splits} splits, {splitter!r}"
