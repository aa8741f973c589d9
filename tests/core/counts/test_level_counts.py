from functools import reduce
from operator import add

import numpy as np
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.core.counts.level_counts import MISSING, LevelCounts, level_labels
from featly.core.counts.whole_numbers import whole_codes
from featly.core.sources import CSCSource, DenseSource
from tests.reference.batches import level_counts


@st.composite
def batches(draw):
    """Tables of whole numbers, far apart in some columns, with missing values; and classes."""
    n_columns = draw(st.integers(1, 4))
    cell = st.sampled_from([0.0, 1.0, 2.0, -3.0, 1000.0, np.nan])
    out = []
    for _ in range(draw(st.integers(1, 4))):
        n_rows = draw(st.integers(1, 6))
        rows = draw(st.lists(st.lists(cell, min_size=n_columns, max_size=n_columns),
                             min_size=n_rows, max_size=n_rows))  # fmt: skip
        labels = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
        out.append((np.array(rows), np.array(labels)))
    return out


def count(X, y, form):
    """Count one batch, from one of the forms of storage."""
    if form == "sparse":
        source = CSCSource(scipy.sparse.csc_array(X))
    else:
        source = DenseSource(np.asarray(X, order="F" if form == "columns" else "C"))
    codes = whole_codes(source)
    return LevelCounts.from_tables(codes.tables(y, 3), level_labels(codes))


@given(batches(), st.sampled_from(["rows", "columns", "sparse"]), st.randoms())
def test_batches_add_up(tables, form, random):
    random.shuffle(parts := [count(X, y, form) for X, y in tables])
    total = reduce(add, parts)
    expected = level_counts(
        ([[None if v != v else v for v in row] for row in X.tolist()], y.tolist())
        for X, y in tables
    )
    seen = {
        (int(column), None if label == MISSING else float(label), c): int(n)
        for column, label, row in zip(total.columns, total.labels, total.counts, strict=True)
        for c, n in enumerate(row)
        if n
    }
    assert seen == dict(expected)
    order = np.lexsort((total.labels, total.columns))
    assert order.tolist() == list(range(len(order)))
    X, y = np.concatenate([X for X, _ in tables]), np.concatenate([y for _, y in tables])
    whole = count(X, y, form)
    for name in ("columns", "labels", "counts"):
        assert np.array_equal(getattr(total, name), getattr(whole, name))
    n_tables = X.shape[1]
    assert len(total.tables()) == n_tables
    for f in range(n_tables):
        assert total.tables().table(f).tolist() == total.counts[total.columns == f].tolist()


def test_groups_and_labels_move():
    counts = count(np.array([[0.0], [1.0], [1.0], [np.nan]]), np.array([0, 1, 1, 2]), "rows")
    wide = counts.in_groups(np.array([0, 1, 3]), 4)
    assert wide.counts.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0], [0, 2, 0, 0]]
    swapped = counts.relabel(0, np.array([5.0, 2.0]))
    assert swapped.labels.tolist() == [MISSING, 2.0, 5.0]
    assert swapped.counts.tolist() == [[0, 0, 1], [0, 2, 0], [1, 0, 0]]
    assert counts.labels.tolist() == [MISSING, 0.0, 1.0]
