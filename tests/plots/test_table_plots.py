"""Pictures of rows: one column against the class, two columns against each other."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from featly import Schema
from featly.basics.errors import DataError, ParameterError
from featly.plots import plot_column, plot_scatter
from featly.plots.columns import jitter, open_columns
from tests.plots.shared import HOSTILE, check_legible, texts_of, tick_texts

N = 120


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], [50, 70])
    frame = pl.DataFrame(
        {
            "dose": rng.normal(size=N) + (y == "ill"),
            "age": rng.integers(20, 80, N),
            "ward": rng.choice(["north", "south", "west"], N),
            "stage": rng.choice(["I", "II", "III"], N),
            "incomplete": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
        }
    ).with_columns(pl.col("incomplete").fill_nan(None))
    return frame, y


SCHEMA = {"ordinal": {"stage": ["I", "II", "III"]}}


def points(ax):
    """Return every point that is drawn as a marker without a line."""
    lines = [line for line in ax.lines if line.get_marker() not in ("None", None, "")]
    return np.concatenate([line.get_xydata() for line in lines]) if lines else np.empty((0, 2))


def cells(ax):
    """Return the bars of a mosaic without their hatching: row by row, level by level."""
    return [p for p in ax.patches if p.get_linewidth() > 0]


# ---- reading -------------------------------------------------------------------------------------
@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "array", "sparse", "list"])
def test_tables_of_any_kind(table, library):
    frame, y = table
    numbers = frame.select("dose", "age")
    X = {
        "polars": numbers,
        "pandas": numbers.to_pandas(),
        "pyarrow": numbers.to_arrow(),
        "array": numbers.to_numpy(),
        "sparse": scipy.sparse.csr_array(numbers.to_numpy()),
        "list": numbers.to_numpy().tolist(),
    }[library]
    column = open_columns(X, [1], None, "test")[0]
    assert column.values.tolist() == frame["age"].to_list()
    assert sorted(points(plot_column(X, y, 1))[:, 0]) == sorted(frame["age"].to_list())
    drawn = points(plot_scatter(X, y, [0, 1]))
    assert sorted(map(tuple, drawn)) == sorted(zip(frame["dose"], frame["age"], strict=True))


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "objects"])
def test_levels_of_any_kind(table, library):
    frame, y = table
    words = frame.select("ward", "stage")
    X = {
        "polars": words,
        "pandas": words.to_pandas(),
        "pyarrow": words.to_arrow(),
        "objects": np.array(words.rows(), dtype=object),
    }[library]
    ax = plot_column(X, y, 0)
    assert tick_texts(ax.get_legend().get_texts()) == ["north", "south", "west"]
    counts = frame.filter(pl.Series(y) == "ill")["ward"].value_counts().sort("ward")["count"]
    assert [cell.get_width() * 50 for cell in cells(ax)][:3] == pytest.approx(counts.to_list())


def test_numbers_declared_as_levels_and_ordered_dtypes(table):
    frame, y = table
    X = np.column_stack([frame["age"].to_numpy() % 3, frame["dose"]])
    ax = plot_column(X, y, "x0", schema=Schema(categorical=[0]))
    assert tick_texts(ax.get_legend().get_texts()) == ["0", "1", "2"]
    ordinal = plot_column(X, y, "x0", schema=Schema(ordinal=[0]))
    assert tick_texts(ordinal.get_legend().get_texts()) == ["0", "1", "2"]
    stage = pd.Categorical(frame["stage"], ["III", "I", "II"], ordered=True)
    ax = plot_column(pd.DataFrame({"stage": stage}), y, "stage")
    assert tick_texts(ax.get_legend().get_texts()) == ["III", "I", "II"]
    many = plot_column(frame, y, "age", schema={"ordinal": ["age"]})
    assert many.get_xlabel() == "age", "too many ranks for a mosaic: a box"
    text = pl.DataFrame({"a": ["1.5", "2", "10"] * 40})
    assert sorted(points(plot_column(text, y, "a", schema={"continuous": ["a"]}))[:, 0])[-1] == 10


def test_the_same_picture_whatever_the_order_of_rows(table):
    frame, y = table
    order = np.random.default_rng(1).permutation(N)
    for draw in (
        lambda X, y: plot_column(X, y, "dose"),
        lambda X, y: plot_scatter(X, y, ["ward", "dose"]),
    ):
        sort_by_plan, shuffled = points(draw(frame, y)), points(draw(frame[order], y[order]))
        assert sorted(map(tuple, sort_by_plan)) == sorted(map(tuple, shuffled))


@pytest.mark.parametrize(
    ("feature", "error", "words"),
    [
        ("doze", DataError, "'doze' is no column of the table; did you mean 'dose'"),
        (5, DataError, "no column 5: positions run from 0 to 4"),
        (-1, DataError, "no column -1"),
        (True, ParameterError, "feature True: give the name"),
        (1.5, ParameterError, "feature 1.5"),
    ],
)
def test_columns_that_are_not_there(table, feature, error, words):
    with pytest.raises(error, match=words):
        plot_column(*table, feature)
    with pytest.raises(error, match=words):
        plot_scatter(*table, ["age", feature])


def test_rows_that_cannot_be(table):
    frame, y = table
    with pytest.raises(DataError, match="X has 120 rows but y has 3"):
        plot_column(frame, [0, 1, 0], "age")
    with pytest.raises(DataError, match="one class only"):
        plot_column(frame, np.zeros(N), "age")
    with pytest.raises(DataError, match=r"column 'x0' has an infinite value \(inf\) in row 1"):
        plot_column([[1.0], [np.inf]], [0, 1], 0)
    with pytest.raises(DataError, match="no rows"):
        plot_column(np.empty((0, 2)), [], 0)
    with pytest.raises(DataError, match="3 dimensions"):
        plot_column(np.zeros((2, 2, 2)), [0, 1], 0)
    for features in ("age", ["age"], ["age", "dose", "ward"], 3):
        with pytest.raises(ParameterError, match="give two columns"):
            plot_scatter(frame, y, features)
    for draw, feature_argument in ((plot_column, "age"), (plot_scatter, ["age", "dose"])):
        with pytest.raises(ParameterError, match="individuals='no': give True or False"):
            draw(frame, y, feature_argument, individuals="no")


# ---- boxes ---------------------------------------------------------------------------------------
def box_of(ax, row):
    """Return the corners of the box of one class."""
    boxes = [line for line in ax.lines if len(line.get_xdata()) == 5]
    return next(b for b in boxes if abs(np.mean(b.get_ydata()[:4]) - row) < 0.3)


def test_boxes(table):
    frame, y = table
    ax = plot_column(frame, y, "dose")
    for row, name in enumerate(("ill", "well")):
        values = frame["dose"].to_numpy()[y == name]
        first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
        assert set(box_of(ax, row).get_xdata()) == {first, third}
        thick = [line for line in ax.lines if line.get_linewidth() == 2.0]
        assert thick[row].get_xdata().tolist() == [middle, middle]
    assert len(points(ax)) == N
    assert np.abs(points(ax)[:, 1] - points(ax)[:, 1].round()).max() < 0.4, "near their row"
    assert tick_texts(ax.get_yticklabels()) == ["ill\nn = 50", "well\nn = 70"]
    check_legible(ax)


def test_missing_values_are_counted(table):
    frame, y = table
    ax = plot_column(frame, y, "incomplete")
    is_missing = frame["incomplete"].is_null().to_numpy()
    for label, name in zip(tick_texts(ax.get_yticklabels()), ("ill", "well"), strict=True):
        n_present, n_missing = (~is_missing & (y == name)).sum(), (is_missing & (y == name)).sum()
        assert label == f"{name}\nn = {n_present}, {n_missing} missing"
    assert len(points(ax)) == (~is_missing).sum()


def test_boxes_without_individuals(table):
    frame, y = table
    ax = plot_column(frame, y, "dose", individuals=False)
    assert len(points(ax)) == 0
    values = frame["dose"].to_numpy()
    drawn = np.concatenate([line.get_xdata() for line in ax.lines])
    assert not set(np.round(drawn, 9)) & set(np.round(values, 9)), "nobody's value"
    assert drawn.max() < values.max()
    assert drawn.min() > values.min()
    assert ax.get_xlim()[1] < values.max(), "nor an extreme by the limits"
    whiskers = [
        line for line in ax.lines if line.get_linewidth() == 0.9 and len(line.get_xdata()) == 2
    ]
    assert not whiskers, "of 50 and 70 rows, the outermost 5% are fewer than five"
    assert tick_texts(ax.get_yticklabels()) == ["ill\nn = 50", "well\nn = 70"]
    check_legible(ax)


def test_small_classes_are_left_out_without_individuals():
    values = np.r_[np.arange(9.0), np.arange(30.0) * 1.37 + 0.1][:, None]
    y = np.repeat(["few", "many"], [9, 30])
    ax = plot_column(values, y, 0, individuals=False)
    assert {round(float(np.mean(line.get_ydata()))) for line in ax.lines} == {1}
    assert tick_texts(ax.get_yticklabels()) == ["few\nn = 9", "many\nn = 30"]
    assert "left out: 1 class with fewer than 20 values" in " ".join(
        ax.texts[-1].get_text().split()
    )
    whiskers = [
        line for line in ax.lines if line.get_linewidth() == 0.9 and len(line.get_xdata()) == 2
    ]
    assert not whiskers, "of 30 rows the outermost 5% are one"
    check_legible(ax)


@pytest.mark.parametrize(("n_rows", "n_lines"), [(99, 0), (100, 2)])
def test_outer_quantiles_need_five_rows_beyond_them(n_rows, n_lines):
    values = np.random.default_rng(0).normal(size=(n_rows + 20, 1))
    ax = plot_column(values, np.repeat(["a", "b"], [n_rows, 20]), 0, individuals=False)
    lines = [x for x in ax.lines if x.get_linewidth() == 0.9 and len(x.get_xdata()) == 2]
    assert len(lines) == n_lines


def test_a_class_below_five_and_its_missing_values_are_not_told():
    values = np.r_[np.arange(60.0) % 2, np.nan, np.nan][:, None]
    y = np.repeat(["rare", "usual", "well"], [3, 29, 30])
    for schema in (None, {"categorical": [0]}):
        ax = plot_column(values, y, 0, individuals=False, schema=schema)
        words = " ".join(tick_texts(ax.get_yticklabels()) + tick_texts(ax.texts))
        assert "rare" not in words.replace("rarer", "")
        assert "usual\nn = 29" in words
        assert "well or rarer\nn is hidden" in words
    ax = plot_scatter(np.c_[values, values], y, [0, 1], individuals=False)
    assert tick_texts(ax.get_legend().get_texts()) == ["usual (29)", "well or rarer (33)"]


@pytest.mark.parametrize("individuals", [True, False])
@pytest.mark.parametrize(
    ("values", "y"),
    [
        (np.ones(40), np.repeat([0, 1], 20)),
        (np.arange(2.0), np.arange(2)),
        (np.full(40, np.nan), np.repeat([0, 1], 20)),
        (np.r_[np.full(20, np.nan), np.arange(20.0)], np.repeat([0, 1], 20)),
        (np.arange(40.0) * 1e-12 + 1e9, np.repeat([0, 1], 20)),
    ],
    ids=["constant", "one row a class", "all missing", "a class missing", "tiny differences"],
)
def test_odd_columns(values, y, individuals):
    X = np.column_stack([values, np.arange(len(values))])
    for ax in (
        plot_column(X, y, 0, individuals=individuals),
        plot_scatter(X, y, [0, 1], individuals=individuals),
        plot_column(X, y, 0, schema={"categorical": [0]}, individuals=individuals),
    ):
        limits = [*ax.get_xlim(), *ax.get_ylim()]
        assert np.isfinite(limits).all()
        check_legible(ax)


def test_many_rows_are_drawn_by_some():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    y = np.arange(5000) % 2
    boxes = plot_column(X, y, 0)
    assert len(points(boxes)) == 1600
    assert "points: 800 of a class at most" in tick_texts(boxes.texts)[-1]
    ax = plot_scatter(X, y, [0, 1])
    assert len(points(ax)) == 4000
    assert "4,000 of 5,000 rows are drawn" in tick_texts(ax.texts)[-1]


# ---- mosaics -------------------------------------------------------------------------------------
def test_mosaic(table):
    frame, y = table
    ax = plot_column(frame, y, "ward")
    drawn = cells(ax)
    assert len(drawn) == 6
    assert [cell.get_width() for cell in drawn[:3]] == pytest.approx(
        [
            (frame.filter(pl.Series(y) == "ill")["ward"] == w).mean()
            for w in ("north", "south", "west")
        ]
    )
    thick = [drawn[0].get_height(), drawn[3].get_height()]
    assert thick[0] / thick[1] == pytest.approx(50 / 70), "as thick as the class is large"
    counts = {t.get_text() for t in ax.texts}
    assert str((frame.filter(pl.Series(y) == "ill")["ward"] == "north").sum()) in counts
    hatches = {p.get_hatch() for p in ax.patches if p.get_linewidth() == 0}
    assert len(hatches) == 2, "the first level is plain, the others differ"
    check_legible(ax)


def test_mosaic_without_individuals(table):
    frame, _ = table
    rare = pl.DataFrame({"ward": ["rare"] * 3 + frame["ward"].to_list()[3:]})
    y = np.repeat(["few", "ill", "well"], [8, 42, 70])
    ax = plot_column(rare, y, "ward", individuals=False)
    assert "rare" not in tick_texts(ax.get_legend().get_texts())
    numbers = [int(t) for t in tick_texts(ax.texts) if t.isdigit()]
    assert numbers
    assert min(numbers) >= 5
    counts = rare.with_columns(pl.Series("y", y)).filter(pl.col("y") == "well")["ward"]
    shown = dict(counts.value_counts().iter_rows())
    thickest = max(cell.get_height() for cell in cells(ax))
    shares = [cell.get_width() for cell in cells(ax) if cell.get_height() == thickest]
    assert shares == pytest.approx([shown[w] / 70 for w in ("north", "south", "west")])
    check_legible(ax)


def test_rare_levels_are_one():
    rng = np.random.default_rng(0)
    levels = [f"level {k}" for k in rng.poisson(12, 400)]
    ax = plot_column(pl.DataFrame({"a": levels}), np.arange(400) % 2, "a")
    legend_texts = tick_texts(ax.get_legend().get_texts())
    assert len(legend_texts) == 12
    assert legend_texts[-1] == f"{len(set(levels)) - 11} other levels"
    for row in range(2):
        assert sum(cell.get_width() for cell in cells(ax)[row * 12 : row * 12 + 12]) <= 1 + 1e-9
    check_legible(ax)


def test_levels_with_an_order_go_from_light_to_dark(table):
    frame, y = table
    ax = plot_column(frame, y, "stage", schema=SCHEMA)
    light = [sum(cell.get_facecolor()[:3]) for cell in cells(ax)[:3]]
    assert light == sorted(light, reverse=True)


# ---- scatter -------------------------------------------------------------------------------------
def test_points_by_class(table):
    frame, y = table
    ax = plot_scatter(frame, y, ["age", "dose"])
    assert sorted(map(tuple, points(ax))) == sorted(zip(frame["age"], frame["dose"], strict=True))
    classes = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert [len(line.get_xdata()) for line in classes] == [50, 70]
    assert len({(line.get_marker(), line.get_color()) for line in classes}) == 2
    assert tick_texts(ax.get_legend().get_texts()) == ["ill (50)", "well (70)"]
    check_legible(ax)


def test_rows_without_a_value_stand_in_the_margin(table):
    frame, y = table
    ax = plot_scatter(frame, y, ["age", "incomplete"])
    known = frame["incomplete"].drop_nulls().to_numpy()
    below = points(ax)[:, 1] < known.min()
    assert below.sum() == frame["incomplete"].null_count()
    assert len(points(ax)) == N
    assert "missing" in tick_texts(ax.get_yticklabels())
    check_legible(ax)
    other = plot_scatter(frame, y, ["incomplete", "age"])
    assert "missing" in tick_texts(other.get_xticklabels())
    check_legible(other)
    check_legible(plot_scatter(frame, y, ["incomplete", "ward"]))


def test_levels_are_moved_apart_but_not_to_others(table):
    frame, y = table
    ax = plot_scatter(frame, y, ["ward", "stage"], schema=SCHEMA)
    assert tick_texts(ax.get_xticklabels()) == ["north", "south", "west"]
    moved = np.abs(points(ax) - points(ax).round())
    assert 0 < moved.max() < 0.5
    code = {"north": 0, "south": 1, "west": 2}
    assert sorted(points(ax)[:, 0].round()) == sorted(code[w] for w in frame["ward"])
    check_legible(ax)


def test_scatter_without_individuals(table):
    frame, y = table
    ax = plot_scatter(frame, y, ["age", "dose"], individuals=False)
    middles = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert len(middles) == 2, "a median a class and no row"
    values = set(frame["dose"].round(9).to_list())
    drawn = np.concatenate([line.get_ydata() for line in ax.lines])
    assert not values & set(np.round(drawn, 9))
    ellipses = [line for line in ax.lines if len(line.get_xdata()) > 50]
    assert len(ellipses) == 2
    check_legible(ax)


def test_counts_of_two_columns_of_levels(table):
    frame, y = table
    ax = plot_scatter(frame, y, ["ward", "stage"], schema=SCHEMA, individuals=False)
    numbers = [t.get_text() for t in ax.texts if t.get_text()[-1].isdigit()]
    counts = [int(t) for t in numbers if t.isdigit()]
    cells = frame.with_columns(pl.Series("y", y)).group_by("ward", "stage", "y").len()["len"]
    assert sorted(counts) == sorted(c for c in counts if c in cells.to_list())
    assert min(counts) >= 5
    assert len(counts) < len(cells), "small ones are left out, and others with them"
    check_legible(ax)


def test_crosses_by_level(table):
    frame, y = table
    ax = plot_scatter(frame, y, ["ward", "dose"], individuals=False)
    middles = [line for line in ax.lines if len(line.get_xdata()) == 1]
    groups = frame.with_columns(pl.Series("y", y)).group_by("ward", "y").len()
    assert len(middles) == (groups["len"] >= 20).sum()
    texts = " ".join(tick_texts(ax.texts))
    assert ("left out" in texts) == bool((groups["len"] < 20).any())
    check_legible(ax)


@pytest.mark.parametrize("individuals", [True, False])
@pytest.mark.parametrize("n_classes", [2, 15])
def test_many_classes_levels_and_hostile_names_are_legible(n_classes, individuals):
    rng = np.random.default_rng(0)
    y = np.array(([*HOSTILE, "x", "y", "z"])[:n_classes])[np.arange(450) % n_classes]
    X = pl.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=450),
            HOSTILE[1]: [f"{HOSTILE[k % 12]} {k}" for k in rng.integers(0, 14, 450)],
            HOSTILE[4]: [HOSTILE[k] for k in rng.integers(0, 3, 450)],
            HOSTILE[5]: rng.normal(size=450),
        }
    )
    for feature in X.columns:
        check_legible(plot_column(X, y, feature, individuals=individuals))
    for features in ([0, 3], [0, 1], [1, 0], [1, 2]):
        check_legible(plot_scatter(X, y, features, individuals=individuals))


def test_fifteen_classes_look_different():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 15
    ax = plot_scatter(X, y, [0, 1])
    looks = {(line.get_color(), line.get_marker()) for line in ax.lines}
    assert len(looks) == 15
    assert len([t for t in texts_of(ax) if t.get_text().endswith("(2)")]) == 15


def test_jitter():
    values = np.random.default_rng(0).normal(size=200)
    offsets = jitter(values)
    assert np.abs(offsets).max() <= 0.5
    assert (jitter(values[::-1])[::-1] == offsets).all()
    middle = np.abs(values) < 0.3
    assert np.abs(offsets[middle]).mean() > np.abs(offsets[~middle]).mean(), (
        "wider where it is dense"
    )
    assert jitter(np.empty(0)).shape == (0,)


def test_an_arrow_table_with_a_dictionary():
    codes = pa.array(["b", "a", "b", "a"]).dictionary_encode()
    ax = plot_column(pa.table({"a": codes}), [0, 0, 1, 1], "a")
    assert tick_texts(ax.get_legend().get_texts()) == ["a", "b"]
