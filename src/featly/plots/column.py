"""One column against the class: boxes for numbers, a mosaic for levels."""

from typing import Any

import numpy as np

from featly.basics.privacy import QUARTILE_ROWS, bound_present, hide_cells, private_percentiles
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.plots.canvas import (
    FAINT,
    HATCHES,
    INK,
    ON_DARK,
    ON_LIGHT,
    POINTS,
    SMALL,
    check_bool,
    colour,
    dress,
    import_matplotlib,
    inches,
    label_rows,
    legend,
    marker,
    new_axes,
    note,
    note_height,
    print_size,
    shown_names,
    spread,
    text_width,
)
from featly.plots.columns import Column, jitter, open_with_classes

__all__ = ["plot_column"]

WIDTH = 3.4
ROW = 0.42  # height of a class; inches, as all lengths here
FEWEST_FOR_LINES = 10  # rows of a class: fewer points are seen one by one
MOST_POINTS = 800  # of a class: more cannot be told apart
TWO_LINES = 6  # classes up to which a name and its numbers have a line each
SEEN_ROW = 0.16  # least height of a class in a mosaic, as a share of that of the largest


def plot_column(
    X: Any,
    y: Any,
    feature: str | int,
    *,
    schema: Any = None,
    individuals: bool = True,
    ax: Any = None,
) -> Any:
    """Draw one column against the class.

    Numbers: a box for each class, with the median, the quartiles, lines to the 5% and 95%
    quantiles, and the values as points. Levels: a mosaic with a bar for each class, as thick as the
    class is large, cut into the shares of the levels; the numbers are counts of rows.

    Parameters
    ----------
    X : data frame, array or sparse matrix
    y : sequence
        The class of every row.
    feature : str or int
        The column, by name or position.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
    individuals : bool, default=True
        False draws no single row: boxes without points and without extremes, their figures rounded;
        lines to the 5% and 95% quantiles only for classes of 100 rows or more; classes with fewer
        than 20 values are left out, with a note. Rare levels and classes are pooled, and counts are
        hidden wherever one below five could be worked out: see :mod:`featly.basics.privacy`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from featly.datasets import make_cohort
    >>> from featly.plots import plot_column
    >>> cohort = make_cohort(n_patients=60, n_genes=40)
    >>> ax = plot_column(cohort.X, cohort.y, "crp")  # doctest: +SKIP
    >>> ax.get_xlabel()  # doctest: +SKIP
    'crp'
    """
    import_matplotlib("plot_column")
    individuals = check_bool("individuals", individuals)
    (column,), codes, classes = open_with_classes(
        X, [feature], y, schema, "plot_column", individuals=individuals
    )
    if column.levels is None:
        return _draw_boxes(column, codes, classes, individuals, ax)
    return _draw_mosaic(column, codes, classes, individuals, ax)


# ---- numbers -------------------------------------------------------------------------------------
def _draw_boxes(
    column: Column, codes: IntArray, classes: list[str], individuals: bool, ax: Any
) -> Any:
    labels = _class_labels(column, codes, classes, individuals)
    groups = [column.values[(codes == k) & column.present] for k in range(len(classes))]
    known = [
        len(values) if individuals else bound_present(int((codes == k).sum()), len(values))
        for k, values in enumerate(groups)
    ]
    hidden = [k for k, n in enumerate(known) if not individuals and n < QUARTILE_ROWS]
    note_text = _note_text(individuals, len(hidden), column)
    if individuals and max(map(len, groups)) > MOST_POINTS:
        note_text = "; ".join(
            [*filter(None, [note_text]), f"points: {MOST_POINTS} of a class at most"]
        )
    height = ROW if len(classes) <= TWO_LINES else 0.26
    if ax is None:
        left = text_width(labels, print_size(height / 2 if len(classes) <= TWO_LINES else height))
        top = note_height(note_text, WIDTH)
        total_height = max(height * len(classes), 0.5)
        ax = new_axes(WIDTH, total_height, left=left + 0.15, right=0.2, top=top, bottom=0.45)
    else:
        height = inches(ax)[1] / len(classes)
    for k, values in enumerate(groups):
        if len(values) and k not in hidden:
            _draw_box(ax, k, values, None if individuals else known[k])
    dress(ax, x=shown_names([column.name])[0], grid="x")
    label_rows(ax, labels, height)
    if len(classes) <= TWO_LINES:
        for text in ax.get_yticklabels():
            text.set_fontsize(print_size(height / 2))
    ax.spines["left"].set_visible(False)
    _set_value_limits(ax, column, individuals)
    if note_text:
        note(ax, note_text)
    return ax


def _note_text(individuals: bool, n_hidden: int, column: Column) -> str:
    parts = [] if individuals else ["no single rows: figures rounded, small counts hidden"]
    if n_hidden:
        classes_text = "1 class" if n_hidden == 1 else f"{n_hidden} classes"
        parts.append(f"left out: {classes_text} with fewer than {QUARTILE_ROWS} values")
    if not column.present.any():
        parts.append("no row has a value")
    return "; ".join(parts)


def _class_labels(
    column: Column, codes: IntArray, classes: list[str], individuals: bool
) -> list[str]:
    """Return class, number of rows and of missing values; on one line for many classes."""
    counts = np.array([
        [(codes[~column.present] == k).sum(), (codes[column.present] == k).sum()]
        for k in range(len(classes))
    ])  # fmt: skip
    hidden = np.zeros(len(classes), bool)
    if not individuals:
        published = column.published
        hidden = hide_cells(counts)[:, 0] if published is None else published.hidden[:, 0]
    labels = []
    for name, (n_missing, n_present), is_hidden in zip(
        classes, counts.tolist(), hidden, strict=True
    ):
        text = f"{name}\n" if len(classes) <= TWO_LINES else f"{name}, "
        missing = f", {n_missing:,} missing" if n_missing else ""
        labels.append(text + ("n is hidden" if is_hidden else f"n = {n_present:,}{missing}"))
    return labels


def _draw_box(ax: Any, row: int, values: FloatArray, n_known: int | None) -> None:
    """Draw the values of a class; without single rows if `n_known` tells how many are known."""
    tint = colour(row)
    marks = [5, 25, 50, 75, 95]
    cuts: list[float | None] = np.percentile(values, marks).tolist()
    if n_known is not None:
        cuts = private_percentiles(values, marks, n_known)
    low, first, middle, third, high = cuts
    half = 0.26
    if n_known is None:
        drawn_values = values
        if len(values) > MOST_POINTS:  # evenly among the sorted values, so that the shape stays
            drawn_values = np.sort(values)[np.linspace(0, len(values) - 1, MOST_POINTS).astype(int)]
        look = {"color": tint, "markersize": 2.8, "alpha": 0.55, "zorder": 2}
        ax.plot(
            drawn_values, row + 0.66 * jitter(drawn_values), marker(row), markeredgewidth=0, **look
        )
    if n_known is not None or len(values) >= FEWEST_FOR_LINES:
        for edge, quartile in ((low, first), (high, third)):
            if edge is not None and quartile is not None:
                ax.plot([quartile, edge], [row, row], color=INK, linewidth=0.9, zorder=3)
    if len(values) >= 4 and first is not None and third is not None:
        box = [first, third, third, first, first]
        sides = [row - half, row - half, row + half, row + half, row - half]
        if n_known is not None:
            ax.fill(box, sides, color=tint, alpha=0.35, linewidth=0, zorder=2)
        ax.plot(box, sides, color=INK, linewidth=0.9, zorder=3)
    if middle is not None:
        line = {"color": INK, "linewidth": 2.0, "zorder": 4, "solid_capstyle": "butt"}
        ax.plot([middle, middle], [row - half, row + half], **line)


def _set_value_limits(ax: Any, column: Column, individuals: bool) -> None:
    """Set the axis to the range of the values, or to that of the lines if there are no points."""
    low, high = 0.0, 1.0
    if individuals and column.present.any():
        low, high = float(np.nanmin(column.values)), float(np.nanmax(column.values))
    elif not individuals and ax.lines:
        drawn_values = np.concatenate([line.get_xdata() for line in ax.lines])
        low, high = float(np.min(drawn_values)), float(np.max(drawn_values))
    margin = 0.04 * (high - low) or max(abs(low) * 0.05, 0.5)
    ax.set_xlim(low - margin, high + margin)


# ---- levels --------------------------------------------------------------------------------------
def _draw_mosaic(
    column: Column, codes: IntArray, classes: list[str], individuals: bool, ax: Any
) -> Any:
    levels = list(column.levels or [])
    counts, hidden, totals = _mosaic_counts(column, codes, len(classes))
    labels = _class_labels(column, codes, classes, individuals)
    note_text = _note_text(individuals, 0, column)
    lows, highs = _bar_ends(np.bincount(codes, minlength=len(classes)))
    total = highs[-1]
    line = (2.7 if len(classes) <= TWO_LINES else 1.4) * SMALL / POINTS
    if ax is None:
        total_height = max(len(classes) * max(line, 0.3), 0.9, 0.165 * len(levels))
        left, right = text_width(labels) + 0.25, text_width(levels) + 0.5
        top = note_height(note_text, WIDTH)
        ax = new_axes(WIDTH, total_height, left=left, right=right, top=top, bottom=0.45)
    tints = _tints(column.kind, len(levels))
    width, height = inches(ax)
    for k in np.flatnonzero(totals > 0).tolist():
        start = 0.0
        for level in np.flatnonzero(~hidden[k] & (counts[k] > 0)).tolist():
            share = float(counts[k, level] / totals[k])
            cell_size = share * width, (highs[k] - lows[k]) / total * height
            text = f"{counts[k, level]:,}"
            _draw_cell(
                ax, (start, share), (lows[k], highs[k]), tints[level], level, text, cell_size
            )
            start += share
        if start < 1.0 - 1e-9:
            _draw_rest(ax, (start, 1.0 - start), (lows[k], highs[k]))
    dress(ax, x=f"share of the rows by {shown_names([column.name])[0]}")
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.set_ylim(total, 0.0)
    ax.spines["left"].set_visible(False)
    _name_rows(ax, labels, (lows + highs) / 2 / total, total, line / height)
    _draw_level_legend(ax, levels, tints)
    if note_text:
        note(ax, note_text)
    return ax


def _bar_ends(sizes: Any) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the bars: as thick as classes are large, but never too thin."""
    thick = np.maximum(sizes / sizes.max(), SEEN_ROW)
    ends = np.cumsum(thick + 0.08)
    return ends - thick - 0.08, ends - 0.08


def _mosaic_counts(
    column: Column, codes: IntArray, n_classes: int
) -> tuple[IntArray, BoolArray, IntArray]:
    """Return counts of levels, which are hidden, and what the shares of each class are of.

    That is the rows with a value; where their number is hidden, all rows of the class.
    """
    if column.published is not None:
        published = column.published
        return published.counts[:, 1:], published.hidden[:, 1:], published.totals
    counts = np.zeros((n_classes, len(column.levels or [])), np.int64)
    present = column.present
    np.add.at(counts, (codes[present], column.values[present].astype(int)), 1)
    return counts, np.zeros(counts.shape, bool), counts.sum(axis=1)


def _tints(kind: str, count: int) -> list[Any]:
    """Return colours of levels: ordered ones from light to dark, else those of the palette."""
    import matplotlib

    if kind == "ordinal":
        ramp = matplotlib.colormaps["cividis_r"]
        return [ramp(0.08 + 0.84 * k / max(count - 1, 1)) for k in range(count)]
    return [colour(k) for k in range(count)]


def _draw_cell(
    ax: Any, x: tuple[float, float], y: tuple[float, float], tint: Any, level: int, text: str,
    size: tuple[float, float],
) -> None:  # fmt: skip
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    corner_and_size = (x[0], y[0]), x[1], y[1] - y[0]
    ax.add_patch(
        Rectangle(*corner_and_size, facecolor=tint, edgecolor="white", linewidth=0.8, zorder=2)
    )
    hatch = HATCHES[level % len(HATCHES)]
    if hatch:
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": (1, 1, 1, 0.45), "linewidth": 0.0}
        ax.add_patch(Rectangle(*corner_and_size, hatch=hatch, zorder=3, **look))
    if text_width([text]) + 0.06 < size[0] and size[1] > 1.25 * SMALL / POINTS:
        red, green, blue = to_rgb(tint)
        light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
        ax.text(
            x[0] + x[1] / 2, (y[0] + y[1]) / 2, text, ha="center", va="center", fontsize=SMALL,
            color=ON_LIGHT if light else ON_DARK, zorder=5,
            bbox={"facecolor": tint, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip


def _draw_rest(ax: Any, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Draw the rows of a class whose levels are hidden, and missing values where these are."""
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"facecolor": "none", "edgecolor": FAINT, "linestyle": (0, (3, 2))}
    ax.add_patch(Rectangle((x[0], y[0]), x[1], y[1] - y[0], zorder=2, linewidth=0.8, **look))


def _name_rows(
    ax: Any, labels: list[str], middles: FloatArray, total: float, distance: float
) -> None:
    """Write classes beside their bars, moved apart where bars are thin."""
    ax.set_yticks([])
    width, _ = inches(ax)
    at = spread(1.0 - middles, distance, 0.0, 1.0)
    for label, middle, level in zip(labels, middles, at, strict=True):
        is_moved = abs(1.0 - middle - level) > 0.25 * distance
        line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0}
        ax.annotate(
            label, (0.0, middle * total), (-0.14 / width, level), xycoords="data",
            textcoords="axes fraction", ha="right", va="center", fontsize=SMALL, color=INK,
            parse_math=False, annotation_clip=False, multialignment="right",
            arrowprops=line | {"relpos": (1, 0.5)} if is_moved else None,
        )  # fmt: skip


def _draw_level_legend(ax: Any, levels: list[str], tints: list[Any]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=tint, hatch=HATCHES[k % len(HATCHES)], edgecolor="white", linewidth=0,
              label=level)
        for k, (level, tint) in enumerate(zip(levels, tints, strict=True))
    ]  # fmt: skip
    if handles:
        placement = {"loc": "upper left", "bbox_to_anchor": (1.03, 1.0)}
        legend(ax, handles, **placement, handlelength=1.3, handleheight=1.0, labelspacing=0.35)
