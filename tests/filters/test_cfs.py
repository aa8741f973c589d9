import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import ParameterError
from featly.core.counts.codes import DenseCodes
from featly.core.counts.discretise import CutRule, cut_codes, learn_cuts
from featly.core.counts.uncertainty import Pairs
from featly.core.sources import DenseSource
from featly.filters.cfs import CFS, Merits
from tests.reference import subset_filters as naive


@st.composite
def tables(draw):
    """Missing values, ties, constant and equal columns, a class of one row."""
    n_rows, n_columns = draw(st.integers(3, 16)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(1, draw(st.integers(1, 3)) + 1, size=(n_rows, n_columns)).astype(float)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    y = rng.integers(0, 3, size=n_rows)
    y[:2] = 0, 1
    return X, y


def lists(X, y):
    return np.nan_to_num(X).astype(int).T.tolist(), (y + 1).tolist()


@given(tables(), st.booleans(), st.booleans())
def test_equals_reference(table, spread, has_keep):
    X, y = table
    columns, labels = lists(X, y)
    keep = [X.shape[1] - 1] if has_keep else []
    missing = "spread" if spread else "level"
    selector = CFS(discretizer=None, missing=missing, schema={"keep": keep}).fit(X, y)
    scores = [naive.uncertainty(column, labels, spread) for column in columns]
    assert selector.uncertainty_ == pytest.approx(scores, abs=1e-9)
    informative = [f for f, score in enumerate(scores) if score > 0 or f in keep]
    assert selector.empty_ == (max(scores) == 0)
    if not informative:
        assert (selector.order_.tolist(), selector.merit_) == ([0], 0.0)
        return
    subset, merit = naive.best_first(
        len(informative),
        lambda subset: naive.cfs_merit([informative[f] for f in subset], columns, labels, spread),
        start=[informative.index(f) for f in keep],
    )
    assert selector.merit_ == pytest.approx(merit, abs=1e-8)
    assert set(selector.order_.tolist()) == {informative[f] for f in subset}
    assert selector.order_[: len(keep)].tolist() == keep


@given(tables())
def test_a_column_independent_of_the_class_lowers_the_merit(table):
    """So the search leaves such columns out."""
    X, y = table
    columns, labels = lists(X, y)
    nothing = [1] * len(labels)
    subset = [f for f in range(len(columns)) if naive.uncertainty(columns[f], labels) > 0]
    if subset:
        before = naive.cfs_merit(subset, columns, labels)
        assert naive.cfs_merit([*subset, len(columns)], [*columns, nothing], labels) < before


@given(tables(), st.booleans())
def test_locally_predictive_columns_are_added(table, spread):
    X, y = table
    missing = "spread" if spread else "level"
    plain = CFS(discretizer=None, missing=missing).fit(X, y)
    more = CFS(discretizer=None, missing=missing, locally_predictive=True).fit(X, y)
    if not plain.empty_:
        added = naive.locally_predictive(plain.order_.tolist(), *lists(X, y), spread)
        assert more.order_.tolist() == [*plain.order_.tolist(), *added]
        assert more.merit_ == plain.merit_


def test_of_equal_columns_the_first_is_chosen_and_no_other():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    signal = np.where(rng.random(60) < 0.8, y, 1 - y)
    X = np.column_stack([rng.integers(0, 2, 60), signal, signal, 1 - signal])
    assert 1 in CFS(discretizer=None).fit(X, y).order_
    assert not {2, 3} & set(CFS(discretizer=None).fit(X, y).order_.tolist())


def test_max_stale_prolongs_the_search():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 25)), rng.integers(0, 2, 60)
    selectors = [CFS(discretizer=None, max_stale=stale).fit(X, y) for stale in (1, 4, 9)]
    counts = [method.n_evaluated_ for method in selectors]
    assert counts == sorted(set(counts))
    merits = [method.merit_ for method in selectors]
    assert merits == sorted(merits)


def test_merits_of_a_subset_do_not_depend_on_the_order_of_choice():
    rng = np.random.default_rng(0)
    codes = DenseCodes(rng.integers(1, 4, (40, 50)).astype(np.uint8), np.full(40, 3))
    merits = Merits(rng.integers(1, 2**36, 40) / 2**36, Pairs(codes, np.arange(40)))
    subset, candidates = rng.permutation(40)[:25].tolist(), np.arange(40)
    expected = merits(tuple(subset), candidates)
    for _ in range(30):  # more than are remembered
        shuffled = tuple(rng.permutation(subset).tolist())
        assert np.array_equal(merits(shuffled, candidates), expected)


def test_exclusive_or_gives_an_empty_selection():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    selector = CFS(discretizer=None).fit(X, X[:, 0] ^ X[:, 1])
    assert selector.empty_
    assert selector.merit_ == 0
    assert selector.order_.tolist() == [0]
    with_keep = CFS(discretizer=None, schema={"keep": [1]}).fit(X, X[:, 0] ^ X[:, 1])
    assert with_keep.empty_
    assert with_keep.order_.tolist() == [1]


def test_control_c_keeps_the_best_subset():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 30))
    y = X[:, :3].sum(axis=1) > 1

    def stop(done, _):
        if done == 2:
            raise KeyboardInterrupt

    method = CFS(discretizer=None, verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        method.fit(X, y)
    assert len(method.order_) == 2
    assert method.merit_ > 0
    assert method.table()["selected"].sum() == 2


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"max_stale": 0}, "max_stale=0"),
        ({"max_stale": 2.5}, "max_stale=2.5"),
        ({"max_stale": True}, "max_stale=True"),
        ({"locally_predictive": "yes"}, "locally_predictive='yes'"),
        ({"missing": "none"}, "missing='none'"),
        ({"discretizer": "fayyad"}, "discretizer='fayyad'"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    with pytest.raises(ParameterError, match=re.escape(word)):
        CFS(**parameters).fit(np.eye(4), [0, 1, 0, 1])


# ---- Weka ----------------------------------------------------------------------------------------
def read_golden(data_folder, name):
    """The table as Weka's evaluator cuts it, the classes, and its merit and subsets."""
    import polars as pl

    folder = data_folder.parent / "golden"
    if not folder.is_dir():
        pytest.skip("no golden outputs")
    frame = pl.read_parquet(data_folder / f"{name}.parquet")
    frame = frame.drop("split", strict=False)
    y = frame["class"].to_physical().to_numpy().astype(np.int64)
    text = (folder / f"{name}.cfs_j48.txt").read_text()
    merit = float(re.search(r"cfs bestfirst.*merit=(\S+)", text)[1])
    subsets = [
        [int(number) for number in match_text.split(",")]
        for match_text in re.findall(r"\[([\d, ]+)\]", text)
    ]
    return frame.drop("class"), y, merit, subsets


def cut_as_weka(frame, y):
    import polars as pl

    columns = []
    for column in frame:
        if column.dtype in (pl.Categorical, pl.Enum):
            columns.append(column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy() + 1)
            continue
        values = column.fill_null(np.nan).to_numpy().astype(float)
        cuts = naive.weka_cuts(values.tolist(), y.tolist())
        columns.append(np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values) + 1))
    return np.column_stack(columns)


@pytest.mark.parametrize("name", ["heart_cleveland", "hepatitis", "monk1", "monk2", "monk3"])
def test_equals_weka(data_folder, name):
    frame, y, merit, subsets = read_golden(data_folder, name)
    X = cut_as_weka(frame, y)
    plain, _, _, _, more = subsets[:5]
    selector = CFS(discretizer=None, missing="spread").fit(X, y)
    assert sorted(selector.order_.tolist()) == plain
    assert selector.merit_ == pytest.approx(merit, rel=1e-7)  # Weka's are in single precision
    straight = CFS(missing="spread").fit(frame, y)  # from the frame, cut as Weka cuts
    assert np.array_equal(straight.order_, selector.order_)
    assert straight.merit_ == selector.merit_
    selector.set_params(locally_predictive=True).fit(X, y)
    assert sorted(selector.order_.tolist()) == more
    imitation = naive.WekaCFS(*lists(X, y))
    subset, same = imitation.search()
    assert list(subset) == plain
    assert same == pytest.approx(merit, rel=1e-14)
    assert imitation.locally_predictive(subset) == more


def test_leukemia_differs_from_weka_where_columns_are_independent(data_folder):
    """Weka counts two independent columns as redundant. Without that: 54 columns, a better merit.

    All else that Weka's search does its own way, it may do here: no subset changes.
    """
    frame, y, merit, (subset, more) = read_golden(data_folder, "leukemia_golub")
    X = frame.to_numpy()
    selector = CFS().fit(X, y)
    assert selector.merit_ == pytest.approx(0.96826654397, rel=1e-9)
    assert len(selector.order_) == 54
    assert selector.merit_ > merit
    assert len(set(selector.order_.tolist()) & set(subset)) == 51

    source = DenseSource(np.asarray(X, np.float64))
    codes, n_levels = cut_codes(source, learn_cuts(source, y, 2, CutRule("mdlp")))
    cut = np.flatnonzero(n_levels > 1)
    assert len(cut) == 1012
    imitation = naive.WekaCFS(codes[cut].tolist(), (y + 1).tolist(), spread=False)
    chosen, wekas = imitation.search()
    assert cut[list(chosen)].tolist() == subset
    assert wekas == pytest.approx(merit, rel=1e-14)
    assert cut[imitation.locally_predictive(chosen)].tolist() == more
    independent = [pair for pair, value in imitation.known.items() if value == 1.0 and pair[1]]
    assert len(independent) > 20
