"""Bit-planes against tables counted one row at a time."""

import numpy as np
import pytest

from featly.core.counts.bitpacking import PlaneLayout, occupied_levels
from featly.core.counts.bitplanes import MOST_LEVELS, NOISE, BitPlanes, ConditioningColumn
from featly.core.counts.codes import DenseCodes, WholeCodes
from featly.core.counts.entropy import FixedPoint
from featly.core.counts.histograms import WideColumns


def make_codes(n, p, levels, n_classes, seed=0):
    """Return codes from 0 to `levels` - 1, some columns with fewer levels, and classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(1, levels + 1, p)[:, None], (p, n))
    codes[0], codes[-1] = np.arange(n) % levels, 1
    return codes, np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])


def naive_sums(codes, other, y):
    """Return the sum of T over the counts of each column and the other, and over those by class."""
    T = FixedPoint.for_rows(len(y)).table
    out = []
    for column in codes:
        table = np.zeros((column.max() + 1, other.max() + 1, y.max() + 1), int)
        np.add.at(table, (column, other, y), 1)
        out.append((T[table.sum(axis=2)].sum(), T[table].sum()))
    return np.array(out).T


def count_pairs(columns, layout, other, n, p):
    joint, by_class = np.zeros(p, np.int64), np.zeros(p, np.int64)
    conditioning_column = ConditioningColumn.from_codes(other, layout.classes, layout.n_classes)
    table, own = FixedPoint.for_rows(n).table, np.zeros(p, np.int64)
    shift = 1 << 60  # no sum is negative then, or small
    columns.fill_information(conditioning_column, table, own, (shift, shift), 0, joint, by_class)
    return joint - shift, (by_class - shift) + (joint - shift)


def store_codes(codes, form):
    p = len(codes)
    if form == "feature-major":
        return DenseCodes(codes.astype(np.uint8), codes.max(axis=1))
    if form == "two bytes":
        return DenseCodes(np.where(codes == 1, 900, codes).astype(np.uint16), np.full(p, 900))
    values = np.ascontiguousarray(codes.T).astype(np.uint8)
    if form == "negative":
        values = values.view(np.int8) - np.int8(2)
    low = int(values.min())
    return WholeCodes(values, np.full(p, low), np.full(p, low + int(codes.max())))


FORMS = ["feature-major", "two bytes", "row-major", "negative"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("n", "p", "levels", "n_classes"),
    [(10, 70, 3, 2), (64, 9, 2, 2), (65, 129, 5, 3), (500, 200, 9, 2), (130, 64, 32, 5)],
)
def test_counts_equal_reference(form, n, p, levels, n_classes):
    codes, y = make_codes(n, p, levels, n_classes)
    columns = store_codes(codes, form)
    tables = columns.tables(y, n_classes)
    features = np.flatnonzero(occupied_levels(tables) > 1)
    whole = np.zeros(n, np.int64)
    others = [codes[0], codes[1], codes[-1], np.arange(n) // 2, np.arange(n) % 4]
    for layout in (PlaneLayout.from_classes(y, n_classes), PlaneLayout.from_classes(whole, 1)):
        planes = BitPlanes(columns, tables, features, layout)
        for other in others:  # more than 96 levels are visited row by row
            joint, by_class = count_pairs(planes, layout, other, n, p)
            expected = naive_sums(codes, other, y)
            assert np.array_equal(joint[features], expected[0][features])
            if layout.n_classes > 1:
                assert np.array_equal(by_class[features], expected[1][features])


@pytest.mark.parametrize("levels", [2, 5, 32])
def test_histograms_equal_reference(levels):
    codes, y = make_codes(90, 20, levels, 3)
    features = np.arange(20)
    wide = WideColumns(codes.astype(np.uint8), features, y, 3)
    for other in (codes[0], codes[3], np.arange(90)):
        joint, by_class = count_pairs(wide, PlaneLayout.from_classes(y, 3), other, 90, 20)
        assert np.array_equal([joint, by_class], naive_sums(codes, other, y))
    alone = WideColumns(codes.astype(np.uint8), features, np.zeros(90, np.int64), 1)
    joint, _ = count_pairs(
        alone, PlaneLayout.from_classes(np.zeros(90, np.int64), 1), codes[0], 90, 20
    )
    assert np.array_equal(joint, naive_sums(codes, codes[0], y)[0])


def test_lanes_of_many_widths():
    # every number of levels from 2 to the most, so that most lane groups have empty lanes
    n = 200
    codes = np.array([np.arange(n) % levels for levels in range(2, MOST_LEVELS + 1)])
    y = np.arange(n) % 2
    columns = DenseCodes(codes.astype(np.uint8), codes.max(axis=1))
    layout = PlaneLayout.from_classes(y, 2)
    features = np.arange(len(codes))
    planes = BitPlanes(columns, columns.tables(y, 2), features, layout)
    assert sorted(planes.column[planes.column >= 0]) == features.tolist()
    joint, by_class = count_pairs(planes, layout, codes[3], n, len(codes))
    assert np.array_equal([joint, by_class], naive_sums(codes, codes[3], y))


def test_blocks_cover_all_groups():
    codes, y = make_codes(300, 5000, 20, 2)
    columns = DenseCodes(codes.astype(np.uint8), codes.max(axis=1))
    tables = columns.tables(y, 2)
    features = np.flatnonzero(occupied_levels(tables) > 1)
    planes = BitPlanes(columns, tables, features, PlaneLayout.from_classes(y, 2), n_jobs=2)
    ends = [block[1] for block in planes.blocks]
    assert len(ends) > 1
    assert [block[0] for block in planes.blocks] == [0, *ends[:-1]]
    assert ends[-1] == len(planes.n_planes)


def test_layout_sorts_rows_by_class():
    y = np.array([1, 0, 1, 1, 2, 0] * 40)
    layout = PlaneLayout.from_classes(y, 3)
    assert np.array_equal(layout.rows[layout.bits], np.arange(240))
    assert (layout.rows >= 0).sum() == 240
    for c in range(3):
        part = layout.rows[64 * layout.ends[c] : 64 * layout.ends[c + 1]]
        assert set(y[part[part >= 0]]) == {c}
    assert layout.n_words == 2 + 2 + 1


def test_last_bits_and_noise_are_rounded_off():
    codes, y = make_codes(50, 8, 3, 2)
    columns = DenseCodes(codes.astype(np.uint8), codes.max(axis=1))
    layout = PlaneLayout.from_classes(y, 2)
    features = np.arange(7)
    planes = BitPlanes(columns, columns.tables(y, 2), features, layout)
    exact, rough = np.zeros((2, 8), np.int64), np.zeros((2, 8), np.int64)
    other = ConditioningColumn.from_codes(codes[0], y, 2)
    table, own = FixedPoint.for_rows(50).table, np.arange(8) * 1000
    planes.fill_information(other, table, own, (77, 5), 0, *exact)
    planes.fill_information(other, table, own, (77, 5), 10, *rough)
    assert np.array_equal(rough[:, :7], (exact[:, :7] + 512) >> 10)
    low = int(exact[0, 0] - NOISE)  # the rest may come from rounding alone
    planes.fill_information(other, table, own, (77 - low, 5), 0, *rough)
    assert rough[0, 0] == 0
    planes.fill_information(other, table, own, (78 - low, 5), 0, *rough)
    assert rough[0, 0] == NOISE + 1
