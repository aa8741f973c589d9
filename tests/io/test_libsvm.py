import io
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from featly import DataError, read_table
from featly.io import byte_source
from tests.reference.tables import read_sparse_rows


def load(tmp_path, text, name="a.svmlight", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with read_table(path, **options) as table:
        return table


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.dictionaries(st.integers(1, 12), st.floats(-9, 9)))),
    st.integers(1, 40),
)
@settings(max_examples=60)
def test_rows_are_read_as_the_reference_reads_them(tmp_path_factory, rows, size):
    rows = [*rows, (1, {12: 1.0})]
    lines = []
    for label, cells in rows:
        pairs = "".join(f" {index}:{value!r}" for index, value in sorted(cells.items()))
        lines.append(f"{label}{pairs}" + (" # a remark 3:4" if label == 2 else ""))
    text = "\n\n# remark\n".join(lines)
    path = tmp_path_factory.getbasetemp() / "drawn.svmlight"
    path.write_text(text)
    expected, labels = read_sparse_rows(text, 12)
    with mock.patch.object(byte_source, "CHUNK_BYTES", size), read_table(path) as table:
        assert scipy.sparse.issparse(table.X)
        assert np.array_equal(table.X.toarray(), expected)
        assert table.y.tolist() == labels
        assert table.y.dtype == np.int64


def test_agrees_with_sklearn(tmp_path):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    y = rng.normal(size=40)
    for zero_based in (True, False):
        out = io.BytesIO()
        dump_svmlight_file(X, y, out, zero_based=zero_based, comment="made up")
        expected, labels = load_svmlight_file(
            io.BytesIO(out.getvalue()), n_features=30, zero_based=zero_based
        )
        for name in ("a.svmlight", "a.txt"):
            table = load(tmp_path, out.getvalue(), name, n_features=30)
            assert table.format == "libsvm" or name == "a.txt"
            if table.format == "libsvm":
                assert np.array_equal(table.X.toarray(), expected.toarray())
                assert np.array_equal(table.y, labels)
                assert f"indices count from {1 - zero_based}" in table.notes


def test_format_is_detected_from_the_content(tmp_path):
    table = load(tmp_path, "+1 1:0.5 3:2\n-1 2:1e-3\n", "a.txt")
    assert table.format == "libsvm"
    assert table.shape == (2, 3)
    assert list(table.names) == ["x0", "x1", "x2"]
    assert load(tmp_path, "1 qid:3 1:2 # x\n0 qid:4 2:5\n", "b.dat").X.toarray().tolist() == [
        [2, 0],
        [0, 5],
    ]
    clock = load(tmp_path, "a,b\n1,12:30\n2,13:45\n", "c.txt")
    assert clock.format == "csv"


def test_number_of_features(tmp_path):
    text = "1 2:1\n0 1:1\n"
    assert load(tmp_path, text).shape == (2, 2)
    table = load(tmp_path, text, n_features=5)
    assert table.shape == (2, 5)
    assert len(table.names) == 5
    assert load(tmp_path, "1 0:1\n0 4:1\n", n_features=5).shape == (2, 5)
    with pytest.raises(
        DataError,
        match=r"^'.*' has an index for column 2, more than the 1 features that were named$",
    ):
        load(tmp_path, text, n_features=1)


def test_other_encodings(tmp_path):
    text = "1 1:2 # größe\n0 2:5\n"
    for encoding in ("utf-16", "latin-1", "utf-8-sig"):
        table = load(tmp_path, text.encode(encoding))
        assert table.X.toarray().tolist() == [[2, 0], [0, 5]]


NO_ROW = "It has a label, then index:value pairs; correct the line"
BAD = {
    "1 1:2\n0 3:\n": f"line 2 of '*' is no LIBSVM row: '0 3:'. {NO_ROW}",
    "1 1:2\n\n0 3\n": f"line 3 of '*' is no LIBSVM row: '0 3'. {NO_ROW}",
    "1 1:2\nspam 1:3\n": f"line 2 of '*' is no LIBSVM row: 'spam 1:3'. {NO_ROW}",
    "1 1:2\n0 -1:1\n": f"line 2 of '*' is no LIBSVM row: '0 -1:1'. {NO_ROW}",
    "1 1:2\n0 2:3 3": f"line 2 of '*' is no LIBSVM row: '0 2:3 3'. {NO_ROW}",
    "1 1:2\n0 3:1 2:1\n": "line 2 of '*' does not have its indices in ascending order: sort them",
    "1 1:2\n0 2:1 2:1\n": "line 2 of '*' does not have its indices in ascending order: sort them",
    "1 1:2\n0 2:x\n": "line 2 of '*' has the value 'x', which is no number",
    "1 1:2\n0 99999999999:1\n": (
        "line 2 of '*' has the index 99999999999, which is too large: correct it"
    ),
    "1 1:2\n0 2147483648:1\n": (
        "line 2 of '*' has the index 2147483648, which is too large: correct it"
    ),
    "1 1:2\n# x\n0 60000000:1\n": (
        "line 3 of '*' has the index 60000000, which looks like a slip: correct it, or say how "
        "many features there are (n_features)"
    ),
    "1\n0\n": "'*' has labels but no index:value: there is nothing to rank",
    "# only\n# remarks\n": "'*' has no rows: there is nothing to rank",
}


@pytest.mark.parametrize("text", BAD)
def test_wrong_files(tmp_path, text):
    with pytest.raises(DataError) as caught:
        load(tmp_path, text)
    assert str(caught.value).replace(str(tmp_path / "a.svmlight"), "*") == BAD[text]


def test_a_target_is_refused(tmp_path):
    with pytest.raises(
        DataError, match=r"is a LIBSVM file, whose labels stand in front: leave out target$"
    ):
        load(tmp_path, "1 1:2\n0 2:1\n", target="y")
