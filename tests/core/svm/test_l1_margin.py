import itertools

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.core.sources import CSCSource, DenseSource
from featly.core.sources.base import centers_and_variances, unit_scale
from featly.core.svm import l1_margin as module
from featly.core.svm.l1_margin import NotSeparableError, l1_margin
from tests.reference.l1_margin import l1_margin as naive
from tests.reference.l1_margin import one_hot


def hard(n):
    return np.full(n, np.inf)


def standardise(source):
    center, variance = centers_and_variances(source, source.moments())
    return source.scaled(center, unit_scale(variance))


def atoms_of(source):
    return source.load(np.arange(source.n_features)).T


def objective(machine):
    return machine.norms.sum() + machine.loss


def normal(n, p, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = rng.normal(size=(n, p))
    X[:, :3] += shift * y[:, None]
    return (X - X.mean(0)) / X.std(0), y


def certify(machine, source, y, C, tolerance=1e-9):
    """Check from scratch that both solutions are feasible and equally good."""
    atoms, begin = atoms_of(source), source.atoms
    alpha = machine.coef * y
    total = alpha.sum()
    assert alpha.min() >= 0
    assert (alpha <= C).all()
    assert abs(machine.coef.sum()) <= 1e-13 * total
    product = np.abs(atoms.T @ machine.coef)
    largest = [product[a:b].max() for a, b in itertools.pairwise(begin)]
    rounding = 1e-15 * (np.abs(atoms).T @ alpha).max(initial=0.0)
    assert machine.tightness == pytest.approx(largest, rel=1e-12, abs=10 * rounding)
    assert machine.tightness.max(initial=0.0) <= 1 + tolerance
    assert machine.tightness[machine.features] == pytest.approx(1.0, abs=tolerance)
    assert (np.diff(machine.features) > 0).all()
    assert (machine.norms > 0).all()
    assert len(machine.norms) == len(machine.features)
    assert machine.n_columns >= len(machine.features)
    assert abs(objective(machine) - total) <= tolerance * objective(machine)
    assert abs(machine.duality_gap) <= tolerance
    if (source.kinds == CATEGORICAL).any():
        return  # the norm of a block does not tell its weights
    w = np.zeros(source.n_features)
    w[machine.features] = machine.norms * np.sign(atoms.T @ machine.coef)[machine.features]
    margin = y * (atoms @ w + machine.bias)
    size = 1 + np.abs(atoms * w).sum(axis=1).max()
    if np.isinf(C[0]):
        assert machine.loss == 0
        assert margin.min() >= 1 - 1e-13 * size
    else:
        assert machine.loss == pytest.approx((C * np.maximum(0, 1 - margin)).sum(), abs=1e-9)
        assert (margin[alpha < C * (1 - 1e-6)] >= 1 - 1e-8 * size).all()
    assert margin[alpha > 1e-6 * alpha.max()].max(initial=0) <= 1 + 1e-8 * size


@st.composite
def small_tables(draw):
    """Ties, copies, constant and categorical columns, one row a class, all scales."""
    n, p, q = draw(st.integers(2, 9)), draw(st.integers(0, 6)), draw(st.integers(0, 2))
    p = max(p, 1 - q)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = [
        lambda: rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0], size=(n, p)),
        lambda: rng.choice([0.0, 1.0], size=(n, p)),
        lambda: rng.normal(size=(n, p)),
    ][draw(st.integers(0, 2))]()
    if p > 2 and draw(st.booleans()):
        X[:, 2] = draw(st.sampled_from([1.0, -1.0])) * X[:, 0]
    if p > 1 and draw(st.booleans()):
        X[:, 1] = 3.0
    n_levels = rng.integers(1, 4, size=q)
    codes = np.array([rng.integers(1, k + 1, size=n) for k in n_levels], np.uint8).reshape(q, n)
    kinds = rng.permutation(np.array([CONTINUOUS] * p + [CATEGORICAL] * q, np.uint8))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    if draw(st.booleans()):
        X = np.asfortranarray(X)
    source = DenseSource(X, codes, kinds, n_levels)
    blocks = [
        one_hot(codes[k], n_levels[k]) if kind == CATEGORICAL else X[:, [k]]
        for kind, k in zip(kinds, source.place, strict=True)
    ]
    assert np.array_equal(np.hstack(blocks), atoms_of(source))  # by hand, and as loaded
    source = source.scaled(atoms_of(source).mean(axis=0), np.ones(p + q))
    C = hard(n)
    if draw(st.booleans()):
        C = rng.choice(draw(st.sampled_from([[1e-3], [0.1, 1.0, 10.0], [1.0], [1e4]])), size=n)
    start = None
    if draw(st.booleans()):
        start = rng.permutation(p + q)[: rng.integers(0, p + q + 1)]
    return source, y, C, start


def compare(case):
    source, y, C, start = case
    expected = naive(atoms_of(source), y, C)
    if expected is None:
        with pytest.raises(NotSeparableError, match="no hyperplane separates the classes"):
            l1_margin(source, y, C, start)
        return
    machine = l1_margin(source, y, C, start)
    certify(machine, source, y, C)
    assert objective(machine) == pytest.approx(expected[0], rel=1e-8)


@given(small_tables())
@settings(max_examples=100)
def test_optimum_is_that_of_the_whole_program(case):
    compare(case)


@given(small_tables())
@settings(max_examples=60)
def test_working_set_that_grows_by_one_column(case):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_COLUMNS", "MOST_COLUMNS", "FEWEST_COLUMNS"):
            patch.setattr(module, name, 1)
        compare(case)


@pytest.mark.parametrize(
    ("n", "p", "C"),
    [(20, 8, np.inf), (20, 60, np.inf), (20, 60, 0.2), (60, 6, 0.3), (30, 400, np.inf),
     (30, 400, 0.15), (200, 5, 1.0)],
)  # fmt: skip
def test_unique_solutions_are_those_of_the_whole_program(n, p, C):
    X, y = normal(n, p, shift=2.0 if p < 10 else 1.0)
    C = np.full(n, C)
    value, w, b = naive(X, y, C)
    machine = l1_margin(DenseSource(X), y, C)
    certify(machine, DenseSource(X), y, C)
    assert machine.duality_gap < 1e-13
    assert np.array_equal(machine.features, np.flatnonzero(np.abs(w) > 1e-9))
    assert machine.norms == pytest.approx(np.abs(w[machine.features]), rel=1e-7)
    assert objective(machine) == pytest.approx(value, rel=1e-10)
    assert machine.bias == pytest.approx(b, abs=1e-8)


def test_two_rows_by_hand():
    """w = 2/3 on the wider column, b = -1/3; alpha = 1/3 each."""
    X = np.array([[2.0, 1.0], [-1.0, 0.0]])
    machine = l1_margin(DenseSource(X), np.array([1.0, -1.0]), hard(2))
    assert machine.features.tolist() == [0]
    assert machine.norms == pytest.approx([2 / 3], rel=1e-15)
    assert machine.bias == pytest.approx(-1 / 3, rel=1e-15)
    assert machine.coef == pytest.approx([1 / 3, -1 / 3], rel=1e-15)
    assert machine.tightness == pytest.approx([1.0, 1 / 3], rel=1e-15)
    assert machine.loss == 0
    assert machine.n_columns == 2
    assert abs(machine.duality_gap) < 1e-15


def test_bias_in_the_middle_of_what_is_best():
    """Seen through x = -+1, the price 0.6 of slack is too low for a weight, and classes balance."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    X = np.array([[1.0], [-1.0], [-1.0], [1.0]])
    machine = l1_margin(DenseSource(X), y, np.full(4, 0.6))
    assert (machine.bias, machine.loss, len(machine.features)) == (0.0, 2.4, 0)
    # w = 1 / 1.5; the rows at 1.5 need b >= 0, those at -3 leave b <= 1
    wide = np.array([[1.5], [-3.0], [1.5], [-3.0]])
    machine = l1_margin(DenseSource(wide), y, np.full(4, 0.01))
    assert machine.loss == pytest.approx(0.04)
    assert machine.bias == 0.0


@pytest.mark.parametrize("C", [0.3, np.inf])
def test_no_column_is_of_use(C):
    y = np.array([1.0, -1.0, -1.0, -1.0, 1.0])
    C = np.full(5, C)
    for source in (DenseSource(np.zeros((5, 3))), DenseSource(np.full((5, 2), 7.0))):
        for start in (None, np.arange(source.n_features), np.empty(0, np.int64)):
            if np.isinf(C[0]):
                with pytest.raises(NotSeparableError):
                    l1_margin(source, y, C, start)
                continue
            machine = l1_margin(source, y, C, start)
            assert machine.loss == pytest.approx(2 * 2 * 0.3)
            assert machine.bias == -1.0  # the heavier class has no loss
            assert machine.coef * y == pytest.approx([0.3, 0.2, 0.2, 0.2, 0.3])
            assert machine.tightness == pytest.approx(0.0, abs=1e-15)
            assert abs(machine.duality_gap) < 1e-15
            assert len(machine.features) == len(machine.norms) == machine.n_columns == 0


def test_weights_begin_where_they_are_worth_their_price():
    X, y = normal(30, 50)
    machines = {C: l1_margin(DenseSource(X), y, np.full(30, C)) for C in (1e-9, 0.01, 0.1, 0.2)}
    for C, machine in machines.items():
        certify(machine, DenseSource(X), y, np.full(30, C))
    assert [len(machine.features) > 0 for machine in machines.values()] == [
        False,
        False,
        True,
        True,
    ]
    assert machines[1e-9].coef * 1e7 == pytest.approx(machines[0.01].coef, rel=1e-12)
    assert machines[1e-9].tightness * 1e7 == pytest.approx(machines[0.01].tightness, rel=1e-12)


def test_zero_weights_with_an_uneven_dual_solution():
    """w = 0 is optimal although an even share of the loss among the heavier class is not dual."""
    x = np.array([1.0, 1.0, 50.0, 50.0, -3.0])
    y = np.array([1.0, -1.0, -1.0, -1.0, -1.0])
    C = np.full(5, 0.4)
    machine = l1_margin(DenseSource(x[:, None]), y, C)
    certify(machine, DenseSource(x[:, None]), y, C)
    assert objective(machine) == pytest.approx(naive(x[:, None], y, C)[0], rel=1e-12)
    assert len(machine.features) == 0
    assert machine.n_columns == 1


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9])
def test_a_large_price_is_a_hard_margin(C):
    X, y = normal(40, 60)
    source = DenseSource(X)
    soft, firm = l1_margin(source, y, np.full(40, C)), l1_margin(source, y, hard(40))
    assert np.array_equal(soft.features, firm.features)
    assert soft.norms == pytest.approx(firm.norms, rel=1e-11)
    assert soft.coef == pytest.approx(firm.coef, rel=1e-9, abs=1e-11)
    assert max(soft.duality_gap, firm.duality_gap) < 1e-12


def test_rounding_costs_nothing_at_a_large_price():
    """A margin that falls short by 1e-16 would cost as much as a thousandth of the weight."""
    for width in np.geomspace(1e-2, 1e5, 40):
        machine = l1_margin(DenseSource(width * np.array([[0.3], [-0.1]])), np.array([1.0, -1.0]),
                            np.full(2, 1e7 / width))  # fmt: skip
        assert machine.loss == 0
        assert machine.norms == pytest.approx([5 / width], rel=1e-12)


def test_a_large_price_and_no_separation():
    X, y = normal(60, 6, shift=0.5)
    C = np.full(60, 1e5)
    machine = l1_margin(DenseSource(X), y, C)
    assert machine.duality_gap < 1e-9
    assert objective(machine) == pytest.approx(naive(X, y, C)[0], rel=1e-8)
    assert machine.loss > 1e5


@pytest.mark.parametrize("C", [np.inf, 1.0])
@pytest.mark.parametrize(("lowest", "highest"), [(-6, 3), (-16, 6)])
def test_scales_of_many_orders(C, lowest, highest):
    X, y = normal(40, 300)
    rng = np.random.default_rng(1)
    for seed in range(3):
        scale = 10 ** rng.uniform(lowest, highest, 300)
        source = DenseSource(X).scaled(np.zeros(300), scale)
        machine = l1_margin(source, y, np.full(40, C))
        assert machine.duality_gap < 1e-11, seed
        certify(machine, source, y, np.full(40, C))
        order = np.argsort(-scale)[:150]  # wide enough for the reference, and to separate
        value = naive(X[:, order] * scale[order], y, np.full(40, C))[0]
        assert objective(machine) <= value * (1 + 1e-7)


@pytest.mark.parametrize("factor", [1e-16, 1e-3, 1e12])
def test_units_of_all_columns(factor):
    X, y = normal(40, 60)
    plain = l1_margin(DenseSource(X), y, hard(40))
    scaled = l1_margin(DenseSource(X).scaled(np.zeros(60), np.full(60, factor)), y, hard(40))
    assert np.array_equal(scaled.features, plain.features)
    assert scaled.norms * factor == pytest.approx(plain.norms, rel=1e-11)
    assert scaled.coef * factor == pytest.approx(plain.coef, rel=1e-9, abs=1e-12)
    assert scaled.duality_gap < 1e-13


@pytest.mark.parametrize("start", [None, [0]])
@pytest.mark.parametrize("scale", [1e-6, 1e-16, 1e-100])
def test_a_narrow_column_that_alone_separates(scale, start):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(30) < 12, 1.0, -1.0)
    X = np.column_stack([rng.normal(size=(30, 5)), scale * y])
    machine = l1_margin(DenseSource(X), y, hard(30), start if start is None else np.array(start))
    assert 5 in machine.features
    assert machine.norms[-1] == pytest.approx(1 / scale, rel=1e-5)
    assert scale < 1e-6 or machine.duality_gap < 1e-8


def test_a_start_of_narrow_columns():
    """As long as no other column is known, all prices but that of the loss are immense."""
    X, y = normal(30, 80)
    scale = np.where(np.arange(80) < 40, 1e-12, 1.0)
    C = np.full(30, 0.3)
    source = DenseSource(X).scaled(np.zeros(80), scale)
    for start in (np.arange(20), np.arange(40)):
        machine = l1_margin(source, y, C, start)
        certify(machine, source, y, C)
        assert objective(machine) == pytest.approx(naive(X[:, 40:], y, C)[0], rel=1e-8)
    program = module._Program(source.load(np.arange(20)), y, C)
    paid = 2 * min(program.C[y > 0].sum(), program.C[y < 0].sum())  # by w = 0, the optimum
    assert 0.7 < paid < 1.5


def test_columns_that_differ_by_little():
    """The second column is the wider one, by a millionth."""
    X, y = normal(25, 40)
    plain = l1_margin(DenseSource(X), y, hard(25))
    doubled = DenseSource(np.column_stack([X, X * (1 + 1e-6)]))
    for start in (None, plain.features):
        machine = l1_margin(doubled, y, hard(25), start)
        assert np.array_equal(machine.features, 40 + plain.features)
        assert machine.norms * (1 + 1e-6) == pytest.approx(plain.norms, rel=1e-11)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-8])
def test_a_narrow_margin(width):
    """The objective is 2 / width, far above the 1 for which the program is scaled."""
    x = np.concatenate([-np.arange(10.0) / 10, np.arange(10.0) / 10 + width])
    y = np.repeat([-1.0, 1.0], 10)
    machine = l1_margin(DenseSource(x[:, None]), y, hard(20))
    assert machine.norms == pytest.approx([2 / width], rel=1e-12)
    assert machine.bias == pytest.approx(-1.0, rel=1e-6)
    assert machine.duality_gap < 1e-12


@pytest.mark.parametrize("p", [8, 600])
def test_a_row_among_the_other_class_separates_on_no_table(monkeypatch, p):
    """The dual shows it at once: one program, one for the shortfall, one pass over all columns."""
    X, y = normal(12, p)
    y[2] = y[0]
    X[1] = 0.3 * X[0] + 0.7 * X[2]  # between two rows of the other class
    load, loaded = DenseSource.load, []
    monkeypatch.setattr(
        DenseSource, "load", lambda self, some: loaded.extend(some) or load(self, some)
    )
    linprog, forms_used = module.linprog, []
    monkeypatch.setattr(
        module, "linprog", lambda *a, **k: forms_used.append("A_eq" in k) or linprog(*a, **k)
    )
    with pytest.raises(NotSeparableError):
        l1_margin(DenseSource(X), y, hard(12))
    assert forms_used == [p < 12] * 2  # a constraint a column, or a row: whichever are fewer
    assert len(loaded) == min(p, 200) + p


@pytest.mark.parametrize("first", [1, 4, 30])
def test_columns_that_only_together_separate(monkeypatch, first):
    """No column differs between the classes by itself as much as any of noise."""
    monkeypatch.setattr(module, "FIRST_COLUMNS", first)
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    noise, common = rng.normal(size=(60, 5)), rng.normal(size=60) * 20
    X = np.column_stack([noise, common - 0.1 * y, common + 0.1 * y])
    source = DenseSource(X)
    center, variance = centers_and_variances(source, source.moments())
    source = source.scaled(center, 1e-3 * unit_scale(variance))
    machine = l1_margin(source, y, hard(60), None if first > 1 else np.array([3, 0]))
    certify(machine, source, y, hard(60), tolerance=1e-8)
    assert {5, 6} <= set(machine.features)
    assert objective(machine) == pytest.approx(naive(atoms_of(source), y, hard(60))[0], rel=1e-8)
    with pytest.raises(NotSeparableError):
        l1_margin(source.view(np.arange(6)), y, hard(60))


def test_columns_without_a_difference_of_means():
    """The first working set is empty: no column has a different mean in the classes."""
    X = np.array([[1.0, 2.0], [-1.0, -2.0], [1.0, 0.0], [-1.0, 0.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    with pytest.raises(NotSeparableError):
        l1_margin(DenseSource(X), y, hard(4))
    X = np.column_stack([X, [3.0, -2.0, 0.5, 0.5]])
    source = DenseSource(X - X.mean(0))
    with pytest.raises(NotSeparableError):
        l1_margin(source, y, hard(4))
    X = np.column_stack([X, X[:, 1] ** 2])
    machine = l1_margin(DenseSource(X), y, hard(4))
    assert machine.features.tolist() == [3]
    assert machine.norms == pytest.approx([0.5])


# ---- copies -------------------------------------------------------------------------------------
def test_the_first_of_equal_columns_is_chosen():
    X, y = normal(25, 40)
    plain = l1_margin(DenseSource(X), y, hard(25))
    copies = np.repeat(np.arange(40), 3)
    many = X[:, copies] * np.tile([1.0, -1.0, 1.0], 40)
    for rows in (np.arange(25), np.random.default_rng(0).permutation(25)):
        for start in (None, np.arange(120), np.arange(2, 120, 3), 3 * plain.features + 1):
            machine = l1_margin(DenseSource(many[rows]), y[rows], hard(25), start)
            assert np.array_equal(machine.features, 3 * plain.features)
            assert machine.norms == pytest.approx(plain.norms, rel=1e-11)


def test_copies_with_zeros_of_both_signs():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(30) < 12, 1.0, -1.0)
    x = y * rng.integers(0, 3, 30) + 0.0
    source = DenseSource(np.column_stack([x, rng.normal(size=30), np.where(x == 0, 0.0, -x)]))
    machine = l1_margin(source, y, np.full(30, 0.2), np.array([2]))
    assert 0 in machine.features
    assert 2 not in machine.features


def count_rounds(monkeypatch):
    """Count how often a program has been solved since the last call."""
    solve, count = module._Program.solve, []
    monkeypatch.setattr(module._Program, "solve", lambda self: count.append(0) or solve(self))

    def count_since():
        n_solved = len(count)
        count.clear()
        return n_solved

    return count_since


def test_copies_do_not_crowd_out_the_rest(monkeypatch):
    """Eighty copies of each column fill no working set."""
    count_since = count_rounds(monkeypatch)
    X, y = normal(20, 300)
    plain = l1_margin(DenseSource(X), y, hard(20), np.arange(100))
    alone = count_since()
    many = DenseSource(np.repeat(X, 80, axis=1))
    machine = l1_margin(many, y, hard(20), 80 * np.arange(100))
    assert count_since() <= alone + 1
    assert np.array_equal(machine.features, 80 * plain.features)
    assert machine.duality_gap < 1e-13


def test_columns_that_are_equal_after_scaling():
    X, y = normal(25, 40)
    plain = l1_margin(DenseSource(X), y, hard(25))
    doubled = DenseSource(np.column_stack([2 * X, X])).scaled(
        np.zeros(80), np.repeat([0.5, 1.0], 40)
    )
    for start in (None, 40 + plain.features):
        machine = l1_margin(doubled, y, hard(25), start)
        assert np.array_equal(machine.features, plain.features)


def test_equal_levels_of_categorical_columns():
    """The same levels under other names: only the first column can have a weight."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    level_codes = np.where(y > 0, rng.integers(1, 3, 30), rng.integers(2, 4, 30)).astype(np.uint8)
    codes = np.array(
        [rng.integers(1, 4, 30), level_codes, np.array([0, 3, 1, 2], np.uint8)[level_codes]],
        np.uint8,
    )
    kinds, n_levels = np.full(3, CATEGORICAL), np.full(3, 3)
    source = standardise(DenseSource(None, codes, kinds, n_levels))
    C = np.full(30, 0.2)
    machine = l1_margin(source, y, C, np.arange(2))
    assert machine.n_columns == 2  # the block of the third is not tighter, though its norm is
    for start in (None, np.array([2])):
        machine = l1_margin(source, y, C, start)
        certify(machine, source, y, C)
        assert 1 in machine.features
        assert 2 not in machine.features
        assert machine.tightness[2] == machine.tightness[1]
    assert objective(machine) == pytest.approx(naive(atoms_of(source), y, C)[0], rel=1e-10)


# ---- one result, wherever the columns lie -------------------------------------------------------
def test_layouts_threads_and_sparse_tables():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 5000)) < 0.3, rng.normal(size=(40, 5000)), 0.0)
    y = np.where(np.arange(40) < 15, 1.0, -1.0)
    sources = [
        DenseSource(X, n_jobs=1), DenseSource(X, n_jobs=2), DenseSource(np.asfortranarray(X)),
        CSCSource(scipy.sparse.csc_array(X)), CSCSource(scipy.sparse.csc_array(X), n_jobs=2),
    ]  # fmt: skip
    machines = [l1_margin(standardise(source), y, hard(40)) for source in sources]
    for first, second in (machines[:2], machines[3:]):
        assert np.array_equal(first.features, second.features)
        assert np.array_equal(first.norms, second.norms)
        assert np.array_equal(first.coef, second.coef)
        assert np.array_equal(first.tightness, second.tightness)
    for machine in machines:
        assert machine.duality_gap < 1e-13
        assert np.array_equal(machine.features, machines[0].features)
        assert machine.norms == pytest.approx(machines[0].norms, rel=1e-10)
        assert machine.tightness == pytest.approx(machines[0].tightness, abs=1e-10)


@pytest.mark.parametrize("C", [np.inf, 0.2])
def test_rows_in_any_order(C):
    X, y = normal(40, 500)
    rows = np.random.default_rng(1).permutation(40)
    plain = l1_margin(DenseSource(X), y, np.full(40, C))
    shuffled = l1_margin(DenseSource(X[rows]), y[rows], np.full(40, C))
    assert np.array_equal(plain.features, shuffled.features)
    assert shuffled.norms == pytest.approx(plain.norms, rel=1e-11)
    assert shuffled.coef == pytest.approx(plain.coef[rows], rel=1e-9, abs=1e-12)
    assert shuffled.bias == pytest.approx(plain.bias, abs=1e-12)


@pytest.mark.parametrize("C", [np.inf, 0.2])
def test_a_start_saves_columns_and_changes_nothing(monkeypatch, C):
    count_since = count_rounds(monkeypatch)
    X, y = normal(40, 3000)
    C = np.full(40, C)
    cold = l1_margin(DenseSource(X), y, C)
    assert 200 <= cold.n_columns < 600
    assert count_since() <= 4
    warm = l1_margin(DenseSource(X), y, C, cold.features)
    assert warm.n_columns == len(cold.features)
    assert count_since() == 1
    poor = l1_margin(DenseSource(X), y, C, np.arange(2900, 3000))
    assert count_since() <= 8
    poorer = l1_margin(DenseSource(X), y, C, np.arange(5, 9))  # which do not separate
    assert poorer.n_columns < 600
    for machine in (warm, poor, poorer):
        assert np.array_equal(machine.features, cold.features)
        assert machine.norms == pytest.approx(cold.norms, rel=1e-11)


# ---- the solver behind --------------------------------------------------------------------------
def blur(monkeypatch, size):
    """Both solutions of HiGHS are off by some share, except for zeros and alpha = C."""
    highs, rng = module._Program._solve_by_highs, np.random.default_rng(0)

    def blur_solution(self):
        omega, coef = highs(self)
        off = [1 + size * rng.uniform(-1, 1, len(part)) for part in (omega, coef)]
        return omega * off[0], np.where(np.abs(coef) < 0.999 * self.C, coef * off[1], coef)

    monkeypatch.setattr(module._Program, "_solve_by_highs", blur_solution)


@pytest.mark.parametrize("C", [np.inf, 0.2])
@pytest.mark.parametrize("p", [25, 300])
def test_solutions_are_good_to_rounding_whatever_the_solver_stops_at(monkeypatch, p, C):
    X, y = normal(40, p)
    C = np.full(40, C)
    expected = l1_margin(DenseSource(X), y, C)
    blur(monkeypatch, 1e-5)
    machine = l1_margin(DenseSource(X), y, C)
    assert machine.duality_gap < 1e-13
    assert np.array_equal(machine.features, expected.features)
    assert machine.norms == pytest.approx(expected.norms, rel=1e-11)


@pytest.mark.parametrize(("p", "C"), [(40, np.inf), (40, 0.3), (8, 1.0)])
def test_columns_and_rows_that_are_tight_by_chance(monkeypatch, p, C):
    """Columns of zeros and ones at their price without a weight, rows at the margin at no cost."""
    blur(monkeypatch, 1e-8)
    for seed in range(12):
        X = np.random.default_rng(seed).choice([0.0, 1.0], size=(20, p))
        y = np.where(np.arange(20) < 8, 1.0, -1.0)
        machine = l1_margin(DenseSource(X - X.mean(0)), y, np.full(20, C))
        assert machine.duality_gap < 1e-13


@pytest.mark.parametrize("C", [np.inf, 0.2])
@pytest.mark.parametrize("nonsense", [0.0, 0.1, -3.0])
def test_the_certificate_holds_for_a_poor_solution(monkeypatch, nonsense, C):
    """Linear systems that are solved wrongly do no harm to what HiGHS found, or pretend better."""
    X, y = normal(40, 60)
    C = np.full(40, C)
    value = objective(l1_margin(DenseSource(X), y, C))
    blur(monkeypatch, 1e-4)
    monkeypatch.setattr(module, "_solve", lambda system, right: np.full(system.shape[1], nonsense))
    machine = l1_margin(DenseSource(X), y, C)
    alpha = machine.coef * y
    assert alpha.min() >= 0
    assert (alpha <= C).all()
    assert abs(machine.coef.sum()) <= 1e-14 * alpha.sum()
    assert 1e-8 < machine.duality_gap < 1e-2
    assert machine.tightness.max() > 1
    bound = alpha.sum() / machine.tightness.max()
    assert bound < value < objective(machine)
    assert machine.duality_gap == pytest.approx(1 - bound / objective(machine), rel=1e-6)


def test_weights_that_are_rounding_errors_are_zero(monkeypatch):
    """Not even where they seem to be better by rounding."""
    X, y = normal(30, 60)
    program = module._Program(np.ascontiguousarray(X.T), y, hard(30))
    omega, coef = program._polish(*program._solve_by_highs())
    primal, tried = program._scale_primal, []

    def improve_each_time(proposal):
        tried.append(proposal)
        value, solution = primal(proposal)
        return value * (1 - 1e-14 * len(tried)), solution

    monkeypatch.setattr(program, "_scale_primal", improve_each_time)
    noisy = np.where(omega == 0, 1e-17, omega)
    assert np.array_equal(program._polish(noisy, coef)[0] != 0, omega != 0)
    assert len(tried) > 1
    assert (tried[-1] != 0).all()


def test_find_largest():
    values = np.array([0.0, 1.0, 3.0, 1.0, 0.0, 2.0, 1.0, 3.0])
    assert module._find_largest(values, 1).tolist() == [2]
    assert module._find_largest(values, 2).tolist() == [2, 7]
    assert module._find_largest(values, 4).tolist() == [2, 7, 5, 1]
    for count in (7, 8, 20):
        assert module._find_largest(values, count).tolist() == [2, 7, 5, 1, 3, 6]
    assert module._find_largest(values[:0], 3).tolist() == []


def test_two_forms_of_the_program():
    X, y = normal(30, 30)
    for C in (hard(30), np.full(30, 0.3)):
        program = module._Program(np.ascontiguousarray(X.T), y, C)
        (row_status, rows), (column_status, columns) = (
            program._solve_by_rows(1e-9),
            program._solve_by_columns(1e-9),
        )
        assert row_status == column_status == 0
        for first, second in zip(rows, columns, strict=True):
            assert first == pytest.approx(second, abs=1e-8)


def test_a_solver_that_fails_is_replaced_by_another_form(monkeypatch):
    X, y = normal(30, 60)
    expected = l1_margin(DenseSource(X), y, hard(30))
    real, forms_used = module.linprog, []

    def fail_at_first(*arguments, **options):
        forms_used.append("A_eq" in options)
        result = real(*arguments, **options)
        if len(forms_used) < 4:
            result.status, result.x = 4, None
        return result

    monkeypatch.setattr(module, "linprog", fail_at_first)
    machine = l1_margin(DenseSource(X), y, hard(30))
    assert forms_used == [False, True, False, True]
    assert np.array_equal(machine.features, expected.features)
    monkeypatch.setattr(
        module, "linprog", lambda *a, **k: forms_used.clear() or fail_at_first(*a, **k)
    )
    with pytest.raises(FloatingPointError, match=r"could not solve .* \(status 4\)"):
        l1_margin(DenseSource(X), y, hard(30))


@pytest.mark.parametrize("status", [2, 3])
def test_a_soft_margin_is_never_infeasible(monkeypatch, status):
    X, y = normal(30, 60)
    monkeypatch.setattr(
        module, "linprog", lambda *a, **k: type("Result", (), {"status": status, "x": None})()
    )
    with pytest.raises(FloatingPointError):
        l1_margin(DenseSource(X), y, np.ones(30))


@pytest.mark.parametrize("name", ["colon_alon", "dlbcl_shipp"])
@pytest.mark.parametrize("C", [np.inf, 0.1])
def test_real_tables(data_folder, name, C):
    frame = pl.read_parquet(data_folder / f"{name}.parquet")
    label = frame["class"].to_numpy()
    y = np.where(label == label[0], 1.0, -1.0)
    source = standardise(DenseSource(frame.drop("class").to_numpy().astype(np.float64)))
    C = np.full(len(y), C)
    machine = l1_margin(source, y, C)
    certify(machine, source, y, C)
    assert machine.duality_gap < 1e-13
    assert machine.n_columns < 500
    few = machine.tightness > 0.5  # the others can have no weight
    value = naive(atoms_of(source)[:, few], y, C, method="highs-ipm")[0]
    assert objective(machine) == pytest.approx(value, rel=1e-8)
