"""The machine minimises the paper's cost, is ridge regression, and a path is a fit at each size."""

import numpy as np
import polars as pl
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import ConvergenceWarning, DataError, SchemaError
from featly.basics.errors import ParameterError
from featly.core.models import least_squares, least_squares_tables
from featly.learners import Encoder, encoded_rows, proximal_svc
from featly.learners.proximal_svc import ProximalSVC
from tests.reference.proximal_svc import cost, gaussian, machine


@st.composite
def problems(draw, most_classes=4):
    """Training rows, labels, other rows: ties, missing values, constant and equal columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, p, m = draw(st.integers(2, 20)), draw(st.integers(1, 12)), 8
    n_classes = min(n, draw(st.integers(2, most_classes)))
    coarse = draw(st.booleans())
    table = rng.integers(-1, 2, (n + m, p)) * 1.0 if coarse else rng.normal(size=(n + m, p))
    if draw(st.booleans()):
        table[:, -1] = -2 * table[:, 0]
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


def prices_of(y, C=1.0, class_weight=None, **_):
    n, counts = len(y), np.bincount(y)
    if class_weight is None:
        return np.full(n, C)
    return C * (n / (len(counts) * counts))[y]


def signs_of(y):
    labels = np.unique(y)
    wanted = labels[1:] if len(labels) == 2 else labels
    return [np.where(y == label, 1.0, -1.0) for label in wanted]


# ---- the machine ---------------------------------------------------------------------------------
@given(problems(), PARAMETERS)
def test_every_machine_is_the_papers(problem, parameters):
    X, y, rows = problem
    fitted = ProximalSVC(**parameters).fit(X, y)
    encoder = Encoder(standardize=parameters["standardize"]).fit(X)
    Z, prices = encoder.transform(X), prices_of(y, **parameters)
    values = []
    for k, sign in enumerate(signs_of(y)):
        w, gamma = machine(Z, sign, prices)
        assert fitted.coef_[k] == pytest.approx(w, abs=1e-7)
        assert fitted.intercept_[k] == pytest.approx(-gamma, abs=1e-7)
        values.append(encoder.transform(rows) @ w - gamma)
    assert fitted.residual_.max() < 1e-9
    values = np.array(values).T
    ours = fitted.decision_function(rows).reshape(len(rows), -1)
    assert ours == pytest.approx(values, abs=1e-6)
    if values.shape[1] == 1:
        values = np.c_[-values, values]
    least, most = np.sort(values, axis=1)[:, -2:].T
    expected = np.unique(y)[values.argmax(axis=1)]
    assert (fitted.predict(rows) == expected)[most - least > 1e-6].all()


@pytest.mark.parametrize("seed", range(3))
def test_no_optimiser_finds_less(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    fitted = ProximalSVC(C=2.0, class_weight={1: 3.0}).fit(X, y)
    Z, sign, prices = Encoder().fit_transform(X), np.where(y, 1.0, -1.0), np.where(y, 6.0, 2.0)
    value = lambda b: cost(Z, sign, prices, b[1:], -b[0])  # noqa: E731
    ours = np.r_[fitted.intercept_, fitted.coef_[0]]
    best = scipy.optimize.minimize(value, np.zeros(4), tol=1e-12, method="Powell")
    assert value(ours) <= best.fun * (1 + 1e-12)
    assert ours == pytest.approx(best.x, abs=1e-5)
    gradient = scipy.optimize.approx_fprime(ours, value, 1e-6)
    assert gradient == pytest.approx(np.zeros(4), abs=1e-3)


@pytest.mark.parametrize(("n", "p"), [(60, 4), (12, 30)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_ridge_regression_on_a_bordered_table(n, p, n_classes):
    rng = np.random.default_rng(n)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) + 0.5 * y[:, None]
    fitted = ProximalSVC(C=0.25).fit(X, y)
    bordered = np.column_stack([np.ones(n), Encoder().fit_transform(X)])
    ridge = RidgeClassifier(alpha=4.0, fit_intercept=False, tol=1e-12).fit(bordered, y)
    assert np.c_[fitted.intercept_, fitted.coef_] == pytest.approx(np.atleast_2d(ridge.coef_))
    assert (fitted.predict(X) == ridge.predict(bordered)).all()
    weighted = ProximalSVC(C=0.25, class_weight="balanced").fit(X[1:], y[1:])
    bordered = np.column_stack([np.ones(n - 1), Encoder().fit_transform(X[1:])])
    regression = Ridge(alpha=1.0, fit_intercept=False)
    for k, sign in enumerate(signs_of(y[1:])):
        prices = prices_of(y[1:], 0.25, "balanced")
        expected = regression.fit(bordered, sign, sample_weight=prices).coef_
        assert np.r_[weighted.intercept_[k], weighted.coef_[k]] == pytest.approx(expected)


# ---- the Gaussian --------------------------------------------------------------------------------
@given(problems(), PARAMETERS, st.sampled_from([None, 0.7, 3.0]))
@settings(max_examples=30)
def test_the_gaussian_machine_is_linear_in_kernel_values(problem, parameters, width):
    X, y, rows = problem
    fitted = ProximalSVC(kernel="gaussian", width=width, **parameters).fit(X, y)
    assert not hasattr(fitted, "coef_")
    encoder = Encoder(standardize=parameters["standardize"]).fit(X)
    Z, prices = encoder.transform(X), prices_of(y, **parameters)
    if width is None:
        variance = Z.var(axis=0).sum()
        width = np.sqrt(variance / 2) if variance > 0 else 1.0
    assert fitted.width_ == pytest.approx(width)
    K, other = gaussian(Z, Z, width), gaussian(encoder.transform(rows), Z, width)
    values = fitted.decision_function(rows).reshape(len(rows), -1)
    for k, sign in enumerate(signs_of(y)):
        w, gamma = machine(K, sign, prices)
        assert fitted.dual_coef_[k] == pytest.approx(w, abs=1e-6)
        assert values[:, k] == pytest.approx(other @ w - gamma, abs=1e-6)


def test_a_gaussian_tells_a_ring_from_its_middle_and_can_be_refitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (np.linalg.norm(X, axis=1) > 1.2) * 1
    curved = ProximalSVC(kernel="gaussian", C=100.0)
    assert curved.fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.85
    assert ProximalSVC().fit(X[:150], y[:150]).score(X[150:], y[150:]) < 0.75
    flat = curved.set_params(kernel="linear").fit(X, y)
    assert not hasattr(flat, "dual_coef_")
    assert (flat.predict(X) == ProximalSVC().fit(X, y).predict(X)).all()


# ---- one machine, however it is solved -----------------------------------------------------------
@given(problems(), PARAMETERS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_of_rows_and_columns_does_not_matter(problem, parameters, random):
    X, y, rows = problem
    svm = ProximalSVC(**parameters).fit(X, y)
    expected = svm.predict(rows)
    order = random.sample(range(len(X)), len(X))
    columns = random.sample(range(X.shape[1]), X.shape[1])
    shuffled = ProximalSVC(**parameters).fit(X[order][:, columns], y[order])
    assert shuffled.predict(rows[:, columns]).tolist() == expected.tolist()
    assert [svm.predict(row[None])[0] for row in rows] == expected.tolist()


@given(problems(), PARAMETERS)
@settings(max_examples=40)
def test_sparse_tables_are_the_same_tables(problem, parameters):
    X, y, rows = problem
    X, rows = np.where(np.abs(X) < 0.5, 0.0, X), np.where(np.abs(rows) < 0.5, 0.0, rows)
    dense = ProximalSVC(**parameters).fit(X, y)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix):
        sparse = ProximalSVC(**parameters).fit(kind(X), y)
        assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-7)
        assert sparse.intercept_ == pytest.approx(dense.intercept_, abs=1e-7)
        for table in (rows, kind(rows)):
            for fitted in (sparse, dense):
                assert fitted.predict(table).tolist() == dense.predict(rows).tolist()
    path = ProximalSVC(**parameters).predict_path(kind(X), y, kind(rows), [X.shape[1]])
    assert path[0].tolist() == dense.predict(rows).tolist()


def test_sparse_tables_stay_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((500, 3000), density=0.01, rng=rng, format="csr")
    y = (X[:, :40].sum(axis=1) > X[:, 40:80].sum(axis=1)) * 1
    expected = ProximalSVC().fit(X.toarray(), y)
    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", refuse_large)
    fitted = ProximalSVC().fit(X, y)
    assert fitted.coef_ == pytest.approx(expected.coef_, abs=1e-10)
    assert fitted.decision_function(X) == pytest.approx(fitted.decision_function(X.tocsc()))
    monkeypatch.setattr(least_squares, "LARGEST_SYSTEM", 100)
    iterated = ProximalSVC().fit(X, y)
    assert iterated.coef_ == pytest.approx(expected.coef_, abs=1e-7)
    assert iterated.residual_[0] < 1e-9


def refuse_large(matrix, order=None, out=None):
    assert max(matrix.shape) <= 500, "a table was made dense"
    return matrix.tocoo().toarray()


def test_an_offset_of_a_full_sparse_column_costs_no_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    X[:, 1] = np.where(X[:, 1] > 0, X[:, 1], 0.0)
    shifted = X + np.array([1e5, 0.0, 0.0])
    y = (X[:, 0] > 0) * 1
    expected = ProximalSVC().fit(X, y).coef_
    assert ProximalSVC().fit(scipy.sparse.csr_array(shifted), y).coef_ == pytest.approx(
        expected, rel=1e-9
    )


def patients(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    stage = np.array(["i", "ii", "iii", "iv"])[np.minimum(rng.integers(0, 3, n) + y, 3)]
    frame = pl.DataFrame(
        {
            "age": pl.Series(rng.normal(50 + 5 * y, 9)).set(pl.Series(rng.random(n) < 0.1), None),
            "stage": pl.Series(stage).set(pl.Series(rng.random(n) < 0.1), None),
            "site": rng.integers(1, 4, n),
            "smokes": rng.random(n) < 0.3 + 0.2 * y,
            "noise": rng.normal(size=n),
        }
    )
    return frame, np.array(["well", "ill", "worse"])[y]


@pytest.mark.parametrize("blocks", [False, True])
def test_frames_of_all_libraries_and_lists_agree(blocks, monkeypatch):
    frame, y = patients()
    expected = ProximalSVC(schema={"categorical": ["site"]}).fit(frame[:40], y[:40])
    values = expected.decision_function(frame[40:])
    encoder = Encoder(schema={"categorical": ["site"]}).fit(frame[:40])
    assert expected.coef_.shape == (3, len(encoder.get_feature_names_out()))
    by_hand = encoder.transform(frame[40:]) @ expected.coef_.T + expected.intercept_
    assert values == pytest.approx(by_hand)
    if blocks:
        monkeypatch.setattr(least_squares_tables, "BLOCK_VALUES", 1)
        monkeypatch.setattr(least_squares_tables, "FEWEST_BLOCK_ROWS", 7)
    arrow = frame.to_arrow()
    objects = frame.to_pandas().astype(object).to_numpy()
    for train, rows, schema in (
        (frame[:40], frame[40:], ["site"]),
        (frame.to_pandas()[:40], frame.to_pandas()[40:], ["site"]),
        (arrow.slice(0, 40), arrow.slice(40), ["site"]),
        (objects[:40], objects[40:], [2]),
        (objects[:40].tolist(), objects[40:].tolist(), [2]),
    ):
        fitted = ProximalSVC(schema={"categorical": schema}).fit(train, y[:40])
        assert fitted.decision_function(rows) == pytest.approx(values)
        assert hasattr(fitted, "feature_names_in_") == (schema == ["site"])


def test_errors_in_blocks_name_the_row_of_the_table(monkeypatch):
    monkeypatch.setattr(least_squares_tables, "BLOCK_VALUES", 1)
    monkeypatch.setattr(least_squares_tables, "FEWEST_BLOCK_ROWS", 7)
    X = np.random.default_rng(0).normal(size=(40, 2))
    svm = ProximalSVC().fit(X, np.arange(40) % 2)
    X[23, 1] = np.inf
    with pytest.raises(DataError, match=r"'x1' has an infinite value \(inf\) in row 23"):
        svm.predict(X)
    with pytest.raises(DataError, match=r"'x1' is infinite \(inf\) in row 23"):
        svm.fit(scipy.sparse.csr_array(X), np.arange(40) % 2)


# ---- the path ------------------------------------------------------------------------------------
@given(problems(), PARAMETERS, st.sampled_from(["linear", "gaussian"]))
@settings(max_examples=40)
def test_path_is_a_fit_at_every_size(problem, parameters, kernel):
    X, y, rows = problem
    svm = ProximalSVC(kernel=kernel, **parameters)
    sizes = range(1, X.shape[1] + 1)
    path = svm.predict_path(X, y, rows, sizes)
    assert not [name for name in vars(svm) if name.endswith("_")], "the path leaves traces"
    for size, labels in zip(sizes, path, strict=True):
        single = ProximalSVC(kernel=kernel, **parameters).fit(X[:, :size], y)
        assert labels.tolist() == single.predict(rows[:, :size]).tolist(), f"size {size}"


def test_path_of_mixed_frames_through_both_systems():
    frame, y = patients()
    frame = frame.with_columns(pl.Series(f"g{j}", np.sin(np.arange(60) * j)) for j in range(1, 60))
    sizes = [1, 2, 5, 20, 64]  # 40 rows: the last by rows, the others by columns
    path = ProximalSVC().predict_path(frame[:40], y[:40], frame[40:], sizes)
    for size, labels in zip(sizes, path, strict=True):
        single = ProximalSVC().fit(frame[:40, :size], y[:40])
        assert labels.tolist() == single.predict(frame[40:, :size]).tolist()


# ---- corners -------------------------------------------------------------------------------------
def test_constant_columns_leave_the_larger_class():
    X = np.full((5, 2), 0.1)
    rows = np.array([[0.1, 0.1], [5.0, -5.0]])
    for table in (X, scipy.sparse.csr_array(X)):
        assert ProximalSVC().fit(table, [0, 1, 1, 0, 1]).predict(rows).tolist() == [1, 1]
        assert (ProximalSVC().fit(table, [0, 1, 1, 0, 1]).coef_ == 0).all()
        assert ProximalSVC().fit(table[:4], [0, 1, 1, 0]).predict(rows).tolist() == [0, 0]
    for n in range(3, 24):  # prices that cancel but for rounding
        y = (np.arange(n) >= n // 3) * 1
        balanced = ProximalSVC(class_weight="balanced").fit(np.full((n, 1), 0.1), y)
        assert balanced.predict([[0.1], [7.0]]).tolist() == [0, 0]


def test_a_fit_that_fails_leaves_the_machine_as_it_was():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    machine = ProximalSVC()
    with pytest.raises(DataError, match="one class"):
        machine.fit(X, [0, 0, 0, 0])
    with pytest.raises(NotFittedError):
        machine.predict(X)
    machine.fit(X, y)
    with pytest.raises(DataError, match="one class"):
        machine.fit(X + 100, [0, 0, 0, 0])
    assert machine.predict(X).tolist() == y


def test_nothing_of_another_kernel_is_left():
    X, y = np.arange(12.0).reshape(6, 2) % 5, [0, 1] * 3
    again = ProximalSVC(kernel="gaussian").fit(X, y).set_params(kernel="linear").fit(X, y)
    assert set(vars(again)) == set(vars(ProximalSVC().fit(X, y)))


@pytest.mark.parametrize("n_columns", [3, 40])
def test_prices_beyond_all_measure(n_columns):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, n_columns)), np.arange(30) % 2
    large, larger = (ProximalSVC(C=C).fit(X, y) for C in (1e15, 1e300))
    assert larger.coef_ == pytest.approx(large.coef_, rel=1e-6)
    assert larger.residual_.max() < 1e-9


def test_a_small_price_still_tells_classes_apart():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 4 * y[:, None]
    for C in (1e-3, 1e-7, 1e-11, 1e15):
        assert (ProximalSVC(C=C).fit(X, y).predict(X) == y).all()


def test_a_machine_that_is_not_solved_warns(monkeypatch):
    monkeypatch.setattr(least_squares, "LARGEST_SYSTEM", 1)
    monkeypatch.setattr(least_squares, "MOST_ROUNDS", 1)
    X, y = np.random.default_rng(0).normal(size=(30, 9)), np.arange(30) % 2
    for call in (
        lambda: ProximalSVC().fit(X, y),
        lambda: ProximalSVC().predict_path(X, y, X, [3, 9]),
    ):
        with pytest.warns(ConvergenceWarning, match="try a smaller C") as caught:
            call()
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"C": 0}, "C=0"),
        ({"C": "1"}, "C='1'"),
        ({"class_weight": "fair"}, "class_weight='fair'"),
        ({"class_weight": {0: 1.0, 9: 1.0}}, "class_weight"),
        ({"kernel": "rbf"}, "kernel='rbf'"),
        ({"standardize": "no"}, "standardize='no'"),
        ({"width": 2.0}, "width=2.0 is of kernel='gaussian'"),
        ({"kernel": "gaussian", "width": 0}, "width=0"),
        ({"kernel": "gaussian", "width": True}, "width=True"),
    ],
)
def test_parameters_that_make_no_sense(parameters, word):
    for call in (
        lambda svm: svm.fit(np.eye(3), [0, 1, 1]),
        lambda svm: svm.predict_path(np.eye(3), [0, 1, 1], np.eye(3), [1]),
    ):
        with pytest.raises(ParameterError, match=word) as caught:
            call(ProximalSVC(**parameters))
        assert "\n" not in str(caught.value)


def test_targets_and_tables_that_make_no_sense(monkeypatch):
    with pytest.raises(DataError, match="one class only"):
        ProximalSVC().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(DataError, match="3 rows but y has 2"):
        ProximalSVC().fit(np.eye(3), [0, 1])
    with pytest.raises(NotFittedError):
        ProximalSVC().predict(np.eye(3))
    with pytest.raises(ValueError, match="ProximalSVC is expecting 3 features"):
        ProximalSVC().fit(np.eye(3), [0, 1, 1]).predict(np.eye(2))
    with pytest.raises(ValueError, match="ProximalSVC is expecting 3 features"):
        ProximalSVC().fit(scipy.sparse.eye_array(3), [0, 1, 1]).predict(np.eye(2))
    with pytest.raises(SchemaError, match="'x1' of a sparse table cannot have levels"):
        ProximalSVC(schema={"categorical": [1]}).fit(scipy.sparse.eye_array(3), [0, 1, 1])
    with pytest.raises(ParameterError, match="from 1 to 3, ascending"):
        ProximalSVC().predict_path(np.eye(3), [0, 1, 1], np.eye(3), [4])
    monkeypatch.setattr(proximal_svc, "LARGEST_SYSTEM", 2)
    with pytest.raises(DataError, match=r"3 rows: kernel='gaussian' .* up to 2"):
        ProximalSVC(kernel="gaussian").fit(np.eye(3), [0, 1, 1])
    assert encoded_rows.LARGEST_SYSTEM == 8192, "as in the docstrings"


@parametrize_with_checks(
    [
        ProximalSVC(),
        ProximalSVC(standardize=False, class_weight="balanced"),
        ProximalSVC(kernel="gaussian"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
