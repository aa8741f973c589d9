"""Pictures of trees show every branch and leaf that fits, and say what they leave out."""

import sys

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from featly.basics.errors import ParameterError
from featly.learners.c45 import C45
from featly.plots import tree_plots
from featly.plots.tree_plots import plot_tree

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def fit_tree(n_rows=400, **parameters):
    rng = np.random.default_rng(0)
    y = np.array(["ash", "beech", "cedar"])[rng.integers(0, 3, n_rows)]
    X = pl.DataFrame(
        {
            "height": rng.normal(size=n_rows) + (y == "ash"),
            "a name with $dollars$ that is very long indeed": rng.normal(size=n_rows),
            "soil": rng.choice(["clay", "loam", "sand", "rare"], n_rows, p=[0.4, 0.4, 0.19, 0.01]),
        }
    )
    return C45(pruned=False, **parameters).fit(X, y)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_leaf_is_there():
    X = np.arange(20.0)[:, None]
    ax = plot_tree(C45().fit(X, X[:, 0] > 11))
    assert texts(ax) == ["x0", "<= 11", "False  12.0", "> 11", "True  8.0"]
    tree = fit_tree(60)
    ax = plot_tree(tree)
    leaves = [rule for rule in tree.rules() if rule.rows > 0]
    drawn = [text for text in texts(ax) if text.split("  ")[0] in set(tree.classes_)]
    assert len(drawn) >= len(leaves)
    for rule in leaves:
        assert any(text.startswith(f"{rule.label}  {rule.rows:,.1f}") for text in drawn)


def test_texts_do_not_overlap():
    ax = plot_tree(fit_tree(120))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    page = ax.figure.bbox
    for k, box in enumerate(boxes):
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        for other in boxes[:k]:
            apart = box.x0 >= other.x1 - 1 or other.x0 >= box.x1 - 1
            assert apart or box.y0 >= other.y1 - 4 or other.y0 >= box.y1 - 4


def test_wide_letters_fit():
    """Letters are not equally wide: lines begin where a name ends, and nothing leaves the page."""
    n = 60
    x = np.arange(n) % 20
    y = np.where(x < 7, "W" * 28, np.where(x < 13, "i", "M" * 28))
    ax = plot_tree(C45().fit(pl.DataFrame({"WIDE GENE NAMES MMM": x}), y))
    ax.figure.canvas.draw()
    page = ax.figure.bbox
    for text in ax.texts:
        box = text.get_window_extent()
        assert page.x0 <= box.x0 < box.x1 <= page.x1
    names = [text for text in ax.texts if text.get_text().startswith("WIDE")]
    assert len(names) == 2
    starts = ax.transData.transform([line.get_xydata()[0] for line in ax.lines])
    for name in names:
        box = name.get_window_extent()
        beside = [x for x, y in starts if box.y0 < y < box.y1 and x > box.x0]
        assert len(beside) == 2
        assert min(beside) >= box.x1 - 3


def test_large_trees_are_cut_and_say_so():
    tree = fit_tree(1000, mdl_correction=False, collapse=False, min_rows=1)
    assert tree.n_leaves_ > tree_plots.MOST_ROWS
    ax = plot_tree(tree)
    cut = [text for text in texts(ax) if text.startswith("…")]
    assert cut
    with pytest.raises(ParameterError, match=r"too many for a picture: max_depth=\d+ is the most"):
        plot_tree(tree, max_depth=1000)
    shallow = plot_tree(tree, max_depth=1)
    assert all(text.endswith("nodes") for text in texts(shallow) if text.startswith("…"))
    hidden = [int(t.split()[1].replace(",", "")) for t in texts(shallow) if t.startswith("…")]
    n_children = int(tree._tree.n_children[0])
    assert 1 + sum(hidden) + (n_children - len(hidden)) == tree.size_


def test_many_levels():
    levels = np.array([f"l{i:03d}" for i in range(300)] * 4)[:, None]
    tree = C45(pruned=False).fit(levels, np.arange(1200) % 300 % 2)
    with pytest.raises(ParameterError, match="300 branches"):
        plot_tree(tree)


def test_empty_levels_share_a_leaf():
    soil = np.repeat([f"s{i}" for i in range(12)], 20)
    x = np.where(np.arange(240) < 60, 0.0, 1.0)
    y = np.where(x == 0, np.arange(240) // 20, 3)
    noise = np.tile(["a", "b"], 120)  # which lowers the average gain, so that the ratio decides
    X = pl.DataFrame({"x": x, "soil": soil, "noise": noise})
    tree = C45(pruned=False).fit(X, y)
    shown = texts(plot_tree(tree))
    assert "9 other levels" in shown


def test_given_axes_and_single_leaf():
    _, ax = plt.subplots(figsize=(3, 2))
    assert plot_tree(fit_tree(60), ax=ax) is ax
    assert ax.texts[0].get_fontsize() < tree_plots.PRINT
    leaf = C45().fit(np.zeros((4, 1)), ["a", "a", "a", "b"])
    assert texts(plot_tree(leaf)) == ["a  4.0/1.0"]


def test_wrong_input_is_named(monkeypatch):
    with pytest.raises(NotFittedError):
        plot_tree(C45())
    with pytest.raises(ParameterError, match="not a str"):
        plot_tree("tree")
    for depth in (0, 1.5, True):
        with pytest.raises(ParameterError, match="max_depth="):
            plot_tree(fit_tree(40), max_depth=depth)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match="needs matplotlib"):
        plot_tree(fit_tree(40))
