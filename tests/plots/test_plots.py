"""Pictures show the data they are given, in the order and under the names they have."""

import io
import sys
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from featly import SVMRFE, FTest
from featly.basics.errors import ParameterError
from featly.ensembles.pairwise import PairwiseRanker
from featly.plots import plot_pairs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def fit_pairwise(decomposition="ovo", n_features=40):
    rng = np.random.default_rng(0)
    y = np.repeat(["ash", "beech", "cedar", "elm"], 12)
    X = rng.normal(size=(48, n_features))
    X[:, 7] += 4 * (y == "cedar")
    X = pl.DataFrame(X, schema=[f"gene {j}" for j in range(n_features)])
    return PairwiseRanker(FTest(), decomposition=decomposition).fit(X, y)


class Lists:
    """The attributes of a ranker with lists, for any number of classes."""

    def __init__(self, n_features, classes):
        rng = np.random.default_rng(0)
        pairs = list(combinations(classes, 2))
        self.positions_ = np.column_stack([rng.permutation(n_features) + 1.0 for _ in pairs])
        self.problems_ = [f"{a} vs {b}" for a, b in pairs]
        self.order_ = rng.permutation(n_features)

    def _names(self):
        return [f"x{j}" for j in range(len(self.positions_))]


def texts(labels):
    return [label.get_text() for label in labels]


def lines(ax, colour):
    """Return the positions of vertical lines of a colour."""
    return [
        float(segment[0, 0])
        for collection in ax.collections
        for segment in collection.get_segments()
        if collection.get_color()[0, :3] == pytest.approx(matplotlib.colors.to_rgb(colour))
        and segment[0, 0] == segment[1, 0]
    ]


def test_what_is_drawn():
    ranker = fit_pairwise()
    ax = plot_pairs(ranker, n_features=9)
    first = ranker.order_[:9]
    assert (ax.images[0].get_array() == ranker.positions_[first]).all()
    assert texts(ax.get_yticklabels()) == [f"gene {j}" for j in first]
    assert texts(ax.get_xticklabels()) == ranker.problems_
    assert texts(ax.get_yticklabels())[0] == ranker.table()["feature"][0]
    assert lines(ax, "0.35") == [2.5, 4.5], "where pairs of the next class begin"
    bar = ax.images[0].colorbar
    assert bar.ax.get_ylabel() == "position"
    assert bar.ax.get_ylim()[0] > bar.ax.get_ylim()[1], "the best place is on top"
    assert texts(bar.ax.get_yticklabels()) == ["1", "10", "40"]
    ax.figure.canvas.draw()


def test_colours_go_from_dark_to_light_and_faster_at_the_top():
    image = plot_pairs(fit_pairwise()).images[0]
    positions = [1, 2, 3, 10, 40]
    light = [sum(image.cmap(image.norm(position))[:3]) / 3 for position in positions]
    assert light == sorted(light)
    assert light[1] - light[0] > (light[4] - light[3]) / 30
    assert image.norm(2) - image.norm(1) == pytest.approx(image.norm(20) - image.norm(10))
    assert image.norm(1) == 0
    assert image.norm(40) == pytest.approx(1)


def test_the_best_positions_are_written_if_they_fit():
    ranker = fit_pairwise()
    ax = plot_pairs(ranker, n_features=9)
    drawn = ranker.positions_[ranker.order_[:9]]
    expected = {(c, r): f"{drawn[r, c]:g}" for r, c in np.argwhere(drawn <= 10).tolist()}
    assert {text.get_position(): text.get_text() for text in ax.texts} == expected
    assert not plot_pairs(Lists(200, "abcdefghijklmno")).texts, "105 narrow columns"
    small, _ = plt.subplots(figsize=(2, 2))
    assert not plot_pairs(ranker, n_features=30, ax=small.gca()).texts


def test_one_against_the_rest_and_two_classes():
    ranker = fit_pairwise("ova")
    ax = plot_pairs(ranker)
    assert texts(ax.get_xticklabels()) == [f"{c} vs rest" for c in ("ash", "beech", "cedar", "elm")]
    assert lines(ax, "0.35") == [], "every column is another class"
    assert ax.images[0].get_array().shape == (30, 4)
    two = plot_pairs(Lists(8, "ab"))
    assert two.images[0].get_array().shape == (8, 1), "all, where there are fewer"


def test_a_ranker_of_its_own_lists():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 6)), np.arange(30) % 3
    ranker = SVMRFE(multiclass="ovo").fit(X, y)
    ax = plot_pairs(ranker, n_features=4)
    assert (ax.images[0].get_array() == ranker.positions_[ranker.order_[:4]]).all()
    assert texts(ax.get_xticklabels()) == ["0 vs 1", "0 vs 2", "1 vs 2"]
    assert lines(ax, "0.35") == [1.5]


def test_given_axes_names_and_colours():
    ranker = fit_pairwise()
    _, axes = plt.subplots(1, 2)
    names = [f"name {j}" for j in range(40)]
    ax = plot_pairs(ranker, ax=axes[0], n_features=3, names=names, cmap="Greys_r")
    assert ax is axes[0]
    assert ax.images[0].cmap.name == "Greys_r"
    assert texts(ax.get_yticklabels()) == [f"name {j}" for j in ranker.order_[:3]]
    assert not axes[1].images


def test_figures_grow_with_what_they_show():
    few = plot_pairs(Lists(50, "abc"), n_features=10).figure.get_size_inches()
    long = plot_pairs(Lists(50, "abc"), n_features=40).figure.get_size_inches()
    wide = plot_pairs(Lists(50, "abcdefghijklmno"), n_features=10).figure
    assert long[1] > few[1]
    assert long[0] == few[0]
    assert wide.get_size_inches()[0] > 105 * 0.15
    wide.canvas.draw()
    labels = wide.axes[0].get_xticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes)), "none overlaps"
    inside = wide.get_tightbbox().bounds
    assert inside[0] >= 0
    assert inside[1] >= 0


def test_long_names_are_shortened_but_stay_different():
    classes = [f"a class with a long name, number {k} of three" for k in range(3)]
    lists = Lists(12, classes)
    lists.order_ = np.arange(12)
    names = [f"{j} is the number of this gene, which has a long name" for j in range(12)]
    ax = plot_pairs(lists, names=names)
    rows, columns = texts(ax.get_yticklabels()), texts(ax.get_xticklabels())
    assert rows[0] == "0 is the number…as a long name"
    assert len(set(rows)) == 12
    assert len(set(columns)) == 3
    assert max(map(len, columns)) < len(lists.problems_[0])
    assert [c.count(" vs ") for c in columns] == [1, 1, 1]


def test_cells_without_a_position_are_left_out():
    lists = Lists(6, "abc")
    lists.positions_[lists.order_[0], 1] = np.nan
    ax = plot_pairs(lists)
    assert np.argwhere(np.ma.getmaskarray(ax.images[0].get_array())).tolist() == [[0, 1]]
    assert len(ax.texts) == 17


# ---- mistakes ------------------------------------------------------------------------------------
def test_rankers_without_lists():
    X, y = np.random.default_rng(0).normal(size=(12, 4)), np.arange(12) % 2
    with pytest.raises(
        ParameterError, match=r"FTest has no lists.*fit PairwiseRanker\(FTest\(\)\)"
    ):
        plot_pairs(FTest().fit(X, y))
    words = r"SVMRFE has no lists.*fit SVMRFE\(multiclass='ovo'\) or PairwiseRanker\(SVMRFE\(\)\)"
    with pytest.raises(ParameterError, match=words):
        plot_pairs(SVMRFE().fit(X, y))
    with pytest.raises(NotFittedError):
        plot_pairs(PairwiseRanker(FTest()))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_features": 0}, "n_features=0: give a whole number"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"n_features": True}, "n_features=True"),
        ({"names": ["a"]}, "give 12 of them"),
    ],
)
def test_parameters_that_make_no_sense(parameters, words):
    with pytest.raises(ParameterError, match=words):
        plot_pairs(Lists(12, "abc"), **parameters)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match=r"matplotlib: pip install 'featly\[report\]'"):
        plot_pairs(Lists(12, "abc"))


def test_a_dollar_in_a_name_is_a_dollar():
    ax = plot_pairs(fit_pairwise(n_features=8), names=["$\\bad{$", *"bcdefgh"])
    ax.figure.savefig(io.BytesIO())


def test_many_problems_have_a_width_that_can_be_shown():
    ax = plot_pairs(Lists(5, [f"c{k}" for k in range(40)]))
    assert len(ax.get_xticklabels()) == 780
    assert ax.figure.get_size_inches()[0] < 50


def test_two_classes_have_no_lists():
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    with pytest.raises(ParameterError, match="was fitted to two classes"):
        plot_pairs(SVMRFE(multiclass="ovo").fit(X, y))
    assert len(plot_pairs(PairwiseRanker(FTest()).fit(X, y)).get_xticklabels()) == 1
