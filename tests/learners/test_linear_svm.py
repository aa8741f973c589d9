"""The machine is libsvm's, its certificate holds, and a path is a fit at every size."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import ConvergenceWarning, DataError
from featly.basics.errors import ParameterError
from featly.learners import Encoder, LinearSVM
from featly.learners.one_vs_one import middle_bias, votes
from tests.reference.learners import best_bias, machine, objective, winner


@st.composite
def problems(draw, most_classes=3):
    """Training rows, labels, other rows: ties, missing values, constant columns, single rows."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, p, m = draw(st.integers(2, 25)), draw(st.integers(1, 7)), 8
    n_classes = min(n, draw(st.integers(2, most_classes)))
    coarse = draw(st.booleans())
    table = rng.integers(-1, 2, (n + m, p)) * 1.0 if coarse else rng.normal(size=(n + m, p))
    if draw(st.booleans()):
        table[rng.random(table.shape) < 0.1] = np.nan
    if draw(st.integers(0, 3)) == 0:
        table[:n, 0] = 0.1
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return table[:n], y, table[n:]


PARAMETERS = st.fixed_dictionaries(
    {
        "C": st.sampled_from([0.01, 1.0, 30.0]),
        "class_weight": st.sampled_from([None, "balanced"]),
        "standardize": st.booleans(),
    }
)


# ---- the machine ---------------------------------------------------------------------------------
@given(problems(most_classes=2), st.sampled_from([0.01, 1.0, 30.0]))
def test_two_classes_are_libsvms(problem, C):
    X, y, rows = problem
    svm = LinearSVM(C=C).fit(X, y)
    assert svm.duality_gap_.max() < 1e-8
    encoder = Encoder().fit(X)
    Z, sign = encoder.transform(X), np.where(y == 1, 1.0, -1.0)
    solution = machine(Z, sign, C)
    assume(solution is not None)
    w, b = solution
    ours = objective(Z, sign, svm.coef_[0], svm.intercept_[0], C)
    assert ours <= objective(Z, sign, w, b, C) * (1 + 1e-9) + 1e-12
    assert svm.coef_[0] == pytest.approx(w, abs=1e-4)
    value = encoder.transform(rows) @ w + best_bias(Z @ w, sign, C)  # libsvm takes any of the best
    sure = np.abs(value) > 1e-3
    assert (svm.predict(rows)[sure] == (value > 0)[sure]).all()


@given(problems(most_classes=4), PARAMETERS)
def test_many_classes_are_pairs_that_vote(problem, parameters):
    X, y, rows = problem
    svm = LinearSVM(**parameters).fit(X, y)
    assert svm.duality_gap_.max() < 1e-8
    n_classes = len(svm.classes_)
    assert svm.coef_.shape[0] == n_classes * (n_classes - 1) // 2
    encoder = Encoder(standardize=parameters["standardize"]).fit(X)
    values = encoder.transform(rows) @ svm.coef_.T + svm.intercept_
    values[np.abs(values) < 1e-6] = 0
    expected = [winner(row, n_classes) for row in values]
    assert svm.predict(rows).tolist() == svm.classes_[expected].tolist()


@given(problems(), PARAMETERS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_of_rows_and_columns_does_not_matter(problem, parameters, random):
    X, y, rows = problem
    expected = LinearSVM(**parameters).fit(X, y).predict(rows)
    order = random.sample(range(len(X)), len(X))
    columns = random.sample(range(X.shape[1]), X.shape[1])
    shuffled = LinearSVM(**parameters).fit(X[order][:, columns], y[order])
    assert shuffled.predict(rows[:, columns]).tolist() == expected.tolist()
    svm = LinearSVM(**parameters).fit(X, y)
    assert [svm.predict(row[None])[0] for row in rows] == expected.tolist()


@given(st.integers(0, 10_000), st.integers(2, 12), st.booleans(), st.booleans())
def test_the_bias_is_the_middle_of_the_best_ones(seed, n, coarse, weighted):
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 3, n) / 2 if coarse else rng.normal(size=n)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    C = np.where(y > 0, 0.3, 0.1 if weighted else 0.3)
    assert middle_bias(values, y, C) == pytest.approx(best_bias(values, y, C), abs=1e-9)


def test_prices_that_cancel_but_for_rounding_leave_an_interval():
    y, C = np.array([1.0, 1.0, 1.0, -1.0]), np.array([0.1, 0.1, 0.1, 0.3])
    assert C[:3].sum() > C[3]
    assert middle_bias(np.zeros(4), y, C) == 0
    assert middle_bias(np.zeros(4), -y, C) == 0


def test_margins_that_are_equal_but_for_rounding_leave_the_first_class():
    ring = np.array([[-1e3, 1e3, -1e3], [1e3, -1e3, 1e3]])
    blurred = ring * [1, 1 + 1e-15, 1]
    assert (votes(blurred, 3) == votes(ring, 3)).all()
    assert votes(blurred, 3).argmax(axis=1).tolist() == [0, 0]


def test_a_small_price_still_tells_classes_apart():
    """Margins are as small as C then, but not rounding errors."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 4 * y[:, None]
    for C in (1e-3, 1e-7, 1e-11):
        assert (LinearSVM(C=C).fit(X, y).predict(X) == y).all()


def test_constant_columns_leave_the_larger_class():
    X = np.full((5, 2), 0.1)
    rows = np.array([[0.1, 0.1], [5.0, -5.0]])
    assert LinearSVM().fit(X, [0, 1, 1, 0, 1]).predict(rows).tolist() == [1, 1]
    assert LinearSVM().fit(X[:4], [0, 1, 1, 0]).predict(rows).tolist() == [0, 0]
    weights = {0: 10.0, 1: 1.0}
    assert LinearSVM(class_weight=weights).fit(X, [0, 1, 1, 0, 1]).predict(rows[:1]) == [0]


def test_class_weights_are_prices():
    rng = np.random.default_rng(0)
    y = (np.arange(60) < 10).astype(int)
    X = rng.normal(size=(60, 2)) + y[:, None]
    Z, sign = Encoder().fit_transform(X), np.where(y == 1, 1.0, -1.0)
    for weight, price in (("balanced", {0: 0.6, 1: 3.0}), ({1: 4.0}, {0: 1.0, 1: 4.0})):
        svm = LinearSVM(C=2.0, class_weight=weight).fit(X, y)
        prices = 2.0 * np.where(y == 1, price[1], price[0])
        best = objective(Z, sign, svm.coef_[0], svm.intercept_[0], prices)
        for _ in range(50):
            w, b = svm.coef_[0] + rng.normal(scale=0.1, size=2), svm.intercept_[0]
            assert best <= objective(Z, sign, w, b + rng.normal(scale=0.1), prices)


def test_a_machine_that_is_not_solved_warns():
    X = np.random.default_rng(0).normal(size=(12, 2))
    X[0, 1] = 1e130
    with pytest.warns(ConvergenceWarning, match="standardize=True"):
        LinearSVM(standardize=False).fit(X, np.arange(12) % 2)


# ---- tables and labels ---------------------------------------------------------------------------
def patients(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    age = np.round(rng.normal(50 + 5 * y, 9), 1)
    stage = np.array(["i", "ii", "iii", "iv"])[np.minimum(rng.integers(0, 3, n) + y, 3)]
    frame = pl.DataFrame(
        {
            "age": pl.Series(age).set(pl.Series(rng.random(n) < 0.1), None),
            "stage": pl.Series(stage).set(pl.Series(rng.random(n) < 0.1), None),
            "site": rng.integers(1, 4, n),
            "smokes": rng.random(n) < 0.3 + 0.2 * y,
            "noise": rng.normal(size=n),
        }
    )
    return frame, np.array(["well", "ill", "worse"])[y]


def test_frames_of_all_libraries_agree():
    frame, y = patients()
    schema = {"categorical": ["site"]}
    expected = LinearSVM(schema=schema).fit(frame[:40], y[:40]).predict(frame[40:])
    assert len(set(expected)) == 3
    for library in (
        frame.to_pandas(),
        frame.to_arrow(),
        frame.with_columns(pl.col("stage").cast(pl.Categorical)),
        frame.with_columns(pl.col("site").cast(pl.Float64)),
    ):
        arrow = isinstance(library, pa.Table)
        train, rows = (
            (library[:40], library[40:]) if not arrow else (library.slice(0, 40), library.slice(40))
        )
        svm = LinearSVM(schema=schema).fit(train, y[:40])
        assert svm.predict(rows).tolist() == expected.tolist()
    by_hand = Encoder(schema=schema).fit(frame[:40]).transform(frame)
    plain = LinearSVM(standardize=False).fit(by_hand[:40], y[:40])
    assert plain.predict(by_hand[40:]).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7]),
        np.array([False, True]),
        np.array([-1.0, 1.0]),
        np.array(["ill", "well"]),
        np.array(["ill", "well"], dtype=object),
    ],
)
def test_labels_of_any_type_come_back(labels):
    rng = np.random.default_rng(0)
    code = np.arange(30) % 2
    X = rng.normal(size=(30, 2)) + 3 * code[:, None]
    for y in (labels[code], labels[code].tolist(), pd.Series(labels[code])):
        svm = LinearSVM().fit(X, y)
        assert svm.predict(X).dtype.kind == svm.classes_.dtype.kind
        assert svm.predict(X).tolist() == labels[(svm.decision_function(X) > 0) * 1].tolist()
        assert (svm.predict(X) == labels[code]).mean() > 0.9
        path = svm.predict_path(X, y, X, [1, 2])
        assert path[1].tolist() == svm.predict(X).tolist()


def test_lists_and_sparse_tables():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 5)) < 0.5, rng.normal(size=(40, 5)), 0.0)
    y = np.arange(40) % 2
    expected = LinearSVM().fit(X, y).predict(X).tolist()
    assert LinearSVM().fit(X.tolist(), y.tolist()).predict(X.tolist()).tolist() == expected
    sparse = scipy.sparse.csr_array(X)
    assert LinearSVM().fit(sparse, y).predict(sparse).tolist() == expected
    for table in (X.tolist(), sparse):
        assert LinearSVM().predict_path(table, y, table, [5])[0].tolist() == expected


# ---- the path ------------------------------------------------------------------------------------
def assert_path_is_fits(X, y, rows, sizes, take, **parameters):
    svm = LinearSVM(**parameters)
    path = svm.predict_path(X, y, rows, sizes)
    assert not [name for name in vars(svm) if name.endswith("_")], "the path leaves traces"
    for size, labels in zip(sizes, path, strict=True):
        single = LinearSVM(**parameters).fit(take(X, size), y)
        assert single.duality_gap_.max() < 1e-8
        assert labels.tolist() == single.predict(take(rows, size)).tolist(), f"size {size}"


def first_columns(X, size):
    return X[:, :size]


@given(problems(most_classes=4), PARAMETERS)
def test_path_is_a_fit_at_every_size(problem, parameters):
    X, y, rows = problem
    assert_path_is_fits(X, y, rows, range(1, X.shape[1] + 1), first_columns, **parameters)


@pytest.mark.parametrize("classes", [2, 3])
def test_path_of_mixed_frames(classes):
    frame, y = patients()
    y = np.where(y == "worse", "ill", y) if classes == 2 else y
    for X in (frame, frame.to_pandas()):
        take = first_columns if X is frame else (lambda X, size: X.iloc[:, :size])
        assert_path_is_fits(X[:40], y[:40], X[40:], [1, 2, 3, 5], take)
    arrow = frame.to_arrow()
    select = lambda X, size: X.select(list(range(size)))  # noqa: E731
    assert_path_is_fits(arrow.slice(0, 40), y[:40], arrow.slice(40), [2, 4], select)


def test_path_where_columns_are_empty():
    frame = pl.DataFrame(
        {
            "nothing": pl.Series([None] * 6, dtype=pl.String),
            "no number": pl.Series([None] * 6, dtype=pl.Float64),
            "some": [1.0, 2.0, None, 4.0, 5.0, 6.0],
        }
    )
    assert_path_is_fits(frame[:5], [0, 0, 1, 1, 1], frame[4:], [1, 2, 3], first_columns)


def test_path_of_sparse_tables():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 30)) < 0.2, rng.normal(size=(50, 30)), 0.0)
    X[:, :3] += np.arange(50)[:, None] % 3
    sparse = scipy.sparse.csr_array(X)
    assert_path_is_fits(sparse[:40], np.arange(40) % 3, sparse[40:], [1, 4, 30], first_columns)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "coarse"),
    [
        (1100, 6, 2, False),  # machines of the columns themselves
        (1100, 5, 2, True),  # ... where many rows repeat
        (1500, 6, 3, False),  # pairs of fewer rows than the table
        (1030, 300, 2, False),  # the first sizes by columns, the last by a Gram matrix
        (40, 500, 3, False),
        (60, 8, 7, True),
    ],
)
def test_path_of_tall_wide_and_many_class_tables(n_rows, n_columns, n_classes, coarse):
    rng = np.random.default_rng(n_rows)
    table = rng.normal(size=(n_rows + 60, n_columns))
    y = np.arange(n_rows + 60) % n_classes
    table[:, :4] += 0.4 * y[:, None]
    if coarse:
        table = np.round(table)
    sizes = [size for size in (1, 2, 5, 64, n_columns) if size <= n_columns]
    X, rows = table[:n_rows], table[n_rows:]
    assert_path_is_fits(X, y[:n_rows], rows, sorted(set(sizes)), first_columns)


def test_a_tall_table_of_coarse_noise_is_solved():
    rng = np.random.default_rng(27)
    X, y = rng.integers(-1, 2, size=(1200, 2)).astype(float), rng.integers(0, 2, 1200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert LinearSVM().fit(X, y).duality_gap_.max() < 1e-8


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [[], [0, 1], [2, 1], [1, 1], [4], [1.5]])
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(ParameterError, match="from 1 to 3, ascending"):
        LinearSVM().predict_path(np.eye(3), [0, 1, 1], np.eye(3), sizes)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"C": 0}, "C=0"),
        ({"C": np.inf}, "C=inf"),
        ({"C": True}, "C=True"),
        ({"C": "1"}, "C='1'"),
        ({"class_weight": "fair"}, "class_weight='fair'"),
        ({"class_weight": {0: -1.0}}, "positive"),
        ({"class_weight": {0: 1.0, 9: 1.0}}, "class_weight"),
    ],
)
def test_parameters_that_make_no_sense(parameters, word):
    for call in (
        lambda svm: svm.fit(np.eye(3), [0, 1, 1]),
        lambda svm: svm.predict_path(np.eye(3), [0, 1, 1], np.eye(3), [1]),
    ):
        with pytest.raises(ParameterError, match=word) as caught:
            call(LinearSVM(**parameters))
        assert "\n" not in str(caught.value)


def test_targets_and_tables_that_make_no_sense():
    with pytest.raises(DataError, match="one class only"):
        LinearSVM().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(DataError, match="3 rows but y has 2"):
        LinearSVM().fit(np.eye(3), [0, 1])
    with pytest.raises(ValueError, match="requires y"):
        LinearSVM().fit(np.eye(3), None)
    with pytest.raises(NotFittedError):
        LinearSVM().predict(np.eye(3))
    fitted = LinearSVM().fit(pl.DataFrame({"a": [1, 2, 3]}), [0, 1, 1])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(pl.DataFrame({"b": [1, 2, 3]}))
    with pytest.raises(ValueError, match="LinearSVM is expecting 3 features"):
        LinearSVM().fit(np.eye(3), [0, 1, 1]).predict(np.eye(2))


@parametrize_with_checks([LinearSVM(), LinearSVM(standardize=False, class_weight="balanced")])
def test_scikit_learn(estimator, check):
    check(estimator)
