"""A decision tree as a picture, drawn with matplotlib, which is an extra.

The root is on the left and every leaf has a row of its own, so that texts never overlap however
bushy the tree is.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.basics.params import Whole, check_value
from featly.core.trees.c45 import Tree
from featly.learners.c45 import C45
from featly.learners.tree_text import TreeWords

__all__ = ["plot_tree"]

MOST_ROWS = 100  # rows that fit on a page
MOST_DEPTH = 12  # depth of the picture if no other is given
LONGEST = 28  # letters of a name
ROW = 0.235  # height of a row; inches, as all lengths here
SPACE = 0.068  # after a text
BEND = 0.16  # length of a line beside its text
MARGIN = 0.1
PRINT, SMALLEST = 8.0, 2.0  # points
POINTS = 72.0  # in an inch
PALEST = 0.12  # colour of a leaf in which no class is more frequent than the others
NOBODY = 1e-6  # weight below which a leaf is empty


def plot_tree(tree: C45, ax: Any = None, max_depth: int | None = None) -> Any:
    """Draw a decision tree, root on the left, a row for each leaf.

    A node has the name of its column, a line the value or the levels that lead along it. A leaf has
    its class, the weight of its training rows and, after a stroke, that of the rows with another
    class; its colour stands for the class, and is stronger the purer the leaf is. Levels without a
    training row share one leaf. A part of the tree that is left out is replaced by the number of
    its nodes.

    Parameters
    ----------
    tree : C45
        Fitted.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
        Its size fits the tree. In axes that are too small for the tree, the print shrinks.
    max_depth : int or None, default=None
        How many splits to follow; None follows 12, or as many as make 100 rows.

    Returns
    -------
    ax : matplotlib Axes
        ``ax.figure.savefig("tree.png", bbox_inches="tight")`` saves the picture.

    See Also
    --------
    featly.learners.C45.export_text : The same as text, of any size.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners.c45 import C45
    >>> from featly.plots.tree_plots import plot_tree
    >>> X = np.arange(20.0)[:, None]
    >>> tree = C45().fit(X, X[:, 0] > 11)
    >>> ax = plot_tree(tree)  # doctest: +SKIP
    >>> [text.get_text() for text in ax.texts]  # doctest: +SKIP
    ['x0', '<= 11', 'False  12.0', '> 11', 'True  8.0']
    """
    if not isinstance(tree, C45):
        raise ParameterError(f"plot_tree draws a C45, not a {type(tree).__name__}")
    check_is_fitted(tree)
    picture = _picture(tree._tree, tree._tree_words(), max_depth)
    colours = _leaf_colours()
    _measure(picture)
    lefts, width = _text_columns(picture)
    height = (max(item.row for item in picture) + 1) * ROW
    if ax is None:
        import matplotlib.pyplot as plt

        size = width + 2 * MARGIN, height + 2 * MARGIN
        ax = plt.figure(figsize=size).add_axes((0, 0, 1, 1))
    box = ax.get_window_extent()
    dpi = ax.figure.get_dpi()
    scale = min(box.width / dpi / (width + 2 * MARGIN), box.height / dpi / (height + 2 * MARGIN))
    ax.set_xlim(-MARGIN, width + MARGIN)
    ax.set_ylim(height + MARGIN, -MARGIN)
    ax.set_axis_off()
    _draw(ax, picture, lefts, max(SMALLEST, PRINT * min(1.0, scale)), colours)
    return ax


@dataclass
class _Item:
    """A node in the picture, or an item that stands for several."""

    depth: int
    test: str  # on the line that leads to it
    text: str
    label: int  # its class; -1 if it has none
    purity: float
    above: "_Item | None"
    row: float = 0.0
    test_width: float = 0.0
    width: float = 0.0
    below: list["_Item"] = field(default_factory=list)


# ---- content -------------------------------------------------------------------------------------
def _picture(tree: Tree, words: TreeWords, max_depth: int | None) -> list[_Item]:
    """Return the items, parents before children, with a row for each leaf."""
    check_value("max_depth", max_depth, Whole(at_least=1), optional=True)
    deepest = int(tree.depth[-1])
    rows = _rows_by_depth(tree)
    fitting = [depth for depth in range(1, deepest + 1) if rows[depth] <= MOST_ROWS]
    if deepest and not fitting:
        raise ParameterError(
            f"the first split alone has {rows[1]} branches, too many for a picture: "
            "export_text() writes the tree as text"
        )
    if max_depth is None:
        max_depth = min(MOST_DEPTH, max(fitting, default=0))
    if rows[min(max_depth, deepest)] > MOST_ROWS:
        raise ParameterError(
            f"max_depth={max_depth} makes {rows[min(max_depth, deepest)]} rows, too many for a "
            f"picture: max_depth={max(fitting)} is the most, export_text() writes all of it"
        )
    return _place_items(_items(tree, words, max_depth))


def _rows_by_depth(tree: Tree) -> list[int]:
    """Return the number of rows of a picture that stops at each depth."""
    total = tree.classes.sum(axis=1)
    empty = (tree.feature < 0) & (total < NOBODY)
    # a node stands for its row until it is opened; then its children do, the empty ones as one
    extra_rows = np.zeros(len(total))
    inner = tree.feature >= 0
    n_empty = np.bincount(tree.parent[1:][empty[1:]], minlength=len(total))
    extra_rows[inner] = tree.n_children[inner] - np.maximum(n_empty[inner] - 1, 0) - 1
    extra_by_depth = np.bincount(tree.depth, extra_rows)
    return [1, *(1 + np.cumsum(extra_by_depth)[:-1]).astype(int).tolist()]


def _items(tree: Tree, words: TreeWords, max_depth: int) -> list[_Item]:
    total = tree.classes.sum(axis=1)
    sizes = np.ones(len(total), np.int64)
    for node in range(len(total) - 1, 0, -1):
        sizes[tree.parent[node]] += sizes[node]
    items: list[_Item] = []
    waiting: list[tuple[int, str, _Item | None]] = [(0, "", None)]
    while waiting:
        node, test, above = waiting.pop()
        depth = int(tree.depth[node])
        if tree.feature[node] < 0:
            label, rows, errors, purity = words.leaf(tree, node)
            text = f"{_shorten(str(words.classes[label]))}  {_format_weights(rows, errors)}"
            item = _Item(depth, test, text, label, purity, above)
        elif depth >= max_depth:
            item = _Item(depth, test, f"… {sizes[node]:,} nodes", -1, 0.0, above)
        else:
            column = int(tree.feature[node])
            item = _Item(depth, test, _shorten(words.names[column]), -1, 0.0, above)
            waiting += _branches(tree, words, node, total, item)[::-1]
        items.append(item)
        if above is not None:
            above.below.append(item)
    return items


def _branches(
    tree: Tree, words: TreeWords, node: int, total: Any, item: _Item
) -> list[tuple[int, str, _Item | None]]:
    """Return children with their tests; levels without a row are one."""
    children = range(int(tree.child[node]), int(tree.child[node] + tree.n_children[node]))
    name = words.names[int(tree.feature[node])]
    empty = [child for child in children if total[child] < NOBODY]
    result: list[tuple[int, str, _Item | None]] = []
    for branch, child in enumerate(children):
        test = words.branch(tree, node, branch, digits=6).removeprefix(f"{name} ")
        if len(empty) < 2 or child not in empty:
            result.append((child, _shorten(test), item))
    if len(empty) > 1:
        result.append((empty[0], f"{len(empty)} other levels", item))
    return result


def _place_items(items: list[_Item]) -> list[_Item]:
    """Give leaves rows from the top, and every node the middle of its children."""
    row = 0
    for item in items:
        if not item.below:
            item.row = float(row)
            row += 1
    for item in reversed(items):
        if item.below:
            item.row = (item.below[0].row + item.below[-1].row) / 2.0
    return items


def _text_columns(items: list[_Item]) -> tuple[list[float], float]:
    """Return the left ends of the texts of each depth, and the width of all."""
    depths = 1 + max(item.depth for item in items)
    test, text = [0.0] * depths, [0.0] * depths
    for item in items:
        test[item.depth] = max(test[item.depth], item.test_width)
        text[item.depth] = max(text[item.depth], item.width)
    lefts, left = [], 0.0
    for depth in range(depths):
        left += test[depth] + (2 * BEND if depth else 0.0)
        lefts.append(left)
        left += text[depth] + SPACE
    return lefts, left


def _format_weights(rows: float, errors: float) -> str:
    return f"{rows:,.1f}/{errors:,.1f}" if errors > NOBODY else f"{rows:,.1f}"


def _shorten(text: str) -> str:
    """Shorten a long text in the middle."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 12]}…{text[-11:]}"


# ---- drawing -------------------------------------------------------------------------------------
def _leaf_colours() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ParameterError("plot_tree needs matplotlib: pip install 'featly[report]'") from None
    return matplotlib.colormaps["tab10"]


def _measure(items: list[_Item]) -> None:
    """Measure widths of the texts: letters are not equally wide."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    paths = TextToPath()
    plain, bold = FontProperties(size=PRINT), FontProperties(size=PRINT, weight="bold")

    def width(text: str, font: Any) -> float:
        return float(paths.get_text_width_height_descent(text, font, False)[0]) / POINTS

    for item in items:
        item.test_width = width(item.test, plain)
        item.width = width(item.text, bold if item.below else plain)


def _draw(ax: Any, items: list[_Item], lefts: list[float], size: float, colours: Any) -> None:
    line = {"color": "0.6", "linewidth": 0.7 * size / PRINT, "zorder": 1}
    text_style = {"va": "center", "fontsize": size, "zorder": 3, "parse_math": False}
    bends = list(lefts)  # lines of one depth bend where its longest name ends
    for item in items:
        if item.below:
            end = lefts[item.depth] + item.width + SPACE
            bends[item.depth] = max(bends[item.depth], end)
    for item in items:
        left, height = lefts[item.depth], (item.row + 0.5) * ROW
        if item.above is not None:
            bend = bends[item.above.depth]
            above = (item.above.row + 0.5) * ROW
            end = lefts[item.above.depth] + item.above.width
            ax.plot([end, bend, bend, left - 0.03], [above, above, height, height], **line)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            middle = (bend + left) / 2.0
            ax.text(middle, height, item.test, ha="center", color="0.35", bbox=box, **text_style)
        if item.label >= 0:
            colour = np.array(colours(item.label % 10)[:3])
            strength = PALEST + (0.6 - PALEST) * item.purity**2
            box = {"facecolor": tuple(1.0 - strength * (1.0 - colour)), "edgecolor": "none"}
        else:
            left_out = item.text.startswith("…")
            box = {"facecolor": "0.93" if left_out else "white", "edgecolor": "none"}
        weight = "bold" if item.below else "normal"
        ax.text(
            left, height, item.text, ha="left", weight=weight, bbox=box | {"pad": 1.6}, **text_style
        )
