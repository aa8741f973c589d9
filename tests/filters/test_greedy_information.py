"""The greedy filters against their definitions, and what holds between them."""

import functools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError
from featly.filters import _greedy
from featly.filters.cmi import CMI
from featly.filters.cmim import CMIM
from featly.filters.disr import DISR
from featly.filters.icap import ICAP
from featly.filters.information_criterion import InformationCriterion
from featly.filters.information_gain import InformationGain
from featly.filters.jmi import JMI
from featly.filters.jmim import JMIM
from featly.filters.mifs import MIFS
from featly.filters.mim import MIM
from featly.filters.mrmr import MRMR
from tests.reference import information as reference

HALVES = InformationCriterion(beta=0.5, gamma=0.25)
METHODS = {
    "mrmr": (MRMR(), reference.mrmr),
    "mrmr quotient": (MRMR(form="quotient"), reference.mrmr_quotient),
    "mifs": (MIFS(), reference.mifs),
    "mifs half": (MIFS(beta=0.5), functools.partial(reference.mifs, beta=0.5)),
    "jmi": (JMI(), reference.jmi),
    "cmi": (CMI(), reference.cmi),
    "cmim": (CMIM(), reference.cmim),
    "informative fragments": (CMIM(include_relevance=False), reference.informative_fragments),
    "jmim": (JMIM(), reference.jmim),
    "icap": (ICAP(), reference.icap),
    "disr": (DISR(), reference.disr),
    "weighted": (HALVES, functools.partial(reference.weighted_criterion, beta=0.5, gamma=0.25)),
}


@st.composite
def tables(draw):
    """Whole numbers with missing values, ties, constant and equal columns."""
    n_classes = draw(st.integers(2, 3))
    n = draw(st.integers(n_classes, 12))
    p = draw(st.integers(1, 6))
    most = draw(st.sampled_from([1, 2, 3, 12]))
    value = (
        st.one_of(st.none(), st.integers(0, most)) if draw(st.booleans()) else st.integers(0, most)
    )
    X = draw(st.lists(st.lists(value, min_size=n, max_size=n), min_size=p, max_size=p))
    if draw(st.booleans()):
        X.append(X[0])
    y = [*range(n_classes), *draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))]
    return X, y[:n]


def fit(method, columns, y, **parameters):
    X = np.array([[np.nan if v is None else v for v in column] for column in columns]).T
    parameters = {"discretizer": None, **parameters}
    return type(method)(**(method.get_params() | parameters)).fit(X, y)


@pytest.mark.parametrize("name", METHODS)
@given(tables(), st.sampled_from([1, 2, 100]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_equals_reference(name, table, max_steps, has_keep):
    (columns, y), (method, criterion) = table, METHODS[name]
    keep = [len(columns) - 1] if has_keep else []
    fitted = fit(method, columns, y, max_steps=max_steps, schema={"keep": keep})
    order, worth = reference.greedy(columns, y, criterion, max_steps, keep)
    assert fitted.order_.tolist() == order
    expected = [worth[f] for f in range(len(columns))]
    assert fitted.criterion_ == pytest.approx(expected, abs=1e-6)
    assert fitted.relevance_ == pytest.approx([reference.mutual(f, y) for f in columns], abs=1e-9)
    free = fitted.order_[len(keep) :]
    assert np.array_equal(fitted.scores_[free], np.minimum.accumulate(fitted.criterion_[free]))
    chosen = np.flatnonzero(fitted.step_)
    assert np.array_equal(fitted.order_[: len(chosen)], chosen[np.argsort(fitted.step_[chosen])])


@pytest.mark.parametrize(
    ("name", "columns", "y"),
    [
        ("mifs", ["212012", "111011", "200212"], "010011"),
        ("mifs", ["110100", "011010", "000100"], "011000"),
        ("disr", ["020000", "020001", "212110"], "010101"),
    ],
)
def test_ties_by_definition(name, columns, y):
    # two columns are equally good beside the first chosen one though their counts differ, and
    # the sum of roundings is not the same: the first of them is chosen
    columns, y = [[int(v) for v in column] for column in columns], [int(v) for v in y]
    method, criterion = METHODS[name]
    order, _ = reference.greedy(columns, y, criterion, 100)
    first, second, third = order
    values = [criterion(columns[f], [columns[first]], y) for f in (second, third)]
    assert values[0] == pytest.approx(values[1], abs=1e-14)
    assert second < third
    assert fit(method, columns, y).order_.tolist() == order


def large_table(n=150, p=60, levels=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.integers(0, levels, (n, p))
    for f in range(0, p, 3):
        X[:, f] = np.where(rng.random(n) < 0.2 + f / p / 2, y, X[:, f])
    X[:, 5] = X[:, 3]
    return X.astype(np.uint8), y


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_large_tables_equal_to_the_reference(name, n_classes):
    method, criterion = METHODS[name]
    X, y = large_table(n_classes=n_classes, p=25)
    order, worth = reference.greedy(X.T.tolist(), y.tolist(), criterion, 8)
    fitted = type(method)(**(method.get_params() | {"discretizer": None, "max_steps": 8})).fit(X, y)
    assert fitted.order_.tolist() == order
    assert fitted.criterion_ == pytest.approx([worth[f] for f in range(25)], abs=1e-6)


def test_the_other_half_of_an_exclusive_or():
    """XOR and a decoy: found beside its half by informative fragments, never by the other form."""
    a, b = np.repeat([0, 1], 64), np.tile([0, 1], 64)
    decoy = (a ^ b) ^ (np.arange(128) % 8 == 0)  # wrong in every eighth row
    rng = np.random.default_rng(0)
    X = np.column_stack([decoy, rng.integers(0, 2, (128, 9)), b, a])
    y = a ^ b
    orders = {
        form: CMIM(include_relevance=form, discretizer=None, schema={"keep": [11]}).fit(X, y).order_
        for form in (True, False)
    }
    assert orders[False][:2].tolist() == [11, 10]
    assert orders[True][1] == 0  # the decoy
    assert orders[True].tolist().index(10) > 2
    with pytest.raises(ParameterError, match="include_relevance=1: give True or False"):
        CMIM(include_relevance=1).fit(X, y)


# ---- identities ----------------------------------------------------------------------------------
def assert_same_ranking(first, second, X, y):
    a, b = (method.set_params(discretizer=None).fit(X, y) for method in (first, second))
    assert np.array_equal(a.order_, b.order_)
    assert a.criterion_ == pytest.approx(b.criterion_, abs=1e-7)


def test_special_cases():
    X, y = large_table()
    assert_same_ranking(InformationCriterion(beta=1, gamma=1), CMI(), X, y)
    assert_same_ranking(InformationCriterion(beta=1.0, gamma=0.0), MIFS(), X, y)
    assert_same_ranking(InformationCriterion(beta=0.3, gamma=0), MIFS(beta=0.3), X, y)
    information = InformationGain(discretizer=None).fit(X, y)
    for method in (MIM(), MIFS(beta=0), InformationCriterion(beta=0, gamma=0), JMI(max_steps=1)):
        fitted = method.set_params(discretizer=None).fit(X, y)
        assert np.array_equal(fitted.order_, information.order_)
        assert fitted.scores_ == pytest.approx(information.scores_, abs=1e-9)


def test_one_chosen_column():
    # with one chosen column JMI, CMI and the conditional information itself are the same, and
    # mRMR is MIFS; CMIM and ICAP differ from them by the cap only
    X, y = large_table()
    jmi, cmi, cmim, icap, mrmr, mifs = (
        method.set_params(discretizer=None, max_steps=2).fit(X, y)
        for method in (JMI(), CMI(), CMIM(), ICAP(), MRMR(), MIFS())
    )
    assert np.array_equal(jmi.order_, cmi.order_)
    assert jmi.criterion_ == pytest.approx(cmi.criterion_, abs=1e-12)
    assert np.array_equal(mrmr.order_, mifs.order_)
    first = jmi.order_[0]
    other_columns = np.flatnonzero(np.arange(X.shape[1]) != first)
    capped = np.minimum(jmi.criterion_, jmi.relevance_)
    for fitted in (cmim, icap):
        assert fitted.order_[0] == first
        assert fitted.criterion_[other_columns] == pytest.approx(capped[other_columns], abs=1e-7)
    chosen = X[:, first].tolist()
    expected = [reference.conditional(X[:, f].tolist(), y.tolist(), chosen) for f in other_columns]
    assert jmi.criterion_[other_columns] == pytest.approx(expected, abs=1e-7)


def test_bounds():
    X, y = large_table(n_classes=3)
    entropy = reference.entropy(y.tolist())
    for method in (JMI(), CMIM(), DISR()):
        fitted = method.set_params(discretizer=None).fit(X, y)
        assert (fitted.criterion_ >= 0).all()
        assert (fitted.criterion_ <= entropy + 1e-9).all()
    disr = DISR(discretizer=None).fit(X, y)
    assert (disr.criterion_[disr.step_ > 1] <= 1).all()


def test_synergy():
    # y is the exclusive or of the first two columns: alone they tell nothing
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 12))
    y = X[:, 0] ^ X[:, 1]
    options = {"discretizer": None, "schema": {"keep": [0]}}
    for method in (JMI(**options), CMI(**options), DISR(**options)):
        assert method.fit(X, y).order_[:2].tolist() == [0, 1]
    assert CMIM(**options).fit(X, y).criterion_[1] < 0.05


# ---- the contract --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", METHODS)
def test_order_is_a_prefix(name):
    X, y = large_table()
    method = METHODS[name][0]
    fitted = [
        type(method)(**(method.get_params() | parameters | {"discretizer": None})).fit(X, y)
        for parameters in (
            {"max_steps": 30},
            {"max_steps": 12},
            {"n_features_to_select": 5, "max_steps": 30, "n_jobs": 1},
        )
    ]
    assert fitted[0].order_[:12].tolist() == fitted[1].order_[:12].tolist()
    assert np.array_equal(fitted[0].order_, fitted[2].order_)
    assert fitted[0].scores_.tobytes() == fitted[2].scores_.tobytes()
    assert fitted[2].support_.sum() == 5


def test_layouts_give_the_same_bits():
    X, y = large_table(p=200)
    expected = JMI(discretizer=None).fit(X, y)
    frame = pl.DataFrame({f"c{f}": X[:, f].astype(str) for f in range(200)})
    for table in (np.asfortranarray(X), X.astype(np.int64), X.astype(float), frame):
        fitted = JMI(discretizer=None).fit(table, y)
        assert np.array_equal(fitted.order_, expected.order_)
        assert fitted.criterion_.tobytes() == expected.criterion_.tobytes()


def test_keep_seeds_the_search():
    X, y = large_table(p=20)
    for keep, steps in (([11, 3], 4), ([11], 1), ([2, 1, 0], 100)):
        fitted = MRMR(discretizer=None, schema={"keep": keep}, max_steps=steps).fit(X, y)
        order, worth = reference.greedy(X.T.tolist(), y.tolist(), reference.mrmr, steps, keep)
        assert fitted.order_.tolist() == order  # those to keep in the order given
        assert fitted.step_[keep].tolist() == list(range(1, len(keep) + 1))
        assert fitted.scores_[keep] == pytest.approx([worth[f] for f in keep], abs=1e-7)


def test_constant_columns_come_last():
    X, y = large_table(p=12)
    X[:, [0, 4]] = 1
    for name, (method, _) in METHODS.items():
        parameters = method.get_params() | {"discretizer": None}
        fitted = type(method)(**parameters).fit(X, y)
        assert fitted.order_[-2:].tolist() == [0, 4], name
        assert fitted.step_[[0, 4]].tolist() == [0, 0]
    nothing = CMIM(discretizer=None).fit(np.ones((6, 3)), [0, 1] * 3)
    assert nothing.order_.tolist() == [0, 1, 2]
    assert nothing.scores_.tolist() == [0, 0, 0]


def test_missing_values():
    # missing in one class only: as a level that tells all, spread it tells nothing
    y = np.arange(40) % 2
    gone = np.where(y == 1, np.nan, np.arange(40) // 2 % 2)
    X = np.column_stack([gone, np.arange(40) % 4])
    level, spread = (JMI(discretizer=None, missing=m).fit(X, y) for m in ("level", "spread"))
    assert level.relevance_ == pytest.approx([1.0, 1.0])
    assert spread.relevance_ == pytest.approx([0.0, 1.0])
    none = np.column_stack([np.full(40, np.nan), X])
    for missing in ("level", "spread"):
        fitted = JMI(discretizer=None, missing=missing).fit(none, y)
        assert fitted.order_[-1] == 0
        with_keep = JMI(discretizer=None, missing=missing, schema={"keep": [0]}).fit(none, y)
        assert with_keep.criterion_[with_keep.order_[1]] == pytest.approx(1.0)


def test_interruption_keeps_what_was_chosen():
    X, y = large_table()
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done == 7:
            raise KeyboardInterrupt

    method = JMI(discretizer=None, max_steps=20, verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        method.fit(X, y)
    assert seen[-1] == (7, 20)
    assert method.interrupted_
    whole = JMI(discretizer=None, max_steps=20).fit(X, y)
    assert method.order_[:7].tolist() == whole.order_[:7].tolist()
    assert np.count_nonzero(method.step_) == 7
    assert not whole.interrupted_


def test_wrong_parameters(monkeypatch):
    X, y = large_table(p=6)
    for steps in (0, -1, 2.0, True, "all", None):
        with pytest.raises(ParameterError, match="max_steps"):
            JMI(max_steps=steps).fit(X, y)
    for weight in (-1, np.inf, np.nan, "one", None, True):
        with pytest.raises(ParameterError, match="beta"):
            MIFS(beta=weight).fit(X, y)
        with pytest.raises(ParameterError, match="gamma"):
            InformationCriterion(gamma=weight).fit(X, y)
    with pytest.raises(ParameterError, match="missing"):
        JMI(missing="mean").fit(X, y)
    monkeypatch.setattr(_greedy, "MOST_CELLS", 10)
    with pytest.raises(DataError, match="'x0' has 4 levels"):
        JMI(discretizer=None, missing="spread").fit(X, y)


def test_huge_weights():
    X, y = large_table(p=10)
    fitted = MIFS(beta=1e9, discretizer=None).fit(X, y)
    order, _ = reference.greedy(
        X.T.tolist(), y.tolist(), functools.partial(reference.mifs, beta=1e9), 100
    )
    assert fitted.order_.tolist() == order
