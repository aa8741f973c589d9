"""All forms of input become the same table; wrong input is refused."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly import FTest, Schema
from featly.basics.errors import DataError, LeakWarning
from featly.datasets import make_problem
from featly.measures.recovery import Roles
from featly.study import Dataset
from featly.study.dataset import take_rows
from featly.study.shared_tables import open_shared, share

MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
COLUMNS = {
    "age": [50, 61, None, 47, 52, 70],
    "sex": ["f", "m", "f", None, "f", "m"],
    "dose": [0.5, 1.5, 0.5, 2.5, 1.0, 0.25],
    "who": [7, 7, 8, 8, 9, 10],
}
LABELS = {
    "ints": [3, 1, 3, 1, 3, 1],
    "floats": [3.0, 1.0, 3.0, 1.0, 3.0, 1.0],
    "bools": [True, False] * 3,
    "strings": ["well", "ill"] * 3,
}


def frame(library, **more):
    return MAKERS[library]({**COLUMNS, **more})


# ---- input ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("library", MAKERS)
@pytest.mark.parametrize("labels", LABELS)
def test_the_target_by_name_or_apart_is_the_same(library, labels):
    y = LABELS[labels]
    named = Dataset.of(frame(library, y=y), "y", row_groups="who")
    apart = Dataset.of(frame(library), y, row_groups="who")
    for data in (named, apart):
        assert data.y.tolist() == y
        assert data.classes.tolist() == sorted(set(y))
        assert data.codes.tolist() == [sorted(set(y)).index(label) for label in y]
        assert data.names == ["age", "sex", "dose"]
        assert data.row_groups.tolist() == [0, 0, 1, 1, 2, 3]
        assert data.columns_with_missing == (0, 1)
    # numbers stay numbers: scikit-learn takes no object arrays of them
    assert named.y.dtype.kind == apart.y.dtype.kind or labels == "strings"
    assert named.y.dtype.kind == {"ints": "i", "floats": "f", "bools": "b"}.get(
        labels, named.y.dtype.kind
    )


def test_all_libraries_give_the_same_table():
    y = LABELS["strings"]
    datasets = [Dataset.of(frame(library), y, row_groups="who") for library in MAKERS]
    for data in datasets:
        assert data.X.dtypes[0] == data.X.dtypes[2] == pl.Float64
        assert data.X["age"].is_nan().to_list() == [False, False, True, False, False, False]
        assert data.X["sex"].cast(str).to_list() == COLUMNS["sex"]
        assert data.X["dose"].to_list() == COLUMNS["dose"]
        assert [*map(int, data.kinds)] == [*map(int, datasets[0].kinds)]
    assert len({data.fingerprint for data in datasets}) == 1


def test_numbers_lie_in_one_array():
    X = np.arange(12).reshape(6, 2)
    y = LABELS["ints"]
    for table in (X, X.tolist(), X.astype(np.float32), pl.DataFrame(X), pd.DataFrame(X)):
        data = Dataset.of(table, y)
        assert isinstance(data.X, np.ndarray)
        assert data.X.dtype.kind == "f"
        assert data.X.tolist() == X.tolist()
    floats = X.astype(float)
    assert Dataset.of(floats, y).X is floats  # not copied


def test_sparse_tables_stay_sparse():
    X = scipy.sparse.random_array((6, 9), density=0.4, rng=np.random.default_rng(0))
    for matrix in (X.tocoo(), X.tocsc(), X.tocsr()):
        data = Dataset.of(matrix, LABELS["ints"])
        assert scipy.sparse.issparse(data.X)
        assert (take_rows(data.X, np.array([4, 1])).toarray() == X.toarray()[[4, 1]]).all()
    with pytest.raises(DataError, match="cannot be categorical"):
        Dataset.of(X.tocsr(), LABELS["ints"], schema={"categorical": [0]})


def test_text_beside_numbers_does_not_make_text_of_them():
    data = Dataset.of([[1, "a"], [2, "b"], [3, "a"], [2, None]], [0, 1, 0, 1])
    assert data.X.dtypes[0] == pl.Float64
    assert data.kinds.tolist() == [0, 2]
    assert data.columns_with_missing == (1,)


def test_objects_with_a_table_bring_their_schema_and_roles():
    made = make_problem("corral")
    data = Dataset.of(made, name="c")
    assert data.roles == made.roles
    assert data.name == "c"
    assert Dataset.of(data) is data
    renamed = Dataset.of(data, name="other")
    assert (renamed.name, renamed.fingerprint) == ("other", data.fingerprint)
    # a frame with such columns is no such object
    with pytest.raises(DataError, match="no target"):
        Dataset.of(pd.DataFrame({"X": [1, 2], "y": [0, 1]}))


def test_names_that_polars_takes_for_patterns():
    odd = pl.DataFrame({"*": [1.0, None, 3.0], "^a$": ["x", None, "y"], "y": [0, 1, 0]})
    data = Dataset.of(odd, "y")
    assert data.names == ["*", "^a$"]
    assert data.columns_with_missing == (0, 1)
    assert take_rows(data.X, np.array([2])).rows() == [(3.0, "y")]
    assert len(data.fingerprint) == 32
    some = odd[1:][["*", "y"]].fill_null(9.0).with_columns(b=pl.lit(1.0))
    without = Dataset.of(some, "y", row_groups="*")
    assert (without.names, without.row_groups.tolist()) == (["b"], [1, 0])


def test_schemas_are_stored_by_position():
    table = pl.DataFrame({"a": [1, 2, 3], "b": ["lo", "hi", "lo"], "c": ["u", "v", "u"]})
    schema = Schema(ordinal={"b": ["lo", "hi"]}, keep=["c"], prior={"a": 3}, costs={"c": 2})
    data = Dataset.of(table, [0, 1, 1], schema=schema)
    assert data.X["b"].to_list() == [0.0, 1.0, 0.0]
    assert data.schema.ordinal == [1]
    assert data.schema.keep == [2]
    assert data.schema.prior == {0: 3.0}
    assert data.schema.costs == {2: 2.0}
    assert Dataset.of(table, [0, 1, 1]).schema is None
    ordered = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["lo", "hi"], ordered=True)})
    data = Dataset.of(ordered, [0, 1])
    assert (data.X.tolist(), data.schema.ordinal) == ([[0.0], [1.0]], [0])
    assert FTest(schema=data.schema).fit(data.X, data.y).kinds_ == ["ordinal"]


def test_a_declared_category_of_numbers():
    data = Dataset.of(np.array([[1, 5.0], [2, 6.0], [1, np.nan]]), [0, 1, 0],
                      schema={"categorical": [0]})  # fmt: skip
    assert [str(dtype) for dtype in data.X.dtypes] == ["Categorical", "Float64"]
    assert data.kinds.tolist() == [2, 0]


# ---- wrong input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": None}, "dataset 'd' has no target"),
        ({"y": "nothing"}, "y='nothing' is no column"),
        ({"y": "y", "row_groups": "patient"}, "row_groups='patient' is no column"),
        ({"y": "y", "official": ["train"]}, "official of 'd' must have an entry for each of the 6"),
        ({"y": "y", "row_groups": [1, 1, None, 2, 2, 3]}, "row_groups of 'd' is missing in row 2"),
        ({"y": "y", "row_groups": "age"}, "row_groups of 'd' is missing in row 2"),
        ({"y": [0, 1, 0]}, "X has 6 rows but y has 3"),
        ({"y": [0] * 6}, "one class only"),
        ({"y": "sex"}, "y is missing"),
        ({"y": "y", "roles": Roles(9, ((0,),))}, "'d' has 4 columns, but its roles are of 9"),
    ],
)
@pytest.mark.parametrize("library", MAKERS)
def test_wrong_input_is_refused(library, arguments, message):
    with pytest.raises(DataError, match=message):
        Dataset.of(frame(library, y=LABELS["ints"]), name="d", **arguments)


def test_tables_without_columns_are_refused():
    for table in (pl.DataFrame({"y": [0, 1]}), pd.DataFrame({"y": [0, 1]})):
        with pytest.raises(DataError, match="no column to select from"):
            Dataset.of(table, "y")
    with pytest.raises(DataError, match="no column to select from"):
        Dataset.of(np.empty((2, 0)), [0, 1])


def test_names_need_a_frame():
    with pytest.raises(DataError, match="names a column, but X is no data frame"):
        Dataset.of(np.zeros((2, 2)), "y")
    with pytest.raises(DataError, match="3 dimensions"):
        Dataset.of(np.zeros((2, 2, 2)), [0, 1])


def test_missing_labels_of_pandas():
    table = pd.DataFrame({"a": [1.0, 2, 3], "y": pd.array(["u", "v", None], dtype="string")})
    with pytest.raises(DataError, match="y is missing"):
        Dataset.of(table, "y")
    groups = pd.Series([1, None, 2], dtype="Int64")
    with pytest.raises(DataError, match="row_groups of 'data' is missing in row 1"):
        Dataset.of(table[["a"]], [0, 1, 0], row_groups=groups)


@pytest.mark.parametrize("library", MAKERS)
def test_official_splits_of_all_libraries(library):
    for official in (["train", "test"] * 3, [True, False] * 3):
        data = Dataset.of(frame(library, part=official), LABELS["ints"], official="part")
        assert data.official.tolist() == official
        assert "part" not in data.names


@pytest.mark.parametrize("library", MAKERS)
def test_an_identifier_that_repeats_is_suspicious(library):
    table = MAKERS[library]({"patient_id": [1, 1, 2, 2, 3, 3], "age": [50, 51, 60, 61, 70, 71]})
    y = LABELS["ints"]
    with pytest.warns(LeakWarning, match="'patient_id' has the name of an identifier"):
        data = Dataset.of(table, y)
    assert list(data.names) == ["age"]
    assert data.findings.alarms[0].mended
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Dataset.of(table, y, row_groups="patient_id")


# ---- shuffled labels -----------------------------------------------------------------------------
def test_shuffled_labels():
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 20 + ["b"] * 10)
    data = Dataset.of(rng.normal(size=(30, 2)), y)
    first, again, second = data.shuffled(1, 0), data.shuffled(1, 0), data.shuffled(2, 0)
    assert first.y.tolist() == again.y.tolist() != second.y.tolist()
    assert sorted(first.y) == sorted(y)
    assert (first.y == first.classes[first.codes]).all()
    assert first.X is data.X
    assert data.y.tolist() == y.tolist()
    assert data.shuffled(1, 5).y.tolist() != first.y.tolist()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=12), st.integers(1, 50))
def test_groups_keep_one_label(groups, draw):
    groups = [*groups, 90, 91]
    y = [group % 2 for group in groups]
    data = Dataset.of(np.zeros((len(y), 1)), y, row_groups=groups)
    shuffled_data = data.shuffled(draw, 0)
    for group in set(groups):
        assert len({shuffled_data.y[row] for row, g in enumerate(groups) if g == group}) == 1
    labels = [[d.y[groups.index(g)] for g in sorted(set(groups))] for d in (data, shuffled_data)]
    assert sorted(labels[0]) == sorted(labels[1])


def test_groups_with_several_labels_are_shuffled_by_row():
    data = Dataset.of(np.zeros((6, 1)), [0, 1, 0, 1, 0, 1], row_groups=[1, 1, 2, 2, 3, 3])
    assert {tuple(data.shuffled(k, 0).y.tolist()) for k in range(20)} - {(0, 1, 0, 1, 0, 1)}
    assert sorted(data.shuffled(1, 0).y) == [0, 0, 0, 1, 1, 1]


# ---- the fingerprint -----------------------------------------------------------------------------
def test_the_fingerprint_tells_tables_apart():
    X, y = np.arange(12.0).reshape(6, 2), LABELS["ints"]
    base = Dataset.of(X, y, row_groups=[1, 1, 2, 2, 3, 3])
    assert base.fingerprint == Dataset.of(X.copy(), y, row_groups=list("aabbcc")).fingerprint
    other = X.copy()
    other[5, 1] += 1e-9
    with_missing = X.copy()
    with_missing[0, 0] = np.nan
    changed = [
        Dataset.of(other, y, row_groups=[1, 1, 2, 2, 3, 3]),
        Dataset.of(with_missing, y, row_groups=[1, 1, 2, 2, 3, 3]),
        Dataset.of(X, y[::-1], row_groups=[1, 1, 2, 2, 3, 3]),
        Dataset.of(X, [str(v) for v in y], row_groups=[1, 1, 2, 2, 3, 3]),
        Dataset.of(X, y),
        Dataset.of(X, y, row_groups=[1, 1, 1, 2, 3, 3]),
        Dataset.of(X, y, row_groups=[1, 1, 2, 2, 3, 3], official=["train"] * 6),
        Dataset.of(X, y, row_groups=[1, 1, 2, 2, 3, 3], schema={"keep": [0]}),
        Dataset.of(pl.DataFrame(X), y, row_groups=[1, 1, 2, 2, 3, 3]),  # other names
    ]
    assert len({base.fingerprint, *(data.fingerprint for data in changed)}) == len(changed) + 1


def test_the_fingerprint_sees_texts():
    first = pl.DataFrame({"a": ["x", "y", "x"], "b": [1.0, 2.0, 3.0]})
    second = pl.DataFrame({"a": ["x", "y", "y"], "b": [1.0, 2.0, 3.0]})
    fingerprints = [
        Dataset.of(table, [0, 1, 0]).fingerprint for table in (first, second, first.clone())
    ]
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]
    sparse = [scipy.sparse.csr_array(np.eye(3) * k) for k in (1.0, 2.0)]
    fingerprints = [Dataset.of(table, [0, 1, 0]).fingerprint for table in sparse]
    assert fingerprints[0] != fingerprints[1]


# ---- sharing -------------------------------------------------------------------------------------
def is_mapped(address, name):
    """Return whether an address lies in a mapping of a file of this name."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith(name):
                low, high = (int(end, 16) for end in line.split()[0].split("-"))
                if low <= address < high:
                    return True
    return False


def test_arrays_are_mapped(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)
    X[3, 5] = np.nan
    data = Dataset.of(X, np.arange(300) % 3, row_groups=np.arange(300) // 2, name="d")
    opened = open_shared(share(data, tmp_path / "shared"))
    assert isinstance(opened.X, np.memmap)
    assert not opened.X.flags.writeable
    assert np.array_equal(opened.X, X, equal_nan=True)
    assert opened.X.dtype == np.float32
    assert (opened.fingerprint, opened.name, opened.columns_with_missing) == (
        data.fingerprint,
        "d",
        (5,),
    )
    assert opened is open_shared(str(tmp_path / "shared"))  # once a process
    taken = take_rows(opened.X, np.array([1, 2]))
    taken[:] = 0  # rows are a copy that a method may change
    assert opened.X[1, 0] == X[1, 0]


def test_sparse_matrices_are_mapped(tmp_path):
    X = scipy.sparse.random_array((50, 30), density=0.3, rng=np.random.default_rng(0)).tocsr()
    data = Dataset.of(X, np.arange(50) % 2)
    opened = open_shared(share(data, tmp_path / "shared"))
    assert is_mapped(opened.X.data.__array_interface__["data"][0], "data.npy")
    assert (opened.X.toarray() == X.toarray()).all()
    assert opened.fingerprint == data.fingerprint


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_mixed_frames_are_mapped(tmp_path, dtype):
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "a": rng.normal(size=4000).astype(dtype),
            "*": rng.choice(["x", "y", None], size=4000).tolist(),
            "b": rng.normal(size=4000).astype(dtype),
            "flag": (rng.random(4000) < 0.5).tolist(),
        }
    ).with_columns(pl.when(pl.col("a") > 2).then(None).otherwise(pl.col("a")).alias("a"))
    data = Dataset.of(table, np.arange(4000) % 2)
    opened = open_shared(share(data, tmp_path / "shared"))
    for name in ("a", "b"):
        values = opened.X.get_column(name).to_numpy(allow_copy=False)
        assert is_mapped(values.__array_interface__["data"][0], "numbers.npy")
    assert opened.X.equals(data.X)
    assert opened.X.schema == data.X.schema
    assert opened.fingerprint == data.fingerprint


def test_frames_of_labels_alone_are_shared(tmp_path):
    data = Dataset.of(pl.DataFrame({"a": ["x", "y", "x"], "b": [True, False, None]}), [0, 1, 0])
    opened = open_shared(share(data, tmp_path / "shared"))
    assert opened.X.equals(data.X)


def test_mapped_tables_are_equal(tmp_path):
    """Else results would depend on the number of processes."""
    table = pl.DataFrame(
        {
            "whole": pl.Series([1, None, 3, 4], dtype=pl.Int8),
            "small": pl.Series([0.1, 0.2, None, 0.4], dtype=pl.Float32),
            "large": [1e-3, 2e-3, float("nan"), 4e-3],
            "empty": pl.Series([None] * 4, dtype=pl.Null),
            "text": ["u", "v", None, "u"],
        }
    )
    data = Dataset.of(table, [0, 1, 0, 1])
    opened = open_shared(share(data, tmp_path / "shared"))
    assert opened.X.schema == data.X.schema
    assert opened.X.equals(data.X)
    assert set(data.X.dtypes[:4]) == {pl.Float64}
    assert sum(c.null_count() for c in data.X.get_columns()[:4]) == 0
    assert data.columns_with_missing == opened.columns_with_missing == (0, 1, 2, 3, 4)


def test_a_shared_dataset_is_found_from_another_folder(tmp_path, monkeypatch):
    """Processes that an earlier study started stay in the folder where they were started."""
    monkeypatch.chdir(tmp_path)
    shared_folder = share(Dataset.of(np.eye(4), [0, 1, 0, 1]), Path("shared"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert np.array_equal(open_shared(shared_folder).X, np.eye(4))
