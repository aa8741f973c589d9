"""Checks of the properties that every method must have, one function a property.

Each check takes an unfitted estimator and raises AssertionError. The tables follow from what the
method declares: a method that takes categorical columns is tested on them, and one that does not
must raise an error that says so.
"""

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.base import Ranker
from featly.basics.errors import (
    ConvergenceWarning,
    DataError,
    NoEvidenceWarning,
    ParameterError,
    SchemaError,
    SchemaWarning,
)
from featly.basics.params import parameters_of
from featly.core.ranking.ordering import round_scores
from featly.registry import METHODS
from featly.table.schema import Schema
from featly.testing.leaks import LEAK_CHECKS
from featly.testing.tables import Example, example, in_library, installed_libraries, sparse_example

__all__ = ["CHECKS", "check_method", "check_parameter_rules", "method_checks"]

# no parameter takes all of them, and each says which by its rules
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 10**400, 0.5, 1.5, -0.5, float("nan"), float("inf"), -float("inf"),
    1j, "", "no such value", "1", b"1", (), [], [0.5], {"no such key": 1}, {1}, object(), object,
    np.array([1.0, 2.0]), np.array("1"), np.datetime64("2020-01-01"),
)  # fmt: skip

Check = Callable[[Any], None]
CHECKS: dict[str, Check] = {}


def check_method(estimator: Any, *, scikit_learn: bool = True) -> None:
    """Run every check on a method, and scikit-learn's own.

    Parameters
    ----------
    estimator : Ranker or SubsetSelector
        Unfitted; it is cloned, never changed.
    scikit_learn : bool, default=True
        Also run ``sklearn.utils.estimator_checks.check_estimator``.

    Raises
    ------
    AssertionError
        If a check fails; the message names it.
    """
    for name, check in method_checks(estimator):
        try:
            check(estimator)
        except Exception as error:
            raise AssertionError(f"{type(estimator).__name__} fails {name}: {error}") from error
    if scikit_learn:
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = getattr(estimator, "_expected_failed_checks", {})
            check_estimator(clone(estimator), on_skip=None, expected_failed_checks=known)


def method_checks(estimator: Any) -> Iterator[tuple[str, Check]]:
    """Yield the checks that apply to a method, as (name, function of the estimator)."""
    for name, check in CHECKS.items():
        if name in _RANKERS_ONLY and not isinstance(estimator, Ranker):
            continue
        yield name, check


_RANKERS_ONLY: set[str] = set()


def _check(function: Check) -> Check:
    CHECKS[function.__name__.removeprefix("check_")] = function
    return function


def _ranker_check(function: Check) -> Check:
    _RANKERS_ONLY.add(function.__name__.removeprefix("check_"))
    return _check(function)


# ---- helpers --------------------------------------------------------------------------------
def _frame(table: Example) -> Any:
    return in_library(table, "polars")


def _fit(estimator: Any, table: Example, library: str = "polars", **parameters: Any) -> Any:
    return clone(estimator).set_params(**parameters).fit(in_library(table, library), table.y)


def _names(fitted: Any, table: Example) -> list[str]:
    return [table.names[column] for column in fitted.order_]


def _tied_names(fitted: Any, table: Example) -> list[list[str]]:
    """Return names best first, those of equal score together and sorted."""
    names = _names(fitted, table)
    if not isinstance(fitted, Ranker):
        return [[name] for name in names]
    scores = round_scores(fitted.scores_[fitted.order_])
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    return [sorted(part) for part in np.split(np.array(names, object), starts[1:])]


def _assert_same(outcome: list[Any], expected: list[Any], change: str) -> None:
    assert outcome == expected, (
        f"{change} changed the outcome: {outcome[:8]} instead of {expected[:8]}"
    )


def _assert_refuses(
    estimator: Any,
    X: Any,
    y: Any,
    *words: str,
    error: type[Exception] = DataError,
    fit: dict[str, Any] | None = None,
) -> None:
    try:
        clone(estimator).fit(X, y, **(fit or {}))
    except error as raised:
        message = str(raised)
        assert "\n" not in message, f"an error is one line: {message!r}"
        for word in words:
            assert word in message, f"the error should say {word!r}: {message!r}"
        return
    raise AssertionError(f"no {error.__name__} that says {words}")


def _assert_refuses_batch(ranker: Any, X: Any, y: Any, word: str) -> None:
    try:
        ranker.partial_fit(X, y)
    except ValueError as raised:
        message = str(raised)
        assert word in message, f"the error should say {word!r}: {message!r}"
        return
    raise AssertionError(f"no error that says {word!r}")


# ---- the result -----------------------------------------------------------------------------
@_ranker_check
def check_ranking_is_consistent(estimator: Any) -> None:
    """`order_`, `ranking_`, `scores_`, `support_` and `table()` agree."""
    table = example(estimator)
    fitted = _fit(estimator, table)
    p = len(table.names)
    assert sorted(fitted.order_.tolist()) == list(range(p)), "order_ is not a permutation"
    assert fitted.ranking_[fitted.order_].tolist() == list(range(1, p + 1))
    scores = fitted.scores_[fitted.order_]
    assert np.isfinite(scores).all()
    assert (np.diff(scores) <= 1e-9 * np.abs(scores[:-1])).all(), "scores_ do not fall with rank"
    frame = fitted.table()
    heads = ["feature", "kind", "rank", "score", "selected", "evidence"]
    assert list(frame.columns[:6]) == heads
    assert list(frame["feature"]) == _names(fitted, table)
    assert list(frame["rank"]) == list(range(1, p + 1))
    kinds = dict(zip(frame["feature"], frame["kind"], strict=True))
    for name in table.names:
        assert (kinds[name] == "categorical") == (name in table.categorical)
    assert list(frame["evidence"]) == fitted.evidence_[fitted.order_].tolist()
    filler = np.flatnonzero(~fitted.evidence_[fitted.order_])
    half = max(1, min([p // 2, *filler[:1].tolist()]))
    assert sum(frame["selected"]) == fitted.support_.sum() == half


@_check
def check_subset_is_consistent(estimator: Any) -> None:
    """`order_`, `support_` and `table()` of a subset agree; columns to keep are in it, first."""
    if isinstance(estimator, Ranker):
        return
    table = example(estimator)
    for keep in ([], [table.names[-1], table.names[0]]):
        fitted = _fit(estimator, table, schema=Schema(keep=keep))
        chosen = fitted.order_.tolist()
        assert 1 <= len(set(chosen)) == len(chosen), "a column is chosen twice, or none is"
        assert sorted(chosen) == np.flatnonzero(fitted.support_).tolist()
        assert set(_names(fitted, table)[: len(keep)]) == set(keep), "columns to keep are not first"
        frame = fitted.table()
        assert len(frame) == len(table.names)
        assert list(frame["feature"])[: len(chosen)] == _names(fitted, table)
        assert list(frame["selected"]) == [k < len(chosen) for k in range(len(table.names))]
        names = fitted.get_feature_names_out().tolist()
        assert names == [name for name in table.names if name in _names(fitted, table)]


@_ranker_check
def check_order_independent_of_count(estimator: Any) -> None:
    """`order_` does not depend on `n_features_to_select`, which may change without a new fit."""
    table = example(estimator)
    whole = _fit(estimator, table)
    p = len(table.names)
    for wanted, count in ((1, 1), (3, 3), (0.25, round(0.25 * p)), (1.0, p), (p, p)):
        fitted = _fit(estimator, table, n_features_to_select=wanted)
        assert np.array_equal(fitted.order_, whole.order_), "order_ depends on the count"
        assert np.array_equal(np.flatnonzero(fitted.support_), np.sort(whole.order_[:count]))
        whole.set_params(n_features_to_select=wanted)
        assert np.array_equal(whole.support_, fitted.support_)
    for wrong in (0, -1, 1.5, p + 1, "some", True, float("nan")):
        changed = clone(estimator).set_params(n_features_to_select=wrong)
        _assert_refuses(changed, _frame(table), table.y, "n_features_to_select", error=ValueError)


@_check
def check_fit_twice(estimator: Any) -> None:
    """Fitting again gives the same bits, and forgets what was fitted before."""
    table, other = example(estimator), example(estimator, n_rows=40, n_numbers=5, seed=1)
    first, second = _fit(estimator, table), clone(estimator)
    second.fit(_frame(other), other.y)
    second.fit(_frame(table), table.y)
    assert second.order_.tobytes() == first.order_.tobytes()
    if isinstance(estimator, Ranker):
        assert second.scores_.tobytes() == first.scores_.tobytes(), "the second fit differs in bits"
    assert vars(first).keys() == vars(second).keys(), "something of the first fit is left"


@_check
def check_evidence(estimator: Any) -> None:
    """A constant column has no evidence, one that equals the class has, and it comes before."""
    for n_rows, seed in ((60, 0), (41, 1)):
        table = example(estimator, n_rows=n_rows, seed=seed)
        n = len(table.y)
        added = {
            "zero": np.zeros(n),
            "class": (table.y == "yes") + 1.0,
            "flat": np.full(n, 0.1),
        }
        table = table.replace_columns(**added).select_columns(
            ["zero", *table.names, "class", "flat"]
        )
        fitted = _fit(estimator, table)
        evidence = dict(zip(table.names, fitted.evidence_.tolist(), strict=True))
        assert evidence["class"], "a column that equals the class has no evidence"
        for name in ("zero", "flat"):
            assert not evidence[name], "a constant column has evidence"
        assert fitted.evidence_[fitted.support_].all() or not fitted._claims_evidence()
        frame = fitted.table()
        for name, value in zip(frame["feature"], frame["evidence"], strict=True):
            assert value == evidence[name]
        with_keep = _fit(estimator, table, schema={"keep": ["flat"]})
        assert not with_keep.evidence_[table.names.index("flat")], "to keep a column is no evidence"
        if not isinstance(estimator, Ranker) or _family(estimator) == "wrapper":
            continue  # a wrapper merges lists by what its learner predicts
        filler = ~fitted.evidence_
        if not _scores_one_by_one(estimator):  # what it is worth beside others may put it behind
            filler = np.isin(table.names, ["zero", "flat"])
        last_with_evidence = fitted.ranking_[fitted.evidence_].max()
        assert (fitted.ranking_[filler] > last_with_evidence).all(), "filler is before evidence"


@_ranker_check
def check_evidence_warning(estimator: Any) -> None:
    """One warning says how many of the selected columns have no evidence, but for those to keep."""
    table = example(estimator)
    n_rows, p = len(table.y), len(table.names) + 3
    flat, zero, signal = np.full(n_rows, 0.1), np.zeros(n_rows), (table.y == "yes") + 1.0
    table = table.replace_columns(flat=flat, zero=zero, signal=signal)
    for keep in ([], ["flat"]):
        for wanted in (p, None):
            changed = clone(estimator).set_params(
                n_features_to_select=wanted, schema={"keep": keep}
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fitted = changed.fit(_frame(table), table.y)
            texts = [str(w.message) for w in caught if w.category is NoEvidenceWarning]
            n_filler = p - int(fitted.evidence_.sum()) - len(keep)
            assert n_filler >= 2 - len(keep), "a constant column has evidence"
            if wanted is None:
                assert texts == [], "columns without evidence are selected by default"
            else:
                assert len(texts) == 1, f"{len(texts)} warnings about columns without evidence"
                assert texts[0].startswith(f"{n_filler} of the {p} "), texts[0]


# ---- invariances ----------------------------------------------------------------------------
@_check
def check_permuted_rows(estimator: Any) -> None:
    """The order of the rows does not matter, unless the method draws random numbers."""
    if estimator.__sklearn_tags__().non_deterministic:
        return
    table = example(estimator)
    expected = _names(_fit(estimator, table), table)
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(len(table.y))
        ranked_names = _names(_fit(estimator, table.take_rows(rows)), table)
        _assert_same(ranked_names, expected, "permuting the rows")
    # few values and unequal classes: many scores are zero or tie, and must do so exactly
    rng = np.random.default_rng(7)
    for n_ill in (4, 9, 15):
        X, y = rng.integers(-1, 2, size=(30, 8)), (np.arange(30) < n_ill).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # there is little to learn here
            expected = clone(estimator).fit(X, y).order_.tolist()
            for seed in range(3):
                rows = np.random.default_rng(seed).permutation(30)
                _assert_same(
                    clone(estimator).fit(X[rows], y[rows]).order_.tolist(), expected, "the rows"
                )


@_check
def check_permuted_columns(estimator: Any) -> None:
    """The order of the columns does not matter but for ties."""
    table = example(estimator)
    expected = _tied_names(_fit(estimator, table), table)
    for seed in range(3):
        shuffled = table.select_columns(
            np.random.default_rng(seed).permutation(table.names).tolist()
        )
        _assert_same(
            _tied_names(_fit(estimator, shuffled), shuffled), expected, "permuting the columns"
        )


@_check
def check_relabelled_categories(estimator: Any) -> None:
    """Names of the levels of a categorical column do not matter."""
    table = example(estimator)
    expected = _names(_fit(estimator, table), table)
    for name in table.categorical:
        levels = np.unique(table.columns[name])
        new = dict(zip(levels, [f"level {k}" for k in range(len(levels))][::-1], strict=True))
        renamed = np.array([new[level] for level in table.columns[name]])
        ranked_names = _names(_fit(estimator, table.replace_columns(**{name: renamed})), table)
        _assert_same(ranked_names, expected, f"renaming the levels of {name!r}")


@_check
def check_relabelled_classes(estimator: Any) -> None:
    """Names of the classes, and their type, do not matter."""
    table = example(estimator)
    expected = _names(_fit(estimator, table), table)
    number = (table.y == "yes").astype(int)
    for labels in (number, 1 - number, number.astype(bool), number * 2.0 - 1, number.astype(str)):
        fitted = clone(estimator).fit(_frame(table), labels)
        _assert_same(_names(fitted, table), expected, f"labels of type {labels.dtype}")
    import polars as pl

    for series in (pl.Series(table.y), table.y.tolist()):
        _assert_same(
            _names(clone(estimator).fit(_frame(table), series), table), expected, "another y"
        )


@_check
def check_units(estimator: Any) -> None:
    """The unit and the zero of a continuous column do not matter."""
    if estimator._is_scale_dependent():
        return
    table = example(estimator)
    expected = _names(_fit(estimator, table), table)
    for factor, offset in ((1024.0, 0.0), (1e-3, 0.0), (-1.0, 0.0), (1.0, 37.0), (1e6, -1e6)):
        changed = {
            name: table.columns[name] * factor + offset
            for name in ("number 0", "number 5", "whole")
        }
        ranked_names = _names(_fit(estimator, table.replace_columns(**changed)), table)
        _assert_same(ranked_names, expected, f"columns times {factor:g} plus {offset:g}")


@_check
def check_duplicated_columns_tie(estimator: Any) -> None:
    """Of two equal columns the first is better; a filter gives them the same score."""
    for n_rows in (60, 61, 67):
        table = example(estimator, n_rows=n_rows)
        copies = {f"copy of {name}": table.columns[name].copy() for name in table.names}
        doubled = Example({**table.columns, **copies}, table.y, list(table.categorical))
        doubled.categorical += [f"copy of {name}" for name in table.categorical]
        fitted = _fit(estimator, doubled)
        if not isinstance(estimator, Ranker):
            continue
        p = len(table.names)
        assert (fitted.ranking_[:p] < fitted.ranking_[p:]).all(), "a copy is before its original"
        if _scores_one_by_one(estimator):
            assert np.array_equal(fitted.scores_[:p], fitted.scores_[p:]), "equal columns differ"


def _scores_one_by_one(estimator: Any) -> bool:
    """Return whether it is a filter that scores every column once."""
    return _family(estimator) == "filter" and not estimator._is_greedy()


def _family(estimator: Any) -> str:
    """Return the family of a method, "" if it is not in the registry."""
    families = {method.class_name: str(method.family) for method in METHODS.values()}
    return families.get(type(estimator).__name__, "")


@_check
def check_threads(estimator: Any) -> None:
    """The number of threads changes no bit, also where blocks are many."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 9000)), np.arange(12) % 2
    if getattr(estimator, "step", None) == 1:  # 9,000 rounds would not split blocks otherwise
        estimator = clone(estimator).set_params(step=0.5)
    for layout in (np.ascontiguousarray(X), np.asfortranarray(X)):
        outcomes = []
        for n_jobs in (1, 2, 3):
            fitted = clone(estimator).set_params(n_jobs=n_jobs).fit(layout, y)
            scores = fitted.scores_.tobytes() if isinstance(estimator, Ranker) else b""
            outcomes.append((fitted.order_.tobytes(), scores))
        assert outcomes[0] == outcomes[1] == outcomes[2], "threads change the outcome"
    for wrong in (0, "two", True):
        _assert_refuses(clone(estimator).set_params(n_jobs=wrong), X, y, "n_jobs", error=ValueError)


@_check
def check_layouts(estimator: Any) -> None:
    """Row-major, column-major, strided, read-only, float32 and lists rank alike."""
    table = example(estimator)
    X = table.array().astype(np.float32)
    expected = clone(estimator).fit(X.astype(np.float64), table.y).order_.tolist()
    spread = np.zeros((2 * len(X), 2 * X.shape[1]), np.float32)
    spread[::2, ::2] = X
    locked = X.copy()
    locked.setflags(write=False)
    for layout in (X, np.asfortranarray(X), spread[::2, ::2], locked, X.astype(float).tolist()):
        _assert_same(clone(estimator).fit(layout, table.y).order_.tolist(), expected, "the layout")


@_check
def check_dense_is_sparse(estimator: Any) -> None:
    """A sparse table ranks as the same table dense, or is refused by an error that says so."""
    X, y = sparse_example()
    if not estimator._sparse:
        return _assert_refuses(estimator, X, y, "sparse")
    expected = clone(estimator).fit(X.toarray(), y).order_.tolist()
    for form in ("csr", "csc", "coo"):
        fitted = clone(estimator).fit(X.asformat(form), y)
        _assert_same(fitted.order_.tolist(), expected, f"the sparse form {form}")
        selected = fitted.transform(X.asformat(form))
        assert np.array_equal(selected.toarray(), X.toarray()[:, fitted.get_support()])
    return None


# ---- frames ---------------------------------------------------------------------------------
@_check
def check_frame_libraries(estimator: Any) -> None:
    """Every frame library ranks alike and comes out as it went in: library, names, dtypes."""
    table = example(estimator)
    expected = _names(_fit(estimator, table), table)
    for library in installed_libraries():
        frame = in_library(table, library)
        fitted = clone(estimator).fit(frame, table.y)
        _assert_same(_names(fitted, table), expected, f"the library {library}")
        assert type(fitted.table()) is type(frame), "table() is of another library"
        selected = fitted.transform(frame)
        assert type(selected) is type(frame), "transform returns another library"
        chosen = [table.names[column] for column in fitted.get_support(indices=True)]
        columns = selected.column_names if library == "pyarrow" else list(selected.columns)
        assert columns == chosen == list(fitted.get_feature_names_out())
        if library == "pyarrow":
            assert all(selected.schema.field(n).type == frame.schema.field(n).type for n in chosen)
        else:
            before = dict(zip(frame.columns, frame.dtypes, strict=True))
            assert list(selected.dtypes) == [before[name] for name in chosen], "dtypes changed"


@_check
def check_set_output(estimator: Any) -> None:
    """``set_output`` gives the requested library, from any other."""
    table = example(estimator)
    for output_library in (library for library in installed_libraries() if library != "pyarrow"):
        for source_library in installed_libraries():
            fitted = clone(estimator).set_output(transform=output_library)
            fitted.fit(in_library(table, source_library), table.y)
            selected = fitted.transform(in_library(table, source_library))
            assert type(selected).__module__.split(".")[0] == output_library, (
                f"{source_library} to {output_library}"
            )
            assert list(selected.columns) == list(fitted.get_feature_names_out())


@_check
def check_pickle_and_clone(estimator: Any) -> None:
    """A fitted method survives pickling and copying; a clone has the same parameters."""
    table = example(estimator)
    fitted = _fit(estimator, table)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert np.array_equal(other.order_, fitted.order_)
        assert fitted.table().equals(other.table())
        assert fitted.transform(_frame(table)).equals(other.transform(_frame(table)))
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "order_")


def _global_random_state() -> Any:
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1]


@_check
def check_no_global_state(estimator: Any) -> None:
    """Fitting leaves the inputs, random numbers, warnings and thread limits as they were."""
    import threadpoolctl

    table = example(estimator)
    frame, X = in_library(table, "polars"), table.array()
    before = (
        frame.clone(),
        X.copy(),
        _global_random_state().copy(),
        np.geterr(),
        list(warnings.filters),
        [pool["num_threads"] for pool in threadpoolctl.threadpool_info()],
        copy.deepcopy(estimator.get_params()),
    )
    clone(estimator).fit(frame, table.y)
    clone(estimator).fit(X, table.y)
    assert frame.equals(before[0]), "the frame was changed"
    assert np.array_equal(X, before[1]), "the array was changed"
    assert np.array_equal(_global_random_state(), before[2]), "global random numbers were drawn"
    assert np.geterr() == before[3]
    assert list(warnings.filters) == before[4]
    assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == before[5]
    assert repr(estimator.get_params()) == repr(before[6])


# ---- the schema -----------------------------------------------------------------------------
@_ranker_check
def check_keep(estimator: Any) -> None:
    """Columns to keep come first, are counted and selected, by name or by position."""
    table = example(estimator)
    free = _names(_fit(estimator, table), table)
    keep = [free[-1], free[-3]]
    for keep_form in (keep, [table.names.index(name) for name in keep]):
        fitted = _fit(estimator, table, schema={"keep": keep_form}, n_features_to_select=3)
        ranked_names = _names(fitted, table)
        assert set(ranked_names[:2]) == set(keep), "columns to keep are not first"
        assert fitted.support_.sum() == 3
    if _scores_one_by_one(estimator):
        assert ranked_names[2:] == [name for name in free if name not in keep]
    everything = _fit(estimator, table, schema=Schema(keep=table.names))
    assert everything.support_.all(), "None selects fewer than the columns to keep"
    fewer = clone(estimator).set_params(schema=Schema(keep=keep), n_features_to_select=1)
    _assert_refuses(fewer, _frame(table), table.y, "keep", error=ValueError)


@_check
def check_schema_forms(estimator: Any) -> None:
    """A dict works like a Schema and a position like a name; errors name a wrong column."""
    table = example(estimator)
    position = table.names.index("whole")
    outcomes = [
        _names(_fit(estimator, table, schema=schema), table)
        for schema in (
            Schema(ordinal=["whole"]),
            {"ordinal": ["whole"]},
            {"ordinal": [position]},
        )
    ]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    for schema, word in (
        ({"keep": ["wole"]}, "'whole'"),
        ({"categorical": [99]}, "99"),
        ({"keeps": ["whole"]}, "'keep'"),
        ({"continuous": ["whole"], "ordinal": ["whole"]}, "whole"),
    ):
        changed = clone(estimator).set_params(schema=schema)
        _assert_refuses(changed, _frame(table), table.y, word, error=SchemaError)
    for part, value in (
        ("prior", {"whole": 2.0}),
        ("costs", {"whole": 2.0}),
        ("column_groups", {"lab": ["whole", "single"]}),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _fit(estimator, table, schema={part: value})
        schema_warnings = [w for w in caught if issubclass(w.category, SchemaWarning)]
        # costs alone change nothing: without a trade-off nobody knows what they are worth
        assert len(schema_warnings) == (part not in estimator._uses or part == "costs"), (
            f"{part}: {len(schema_warnings)} warnings"
        )
        assert all(part in str(w.message) for w in schema_warnings)


# ---- hard cases -----------------------------------------------------------------------------
@_check
def check_constant_column(estimator: Any) -> None:
    """A constant column ranks low and raises no error, not even in a table of constants."""
    table = example(estimator)
    flat = table.replace_columns(flat=np.full(len(table.y), 0.1), zero=np.zeros(len(table.y)))
    fitted = _fit(estimator, flat)
    order = _names(fitted, flat)
    assert not {"flat", "zero"} & set(order[: len(order) // 2]), "a constant column ranks high"
    fitted = clone(estimator).fit(np.full((10, 3), 0.1), np.arange(10) % 2)
    assert fitted.get_support().any()
    if isinstance(estimator, Ranker):
        assert fitted.order_.tolist() == [0, 1, 2]


@_check
def check_small_tables(estimator: Any) -> None:
    """One column, two rows, one row a class, and far more columns than rows."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    assert clone(estimator).fit(rng.normal(size=(30, 1)), y).order_.tolist() == [0]
    for n_rows in (2, 3):
        fitted = clone(estimator).fit(rng.normal(size=(n_rows, 4)), np.arange(n_rows) % 2)
        assert fitted.get_support().any()
    # with fewer rows, the ranks of many noise columns separate the classes as well; one of them is
    # enough to make the right column redundant
    n_rows = 24 if estimator._is_greedy() else 12
    wide = rng.normal(size=(n_rows, 3000))
    wide[:, 1234] = 4 * (np.arange(n_rows) % 2) + rng.normal(scale=1e-3, size=n_rows)
    fitted = clone(estimator).fit(wide, np.arange(n_rows) % 2)
    if isinstance(estimator, Ranker):
        assert fitted.ranking_[1234] <= 30, "an almost perfect column is not among the best"


@_check
def check_many_classes(estimator: Any) -> None:
    """More than two classes work, or are refused by an error that says so."""
    table = example(estimator, n_classes=3)
    if estimator._takes_many_classes():
        expected = _names(_fit(estimator, table), table)
        rows = np.random.default_rng(0).permutation(len(table.y))
        if not estimator.__sklearn_tags__().non_deterministic:
            _assert_same(
                _names(_fit(estimator, table.take_rows(rows)), table),
                expected,
                "permuting the rows",
            )
        one_row_of_c = np.array(["a", "b"] * 6 + ["c"])
        clone(estimator).fit(table.array()[:13], one_row_of_c)
    else:
        _assert_refuses(estimator, _frame(table), table.y, "3 classes")


@_check
def check_missing_values(estimator: Any) -> None:
    """Missing values work if the method declares so; else the error names column, row, remedy."""
    table = example(estimator)
    values = table.columns["number 4"].copy()
    values[[3, 17]] = np.nan
    incomplete = table.replace_columns(**{"number 4": values})
    for library in installed_libraries():
        frame = in_library(incomplete, library)
        if estimator._missing:
            fitted = clone(estimator).fit(frame, table.y)
            assert len(fitted.order_)
            if isinstance(estimator, Ranker):
                assert np.isfinite(fitted.scores_).all()
        else:
            _assert_refuses(estimator, frame, table.y, "'number 4'", "row 3", "NaN", "Fill them in")
    if not estimator._missing:
        numbers = incomplete.select_columns(
            [name for name in table.names if name not in table.categorical]
        )
        _assert_refuses(
            estimator, _frame(numbers), table.y, "use a method that takes missing", "FTest"
        )
    else:
        emptied = table.replace_columns(**{"number 8": np.full(len(table.y), np.nan)})
        fitted = _fit(estimator, emptied)
        assert _names(fitted, emptied)[0] != "number 8", "a column without values ranks first"
    if table.categorical and not estimator._missing:
        import polars as pl

        # entirely missing, so without levels, as the last and as the first column
        nothing = pl.Series("nothing", [None] * len(table.y), dtype=pl.String)
        for frame in (_frame(table).with_columns(nothing), _frame(table).insert_column(0, nothing)):
            _assert_refuses(estimator, frame, table.y, "'nothing'", "row 0")
        frame = _frame(table).with_columns(
            pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("colour").alias("colour")
        )
        _assert_refuses(estimator, frame, table.y, "'colour'", "row 5")


@_check
def check_unsupported_kinds(estimator: Any) -> None:
    """A column of a kind that the method cannot take is refused by name, with a remedy."""
    import polars as pl

    table = example(estimator)
    frame = _frame(table).with_columns(pl.Series("tumour", ["x", "y", "z"] * 20))
    if "categorical" not in estimator._kinds:
        _assert_refuses(estimator, frame, table.y, "'tumour'", "categorical", "SVMRFE")
        order = {"ordinal": {"tumour": ["x", "y", "z"]}}
        clone(estimator).set_params(schema=order).fit(frame, table.y)
    else:
        clone(estimator).fit(frame, table.y)


@_check
def check_kinds_of_target(estimator: Any) -> None:
    """A method takes the targets that it says, and names others that take the rest."""
    table = example(estimator)
    frame, rng = _frame(table), np.random.default_rng(0)
    n_rows = len(table.y)
    values = rng.normal(size=n_rows) + (table.y == "yes")
    event = np.arange(n_rows) % 3 > 0
    whole = np.arange(n_rows) + 100
    times = np.array(
        list(zip(event, np.exp(values), strict=True)), [("event", "?"), ("time", "f8")]
    )
    for kind, target in (("numbers", values), ("survival", times)):
        if kind in estimator._targets:
            fitted = clone(estimator).fit(frame, target)
            assert fitted.target_kind_ == kind
            assert not hasattr(fitted, "classes_"), f"classes_ of a target of {kind}"
        else:
            _assert_refuses(estimator, frame, target, kind, "use a method that takes")
    _assert_refuses(estimator, frame, whole, f"{n_rows} different whole numbers", "target_kind")
    if "numbers" in estimator._targets:
        _assert_refuses(estimator, frame, np.full(n_rows, 0.5), "0.5 in every row")
        declared = clone(estimator).set_params(schema={"target_kind": "numbers"})
        assert declared.fit(frame, whole).target_kind_ == "numbers"


@_check
def check_weights(estimator: Any) -> None:
    """A row of weight 2 counts as two rows, or the method refuses weights by name."""
    table = example(estimator)
    frame, y, n_rows = _frame(table), table.y, len(table.y)
    weights = np.random.default_rng(1).integers(0, 4, n_rows).astype(float)
    if "classes" not in estimator._weighs_targets:
        words = ("sample_weight", "FTest", "SVMRFE")
        how: dict[str, Any] = {"sample_weight": weights}
        _assert_refuses(estimator, frame, y, *words, error=ValueError, fit=how)
        return

    def fit(rows: Any, **how: Any) -> list[list[str]]:
        part = table.take_rows(rows)
        return _tied_names(clone(estimator).fit(_frame(part), part.y, **how), table)

    every, known = np.arange(n_rows), np.flatnonzero(weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _assert_same(fit(every, sample_weight=np.ones(n_rows)), fit(every), "a weight of 1")
        expected = fit(known)
        _assert_same(fit(every, sample_weight=weights > 0), expected, "a row of weight 0")
        if not estimator.__sklearn_tags__().non_deterministic:
            expected = fit(np.repeat(every, weights.astype(int)))
            _assert_same(fit(every, sample_weight=weights), expected, "weights for repeated rows")
    for wrong, word in (
        (weights[1:], f"{n_rows - 1} entries"),
        (np.where(every == 3, np.nan, 1.0), "row 3"),
        (np.where(every == 4, -1.0, 1.0), "negative in row 4"),
        (np.where(every == 5, np.inf, 1.0), "infinite in row 5"),
        (np.zeros(n_rows), "zero in every row"),
        (np.where(y == y[0], 1.0, 0.0), "one class only"),
        (["a"] * n_rows, "no number"),
    ):
        how = {"sample_weight": wrong}
        _assert_refuses(estimator, frame, y, "sample_weight", word, fit=how)


@_check
def check_batches(estimator: Any) -> None:
    """Batches in any order rank as one table does; other columns, kinds and classes are refused."""
    if not hasattr(estimator, "partial_fit"):
        return
    import polars as pl

    table = example(estimator, n_classes=3 if estimator._takes_many_classes() else 2)
    frame, y = _frame(table), table.y
    options = {"discretizer": None} if "discretizer" in estimator.get_params() else {}
    if options:
        numbers = pl.selectors.numeric()
        frame = frame.with_columns(numbers.round(0))
    whole = clone(estimator).set_params(**options)
    expected = clone(whole).fit(frame, y)
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 7)
    for order in (parts, parts[::-1]):
        batches = clone(whole)
        for rows in order:
            batches.partial_fit(frame[rows], y[rows])
        assert batches.n_seen_ == len(y)
        assert batches.classes_.tolist() == expected.classes_.tolist()
        if options:
            assert (batches.scores_ == expected.scores_).all(), "batches changed a score"
            _assert_same(batches.order_.tolist(), expected.order_.tolist(), "batches")
        else:
            assert np.allclose(batches.scores_, expected.scores_, rtol=1e-9, atol=1e-12)
    state = pickle.dumps(batches)
    for X, labels, word in (
        (frame.drop(table.names[0]), y, "feature"),
        (frame.rename({table.names[0]: "other"}), y, "other"),
        (frame.with_columns(pl.lit("x").alias("whole")), y, "'whole'"),
        (frame, np.linspace(0, 0.5, len(y)), "numbers"),
    ):
        _assert_refuses_batch(batches, X, labels, word)
        assert (batches.scores_ == pickle.loads(state).scores_).all(), "an error changed the sums"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected.partial_fit(frame[parts[0]], y[parts[0]])
    assert any("begins anew" in str(warning.message) for warning in caught)
    assert expected.n_seen_ == len(parts[0])


@_check
def check_bad_input(estimator: Any) -> None:
    """Each mistake raises an error of one line that says what is wrong, where, and what to do."""
    import polars as pl

    table = example(estimator)
    frame, y, X = _frame(table), table.y, table.array()
    huge = X.copy()
    huge[4, 2] = np.inf
    _assert_refuses(estimator, huge, y, "'x2'", "row 4", "inf")
    huge[4, 2] = 1e200
    try:  # a method that squares nothing may take it
        clone(estimator).fit(huge, y)
    except ValueError:
        _assert_refuses(estimator, huge, y, "'x2'", "overflow")
    _assert_refuses(estimator, frame, np.full(len(y), "yes"), "one class", "'yes'")
    _assert_refuses(estimator, frame, y[:-1], str(len(y)), str(len(y) - 1))
    _assert_refuses(estimator, frame, [None, *y[1:]], "row 0")
    _assert_refuses(estimator, frame, np.where(np.arange(len(y)) == 2, np.nan, 1.0), "row 2")
    _assert_refuses(estimator, frame, ["a", 1] * (len(y) // 2), "y mixes")
    _assert_refuses(estimator, frame.head(0), y[:0], "0 sample")
    _assert_refuses(estimator, frame.select([]), y, "0 feature")
    _assert_refuses(estimator, frame.lazy(), y, "LazyFrame", "collect")
    _assert_refuses(estimator, frame["whole"], y, "one column")
    _assert_refuses(estimator, frame.with_columns(day=pl.date(2020, 1, 1)), y, "'day'", "date")
    mixed = np.array(X, dtype=object)
    mixed[7, 1] = "n/a"
    _assert_refuses(estimator, mixed, y, "'x1'", "row 7", "'n/a'")
    if "pandas" in installed_libraries():
        import pandas as pd

        twice = pd.DataFrame(X[:, :3], columns=["a", "b", "a"])
        _assert_refuses(estimator, twice, y, "'a'")
        text = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).astype({"b": object})
        text.loc[5, "b"] = "high"
        _assert_refuses(estimator, text, y, "'b'", "row 5", "'high'")
    words = frame.with_columns(pl.Series("dose", ["1.5", "2", "x"] * 20))
    declared = clone(estimator).set_params(schema={"continuous": ["dose"]})
    _assert_refuses(declared, words, y, "'dose'", "row 2", "'x'")
    fitted = clone(estimator).fit(frame, y)
    try:
        fitted.transform(frame.drop(table.names[0]))
    except ValueError:
        pass
    else:
        raise AssertionError("transform took a table with a column missing")


@_check
def check_parameter_rules(estimator: Any) -> None:
    """Each value that breaks the rule of its parameter is refused before the table is looked at.

    The error is one line that names the parameter and says what it may be. The values follow from
    the rules. It is for learners and transformers, too.
    """
    for name, parameter in parameters_of(type(estimator)).items():
        assert parameter.accepts(getattr(estimator, name)), f"{name} breaks its own rule"
        outside = [value for rule in parameter.rules for value in rule.outside]
        wrong = [value for value in (*VALUES, *outside) if not parameter.accepts(value)]
        assert wrong or not parameter.rules, f"{name} takes any value"
        for value in wrong:
            changed = clone(estimator).set_params(**{name: value})
            words = (f"{name}=", f": give {parameter.words()}")
            _assert_refuses(changed, object(), object(), *words, error=ParameterError)


# ---- leaks ----------------------------------------------------------------------------------
for _leak_check in LEAK_CHECKS:
    _check(_leak_check)
