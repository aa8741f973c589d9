"""Every method that reads by blocks gives the same bits as in memory."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import featly
from featly.core.counts import streamed_codes
from featly.core.sources import StreamedSource
from featly.problem.ingest import ingest_stored
from featly.registry import METHODS as REGISTRY
from featly.registry import method_class
from featly.table.schema import Schema
from tests.all_methods.small_blocks import on_disk, small_blocks

OTHER_DEFAULTS = {
    "relieff": featly.ReliefF(n_neighbors=3),
    "arom": featly.AROM(C=10.0),
    "pairwise": featly.PairwiseRanker(featly.SVMRFE()),
}
VARIANTS = [
    featly.UnivariateTest(continuous="kruskal-wallis"),
    featly.InformationGain(discretizer="equal-frequency", missing="spread"),
    featly.GainRatio(discretizer="pkid"),
    featly.SymmetricUncertainty(discretizer="equal-width"),
    featly.GiniIndex(discretizer="equal-frequency", missing="spread"),
    featly.MRMR(form="quotient"),
    featly.MRMR(measure="f"),
    featly.MRMR(measure="rank"),
    featly.MonotoneDependence(trade_off=0),
    featly.ReliefF(n_neighbors=3, n_samples=11),
    featly.SVMRFE(step=1),
    featly.AROM(C=10.0, norm=1),
    featly.CFS(locally_predictive=True, missing="spread"),
    featly.FCBF(missing="spread", discretizer="equal-width"),
    featly.Interact(discretizer="equal-frequency"),
    featly.Consistency(search="forward", discretizer="equal-frequency"),
    featly.Consistency(search="lvf", n_tries=20),
    featly.MulticlassSVMRFE(formulation="ovo"),
    featly.RedundancyFilter(rule="groups"),
]
METHODS = [
    OTHER_DEFAULTS.get(name) or method_class(name)()
    for name, method in REGISTRY.items()
    if method.streams
] + VARIANTS


def with_limit(method):
    """Return the method with the least memory for a table on disk."""
    inside = "ranker__" * isinstance(method, featly.PairwiseRanker)
    return clone(method).set_params(**{f"{inside}memory_limit": "1MB"})


def table(seed, n_rows, n_columns, dtype, *, missing):
    """Make numbers with ties, a constant column, two equal ones, and missing values if wanted."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n_rows, n_columns)).astype(dtype)
    if X.dtype.kind == "f":
        X[:, ::3] += rng.normal(size=X[:, ::3].shape).astype(dtype)
    X[:, 1], X[:, 3] = 2, X[:, n_columns - 1]
    if missing and X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:, 2] = np.nan
    y = rng.integers(0, 2, n_rows)
    y[:2] = [0, 1]
    return X, y


def assert_same(first, second):
    """Assert that two fits are equal to the bit; a file may have names where an array has none."""
    for name in [
        name for name in vars(first) if name.endswith("_") and name != "feature_names_in_"
    ]:
        first_value, second_value = getattr(first, name), getattr(second, name)
        if isinstance(first_value, np.ndarray) and first_value.dtype != object:  # objects are names
            np.testing.assert_array_equal(first_value, second_value, err_msg=name, strict=True)
    assert first.order_.tolist() == second.order_.tolist()


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_streamed_equals_in_memory(method, order, tmp_path):
    with_missing = method._missing
    for dtype in ("float64", "float32", "uint8"):
        X, y = table(1, 40, 60, dtype, missing=with_missing)
        X = np.asarray(X, order=order)
        stored = on_disk(tmp_path, X, f"{dtype}.npy")
        expected = clone(method).fit(X, y)
        for share in (4, 1 << 60):  # levels that are needed again: in memory, in a file
            with small_blocks(), mock.patch.object(streamed_codes, "KEPT_SHARE", share):
                assert_same(expected, with_limit(method).fit(stored, y))


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(4, 90),
    n_columns=st.integers(5, 40),
    width=st.integers(1, 12),
    method=st.sampled_from(METHODS),
    dtype=st.sampled_from(["uint8", "int16", "float32", "float64"]),
)
def test_any_size_of_block(seed, n_rows, n_columns, width, method, dtype, tmp_path_factory):
    X, y = table(seed, n_rows, n_columns, dtype, missing=method._missing)
    stored = on_disk(tmp_path_factory.mktemp("table"), X)
    expected = clone(method).fit(X, y)
    with small_blocks(width, n_rows):
        streamed = with_limit(method).fit(stored, y)
    assert_same(expected, streamed)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(n_jobs, tmp_path):
    X, y = table(3, 40, 90, "float32", missing=True)
    stored = on_disk(tmp_path, X)
    with small_blocks():
        for method in (featly.FTest, featly.MRMR, featly.ReliefF):
            streamed = method(memory_limit="1MB", n_jobs=n_jobs).fit(stored, y)
            assert_same(method().fit(X, y), streamed)


def test_kinds_of_a_schema(tmp_path):
    X, y = table(5, 40, 30, "float64", missing=True)
    X[:, [0, 10, 20]] = np.random.default_rng(0).integers(0, 3, (40, 3))
    schema = {"categorical": [0, 20], "ordinal": {"x10": [2, 0, 1]}, "keep": ["x4"]}
    for method in (featly.UnivariateTest, featly.JMI, featly.ReliefF, featly.MonotoneDependence):
        expected = method(schema=schema).fit(X, y)
        with small_blocks():
            streamed = method(schema=schema, memory_limit="1MB").fit(on_disk(tmp_path, X), y)
        assert_same(expected, streamed)
        assert expected.kinds_ == streamed.kinds_


def test_many_classes_as_pairs(tmp_path):
    X, _ = table(6, 60, 30, "float32", missing=False)
    y = np.arange(60) % 3
    expected = featly.SVMRFE(multiclass="ovo").fit(X, y)
    with small_blocks():
        streamed = featly.SVMRFE(multiclass="ovo", memory_limit="1MB").fit(on_disk(tmp_path, X), y)
    assert expected.order_.tolist() == streamed.order_.tolist()


def test_a_table_that_fits_is_read_once(tmp_path):
    X, y = table(7, 40, 30, "float32", missing=False)
    reading = ingest_stored(on_disk(tmp_path, X), Schema(), 1 << 20)
    assert not isinstance(reading.source, StreamedSource)
    assert_same(featly.FTest().fit(X, y), featly.FTest().fit(on_disk(tmp_path, X), y))


def test_a_method_that_needs_all_in_memory(tmp_path):
    X, y = table(8, 40, 30, "float32", missing=False)
    stored = on_disk(tmp_path, X)
    ranker = featly.PerceptronRanker
    assert ranker().fit(stored, y).order_.tolist() == ranker().fit(X, y).order_.tolist()
    with small_blocks(), pytest.raises(featly.DataError, match=r"needs it whole.*FTest"):
        ranker().fit(stored, y)
    message = r"SVMRFE asks for clinical columns and needs it whole.*FTest"
    with small_blocks(), pytest.raises(featly.DataError, match=message):
        featly.SVMRFE(kernel="clinical", memory_limit="1MB").fit(stored, y)


def test_a_map_of_a_file_is_streamed_under_a_limit(tmp_path):
    X, y = table(9, 40, 30, "float32", missing=False)
    on_disk(tmp_path, X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with small_blocks():
        streamed = featly.MRMR(memory_limit="1MB").fit(mapped, y)
    assert_same(featly.MRMR().fit(X, y), streamed)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("a lot", "memory_limit='a lot': give 1 MB or more"),
        (1000, "give 1 MB or more"),
        (True, "True"),
    ],
)
def test_wrong_limits(limit, message):
    with pytest.raises(featly.ParameterError, match=message):
        featly.FTest(memory_limit=limit).fit([[1.0], [2.0]], [0, 1])


def test_errors_name_the_column(tmp_path):
    X, y = table(10, 40, 30, "float64", missing=False)
    X[5, 20] = np.inf
    stored = on_disk(tmp_path, X)
    with small_blocks():
        for method in (featly.FTest, featly.MRMR, featly.ReliefF, featly.SVMRFE):
            with pytest.raises(featly.DataError, match=r"'x20' has an infinite value .* row 5"):
                method(memory_limit="1MB").fit(stored, y)
        with pytest.raises(featly.DataError, match=r"'x0' is continuous \(row 0: "):
            featly.MRMR(memory_limit="1MB", discretizer=None).fit(stored, y)


def test_a_file_that_shrinks(tmp_path):
    X, y = table(11, 40, 300, "float64", missing=False)
    stored = on_disk(tmp_path, X)
    with small_blocks():
        featly.FTest(memory_limit="1MB").fit(stored, y)
        with (tmp_path / "X.npy").open("r+b") as file:
            file.truncate(4000)
        for method in (featly.FTest, featly.MRMR, featly.SVMRFE, featly.ReliefF):
            with pytest.raises(featly.DataError, match=r"X\.npy"):
                method(memory_limit="1MB").fit(stored, y)
