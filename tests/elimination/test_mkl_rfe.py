"""The elimination equals the alternation in the paper, exactly, however it is run."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from featly import ConvergenceWarning, DataError
from featly.elimination import mkl_rfe
from featly.elimination.mkl_rfe import MKLRFE
from featly.elimination.rfe import schedule
from tests.reference.mkl import clinical_gram
from tests.reference.mkl import mkl_rfe as naive_rfe


@st.composite
def mixed_tables(draw):
    """Numbers and categories, ties, missing values and constant columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(8, 24))
    y = rng.permutation(np.arange(n) % 2)
    columns = {}
    for j in range(draw(st.integers(1, 5))):
        x = rng.normal(size=n) + (j == 0) * y
        x = np.round(x) if draw(st.booleans()) else x
        if draw(st.booleans()):
            x[rng.random(n) < 0.15] = np.nan
        columns[f"n{j}"] = [None if v != v else v for v in x.tolist()]
    for j in range(draw(st.integers(0, 3))):
        levels = np.array(list("abcdef"))[rng.integers(0, 2 + j, n)].tolist()
        columns[f"c{j}"] = [None if rng.random() < 0.1 else level for level in levels]
    return columns, y


def is_diagonal(K):
    return np.array_equal(K, np.diag(np.diag(K)))


@given(mixed_tables(), st.sampled_from([0.2, 1]), st.sampled_from([1.5, 2.0]))
@settings(max_examples=25)
def test_equals_alternating_reference(table, step, norm):
    columns, y = table
    kinds = ["categorical" if name[0] == "c" else "continuous" for name in columns]
    grams = [clinical_gram(v, k) for v, k in zip(columns.values(), kinds, strict=True)]
    assume(not any(is_diagonal(K) for K in grams))
    expected, margins = naive_rfe(
        grams,
        np.where(y == 1, 1.0, -1.0),
        np.full(len(y), 0.1),
        norm,
        drop=lambda left: schedule(left, step),
    )
    assume(min(margins) > 1e-3)  # else the reference itself is undecided
    frame = pl.DataFrame(columns, strict=False)
    schema = {"categorical": [name for name in columns if name[0] == "c"]}
    rfe = MKLRFE(step=step, norm=norm, schema=schema).fit(frame, y)
    assert rfe.order_.tolist() == expected
    assert rfe.duality_gap_.max() < 1e-8


def mixed_table(n=80, seed=0):
    """Two continuous columns and a categorical one tell the classes apart, 20 do not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    columns = {f"noise {j}": rng.normal(size=n) for j in range(16)}
    columns |= {f"level {j}": rng.choice(list("abc"), n) for j in range(4)}
    columns["dose"] = rng.normal(size=n) + 1.5 * y
    columns["age"] = np.round(rng.normal(size=n) * 10 + 12 * y)
    columns["grade"] = np.where(rng.random(n) < 0.8, np.array(["low", "high"])[y], "middle")
    frame = pl.DataFrame(columns)
    is_missing = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(
        pl.when(is_missing).then(None).otherwise(pl.col(c)).alias(c) for c in ("dose", "level 1")
    ), y


def test_informative_columns_come_first():
    frame, y = mixed_table()
    rfe = MKLRFE(n_features_to_select=3).fit(frame, y)
    assert set(rfe.get_feature_names_out()) == {"dose", "age", "grade"}
    assert rfe.duality_gap_.max() <= 1e-9
    assert len(rfe.duality_gap_) == rfe.round_.max() + 1
    assert 1 <= rfe.n_iter_ <= 10
    assert not rfe.interrupted_


def test_rounds_weights_and_scores():
    frame, y = mixed_table()
    rfe = MKLRFE(step=7).fit(frame, y)
    table = rfe.table()
    assert table["round"].value_counts().sort("round")["count"].to_list() == [7, 7, 7, 2]
    for group in table.partition_by("round"):
        assert group["criterion"].is_sorted(descending=True)
    last = rfe.criterion_[rfe.round_ == 3]
    assert np.sum(last**2) == pytest.approx(1.0)  # the weights of a round have norm 1
    share = last / last.sum()
    assert rfe.scores_[rfe.round_ == 3] == pytest.approx(3 + share)


def test_rows_and_columns_in_any_order():
    frame, y = mixed_table()
    frame = frame.with_columns(pl.col("noise 0").round().alias("coarse"))
    expected = MKLRFE(step=1).fit(frame, y)
    rng = np.random.default_rng(1)
    for _ in range(3):
        rows, names = rng.permutation(len(y)), rng.permutation(frame.columns).tolist()
        rfe = MKLRFE(step=1).fit(frame[rows].select(names), y[rows])
        assert [names[f] for f in rfe.order_] == [frame.columns[f] for f in expected.order_]


def test_rows_in_any_order_without_a_useful_column():
    """Coarse columns and unequal classes: w = 0 is optimal, only rounding is left."""
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, size=(60, 6)), (np.arange(60) < 6).astype(int)
    expected = MKLRFE(step=1, C=1e-3).fit(X, y)
    assert (expected.criterion_ == 0).any()
    for seed in range(4):
        rows = np.random.default_rng(seed).permutation(60)
        rfe = MKLRFE(step=1, C=1e-3).fit(X[rows], y[rows])
        assert rfe.order_.tolist() == expected.order_.tolist()


def test_columns_without_equal_values_have_importance_0():
    """Without any value, or with the names of the rows: nothing else changes when they come."""
    frame, y = mixed_table()
    expected = MKLRFE(step=1).fit(frame, y)
    useless = [
        pl.lit(None, pl.Float64).alias("empty"),
        pl.Series("patient", [f"no. {i}" for i in range(len(y))]),
        pl.lit(None, pl.String).alias("no text"),
    ]
    names = ["empty", *frame.columns[:9], "patient", *frame.columns[9:], "no text"]
    wider = frame.with_columns(useless).select(names)
    rfe = MKLRFE(step=1).fit(wider, y)
    with_keep = MKLRFE(step=1, schema={"keep": ["patient", "empty"]}).fit(wider, y)
    order = [names[f] for f in rfe.order_]
    assert order[-3:] == ["empty", "patient", "no text"]
    assert order[:-3] == [frame.columns[f] for f in expected.order_]
    order = [names[f] for f in with_keep.order_]
    assert order[:2] == ["empty", "patient"]
    assert order[2:-1] == [frame.columns[f] for f in expected.order_]
    positions = [names.index(name) for name in frame.columns]
    for other in (rfe, with_keep):
        assert other.criterion_[positions].tolist() == expected.criterion_.tolist()
    only = MKLRFE().fit(wider.select("empty", "patient"), y)
    assert only.order_.tolist() == [0, 1]
    assert only.duality_gap_.tolist() == [0.0, 0.0]


def test_sparse_equals_dense():
    rng = np.random.default_rng(3)
    X = np.where(rng.random((40, 60)) < 0.2, rng.normal(size=(40, 60)), 0.0)
    y = np.arange(40) % 2
    dense, sparse = MKLRFE().fit(X, y), MKLRFE().fit(scipy.sparse.csc_array(X), y)
    assert dense.order_.tolist() == sparse.order_.tolist()


def test_class_weights():
    frame, _ = mixed_table()
    y = np.where(np.arange(80) < 16, "rare", "common")
    plain = MKLRFE(step=1).fit(frame, y)
    balanced = MKLRFE(step=1, class_weight="balanced").fit(frame, y)
    by_hand = MKLRFE(step=1, class_weight={"rare": 2.5, "common": 0.625}).fit(frame, y)
    assert balanced.criterion_.tolist() == by_hand.criterion_.tolist()
    assert not np.array_equal(plain.order_, balanced.order_)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"step": 0}, "step"),
        ({"fine_below": 0}, "fine_below"),
        ({"C": 0}, "C="),
        ({"C": -1.0}, "C="),
        ({"C": np.inf}, "C="),
        ({"C": "1"}, "C="),
        ({"norm": 1}, "norm=1"),
        ({"norm": 0.5}, "norm="),
        ({"norm": np.inf}, "norm="),
        ({"norm": True}, "norm="),
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 2.5}, "max_iter"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "positive"),
        ({"class_weight": {7: 1.0}}, "no class"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    frame, y = mixed_table(n=20)
    with pytest.raises(ValueError, match=word):
        MKLRFE(**parameters).fit(frame, y)


def test_too_many_rows_raise_an_error_with_a_remedy(monkeypatch):
    frame, y = mixed_table()
    monkeypatch.setattr(mkl_rfe, "MOST_ROWS", 79)
    with pytest.raises(DataError, match=r"80 rows.*79.*SVMRFE\(kernel='clinical'\)"):
        MKLRFE().fit(frame, y)


def test_a_poor_solution_warns():
    frame, y = mixed_table()
    with pytest.warns(ConvergenceWarning, match="round 0") as caught:
        MKLRFE(C=10, max_iter=1, step=20).fit(frame, y)
    assert caught[0].filename == __file__  # it points at the caller
    MKLRFE(C=10, max_iter=1, step=20, tolerance=2.0).fit(frame, y)  # within its tolerance


def test_two_rows_and_one_column():
    assert MKLRFE().fit([[1.0, 0.5], [2.0, 0.5]], [0, 1]).order_.tolist() == [0, 1]
    assert MKLRFE().fit([[1.0], [2.0], [2.5]], [0, 1, 1]).order_.tolist() == [0]


@pytest.mark.parametrize("keep", [[], ["noise 3", "level 2"]])
def test_ctrl_c_at_any_round_leaves_a_ranking(keep):
    frame, y = mixed_table(n=30)
    whole = MKLRFE(step=4, schema={"keep": keep}).fit(frame, y)
    for moment in (4, 12, 20):

        def press(done, total, moment=moment):
            assert total == 23
            if done >= moment:
                raise KeyboardInterrupt

        rfe = MKLRFE(step=4, schema={"keep": keep}, verbose=press)
        with pytest.raises(KeyboardInterrupt):
            rfe.fit(frame, y)
        assert rfe.interrupted_
        assert sorted(rfe.order_.tolist()) == list(range(23))
        assert np.array_equal(rfe.order_[23 - moment :], whole.order_[23 - moment :])
        assert {frame.columns[f] for f in rfe.order_[: len(keep)]} == set(keep)


def test_verbose_draws_on_standard_error_only(capsys):
    frame, y = mixed_table(n=30)
    MKLRFE(verbose=True).fit(frame, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "23/23 columns" in err


def test_hepatitis_in_any_order_of_rows(data_folder):
    data = pl.read_parquet(data_folder / "hepatitis.parquet")
    frame, y = data.drop("class"), data["class"].to_numpy()
    expected = MKLRFE().fit(frame, y)
    assert expected.duality_gap_.max() <= 1e-9
    rows = np.random.default_rng(0).permutation(len(y))
    assert MKLRFE().fit(frame[rows], y[rows]).order_.tolist() == expected.order_.tolist()
    # exact: a tighter tolerance changes nothing
    tight = MKLRFE(tolerance=1e-12).fit(frame, y)
    assert tight.order_.tolist() == expected.order_.tolist()
