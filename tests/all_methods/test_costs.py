"""Rankings by score less cost, for every method that weighs costs."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly import CFS, FTest, Schema
from featly.base import Ranker
from featly.basics.errors import SchemaError, SchemaWarning
from featly.filters._greedy import GreedyInformation
from featly.registry import METHODS, method_class
from tests.reference import information
from tests.reference.preference import greedy_with_costs, order_by_value

WEIGHING = sorted(n for n, m in METHODS.items() if "costs" in m.uses and n != "cfs")
SEARCHES = {n for n in WEIGHING if issubclass(method_class(n), GreedyInformation)}
ONE_BY_ONE = sorted({*WEIGHING} - SEARCHES - {"monotone-dependence"})


def table(n=60, p=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.integers(0, 4, (n, p)).astype(float)
    for f in range(0, p, 2):
        X[:, f] = np.where(rng.random(n) < 0.2 + f / p / 2, 3 * y, X[:, f])
    return X, y


def fit(name, X, y, trade_off=0.0, cost=None, **schema):
    if cost is not None:
        schema |= {"costs": dict(enumerate(cost)), "trade_off": trade_off}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not use costs .* is 0", SchemaWarning)
        levels = {"discretizer": None} if name in SEARCHES else {}  # so that no column is constant
        return method_class(name)(schema=schema, **levels).fit(X, y)


COST = [3.0, 0.0, 1.0, 7.5, 0.0, 2.0, 2.0, 1.0]


@pytest.mark.parametrize("name", WEIGHING)
def test_a_trade_off_of_0_changes_no_bit(name):
    X, y = table()
    plain, priced = fit(name, X, y), fit(name, X, y, 0.0, COST)
    assert priced.order_.tobytes() == plain.order_.tobytes()
    assert priced.scores_.tobytes() == plain.scores_.tobytes()
    assert priced.table().equals(plain.table())


@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("trade_off", [0.01, 0.3, 5.0])
def test_scores_less_costs(name, trade_off):
    X, y = table()
    plain, priced = fit(name, X, y), fit(name, X, y, trade_off, COST, keep=[3])
    assert priced.scores_ == pytest.approx(
        plain.scores_ - trade_off * np.array(COST), rel=1e-9, abs=1e-9
    )
    expected = order_by_value(plain.scores_.tolist(), COST, trade_off, keep=[3])
    assert priced.order_.tolist() == expected
    assert (
        priced.table().sort("rank")["relevance"].to_list() == plain.scores_[priced.order_].tolist()
    )


@pytest.mark.parametrize("name", WEIGHING)
def test_equal_costs_change_no_place_and_dear_columns_are_last(name):
    X, y = table()
    plain = fit(name, X, y)
    assert fit(name, X, y, 0.7, [1.3] * 8).order_.tolist() == plain.order_.tolist()
    dear = plain.order_[0]
    cost = np.where(np.arange(8) == dear, 1.0, 0.0)
    priced = fit(name, X, y, 1e6, cost.tolist())
    assert priced.order_[-1] == dear
    if name not in SEARCHES:
        others = [f for f in plain.order_.tolist() if f != dear]
        assert name == "monotone-dependence" or priced.order_[:-1].tolist() == others
    free = fit(name, X, y, 1e6, np.arange(8.0).tolist())
    assert free.order_.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        ("mrmr", information.mrmr),
        ("jmi", information.jmi),
        ("cmim", information.cmim),
        ("jmim", information.jmim),
    ],
)
@given(st.integers(0, 500), st.sampled_from([0.01, 0.1, 1.0]))
@settings(max_examples=15, deadline=None)
def test_searches_subtract_the_cost_at_every_step(name, criterion, seed, trade_off):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (14, 5))
    X[:3] = np.arange(3)[:, None]
    y = rng.integers(0, 2, 14)
    y[:2] = 0, 1
    cost = rng.integers(0, 4, 5).tolist()
    cost[0] = 1
    method = method_class(name)(
        discretizer=None,
        schema={"costs": dict(enumerate(map(float, cost))), "trade_off": trade_off},
    )
    columns = [column.tolist() for column in X.T]
    expected = greedy_with_costs(columns, y.tolist(), criterion, cost, trade_off)
    assert method.fit(X, y).order_.tolist() == expected


def test_cfs_takes_the_cheaper_of_two_equal_columns():
    X, y = table(200)
    X[:, 1] = X[:, 6]
    assert 1 in CFS().fit(X, y).order_
    priced = CFS(schema={"costs": {1: 1.0}, "trade_off": 0.05}).fit(X, y)
    assert 6 in priced.order_
    assert 1 not in priced.order_


def test_cfs_maximises_merit_less_mean_cost():
    """Against all subsets."""
    from itertools import combinations

    from featly.core.counts.uncertainty import Pairs
    from featly.filters.cfs import Merits

    X, y = table(80, 6, seed=3)
    X = X.astype(int)
    plain = CFS(discretizer=None, max_stale=100)
    codes_of = {}

    class Recording(Merits):
        def __init__(self, with_class, pairs):
            super().__init__(with_class, pairs)
            codes_of["merits"] = self

    import featly.filters.cfs as module

    original, module.Merits = module.Merits, Recording
    try:
        cost = [0.5, 0.0, 3.0, 1.0, 0.2, 0.0]
        plain.set_params(schema={"costs": dict(enumerate(cost)), "trade_off": 0.02}).fit(X, y)
    finally:
        module.Merits = original
    merits = codes_of["merits"]
    assert isinstance(merits.pairs, Pairs)
    features = np.flatnonzero(plain.uncertainty_)
    best = max(
        float(merits(subset[:-1], np.array([subset[-1]]))[0])
        - 0.02 * np.mean([cost[features[f]] for f in subset])
        for size in range(1, len(features) + 1)
        for subset in combinations(range(len(features)), size)
    )
    assert plain.merit_ == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"costs": {"agee": 1.0}}, "costs names 'agee', which is no column of the table"),
        ({"prior": {"agee": 2.0}}, "prior names 'agee', which is no column of the table"),
        ({"costs": {"x0": -1.0}}, "cost of 'x0' is -1.0: a cost is a finite number of at least 0"),
        ({"costs": {"x0": np.inf}}, "the cost of 'x0' is inf"),
        ({"costs": {"x0": 1.0}, "trade_off": -1}, "trade_off is -1: give the score"),
        ({"costs": {"x0": 1.0}, "trade_off": "much"}, "trade_off is 'much'"),
        ({"costs": {"x0": 1.0}, "trade_off": True}, "trade_off is True"),
        ({"costs": {"x0": 1.0}, "trade_off": np.nan}, "trade_off is nan"),
        ({"trade_off": 1.0}, "trade_off=1.0 weighs costs, and the schema has none"),
    ],
)
def test_mistakes(schema, message):
    X, y = table(12, 3)
    with pytest.raises(SchemaError, match=message) as caught:
        FTest(schema=schema).fit(X, y)
    assert "\n" not in str(caught.value)


def test_costs_without_a_trade_off_and_methods_without_costs_say_so():
    X, y = table()
    with pytest.warns(SchemaWarning, match="FTest does not use costs .*: its trade_off, .* is 0"):
        FTest(schema={"costs": {0: 1.0}}).fit(X, y)
    for name, method in METHODS.items():
        estimator = method_class(name)()
        if "costs" in method.uses or not isinstance(estimator, Ranker):
            continue
        if name == "arom":
            estimator.set_params(C=1.0)
        with pytest.warns(SchemaWarning, match="does not use costs of the schema$"):
            estimator.set_params(schema=Schema(costs={0: 1.0}, trade_off=0.1)).fit(X, y)
