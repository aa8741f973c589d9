import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import featly
from featly import (
    MIM,
    ChiSquared,
    DataError,
    FTest,
    GainRatio,
    InformationGain,
    ParameterError,
    Schema,
    SignalToNoise,
    SymmetricUncertainty,
)
from featly.core.sources import Moments
from featly.preprocessing import MDLP, PKID, EqualWidth

COUNTING = [ChiSquared, GainRatio, InformationGain, MIM, SymmetricUncertainty]


def learn(ranker, X, y, parts, **options):
    for rows in parts:
        ranker.partial_fit(X[rows], y[rows], **{k: v[rows] for k, v in options.items()})
    return ranker


def some_parts(n_rows, seed=0, n_parts=7):
    return np.array_split(np.random.default_rng(seed).permutation(n_rows), n_parts)


@st.composite
def mixed_tables(draw):
    """Texts, whole numbers near and far, missing values, constants; classes; parts of the rows."""
    n_rows = draw(st.integers(2, 12))
    columns = {
        "text": st.sampled_from(["a", "b", "ü", "1", None]),
        "number": st.sampled_from([0, 1, 7, None]),
        "far": st.sampled_from([-500, 3, 10**6, None]),
        "flat": st.just(2),
    }
    table = {
        name: draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        for name, cell in columns.items()
    }
    schema = {"text": pl.String, "number": pl.Int64, "far": pl.Int64, "flat": pl.Int64}
    y = np.array(draw(st.lists(st.sampled_from("xyz"), min_size=n_rows, max_size=n_rows)))
    y[0] = "x" if y[1] != "x" else "z"
    cuts = sorted(draw(st.sets(st.integers(1, n_rows - 1))))
    order = draw(st.permutations(range(n_rows)))
    return pl.DataFrame(table, schema=schema), y, np.split(np.array(order), cuts)


@given(mixed_tables(), st.sampled_from(COUNTING), st.sampled_from(["level", "spread"]))
@settings(max_examples=60)
def test_any_batches_in_any_order_are_one_fit(case, method, missing):
    frame, y, parts = case
    ranker = method(discretizer=None, missing=missing)
    whole = clone(ranker).fit(frame, y)
    batches = learn(ranker, frame, y, parts)
    assert batches.scores_.tolist() == whole.scores_.tolist()
    assert batches.order_.tolist() == whole.order_.tolist()
    assert batches.n_seen_ == len(y)
    if method is ChiSquared:
        assert np.array_equal(batches.p_value_, whole.p_value_, equal_nan=True)


@pytest.mark.parametrize("method", COUNTING)
def test_one_row_at_a_time(method):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 5)), rng.integers(0, 3, 60)
    whole = method(discretizer=None).fit(X, y)
    rows = learn(method(discretizer=None), X, y, np.arange(60)[:, None])
    assert (rows.scores_ == whole.scores_).all()


@pytest.mark.parametrize("method", COUNTING)
@pytest.mark.parametrize("rule", [MDLP(), PKID(), EqualWidth(n_bins=4)])
def test_frozen_cuts(method, rule):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 8)), rng.integers(0, 3, 150)
    X[:, 2] += y
    X[::11, 3] = np.nan
    frozen = FrozenEstimator(rule.fit(X[:60], y[:60]))
    whole = method(discretizer=frozen).fit(X, y)
    for form in (X, np.asfortranarray(X), X.astype(np.float32)):
        cut = method(discretizer=frozen).fit(form, y)
        batches = learn(method(discretizer=frozen), form, y, some_parts(150))
        assert (batches.scores_ == cut.scores_).all()
    first = method(discretizer=clone(rule)).partial_fit(X[:60], y[:60])
    first.partial_fit(X[60:], y[60:])  # the cuts of the first batch
    assert (first.scores_ == whole.scores_).all()


def test_frozen_cuts_equal_a_table_that_is_cut():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), rng.integers(0, 2, 90)
    mdlp = MDLP(missing="level").fit(X, (X[:, 1] > 0).astype(int))
    cut = InformationGain(discretizer=None).fit(mdlp.transform(X), y)
    frozen = InformationGain(discretizer=FrozenEstimator(mdlp)).fit(X, y)
    assert (frozen.scores_ == cut.scores_).all()


@pytest.mark.parametrize("method", [FTest, SignalToNoise])
@pytest.mark.parametrize("classes", [2, 3])
def test_moments_agree_up_to_rounding(method, classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(1e4, 1, (80, 9)), rng.integers(0, classes, 80)
    X[::9, 4] = np.nan
    X[:, 5] = 0.1
    whole = method().fit(X, y)
    batches = learn(method(), X, y, some_parts(80))
    assert batches.scores_ == pytest.approx(whole.scores_, rel=1e-8)
    assert batches.order_.tolist() == whole.order_.tolist()
    rows = learn(method(), X, y, np.arange(80)[:, None])
    assert rows.scores_ == pytest.approx(whole.scores_, rel=1e-8)


def test_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 9))
    y = X[:, 3] + rng.normal(1e3, 1, 80)
    X[::9, 4] = np.nan
    whole, batches = FTest().fit(X, y), learn(FTest(), X, y, some_parts(80))
    assert batches.statistic_ == pytest.approx(whole.statistic_, rel=1e-8)
    with pytest.raises(DataError, match=r"InformationGain\.partial_fit takes classes"):
        InformationGain().partial_fit(X, y)
    with pytest.raises(DataError, match=r"'a' in row 1, .* the target of every batch is numbers"):
        batches.partial_fit(X[:2], ["3", "a"])
    times = np.array([(True, 3.0), (False, 5.0)] * 40, [("event", "?"), ("time", "f8")])
    with pytest.raises(DataError, match=r"FTest\.partial_fit takes classes or numbers"):
        FTest().partial_fit(X, times)


def test_weights_of_batches():
    rng = np.random.default_rng(0)
    X, y, w = rng.integers(0, 4, (70, 5)), rng.integers(0, 3, 70), rng.integers(0, 4, 70)
    whole = GainRatio(discretizer=None).fit(X, y, sample_weight=w)
    batches = learn(GainRatio(discretizer=None), X, y, some_parts(70), sample_weight=w)
    assert (batches.scores_ == whole.scores_).all()
    whole = FTest().fit(X, y, sample_weight=w / 3)
    batches = learn(FTest(), X, y, some_parts(70), sample_weight=w / 3)
    assert batches.scores_ == pytest.approx(whole.scores_, rel=1e-8)


def test_forms_of_a_batch(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 7)).astype(float), rng.integers(0, 2, 60)
    whole = InformationGain(discretizer=None).fit(X, y)
    np.save(tmp_path / "rest.npy", X[40:])
    pl.DataFrame(X[20:40], schema=list("abcdefg")).write_parquet(tmp_path / "some.parquet")
    batches = InformationGain(discretizer=None)
    batches.partial_fit(scipy.sparse.csc_array(X[:20]), y[:20])
    batches.partial_fit(featly.scan(tmp_path / "rest.npy"), y[40:])
    batches.partial_fit(X[20:40].tolist(), y[20:40])
    assert (batches.scores_ == whole.scores_).all()


def test_levels_of_a_table_on_disk(tmp_path):
    frame = pl.DataFrame({"site": list("abcabdab"), "age": [1, 2, 3, 4, 1, 2, 3, 4]})
    y = np.array(list("xyxyxyyx"))
    frame[5:].write_parquet(tmp_path / "rest.parquet")
    whole = ChiSquared(discretizer=None).fit(frame, y)
    batches = ChiSquared(discretizer=None).partial_fit(frame[:5], y[:5])
    batches.partial_fit(featly.scan(tmp_path / "rest.parquet"), y[5:])
    assert (batches.scores_ == whole.scores_).all()


@pytest.mark.parametrize("convert", [
    lambda frame: frame.cast({"site": pl.Categorical}),
    lambda frame: frame.cast({"site": pl.Enum(["north", "south", "west", "east"])}),
    lambda frame: frame.to_pandas().astype({"site": "category"}),
    lambda frame: frame.to_arrow(),
])  # fmt: skip
def test_categories_of_every_library(convert):
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south", "west", "east"], 60)
    frame = pl.DataFrame({"site": site, "age": rng.integers(0, 9, 60)})
    y = np.where(rng.random(60) < 0.4, site == "west", rng.random(60) < 0.5)
    whole = ChiSquared(discretizer=None, schema={"categorical": ["site"]}).fit(frame, y)
    batches = clone(whole)
    for low in (40, 0, 20):
        batches.partial_fit(convert(frame[low : low + 20]), y[low : low + 20])
    assert (batches.scores_ == whole.scores_).all()


def test_classes_that_come_later():
    X = np.array([[0], [1], [2], [0], [1], [2]])
    ranker = InformationGain(discretizer=None)
    ranker.partial_fit(X[:2], ["b", "b"])
    assert ranker.scores_.tolist() == [0.0]
    assert ranker.classes_.tolist() == ["b"]
    ranker.partial_fit(X[2:], ["c", "a", "b", "c"])
    assert ranker.classes_.tolist() == ["a", "b", "c"]
    whole = InformationGain(discretizer=None).fit(X, ["b", "b", "c", "a", "b", "c"])
    assert ranker.scores_.tolist() == whole.scores_.tolist()
    with pytest.raises(DataError, match="'d', which is not among the classes"):
        ranker.partial_fit(X, list("aabbcd"), classes=["a", "b", "c"])
    with pytest.raises(DataError, match="make all labels text, or all numbers"):
        ranker.partial_fit(X, [0, 1, 0, 1, 0, 1])
    with pytest.raises(DataError, match=r"y holds real numbers .* of every batch is classes"):
        ranker.partial_fit(X, np.arange(6) / 4)


def test_errors_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (40, 3)), rng.integers(0, 2, 40)
    ranker = InformationGain(discretizer=None).partial_fit(X[:20], y[:20])
    before = ranker.scores_.copy()
    with pytest.raises(ValueError, match="expecting 3 features"):
        ranker.partial_fit(X[:, :2], y)
    with pytest.raises(DataError, match="'x1' is continuous"):
        ranker.partial_fit(X + np.array([0, 0.5, 0]), y)
    with pytest.raises(ParameterError, match=r"discretizer was None .* 'mdlp' now"):
        clone(ranker).partial_fit(X, y).set_params(discretizer="mdlp").partial_fit(X, y)
    monkeypatch.setattr(
        InformationGain, "_statistic", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        ranker.partial_fit(X[20:], y[20:])
    monkeypatch.undo()
    assert (ranker.scores_ == before).all()
    ranker.partial_fit(X[20:], y[20:])
    assert (ranker.scores_ == InformationGain(discretizer=None).fit(X, y).scores_).all()


def test_cuts_that_cannot_be_learnt_or_used():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    with pytest.raises(DataError, match=r"one class only, .*FrozenEstimator"):
        InformationGain().partial_fit(X, np.zeros(30, int))
    with pytest.raises(ParameterError, match="is not fitted"):
        InformationGain(discretizer=FrozenEstimator(MDLP())).fit(X, y)
    frozen = FrozenEstimator(EqualWidth().fit(pd.DataFrame(X, columns=list("abc"))))
    with pytest.raises(DataError, match="X has 2 columns and the frozen discretizer"):
        InformationGain(discretizer=frozen).fit(X[:, :2], y)
    with pytest.raises(DataError, match="column 0 of X is 'b', and was 'a'"):
        InformationGain(discretizer=frozen).fit(pd.DataFrame(X, columns=list("bac")), y)
    frame = pd.DataFrame(X.round(), columns=list("abc"))
    with pytest.raises(DataError, match="'b' is categorical, and was cut"):
        InformationGain(discretizer=frozen, schema={"categorical": ["b"]}).fit(frame, y)


def test_kinds_of_the_first_batch_hold():
    y = np.array(["x", "y"] * 3)
    first = pl.DataFrame({"stage": ["low", "high", "low", "high", "mid", "low"], "age": range(6)})
    ranker = ChiSquared(discretizer=None).partial_fit(first, y)
    with pytest.raises(DataError, match="'age' holds text in this batch, and numbers in the first"):
        ranker.partial_fit(first.cast({"age": pl.String}), y)
    ranker.partial_fit(first.with_columns(pl.lit(None).alias("stage")), y)  # no value at all
    order = Schema(ordinal={"stage": ["low", "mid", "high"]})
    ordinal = ChiSquared(discretizer=None, schema=order).partial_fit(first[:3], y[:3])
    ordinal.partial_fit(first[3:], y[3:])
    whole = ChiSquared(discretizer=None, schema=order).fit(first, y)
    assert ordinal.scores_.tolist() == whole.scores_.tolist()
    assert ordinal.kinds_ == whole.kinds_


def test_clone_and_fit_begin_again():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (40, 3)), rng.integers(0, 2, 40)
    ranker = InformationGain(discretizer=None).partial_fit(X[:20], y[:20])
    fitted = ranker.fit(X, y)
    assert not hasattr(fitted, "n_seen_")
    assert (clone(fitted).partial_fit(X, y).scores_ == fitted.scores_).all()


def test_moments_without_rows_add_nothing():
    nothing = Moments(*np.zeros((3, 1, 2)))
    some = Moments(np.full((1, 2), 3.0), np.full((1, 2), 5.0), np.full((1, 2), 2.0))
    for both in (nothing + some, some + nothing):
        assert both.mean.tolist() == some.mean.tolist()
        assert both.m2.tolist() == some.m2.tolist()
