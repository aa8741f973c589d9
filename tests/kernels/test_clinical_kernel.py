import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.kernels import ClinicalKernel
from tests.reference.clinical import column_kernel, kernel

KINDS = ["continuous", "continuous", "categorical", "categorical"]


def table(n, seed=0, missing=0.15):
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(20, 80, n).astype(object),
        "level": rng.normal(size=n).astype(object),
        "sex": rng.choice(["f", "m"], n).astype(object),
        "site": rng.choice(["a", "b", "c", "d"], n).astype(object),
    }
    for values in columns.values():
        values[rng.random(n) < missing] = None
    types = {"age": pl.Float64, "level": pl.Float64, "sex": pl.String, "site": pl.String}
    return pl.DataFrame({k: list(v) for k, v in columns.items()}, schema=types)


def cells(frame):
    return [frame[name].to_list() for name in frame.columns]


@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([0.0, 0.3, 1.0]))
def test_gram_is_the_definition(seed, n, missing_share):
    frame = table(n, seed, missing_share)
    gram = ClinicalKernel().fit(frame).gram()
    assert gram == pytest.approx(kernel(cells(frame), KINDS), abs=1e-12)
    assert (np.diag(gram) == 1).all()
    assert (gram == gram.T).all()
    assert np.linalg.eigvalsh(gram).min() > -1e-10


@given(st.integers(0, 10_000))
def test_other_rows_by_the_ranges_of_the_training_rows(seed):
    frame = table(14, seed)
    train, new = frame[:8], frame[8:].with_columns(pl.col("age") * 3)
    similarities = ClinicalKernel().fit(train)(new)
    expected = sum(
        column_kernel(b, kind, a, trained_on=a)
        for a, b, kind in zip(cells(train), cells(new), KINDS, strict=True)
    )
    assert similarities == pytest.approx(expected / 4, abs=1e-12)


def test_equal_to_scikit_survival_where_nothing_is_missing():
    peer = pytest.importorskip("sksurv.kernels")
    rng = np.random.default_rng(1)
    n = 60
    frame = pd.DataFrame({f"x{k}": rng.normal(size=n) for k in range(8)})
    for k in range(7):
        frame[f"c{k}"] = pd.Categorical(rng.choice(list("abc"), n))
    ours = ClinicalKernel().fit(frame)
    assert ours.gram() == pytest.approx(peer.clinical_kernel(frame), abs=1e-12)
    transformer = peer.ClinicalKernelTransform().fit(frame[:40])
    inside = frame[40:].copy()  # it does not clip: only rows inside the ranges compare
    for k in range(8):
        low, high = frame[f"x{k}"][:40].min(), frame[f"x{k}"][:40].max()
        inside[f"x{k}"] = inside[f"x{k}"].clip(low, high)
    similarities = ClinicalKernel().fit(frame[:40])(inside)
    assert similarities == pytest.approx(transformer.transform(inside), abs=1e-12)


def test_ordinal_columns_are_ranks():
    frame = pl.DataFrame({"grade": ["low", "high", "middle", "low"]})
    schema = {"ordinal": {"grade": ["low", "middle", "high"]}}
    gram = ClinicalKernel(schema=schema).fit(frame).gram()
    assert gram[0].tolist() == [1.0, 0.0, 0.5, 1.0]
    new = ClinicalKernel(schema=schema).fit(frame[:3])(frame[3:])
    assert new.tolist() == [[1.0, 0.0, 0.5]]
    with pytest.raises(SchemaError, match="'worst'"):
        ClinicalKernel(schema=schema).fit(frame)(pl.DataFrame({"grade": ["worst"]}))


def test_categories_never_seen():
    kernel_ = ClinicalKernel().fit(pl.DataFrame({"c": ["a", "b"]}))
    new = pl.DataFrame({"c": ["x", "x", "y", "a", None, None]})
    assert kernel_(new).tolist() == [[0, 0], [0, 0], [0, 0], [1, 0], [0, 0], [0, 0]]
    # among themselves: equal to themselves and to their like; missing values are like nothing
    among = [
        [1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1],
    ]  # fmt: skip
    assert kernel_.gram(new).tolist() == among
    # and in another table
    assert kernel_(new[:2], pl.DataFrame({"c": ["y", "x", None]})).tolist() == [[0, 1, 0]] * 2
    missing = pl.DataFrame({"c": [None, None]}, schema={"c": pl.String})
    assert kernel_(missing, missing).tolist() == [[0, 0], [0, 0]]


def test_constant_and_empty_columns():
    frame = pl.DataFrame(
        {"one": [5.0, 5.0, None], "none": [None] * 3},
        schema={"one": pl.Float64, "none": pl.Float64},
    )
    clinical = ClinicalKernel().fit(frame)
    assert clinical.column_gram("one").tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert clinical.column_gram(1).tolist() == np.eye(3).tolist()
    # a value where there was none is like nothing
    new = pl.DataFrame({"one": [7.0], "none": ["text"]})
    assert clinical(new).tolist() == [[0.5, 0.5, 0.0]]


def test_weights():
    frame = table(20)
    parts = [ClinicalKernel().fit(frame).column_gram(name) for name in frame.columns]
    weights = [1.0, 0.0, 2.0, 5.0]
    clinical = ClinicalKernel(weights=weights).fit(frame)
    expected = sum(w * part for w, part in zip(weights, parts, strict=True)) / 8
    np.fill_diagonal(expected, 1.0)
    assert clinical.gram() == pytest.approx(expected, abs=1e-12)
    assert clinical.weights_.sum() == pytest.approx(1.0)
    by_name = ClinicalKernel(weights={"level": 0, "sex": 2, 3: 5}).fit(frame)
    assert by_name.gram() == pytest.approx(clinical.gram(), abs=0)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -2, 1, 1], ["'level'", "-2"]),
        ([1, np.nan, 1, 1], ["'level'", "nan"]),
        ([1, np.inf, 1, 1], ["'level'", "inf"]),
        ([1, 1], ["2 entries", "4 columns"]),
        ([], ["0 entries"]),
        ([0, 0, 0, 0], ["all weights are 0"]),
        ({"weight": 1}, ["no column 'weight'"]),
        ({9: 1}, ["column 9", "4 columns"]),
        ({"age": "much"}, ["'age'", "'much'"]),
    ],
)
def test_bad_weights_are_named(weights, words):
    with pytest.raises(ParameterError) as caught:
        ClinicalKernel(weights=weights).fit(table(10))
    for word in words:
        assert word in str(caught.value)


def test_bad_tables_are_named():
    fitted = ClinicalKernel().fit(table(10))
    with pytest.raises(DataError, match="infinite"):
        fitted(table(3, missing=0).with_columns(level=pl.Series([0.0, np.inf, 1.0])))
    with pytest.raises(ValueError, match="feature"):
        fitted(table(3).drop("sex"))
    with pytest.raises(ParameterError, match="no column 'size'"):
        fitted.column_gram("size")
    with pytest.raises(DataError, match="0 sample"):
        ClinicalKernel().fit(table(10).head(0))


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "array"])
def test_any_table(library):
    frame = table(15, missing=0.0)
    expected = ClinicalKernel().fit(frame[:10])(frame[10:])
    convert = {
        "pandas": lambda f: f.to_pandas(),
        "pyarrow": lambda f: f.to_arrow(),
        "array": lambda f: np.array(f.rows(), dtype=object),
    }[library]
    if library == "pyarrow":
        pytest.importorskip("pyarrow")
    similarities = ClinicalKernel().fit(convert(frame[:10]))(convert(frame[10:]))
    assert similarities == pytest.approx(expected, abs=0)


def test_threads_and_pickles_change_nothing():
    frame = table(80)
    one_thread = ClinicalKernel(n_jobs=1).fit(frame)
    two_threads = ClinicalKernel(n_jobs=2).fit(frame)
    assert one_thread.gram().tobytes() == two_threads.gram().tobytes()
    again = pickle.loads(pickle.dumps(one_thread))
    assert again(frame[:5]).tobytes() == one_thread(frame[:5]).tobytes()
    assert one_thread.feature_names_in_.tolist() == frame.columns
