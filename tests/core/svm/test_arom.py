"""Zero-norm minimisation against the algorithm as printed, closed forms and certificates."""

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from featly import AROM, ConvergenceWarning, DataError
from featly.core.sources import DenseSource
from featly.core.svm import arom as core
from featly.core.svm.arom import arom
from tests.reference.arom import arom as naive
from tests.reference.arom import arom_l1 as naive_l1
from tests.reference.arom import linear_program

EPSILON = np.log(2.0**-52)


@pytest.fixture(autouse=True)
def _ignore_unfinished():
    """Machines are stopped early on purpose here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "weights still change", ConvergenceWarning)
        yield


@st.composite
def tables(draw, tied=False, most_rows=6):
    """Columns of numbers and categories: copies, constants, ties, two rows, one row a class."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, most_rows))
    columns = {}
    for j in range(draw(st.integers(1, 7))):
        columns[f"n{j}"] = rng.integers(-2, 3, n) * 1.0 if tied else rng.normal(size=n)
    for j in range(draw(st.integers(0, 2)) if tied else 0):
        columns[f"c{j}"] = np.array(list("abc"))[rng.integers(0, 2 + j, n)]
    if draw(st.booleans()):
        columns["constant"] = np.full(n, 0.1)
        columns["copy"] = columns["n0"]
    positive = draw(st.integers(1, n - 1))
    return columns, rng.permutation(np.where(np.arange(n) < positive, 1, -1))


def blocks_of(columns):
    """Rows x atoms of every column: itself, or the indicators of its levels."""
    return [
        (x[:, None] == np.unique(x)).astype(float) if x.dtype.kind == "U" else x[:, None]
        for x in columns.values()
    ]


def fit_arom(columns, y, prior=None, **parameters):
    schema = None if prior is None else {"prior": dict(zip(columns, prior, strict=True))}
    return AROM(schema=schema, tol=1e-300, **parameters).fit(pl.DataFrame(columns), y)


def logarithms(weights):
    return np.array([float(w.ln()) if w > 0 else -np.inf for w in weights])


def compare(columns, y, prior, n_iter, standardize, C, tolerance, down_to):
    """Compare every weight above `down_to` (a logarithm, of the largest) with the reference."""
    relative = None if prior is None else np.array(prior) / min(prior)
    hard = {} if C is None else {"C": C}
    options = {"prior": prior, "max_iter": n_iter, "standardize": standardize, **hard}
    try:
        expected = naive(
            blocks_of(columns), y, n_iter, C=C, prior=relative, standardize=standardize
        )
    except ValueError:
        if down_to < -50:  # those with ties have a test of their own
            with pytest.raises(DataError, match="no hyperplane"):
                fit_arom(columns, y, **options)
        return None
    ranker = fit_arom(columns, y, **options)
    constant = np.array([len(np.unique(x)) == 1 for x in columns.values()])
    for k in range(ranker.n_iter_):
        # a weight is looked at in the last machine that its column took part in
        in_last_machine = np.minimum(ranker.iterations_, ranker.n_iter_ - 1) == k
        exact = logarithms(expected[k][0])
        shown = in_last_machine & (exact - exact.max() > down_to)
        assert ranker.log_weight_[shown] == pytest.approx(exact[shown], abs=tolerance)
        # a weight that cancels exactly leaves rounding; that of a constant column does not
        zero = in_last_machine & (exact == -np.inf)
        assert (ranker.log_weight_[zero] - exact.max() < max(down_to, np.log(1e-12))).all()
        assert (ranker.log_weight_[zero & constant] == -np.inf).all()
    return ranker, expected


@given(
    tables(),
    st.sampled_from([None, (10.0,), (10.0, 1.0, 100.0), (3.0, 50.0, 2.0)]),
    st.integers(1, 6),
    st.booleans(),
)
@settings(max_examples=40)
def test_weights_are_those_of_the_algorithm_as_printed(table, prior, n_iter, standardize):
    columns, y = table
    prior = prior and np.resize(prior, len(columns)).tolist()
    if prior and len(set(prior)) == 1:
        prior = [*prior[1:], 1.0]
    compare(columns, y, prior, n_iter, standardize, None, 1e-6, -60)


CANCELS = (
    {
        "n0": np.array([1.0, 2, 2, 0]),
        "n1": np.array([2.0, 2, 2, -2]),
        "n2": np.array([0, 1.0, -1, -1]),
    },
    np.array([1, 1, 1, -1]),
)


@given(tables(tied=True), st.sampled_from([None, (1.0, 10.0, 100.0)]), st.integers(1, 5))
@example(CANCELS, (1.0, 10.0, 100.0), 5)  # the weight of n2 is exactly 0, but for rounding
@settings(max_examples=40)
def test_weights_of_tied_and_categorical_columns(table, prior, n_iter):
    """Ties leave the dual solution to narrow columns, so weights below 1e-5 are rough."""
    columns, y = table
    prior = np.resize(prior, len(columns)).tolist() if prior and len(columns) > 1 else None
    compare(columns, y, prior, n_iter, True, None, 1e-4, np.log(1e-5))


@given(tables(tied=True, most_rows=5), st.booleans(), st.sampled_from([0.3, 2.0, 50.0]))
@settings(max_examples=25)
def test_weights_and_objective_with_a_finite_price(table, favoured, C):
    """The scale of the widths is carried: at a finite C it matters."""
    columns, y = table
    prior = None
    if favoured and len(columns) > 1:
        prior = np.where(np.arange(len(columns)) % 2, 5.0, 1.0).tolist()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "at C=", ConvergenceWarning)
        ranker, expected = compare(columns, y, prior, 2, True, C, 1e-4, np.log(1e-5))
    beta = np.ones(len(columns)) if prior is None else np.array(prior)
    for k in range(ranker.n_iter_):
        weights, loss = expected[k]
        h = (np.logaddexp(logarithms(weights), EPSILON) / beta).sum() + float(loss)
        if ranker.path_[k] == sum(w > 0 for w in weights):  # nothing has vanished so far
            assert ranker.objective_[k] == pytest.approx(h, rel=1e-6, abs=1e-4)


@given(tables(), st.booleans(), st.integers(1, 4), st.sampled_from([None, 2.0, 30.0]))
@settings(max_examples=30)
def test_weights_of_norm_1_are_those_of_the_whole_program(table, favoured, n_iter, C):
    columns, y = table
    columns = {name: x for name, x in columns.items() if name != "copy"}  # programs without a tie
    assume(len(columns) > 1)
    assume(len(y) > 2)  # two rows, standardised, are 1 and -1 in every column
    prior = np.where(np.arange(len(columns)) % 3, 1.0, 10.0) if favoured else None
    given_prior = None if prior is None else prior.tolist()
    hard = {} if C is None else {"C": C}
    try:
        expected = naive_l1(blocks_of(columns), y, n_iter, C=C, prior=prior)
    except ValueError:
        with pytest.raises(DataError, match="no hyperplane"):
            fit_arom(columns, y, given_prior, norm=1, max_iter=n_iter)
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "at C=", ConvergenceWarning)
        ranker = fit_arom(columns, y, given_prior, norm=1, max_iter=n_iter, **hard)
    if C is not None and expected[-1][0].max() < 1e-9:
        return  # no column is worth its price, which has a test of its own
    for k in range(min(ranker.n_iter_, len(expected))):
        remaining = np.minimum(ranker.iterations_, ranker.n_iter_ - 1) == k
        weights = np.exp(ranker.log_weight_)
        assert weights[remaining] == pytest.approx(expected[k][0][remaining], rel=1e-6, abs=1e-7)
    # an objective that falls by its rounding, while the weights stay, may end either of the two
    steps = [weights for weights, *_ in expected]
    changes = [k for k in range(1, len(steps)) if not np.allclose(steps[k], steps[k - 1], 1e-9, 0)]
    assert max(changes, default=0) <= ranker.n_iter_ <= len(expected) + 1
    assert (np.diff(ranker.objective_) < 0).all()


@given(tables(tied=True, most_rows=12), st.sampled_from([None, 0.5, 20.0]), st.booleans())
@settings(max_examples=30)
def test_first_program_has_the_least_value(table, C, favoured):
    """Solutions may differ where programs tie, their value may not."""
    columns, y = table
    beta = np.where(np.arange(len(columns)) % 2, 1.0, 7.0) if favoured else np.ones(len(columns))
    beta /= beta.min()
    try:
        ((_, value, _),) = naive_l1(blocks_of(columns), y, 1, C=C, prior=beta)
    except ValueError:
        return
    hard = {} if C is None else {"C": C}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "at C=", ConvergenceWarning)
        schema = {"prior": dict(zip(columns, beta, strict=True))} if beta.max() > 1 else None
        ranker = AROM(norm=1, max_iter=1, schema=schema, **hard).fit(pl.DataFrame(columns), y)
    if ranker.n_iter_:
        weights = np.exp(ranker.log_weight_)
        loss = ranker.objective_[0] - (np.logaddexp(ranker.log_weight_, EPSILON) / beta).sum()
        assert (weights / beta).sum() + loss == pytest.approx(value, rel=1e-7)
    else:  # no column is worth its price
        nothing = 2 * C * min((y > 0).sum(), (y < 0).sum())
        assert value == pytest.approx(nothing, rel=1e-9)


# ---- closed forms -------------------------------------------------------------------------------
@given(
    st.lists(st.integers(-6, 6), min_size=2, max_size=8).filter(any),
    st.lists(st.sampled_from([1.0, 2.0, 10.0]), min_size=8, max_size=8),
    st.integers(1, 5),
)
def test_one_row_a_class(difference, prior, n_iter):
    r"""The machine has v = (1, -1) times a constant, so w' = z * d times a constant, hence

        ln |w_k| = (2^k - 1) (ln |d| + 2 ln beta) + const,

    and the order is that of |d| beta^2, whatever the iteration. The rank of a column can therefore
    not fall when its own prior grows: its product grows, those of the others stay.
    """
    d, beta = np.array(difference, dtype=float), np.array(prior[: len(difference)])
    beta /= beta.min()
    schema = {"prior": dict(enumerate(beta.tolist()))} if beta.max() > 1 else None
    X = np.array([d + 3, np.full(len(d), 3.0)])
    ranker = AROM(standardize=False, max_iter=n_iter, tol=1e-300, schema=schema).fit(X, [0, 1])
    log_d = np.log(np.abs(d), where=d != 0, out=np.full(len(d), -np.inf))
    product = log_d + 2 * np.log(beta)
    last = np.minimum(ranker.iterations_, ranker.n_iter_ - 1)
    for k in range(ranker.n_iter_):  # fewer where a single column is left, whose weight stays
        in_last_machine = (last == k) & (d != 0)
        expected = (2 ** (k + 1) - 1) * (product[in_last_machine] - product.max())
        top = (2 ** (k + 1) - 1) * product.max()
        # the machine: sum_f w_f d_f = 2, half of it on either side of the bias
        weights = (2 ** (k + 1) - 1) * product - top
        size = np.log(2) - np.log((np.exp(weights) * np.abs(d)).sum())
        assert ranker.log_weight_[in_last_machine] == pytest.approx(
            expected + size, rel=1e-9, abs=1e-8
        )
    assert (ranker.log_weight_[d == 0] == -np.inf).all()
    assert np.array_equal(ranker.order_, np.lexsort((-np.round(product, 9),)))


@given(st.integers(0, 10_000), st.integers(2, 8), st.sampled_from([2.0, 10.0, 1e3, 1e6]))
@settings(max_examples=30)
def test_with_one_row_a_class_a_prior_never_lowers_a_rank(seed, p, weight):
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (2, p)) * 1.0
    X[:, 0] = 5, -5  # else the rows may be equal
    before = AROM(standardize=False).fit(X, [0, 1]).ranking_
    for f in range(p):
        after = AROM(standardize=False, schema={"prior": {f: weight}}).fit(X, [0, 1]).ranking_
        assert after[f] <= before[f]


@pytest.mark.parametrize("norm", [1, 2])
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4), st.booleans())
@settings(max_examples=20)
def test_columns_with_rows_of_their_own(norm, seed, n_blocks, size, favoured):
    r"""Block m: columns that are a_g and -a_g in the two rows of the block, 0 elsewhere.

    The rows of the block ask for sum_g w'_g z_g a_g >= 1 + |b|, so that b = 0 and blocks do not
    see each other. Norm 2 puts w'_g in proportion to z_g a_g, and w_g ends at 1 / a_g for the
    column with the largest a beta^2, at 0 for the rest; norm 1 puts all on the largest a beta.
    """
    rng = np.random.default_rng(seed)
    a = rng.permutation(np.arange(1, n_blocks * size + 1)) / 3.0
    beta = rng.permutation(1.7 ** np.arange(len(a))) if favoured else np.ones(len(a))
    X = np.zeros((2 * n_blocks, len(a)))
    for g, height in enumerate(a):
        X[2 * (g // size) : 2 * (g // size) + 2, g] = height, -height
    y = np.arange(2 * n_blocks) % 2
    schema = {"prior": dict(enumerate(beta.tolist()))} if beta.max() > 1 else None
    ranker = AROM(norm=norm, standardize=False, schema=schema).fit(X, y)
    strength = (a * beta**norm).reshape(n_blocks, size)
    winners = np.arange(n_blocks) * size + strength.argmax(axis=1)
    assert ranker.log_weight_[winners] == pytest.approx(-np.log(a[winners]), abs=1e-6)
    first = ranker.order_[:n_blocks]
    assert first.tolist() == winners[np.argsort(a[winners])].tolist()
    if norm == 1:
        assert ranker.path_[-1] == n_blocks
    assert ranker.converged_


# ---- no hyperplane ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("X", "y", "prior"),
    [
        ([[1, 1], [-1, -2], [-1, 0], [1, 1]], [1, -1, -1, -1], None),
        ([[2], [0], [0], [2], [-1]], [1, 1, -1, -1, -1], None),
        ([[1, -1], [1, 2], [2, 0], [2, 0], [-2, 2]], [1, 1, 1, -1, 1], [1.0, 10.0]),
        (
            [[-2, -1], [1, -2], [-2, 2], [-2, -2], [-2, -1], [0, 2], [0, 2]],
            [1, -1, -1, -1, -1, -1, -1],
            [1.0, 1e5],
        ),
    ],
)
@pytest.mark.parametrize("norm", [1, 2])
def test_equal_rows_of_two_classes(norm, X, y, prior):
    """Nothing separates them, and no rounding may."""
    columns = {f"x{j}": x for j, x in enumerate(np.array(X, dtype=float).T)}
    with pytest.raises(DataError, match="no hyperplane"):
        fit_arom(columns, y, prior, norm=norm)


@given(st.integers(0, 10_000), st.sampled_from([1, 2]), st.booleans())
@settings(max_examples=60)
def test_separability_is_that_of_a_program(seed, norm, favoured):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 12)), int(rng.integers(1, 6))
    X = np.round(rng.normal(size=(n, p)), 2)
    y = np.where(np.arange(n) < rng.integers(1, n), 1, -1)
    schema = {"prior": {0: 10.0}} if favoured and p > 1 else None
    try:
        linear_program(X, y)
    except ValueError:
        with pytest.raises(DataError, match="no hyperplane"):
            AROM(norm=norm, schema=schema).fit(X, y)
    else:
        assert AROM(norm=norm, schema=schema).fit(X, y).n_iter_ > 0


# ---- certificates -------------------------------------------------------------------------------
def separable(n=24, p=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, :3].sum(1) > 0, 1, 0)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_remaining_columns_separate_the_classes(norm, seed):
    X, y = separable(seed=seed)
    ranker = AROM(norm=norm).fit(X, y)
    remaining = ranker.iterations_ == ranker.n_iter_
    assert remaining.sum() == ranker.path_[-1] < 24
    Z = X[:, remaining]
    signs = np.where(y == 1, 1.0, -1.0)
    program = linprog(
        np.zeros(Z.shape[1] + 1),
        A_ub=-signs[:, None] * np.column_stack([Z, np.ones(len(Z))]),
        b_ub=-np.ones(len(Z)),
        bounds=(None, None),
    )
    assert program.success
    assert (np.diff(ranker.path_) <= 0).all()
    assert ranker.n_iter_ == len(ranker.path_) == len(ranker.objective_) == len(ranker.duality_gap_)
    assert ranker.duality_gap_.max() < 1e-9
    if norm == 1:
        assert (np.diff(ranker.objective_) < 0).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_weights_at_the_end_are_a_fixed_point(norm):
    """One more machine on the columns times the last weights gives those weights."""
    X, y = separable(seed=1)
    ranker = AROM(norm=norm).fit(X, y)
    remaining = np.flatnonzero(ranker.iterations_ == ranker.n_iter_)
    Z = ((X - X.mean(0)) / X.std(0))[:, remaining]
    log_w = ranker.log_weight_[remaining]
    again = arom(
        DenseSource(Z * np.exp(log_w)), y * 2.0 - 1, np.inf, norm=norm, max_iter=1, tol=1e-300
    )
    large = log_w > log_w.max() - 12
    assert (again.log_weights + log_w)[large] == pytest.approx(log_w[large], abs=1e-6)


def test_norm_1_and_norm_2_choose_alike():
    X, y = separable(n=40, p=30, seed=3)
    first, second = (AROM(norm=norm).fit(X, y).order_[:3] for norm in (1, 2))
    assert set(first) == set(second) == {0, 1, 2}


def test_weights_of_the_machine_before_the_price_was_too_small_are_kept():
    rng = np.random.default_rng(0)
    columns = {f"n{j}": x for j, x in enumerate(rng.normal(size=(6, 5)))}
    y = np.array([-1, -1, -1, 1, -1])
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        ranker = fit_arom(columns, y, norm=1, C=2.0)
    ((weights, _, _), *_) = naive_l1(blocks_of(columns), y, 1, C=2.0)
    assert np.exp(ranker.log_weight_) == pytest.approx(weights, abs=1e-7)
    assert ranker.order_[0] == weights.argmax()


def test_a_prior_on_all_columns_that_vary():
    columns = {"x0": np.zeros(4), "x1": np.array([1.0, 2.0, 3.0, 5.0])}
    ranker = fit_arom(columns, np.array([-1, -1, 1, 1]), [1.0, 10.0], max_iter=3)
    assert ranker.order_.tolist() == [1, 0]


# ---- a wide prior -------------------------------------------------------------------------------
@pytest.mark.parametrize("beta", [1e2, 1e3, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_first_machine_with_a_wide_prior_in_many_digits(beta, seed):
    """Up to 100 to ten digits. Beyond that widths are cut, which moves weights by 1 / cut^2."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=6) for j in range(9)}
    y = np.array([1, 1, 1, -1, -1, -1])
    prior = np.where(np.arange(9) < 2, beta, 1.0).tolist()
    compare(columns, y, prior, 1, True, None, 1e-9 if beta <= 100 else 1e-3, -60)


@pytest.mark.parametrize("beta", [1e4, 1e6, 1e9, 1e12])
def test_favoured_columns_have_no_price_but_compete_with_each_other(beta):
    """Two favoured columns keep the ratio of their widths, however wide they are."""
    X = np.array(
        [[1, 1, 0, -1, -2], [0, -1, -2, 0, -2], [2, -1, 0, -1, 1], [2, -1, 2, -2, 2],
         [0, -1, 2, 2, -1]], float
    )  # fmt: skip
    y = np.array([-1, 1, -1, 1, -1])
    columns = {f"x{j}": x for j, x in enumerate(X.T)}
    compare(columns, y, [1.0, 1.0, beta, beta, 1.0], 2, True, None, 1e-3, np.log(1e-3))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("beta", [1e2, 1e6, 1e12])
@pytest.mark.parametrize("case", ["noise", "informative", "copies", "constant", "most"])
def test_any_prior_can_be_solved(norm, beta, case):
    X, y = separable(n=20, p=40, seed=5)
    X[:, 30], X[:, 31], X[:, 32] = X[:, 0], X[:, 0], 0.1
    chosen = {
        "noise": [20, 21],
        "informative": [0, 1, 2],
        "copies": [0, 30, 31],
        "constant": [32],
        "most": list(range(35)),
    }[case]
    schema = {"prior": dict.fromkeys(chosen, beta)}
    ranker = AROM(norm=norm, schema=schema).fit(X, y)
    assert np.isfinite(ranker.scores_).all()
    assert ranker.duality_gap_.max() < 1e-6
    assert ranker.log_weight_[32] == -np.inf
    assert ranker.iterations_[32] == 0
    assert ranker.scores_[32] == 0  # the last, though favoured
    if case == "informative":
        assert set(ranker.order_[:3]) == {0, 1, 2}


@pytest.mark.parametrize("norm", [1, 2])
def test_a_prior_without_bounds(norm):
    """A column without any price may as well have a prior of 1e12."""
    X, y = separable(n=20, p=40, seed=6)
    outcomes = [
        AROM(norm=norm, schema={"prior": {20: beta}}).fit(X, y).order_[:5].tolist()
        for beta in (1e12, 1e40, 1e100, 1e300)
    ]
    assert all(outcome == outcomes[0] for outcome in outcomes)


@pytest.mark.parametrize("beta", [1e12, 1e40, 1e200])
def test_a_prior_without_bounds_at_a_finite_price(beta):
    X, y = separable(n=20, p=40, seed=6)
    ranker = AROM(C=10.0, schema={"prior": {20: beta}}).fit(X, y)
    wide = AROM(C=10.0, schema={"prior": {20: 1e6}}).fit(X, y)
    assert ranker.order_[:5].tolist() == wide.order_[:5].tolist()


# ---- many rows ----------------------------------------------------------------------------------
def tall_table(n, p, seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] - X[:, 1] + noise * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize(("noise", "C"), [(0.0, np.inf), (0.0, 50.0), (1.0, 0.1), (1.0, 5.0)])
@pytest.mark.parametrize("categorical", [False, True])
def test_factor_equals_gram_matrix(monkeypatch, noise, C, categorical):
    X, y = tall_table(120, 6, 2, noise)
    frame = pl.DataFrame(X)
    if categorical:
        frame = frame.with_columns(c=pl.Series(np.array(list("xyz"))[np.arange(120) % 3]))
    gram = AROM(C=C).fit(frame, y)
    monkeypatch.setattr(core, "MOST_DENSE_ROWS", 1)
    monkeypatch.setattr(core._WideColumns, "gram", None)
    factor = AROM(C=C).fit(frame, y)
    large = gram.log_weight_ > gram.log_weight_.max() - 10
    assert factor.log_weight_[large] == pytest.approx(gram.log_weight_[large], abs=1e-5)
    assert np.array_equal(factor.order_[: large.sum()], gram.order_[: large.sum()])
    assert factor.duality_gap_.max() < 1e-6


def test_many_rows_make_no_square_matrix():
    X, y = tall_table(3000, 5, 0, 0.0)
    ranker = AROM().fit(X, y)
    assert set(ranker.order_[:2]) == {0, 1}
    assert ranker.duality_gap_.max() < 1e-6
    X, y = tall_table(12_000, 5, 0, 1.0)
    assert set(AROM(C=1.0).fit(X, y).order_[:2]) == {0, 1}
    with pytest.raises(DataError, match="finite C"):
        AROM().fit(X[:2000], y[:2000])


def test_many_rows_of_the_core_are_those_of_a_program():
    X, y = tall_table(1100, 4, 1, 0.0)
    X -= X.mean(0)
    signs = y * 2.0 - 1
    solution = arom(DenseSource(X), signs, np.inf, norm=1, max_iter=1)
    value, weights, _ = linear_program(X, signs)
    assert np.exp(solution.log_weights).sum() == pytest.approx(value, rel=1e-9)
    assert np.exp(solution.log_weights) == pytest.approx(np.abs(weights), abs=1e-6)


def test_columns_without_a_prior_are_compared_with_each_other():
    """A favoured weight may be far above all others, of which the largest still last."""
    log_w, beta = np.log([1.0, 1e-6, 5e-7, 5e-12]), np.array([3.0, 0.0, 0.0, 0.0])
    assert core._find_lasting(log_w, beta).tolist() == [True, True, True, False]
    assert core._find_lasting(log_w, 0 * beta).tolist() == [True, False, False, False]
    assert core._find_lasting(log_w - [0, 40, 40, 40], beta).tolist() == [True, False, False, False]


def test_narrow_columns_are_read_off_exact_margins():
    """Tied rows, a finite C: an inverse that is updated misses margins by more than they matter."""
    rng = np.random.default_rng(7)
    rng.integers(-1, 2, size=(30, 8))
    X, y = rng.integers(-1, 2, size=(30, 8)), np.where(np.arange(30) < 9, 1, 0)
    expected = AROM(C=100.0).fit(X, y)
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(30)
        ranker = AROM(C=100.0).fit(X[rows], y[rows])
        assert ranker.log_weight_ == pytest.approx(expected.log_weight_, abs=1e-4)
        assert ranker.duality_gap_.max() < 1e-10
