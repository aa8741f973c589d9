"""Pictures of rankings: scores, paths, redundancy, what methods have in common."""

import itertools
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import same_color
from sklearn.exceptions import NotFittedError

from featly import AROM, CFS, MIM, MKLRFE, SVMRFE, FTest, MulticlassSVMRFE
from featly.basics.errors import DataError, ParameterError
from featly.datasets import make_cohort
from featly.plots import (
    plot_overlap,
    plot_pairs,
    plot_path,
    plot_ranking,
    plot_redundancy,
)
from featly.plots.canvas import colour
from tests.plots.shared import HOSTILE, check_legible, texts_of, tick_texts


@pytest.fixture(scope="module")
def cohort():
    return make_cohort(n_patients=60, n_genes=40)


class FakeRanker:
    """The attributes of a fitted ranker, with any scores."""

    def __init__(self, scores, names=None, selected=4, kinds=None):
        self.scores_ = np.array(scores, dtype=float)
        self.order_ = np.arange(len(self.scores_))
        self.support_ = self.order_ < selected
        self.kinds_ = kinds or ["continuous", "ordinal", "categorical"] * len(self.order_)
        self.names = names or [f"gene {j}" for j in range(len(self.scores_))]

    def _names(self):
        return list(self.names)


def bars(ax):
    """Return the ends of the bars, without the hatching that lies over them."""
    return [bar.get_width() for bar in ax.patches if bar.get_linewidth() > 0]


# ---- ranking -------------------------------------------------------------------------------------
def test_scores_kinds_and_selection(cohort):
    ranker = MIM(n_features_to_select=5, schema=cohort.schema).fit(cohort.X, cohort.y)
    ax = plot_ranking(ranker, n_features=12)
    rows = ranker.table().head(12)
    assert tick_texts(ax.get_yticklabels()) == rows["feature"].to_list()
    assert bars(ax) == rows["score"].to_list()
    drawn = [bar for bar in ax.patches if bar.get_linewidth() > 0]
    assert [bar.get_facecolor()[3] > 0 for bar in drawn] == rows["selected"].to_list()
    kinds = {"continuous": 0, "ordinal": 1, "categorical": 2}
    for bar, kind in zip(drawn, rows["kind"], strict=True):
        assert same_color(bar.get_edgecolor(), colour(kinds[kind]))
    hatched = {round(bar.get_y() + 0.34) for bar in ax.patches if bar.get_hatch()}
    assert hatched == {row for row, kind in enumerate(rows["kind"]) if kind != "continuous"}
    legend_texts = tick_texts(ax.get_legend().get_texts())
    assert legend_texts[-2:] == ["selected", "not selected"]
    check_legible(ax)


def test_scores_that_are_negative_or_infinite():
    ax = plot_ranking(FakeRanker([np.inf, 5, 1, 0, -2, -np.inf]))
    assert bars(ax)[1:5] == [5, 1, 0, -2]
    low, high = ax.get_xlim()
    assert bars(ax)[0] == pytest.approx(high)
    assert bars(ax)[5] == pytest.approx(low)
    assert [text.get_text() for text in ax.texts] == ["∞", "−∞"]
    assert low < -2 < 5 < high
    check_legible(ax)


def test_scores_that_span_magnitudes_are_points():
    ax = plot_ranking(FakeRanker(10.0 ** -np.arange(8)))
    assert ax.get_xscale() == "log"
    assert not ax.patches
    ends = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert ends == pytest.approx((10.0 ** -np.arange(8)).tolist())
    assert len({line.get_marker() for line in ax.lines if len(line.get_xdata()) == 1}) == 3
    assert plot_ranking(FakeRanker([900, 1])).get_xscale() == "linear"
    assert plot_ranking(FakeRanker([1e9, 1, 0])).get_xscale() == "linear", "0 has no logarithm"
    check_legible(ax)


@pytest.mark.parametrize("scores", [[0, 0], [np.inf, np.inf], [-np.inf], [7], [np.nan, np.nan]])
def test_scores_without_a_range(scores):
    ax = plot_ranking(FakeRanker(scores))
    low, high = ax.get_xlim()
    assert np.isfinite([low, high]).all()
    assert low < high
    check_legible(ax)


@pytest.mark.parametrize("n_features", [20, 500])
def test_rankings_are_legible(n_features):
    ax = plot_ranking(FakeRanker(np.arange(n_features, 0, -1.0)), n_features=500)
    assert len(ax.get_yticklabels()) == n_features
    check_legible(ax)
    assert min(text.get_fontsize() for text in ax.get_yticklabels()) >= 4.5


def test_hostile_names():
    ax = plot_ranking(FakeRanker(np.arange(12, 0, -1), HOSTILE))
    shown = tick_texts(ax.get_yticklabels())
    assert len(set(shown)) == 12
    assert not any(text.get_parse_math() for text in ax.get_yticklabels())
    assert shown[0] == HOSTILE[0]
    check_legible(ax)


def test_names_that_are_given():
    ax = plot_ranking(FakeRanker([3, 2, 1]), names=["a", "b", "c"])
    assert tick_texts(ax.get_yticklabels()) == ["a", "b", "c"]
    with pytest.raises(ParameterError, match="give 3 of them"):
        plot_ranking(FakeRanker([3, 2, 1]), names=["a"])


def test_subsets_show_their_statistic_of_the_columns(cohort):
    selector = CFS().fit(cohort.X, cohort.y)
    ax = plot_ranking(selector, n_features=20)
    assert bars(ax) == selector.table()["uncertainty"].to_list()[:20]
    assert ax.get_xlabel() == "uncertainty (CFS)"
    selector._extra = []
    ax = plot_ranking(selector, n_features=20)
    count = len(selector.order_)
    assert bars(ax)[: count + 1] == [*range(count, 0, -1), 0]
    assert "order of choice" in ax.get_xlabel()


def test_rankings_that_cannot_be(cohort):
    with pytest.raises(NotFittedError):
        plot_ranking(FTest())
    with pytest.raises(ParameterError, match="draws a fitted Ranker or SubsetSelector, not a list"):
        plot_ranking([1, 2])
    with pytest.raises(ParameterError, match="n_features=0"):
        plot_ranking(FakeRanker([1]), n_features=0)


def test_small_axes_name_some_rows():
    figure, ax = plt.subplots(figsize=(4, 3))
    assert plot_ranking(FakeRanker(np.arange(200, 0, -1)), n_features=200, ax=ax) is ax
    assert 10 < len(ax.get_yticklabels()) < 100
    check_legible(ax, cut=False)
    plt.close(figure)


# ---- paths ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), np.repeat([0, 1], 20)
    X[:, :4] += 1.5 * y[:, None]
    return X, y


def names_beside(ax):
    """Return the names beside the axes."""
    return {t.get_text() for t in ax.texts if getattr(t, "arrowprops", None) is not None}


@pytest.mark.parametrize("method", [SVMRFE(), MKLRFE(step=0.5), MulticlassSVMRFE(step=0.5)])
def test_paths_of_eliminations(table, method):
    X, y = table
    y = np.arange(40) % 3 if isinstance(method, MulticlassSVMRFE) else y
    ranker = method.fit(X, y)
    ax = plot_path(ranker, n_features=6)
    assert names_beside(ax) == {f"x{j}" for j in ranker.order_[:6]}
    best = next(line for line in ax.lines if line.get_marker() == "D")
    left = [(ranker.round_ >= ranker.round_[j]).sum() for j in ranker.order_[:6]]
    assert best.get_xdata().tolist() == left
    shown = ranker.criterion_[ranker.order_[:6]]
    assert best.get_ydata()[shown > 0].tolist() == shown[shown > 0].tolist()
    assert ax.get_xlim()[0] > ax.get_xlim()[1], "from many to few"
    rest = next(line for line in ax.lines if line.get_marker() == ".")
    assert len(rest.get_xdata()) == 54
    check_legible(ax)


def test_the_line_joins_the_largest_of_each_round(table):
    ranker = SVMRFE(step=0.5).fit(*table)
    ax = plot_path(ranker, n_features=1)
    line = next(line for line in ax.lines if line.get_marker() == "None")
    expected = [ranker.criterion_[ranker.round_ == k].max() for k in range(ranker.round_.max() + 1)]
    assert line.get_ydata().tolist() == pytest.approx(expected)


def test_paths_of_arom(table):
    ranker = AROM().fit(*table)
    ax = plot_path(ranker, n_features=5)
    best = next(line for line in ax.lines if line.get_marker() == "D")
    assert best.get_xdata().tolist() == ranker.iterations_[ranker.order_[:5]].tolist()
    ticks = tick_texts(ax.get_xticklabels())
    assert ticks[-1] == f"{ranker.n_iter_}\n{ranker.path_[-1]}"
    check_legible(ax)


def test_weights_of_zero_lie_at_the_bottom():
    class Zeros:
        round_ = np.array([1, 0, 0])
        criterion_ = np.array([0.5, 0.0, -1.0])
        order_ = np.arange(3)

        def _names(self):
            return HOSTILE[:3]

    ax = plot_path(Zeros())
    assert "bottom: a criterion of 0 or less" in next(
        t for t in tick_texts(ax.texts) if "named" in t
    )
    check_legible(ax)
    Zeros.criterion_ = np.zeros(3)
    check_legible(plot_path(Zeros()))


def test_paths_are_legible_with_many_names():
    class Long:
        order_ = np.arange(500)
        round_ = np.arange(500)[::-1]
        criterion_ = np.linspace(9, 1, 500)

        def _names(self):
            return [f"a gene whose name is a long one {j}" for j in range(500)]

    check_legible(plot_path(Long(), n_features=60))
    with pytest.raises(ParameterError, match="n_features=61: give at most 60"):
        plot_path(Long(), n_features=61)


def test_methods_without_a_path(table):
    with pytest.raises(
        ParameterError, match="FTest has no path, because it ranks in one step: fit SVMRFE"
    ):
        plot_path(FTest().fit(*table))
    with pytest.raises(NotFittedError):
        plot_path(SVMRFE())
    X, _ = table
    pairs = SVMRFE(multiclass="ovo").fit(X, np.arange(40) % 3)
    with pytest.raises(ParameterError, match="fitted to pairs of classes"):
        plot_path(pairs)


# ---- redundancy ----------------------------------------------------------------------------------
def blocks(n_columns, width=5):
    """Return associations and names of columns that go together in blocks, shuffled."""
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.normal(size=(80, n_columns // width)), width, axis=1)
    X = hidden + 0.3 * rng.normal(size=(80, n_columns))
    order = rng.permutation(n_columns)
    names = [f"b{j // width}-{j}" for j in order.tolist()]
    return np.abs(np.corrcoef(X[:, order].T)), names


def outlines(ax):
    """Return the corners of the outlines."""
    return [line for line in ax.lines if len(line.get_xdata()) == 5]


def test_groups_stand_together_and_are_outlined():
    associations, names = blocks(20)
    ax = plot_redundancy(associations, names, threshold=0.7)
    rows = tick_texts(ax.get_yticklabels())
    members = [name.split("-")[0] for name in rows]
    assert sum(a != b for a, b in itertools.pairwise(members)) == 3
    assert len(outlines(ax)) == 4
    order = [names.index(name) for name in rows]
    assert np.asarray(ax.images[0].get_array()) == pytest.approx(associations[np.ix_(order, order)])
    assert "4 groups at 0.7 or more, 20 columns" in tick_texts(ax.texts)[-1]
    assert not outlines(plot_redundancy(associations, names))
    check_legible(ax)


@pytest.mark.parametrize("threshold", [None, 0.7])
@pytest.mark.parametrize("n_columns", [20, 100, 500])
def test_maps_are_legible(n_columns, threshold):
    associations, names = blocks(n_columns)
    ax = plot_redundancy(associations, names, threshold=threshold)
    check_legible(ax)
    if n_columns == 500 and threshold:
        assert any("+4" in text.get_text() for text in texts_of(ax)), "groups have names"


def test_maps_of_hostile_names_constant_and_single_columns():
    check_legible(plot_redundancy(np.eye(12), HOSTILE, threshold=0.5))
    matrix = np.eye(12)
    matrix[3] = matrix[:, 3] = np.nan
    ax = plot_redundancy(matrix, HOSTILE, threshold=0.5)
    assert np.isfinite(ax.images[0].get_array()).all()
    check_legible(plot_redundancy([[1.0]], ["alone"], threshold=1))


@pytest.mark.parametrize(
    ("associations", "names", "options", "error", "words"),
    [
        ([[1, 0]], ["a"], {}, DataError, "shape"),
        ([[1, -0.5], [-0.5, 1]], ["a", "b"], {}, DataError, "outside 0 to 1: give absolute values"),
        ([[1, 0.5], [0.1, 1]], ["a", "b"], {}, DataError, "not symmetric: columns 0 and 1"),
        ([["x"]], ["a"], {}, DataError, "matrix of numbers"),
        ([[1]], ["a", "b"], {}, ParameterError, "give 1 of them"),
        ([[1]], ["a"], {"threshold": 0}, ParameterError, "threshold=0"),
        ([[1]], ["a"], {"threshold": True}, ParameterError, "threshold=True"),
    ],
)
def test_maps_that_cannot_be(associations, names, options, error, words):
    with pytest.raises(error, match=words):
        plot_redundancy(associations, names, **options)


# ---- what methods have in common -----------------------------------------------------------------
def test_groups_of_columns():
    ax = plot_overlap({"one": ["a", "b", "c"], "two": ["b", "c", "d"], "three": ["c"]})
    above, dots, sizes = ax.child_axes
    assert [bar.get_height() for bar in above.patches] == [1, 1, 1, 1]
    assert [bar.get_width() for bar in sizes.patches] == [3, 3, 1]
    assert tick_texts(dots.get_yticklabels()) == ["one", "two", "three"]
    filled = [line for line in dots.lines if line.get_marker() == "o" and line.get_markersize() > 4]
    assert list(filled[0].get_ydata()) == [0, 1, 2], "what all chose comes first among equals"
    assert same_color(above.patches[0].get_facecolor(), colour(1))
    assert not same_color(above.patches[1].get_facecolor(), colour(1))
    check_legible(ax)


def test_groups_against_counting():
    rng = np.random.default_rng(0)
    chosen = {f"m{k}": rng.choice(50, 20, replace=False) for k in range(5)}
    ax = plot_overlap(chosen, n_intersections=99)
    heights = [bar.get_height() for bar in ax.child_axes[0].patches]
    sets = [set(columns.tolist()) for columns in chosen.values()]
    union = set().union(*sets)
    assert sum(heights) == len(union)
    assert heights == sorted(heights, reverse=True)
    patterns = {tuple(c in chosen_columns for chosen_columns in sets) for c in union}
    assert len(heights) == len(patterns)
    few = plot_overlap(chosen, n_intersections=3)
    assert len(few.child_axes[0].patches) == 3
    assert "are left out" in tick_texts(few.texts)[-1]


def test_masks_are_columns():
    ax = plot_overlap({"a": np.array([True, False, True]), "b": np.array([2])})
    assert [bar.get_width() for bar in ax.child_axes[2].patches] == [2, 1]
    assert sorted(bar.get_height() for bar in ax.child_axes[0].patches) == [1, 1]


def test_overlaps_are_legible():
    rng = np.random.default_rng(0)
    chosen = {f"a method with a long name {k}": rng.choice(500, 200) for k in range(12)}
    check_legible(plot_overlap(chosen, n_intersections=40))
    check_legible(plot_overlap(dict.fromkeys(HOSTILE, HOSTILE)))
    check_legible(plot_overlap({"a": [], "b": []}))


@pytest.mark.parametrize(
    ("selections", "options", "words"),
    [
        ([["a"]], {}, "give a mapping"),
        ({"a": ["x"]}, {}, "1 selections: give 2 to 12"),
        ({k: [1] for k in range(13)}, {}, "13 selections: give 2 to 12"),
        ({"a": "age", "b": ["age"]}, {}, "selection of 'a' is 'age': give a list"),
        ({"a": 3, "b": ["age"]}, {}, "selection of 'a' is 3"),
        ({1: ["x"], "1": ["x"]}, {}, "two selections have the same name"),
        ({"a": ["x"], "b": ["x"]}, {"n_intersections": 0}, "n_intersections=0"),
    ],
)
def test_overlaps_that_cannot_be(selections, options, words):
    with pytest.raises(ParameterError, match=words):
        plot_overlap(selections, **options)


def test_a_frame_of_another_library():
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, 1, 2, 2]}).to_pandas()
    ax = plot_ranking(FTest().fit(frame, [0, 0, 1, 1]))
    assert tick_texts(ax.get_yticklabels())[0] == "b"


# ---- pairs of classes ----------------------------------------------------------------------------
class Lists:
    """The attributes of a ranker with lists."""

    def __init__(self, n_features, classes, names=None):
        rng = np.random.default_rng(0)
        pairs = list(combinations(classes, 2))
        self.positions_ = np.column_stack([rng.permutation(n_features) + 1.0 for _ in pairs])
        self.problems_ = [f"{a} vs {b}" for a, b in pairs]
        self.order_ = rng.permutation(n_features)
        self.names = names or [f"gene {j}" for j in range(n_features)]

    def _names(self):
        return self.names


@pytest.mark.parametrize("n_features", [20, 500])
@pytest.mark.parametrize("n_classes", [2, 15])
def test_pairs_are_legible(n_features, n_classes):
    classes = [f"class {k}" for k in range(n_classes)]
    ax = plot_pairs(Lists(n_features, classes), n_features=n_features)
    assert len(ax.get_yticklabels()) == n_features
    check_legible(ax)


def test_pairs_of_hostile_names():
    ax = plot_pairs(Lists(12, HOSTILE[:5], HOSTILE))
    assert len(set(tick_texts(ax.get_yticklabels()))) == 12
    assert len(set(tick_texts(ax.get_xticklabels()))) == 10
    check_legible(ax)


# ---- where pictures may stand --------------------------------------------------------------------
def test_axes_of_a_subfigure():
    figure = plt.figure(figsize=(9, 4))
    left, right = figure.subfigures(1, 2)
    ranking_axes, map_axes = left.add_subplot(), right.add_subplot()
    assert plot_ranking(FakeRanker([3, 2, 1]), ax=ranking_axes) is ranking_axes
    assert plot_redundancy(np.eye(3), ["a", "b", "c"], ax=map_axes) is map_axes
    figure.canvas.draw()
