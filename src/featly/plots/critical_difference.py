"""Demšar's diagram of mean ranks, with bars over those that do not differ significantly.

Demšar, J. (2006), Statistical comparisons of classifiers over multiple data sets, *Journal of
Machine Learning Research* 7, 1-30.
"""

from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.measures.friedman import Nemenyi
from featly.plots.canvas import (
    FAINT,
    INK,
    LARGEST,
    POINTS,
    SMALL,
    import_matplotlib,
    inches,
    new_axes,
    print_size,
    shown_names,
    text_width,
)
from featly.study.comparison import Comparison

__all__ = ["plot_critical_difference"]

MOST_METHODS = 20
WIDTH = 4.2  # of the scale; inches, as all lengths here
ROW = 0.19  # of a label
BAR = 0.085  # from one bar to the next
ABOVE = 0.62  # height of the scale and the ruler
STRONG = 3.2  # thickness of a bar in points


def plot_critical_difference(comparison: Comparison | Nemenyi, *, ax: Any = None) -> Any:
    """Draw mean ranks and join the methods that do not differ significantly.

    The best method is on the left. A thick bar joins methods whose mean ranks differ by less than
    the critical difference, which the ruler on top shows: the data do not show which of them is
    better. That is no proof that they are equal; more datasets make the difference smaller.

    Parameters
    ----------
    comparison : Comparison or Nemenyi
        From :meth:`featly.study.Results.compare` or
        :func:`featly.measures.statistics.nemenyi`, of 2 to 20 methods.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from featly.measures.statistics import nemenyi
    >>> from featly.plots import plot_critical_difference
    >>> error = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.1, 0.3, 0.2], [0.1, 0.2, 0.4]] * 3
    >>> ranks = nemenyi(error, names=["forest", "tree", "bayes"], greater_is_better=False)
    >>> ax = plot_critical_difference(ranks)  # doctest: +SKIP
    >>> [text.get_text() for text in ax.texts][-1]  # doctest: +SKIP
    'bayes  2.75'
    """
    import_matplotlib("plot_critical_difference")
    result = _nemenyi(comparison)
    names = shown_names(result.names, 26)
    order = np.argsort(result.mean_ranks, kind="stable").tolist()
    n_left = (len(order) + 1) // 2
    bars = BAR * len(result.groups) + 0.12
    size = print_size(ROW)
    label_width = text_width([f"{name}  10.00" for name in names], size) + 0.3
    needed_height = ABOVE + bars + ROW * n_left + 0.05
    if ax is None:
        ax = new_axes(
            WIDTH + 2 * label_width, needed_height, left=0.1, right=0.1, top=0.1, bottom=0.1
        )
    wide, high = inches(ax)
    scale = min(1.0, high / needed_height, wide / (1.2 * label_width + 1.6))
    ax.set_xlim(0, wide / scale)
    ax.set_ylim(high / scale, 0)
    ax.set_axis_off()
    ax.set_facecolor("none")
    left, right = label_width, wide / scale - label_width
    if right - left < 0.8:  # the names are too long for the width
        left, right = 0.35 * wide / scale, 0.65 * wide / scale
    last = max(2, len(order))

    def position_of(rank: float) -> float:
        return left + (right - left) * (rank - 1) / (last - 1)

    _draw_scale(ax, position_of, last, result.critical_difference, scale)
    for k, group in enumerate(result.groups):
        ends = [
            position_of(result.mean_ranks[group[0]]) - 0.04,
            position_of(result.mean_ranks[group[-1]]) + 0.04,
        ]
        height = ABOVE + 0.1 + BAR * k
        bar = {"color": INK, "linewidth": STRONG * scale, "solid_capstyle": "butt", "zorder": 4}
        ax.plot(ends, [height, height], label=f"group {k}", **bar)
    for k, method in enumerate(order):
        on_left = k < n_left
        row = k if on_left else len(order) - 1 - k
        height = ABOVE + bars + ROW * (row + 0.4)
        rank = result.mean_ranks[method]
        end = left - 0.08 if on_left else right + 0.08
        line = {"color": INK, "linewidth": 0.7, "zorder": 2, "solid_joinstyle": "miter"}
        ax.plot([position_of(rank), position_of(rank), end], [ABOVE, height, height], **line)
        text = f"{rank:.2f}  {names[method]}" if not on_left else f"{names[method]}  {rank:.2f}"
        side = {"ha": "right" if on_left else "left", "va": "center", "parse_math": False}
        offset = -0.05 if on_left else 0.05
        ax.text(end + offset, height, text, fontsize=size * scale, color=INK, **side)
    return ax


def _nemenyi(comparison: Any) -> Nemenyi:
    result = comparison
    if isinstance(comparison, Comparison):
        result = comparison.nemenyi
        if result is None:
            raise DataError(
                "the comparison has fewer than two methods or two blocks, so no mean ranks: "
                "compare over several datasets or sizes"
            )
    if not isinstance(result, Nemenyi):
        raise ParameterError(
            "plot_critical_difference draws a Comparison or Nemenyi, not a "
            f"{type(comparison).__name__}"
        )
    if len(result.names) > MOST_METHODS:
        raise ParameterError(f"{len(result.names)} methods: up to {MOST_METHODS} can be drawn")
    return result


def _draw_scale(ax: Any, position_of: Any, last: int, difference: float, scale: float) -> None:
    """Draw the axis of ranks, and above it the ruler of the critical difference."""
    thin = {"color": INK, "linewidth": 0.8, "zorder": 3}
    small = {"fontsize": SMALL * scale, "color": INK, "ha": "center"}
    ax.plot([position_of(1), position_of(last)], [ABOVE, ABOVE], **thin)
    unit = position_of(2) - position_of(1)
    step = max(1, int(np.ceil(1.6 * SMALL / POINTS / unit)))
    for rank in range(1, last + 1):
        ax.plot([position_of(rank)] * 2, [ABOVE - 0.05, ABOVE], **thin)
        if (rank - 1) % step == 0:
            ax.text(position_of(rank), ABOVE - 0.08, f"{rank}", va="bottom", **small)
    wide = position_of(1 + difference) - position_of(1)
    full = position_of(last) - position_of(1)
    end = position_of(1) + min(wide, full)
    ruler = {"color": INK, "linewidth": 1.2, "zorder": 3, "label": "ruler"}
    ax.plot([position_of(1), end], [0.3, 0.3], **ruler)
    for x in [position_of(1)] + ([end] if wide <= full else []):
        ax.plot([x, x], [0.26, 0.34], color=INK, linewidth=1.2)
    caption = f"critical difference {difference:.2f}"
    caption += "" if wide <= full else ", wider than the scale"
    side = small | {"ha": "left", "fontsize": LARGEST * scale}
    ax.text(position_of(1), 0.22, caption, va="bottom", **side)
    ax.plot([position_of(1), position_of(last)], [ABOVE, ABOVE], color=FAINT, linewidth=0)
