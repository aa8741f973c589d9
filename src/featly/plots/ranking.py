"""The best columns of a ranking, with their scores and kinds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.basics.kinds import KINDS
from featly.basics.typing import FloatArray
from featly.plots.canvas import (
    HATCHES,
    INK,
    SMALL,
    check_whole_number,
    colour,
    dress,
    import_matplotlib,
    inches,
    label_rows,
    legend,
    new_axes,
    print_size,
    row_height,
    shown_names,
    text_width,
)

__all__ = ["check_names", "plot_ranking"]

WIDTH = 3.6
BAR = 0.68  # of the height of a row
MANY_TIMES = 1000.0  # ratio of scores above which the axis is logarithmic


def plot_ranking(
    ranker: Any,
    *,
    n_features: int = 30,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the scores of the best columns, best first, with the kind of each.

    Filled bars are selected, hollow ones are not. Colour and hatching show the kind of a column.
    Positive scores that span more than three orders of magnitude have a logarithmic axis and are
    points on a stem, because a bar would have no zero to begin at. An infinite score reaches the
    edge and has the sign ∞.

    A score does not show how sure a rank is. :func:`plot_frequencies` shows how often a column is
    chosen again when rows change.

    Parameters
    ----------
    ranker : Ranker or SubsetSelector
        Fitted. A method that chooses a subset is drawn with the first statistic of its ``table()``
        or, if it has none, with the order of choice.
    n_features : int, default=30
        How many columns to show; all if there are fewer.
    names : sequence of str or None, default=None
        Names of the columns, in the order of the table; None takes the table's own names.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from featly import FTest
    >>> from featly.plots import plot_ranking
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 6)), np.repeat(["ill", "well"], 20)
    >>> X[:, 4] += 2 * (y == "ill")
    >>> ax = plot_ranking(FTest(n_features_to_select=1).fit(X, y))  # doctest: +SKIP
    >>> ax.get_yticklabels()[0].get_text()  # doctest: +SKIP
    'x4'
    """
    import_matplotlib("plot_ranking")
    rows = _read_rows(ranker, check_whole_number("n_features", n_features), names)
    height = row_height(len(rows.names))
    if ax is None:
        left = text_width(rows.names, print_size(height)) + 0.12
        total_height = max(len(rows.names) * height, 0.8)
        ax = new_axes(WIDTH, total_height, left=max(left, 0.4), right=0.3, top=0.42, bottom=0.45)
    else:
        height = inches(ax)[1] / len(rows.names)
    _draw_scores(ax, rows)
    dress(ax, x=rows.measure, grid="x")
    label_rows(ax, rows.names, height)
    ax.spines["left"].set_visible(False)
    _draw_legend(ax, rows)
    return ax


@dataclass(frozen=True)
class _Rows:
    """Rows of the picture, best first."""

    names: list[str]
    scores: FloatArray
    kinds: list[str]
    selected: Any
    measure: str


# ---- content -------------------------------------------------------------------------------------
def _read_rows(ranker: Any, count: int, names: Sequence[str] | None) -> _Rows:
    if hasattr(ranker, "fit"):
        check_is_fitted(ranker)
    if not all(hasattr(ranker, part) for part in ("order_", "support_", "kinds_")):
        raise ParameterError(
            f"plot_ranking draws a fitted Ranker or SubsetSelector, not a {type(ranker).__name__}"
        )
    support = np.asarray(ranker.support_)
    order = np.asarray(ranker.order_)
    kind = type(ranker).__name__
    if hasattr(ranker, "scores_"):
        scores, measure = np.asarray(ranker.scores_, np.float64), f"score of {kind}"
    else:
        order = np.r_[order, np.flatnonzero(~support)]
        scores, measure = _subset_scores(ranker, kind)
    order = order[:count]
    column_names = check_names(ranker, names, len(support))
    return _Rows(
        shown_names([column_names[f] for f in order.tolist()]),
        scores[order],
        [ranker.kinds_[f] for f in order.tolist()],
        support[order],
        measure,
    )


def _subset_scores(ranker: Any, kind: str) -> tuple[FloatArray, str]:
    """Return a selector's statistic of every column, else the order of choice."""
    for name in getattr(ranker, "_extra", ()):
        values = np.asarray(getattr(ranker, f"{name}_"))
        if values.dtype.kind in "fiu" and name != "p_value":
            return values.astype(np.float64), f"{name.replace('_', ' ')} ({kind})"
    scores = np.zeros(len(ranker.support_))
    scores[ranker.order_] = len(ranker.order_) - np.arange(len(ranker.order_))
    return scores, f"order of choice, first = {len(ranker.order_)} ({kind})"


def check_names(ranker: Any, names: Sequence[str] | None, n_features: int) -> Sequence[str]:
    """Return the names of all columns: the given ones, or those of the fitted table."""
    if names is None:
        return list(ranker._names())
    if isinstance(names, str) or len(names) != n_features:
        raise ParameterError(f"names: give {n_features} of them, one for each column of the table")
    return list(names)


# ---- drawing -------------------------------------------------------------------------------------
def _draw_scores(ax: Any, rows: _Rows) -> None:
    finite = rows.scores[np.isfinite(rows.scores)]
    positive = finite[finite > 0]
    log = len(finite) > 1 and len(positive) == len(finite)
    log = log and bool(finite.max() > MANY_TIMES * finite.min())
    low = min(finite.min(initial=0.0), 0.0)
    high = max(finite.max(initial=0.0), 0.0)
    margin = 0.08 * (high - low) or 1.0
    if log:
        low, high = float(finite.min()) / 3.0, float(finite.max()) * 3.0
        ax.set_xscale("log")
        _use_plain_powers(ax)
    else:
        low, high = low - margin * bool(low < 0), high + margin * bool(high > 0)
    if low == high:
        high = low + 1.0
    ends = np.clip(np.nan_to_num(rows.scores, nan=0.0, posinf=np.inf, neginf=-np.inf), low, high)
    for row, (end, kind, selected) in enumerate(zip(ends, rows.kinds, rows.selected, strict=True)):
        tint = colour(KINDS.index(kind))
        if log:
            ax.plot([low, end], [row, row], color=tint, linewidth=1.0, zorder=2)
            face = tint if selected else "none"
            shape = "osD"[KINDS.index(kind)]
            ax.plot([end], [row], shape, color=tint, markerfacecolor=face, markersize=4, zorder=3)
        else:
            _draw_bar(ax, row, end, kind, bool(selected))
        score = rows.scores[row]
        if not np.isfinite(score):
            text = "no score" if np.isnan(score) else "∞" if score > 0 else "−∞"
            style = {"fontsize": SMALL, "color": INK, "va": "center", "clip_on": False}
            beside = (max(end, low if log else 0.0), row)  # right of it: names are on the left
            ax.annotate(text, beside, (3, 0), textcoords="offset points", ha="left", **style)
    ax.set_xlim(low, high)
    if not log and low < 0:
        ax.axvline(0, color=INK, linewidth=0.7, zorder=3)


def _draw_bar(ax: Any, row: int, end: float, kind: str, selected: bool) -> None:
    tint, hatch = colour(KINDS.index(kind)), HATCHES[KINDS.index(kind)]
    look = {"edgecolor": tint, "linewidth": 0.8, "zorder": 2, "height": BAR}
    ax.barh(row, end, facecolor=tint if selected else "none", **look)
    if hatch and selected:  # drawn over the fill, in a colour that shows on it
        look |= {"edgecolor": "white", "linewidth": 0.0, "zorder": 2.5}
        ax.barh(row, end, facecolor="none", hatch=hatch, **look)
    elif hatch:
        ax.barh(row, end, facecolor="none", hatch=hatch, **look | {"linewidth": 0.0})


def _use_plain_powers(ax: Any) -> None:
    """Write powers of ten as plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _draw_legend(ax: Any, rows: _Rows) -> None:
    from matplotlib.patches import Patch

    shown_kinds = [kind for kind in KINDS if kind in rows.kinds]
    handles = []
    if len(shown_kinds) > 1:
        for kind in shown_kinds:
            at = KINDS.index(kind)
            handles.append(
                Patch(label=kind, linewidth=0, facecolor=colour(at), hatch=2 * HATCHES[at],
                      edgecolor="white")
            )  # fmt: skip
    if len(set(rows.selected.tolist())) > 1:
        handles.append(Patch(facecolor=INK, edgecolor=INK, label="selected"))
        handles.append(Patch(facecolor="none", edgecolor=INK, linewidth=0.8, label="not selected"))
    if handles:
        spaces = {"handlelength": 1.2, "handleheight": 0.8, "columnspacing": 1.1}
        above = 1.0 + 0.07 / inches(ax)[1]
        placement = {"loc": "lower left", "bbox_to_anchor": (0.0, above), "ncols": len(handles)}
        legend(ax, handles, **placement, **spaces, handletextpad=0.4)
