"""The effect of a prior: ranks with it and without, and quality and stability of selections."""

from typing import Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.plots.canvas import (
    FAINT,
    INK,
    LARGEST,
    SMALL,
    check_whole_number,
    colour,
    dress,
    import_matplotlib,
    inches,
    new_axes,
    print_size,
    row_height,
    shown_names,
    text_width,
    wrap_text,
)
from featly.study.prior_words import FIGURES, PriorReport

__all__ = ["plot_prior"]

SLOPES, DIFFERENCES = 1.5, 2.4  # widths; inches, as all lengths here
LOOKS = {  # colour, line, and sign of a column that came in, went out or stayed
    "came in": (colour(1), "-", "▲"),
    "went out": (colour(0), (0, (4, 1.5)), "▼"),
    "stayed": (FAINT, "-", ""),
}


def plot_prior(report: PriorReport, *, n_features: int = 30, ax: Any = None) -> Any:
    """Draw the effect of a prior: the ranks on the left, differences in quality on the right.

    Each line is a column, from its rank without the prior to its rank with it. ▲ came into the
    signature because of the prior, ▼ went out, * is favoured by it. The line across each side ends
    the signature: above it are the columns that are chosen.

    The figures on the right are differences, with minus without, at the size of the report, on
    rows that the selection never saw. An interval across the line of 0 shows no significant
    difference.

    Parameters
    ----------
    report : PriorReport
        From :func:`featly.study.prior_report`.
    n_features : int, default=30
        How many columns to show, those with the best rank in either list.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
        The two parts are axes within it.

    Returns
    -------
    ax : matplotlib Axes
        ``ax.child_axes`` are the ranks and the differences.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import SignalToNoise
    >>> from featly.plots import plot_prior
    >>> from featly.study import prior_report
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.repeat(["ill", "well"], 30)
    >>> with_prior = SignalToNoise(schema={"prior": {"x6": 10, "x7": 10}})
    >>> report = prior_report(with_prior, X, y, size=5, splits=20)  # doctest: +SKIP
    >>> ax = plot_prior(report, n_features=10)  # doctest: +SKIP
    """
    import_matplotlib("plot_prior")
    if not isinstance(report, PriorReport):
        raise ParameterError(f"plot_prior draws a PriorReport, not a {type(report).__name__}")
    rows = _select_rows(report, check_whole_number("n_features", n_features))
    names = dict(zip(rows, shown_names([report.names[j] for j in rows], 24), strict=True))
    height = row_height(len(rows))
    labels = _labels(report, rows, names)
    heads = _heads(report)
    widths = [
        max(text_width(side, print_size(height)), text_width([head], LARGEST)) + 0.12
        for side, head in zip(labels, heads, strict=True)
    ]
    figures = text_width(FIGURES) + 0.15
    space = 0.3
    if ax is None:
        needed_width = sum(widths) + SLOPES + space + figures + DIFFERENCES
        tall = max(len(rows) * height, 1.7)
        ax = new_axes(needed_width, tall, left=0.1, right=0.2, top=0.55, bottom=0.5)
    width, tall = inches(ax)
    scale = min(1.0, width / (sum(widths) + SLOPES + space + figures + DIFFERENCES))
    widths, figures = [scale * side_width for side_width in widths], scale * figures
    slopes = scale * SLOPES
    ax.set_axis_off()
    ax.set_facecolor("none")
    left = ax.inset_axes((widths[0] / width, 0.0, slopes / width, 1.0))
    _draw_slopes(left, report, rows, labels, tall / len(rows))
    start = sum(widths) + slopes + scale * space + figures
    high = min(1.0, 1.5 / tall)
    right = ax.inset_axes((start / width, 1.0 - high, 1.0 - start / width, high))
    _draw_differences(right, report)
    return ax


# ---- content -------------------------------------------------------------------------------------
def _select_rows(report: PriorReport, count: int) -> list[int]:
    best = np.minimum(report.rank_with, report.rank_without)
    order = np.lexsort([report.rank_with, best])
    return [int(j) for j in order[:count]]


def _fate(report: PriorReport, j: int) -> str:
    is_in, was_in = report.rank_with[j] <= report.size, report.rank_without[j] <= report.size
    return "came in" if is_in and not was_in else "went out" if was_in and not is_in else "stayed"


def _heads(report: PriorReport) -> tuple[str, str]:
    return "other prior" if report.other else "without prior", "with prior"


def _labels(report: PriorReport, rows: list[int], names: dict[int, str]) -> list[list[str]]:
    """Return the texts of both sides, each from the best rank on."""
    favoured = report.prior > report.prior.min()
    by_rank_without = sorted(rows, key=lambda j: report.rank_without[j])
    by_rank_with = sorted(rows, key=lambda j: report.rank_with[j])
    left = [f"{names[j]}  {report.rank_without[j]:,}" for j in by_rank_without]
    right = []
    for j in by_rank_with:
        sign = LOOKS[_fate(report, j)][2]
        star = " *" if favoured[j] else ""
        right.append(f"{report.rank_with[j]:,}  {names[j]}{star}{' ' if sign else ''}{sign}")
    return [left, right]


# ---- drawing -------------------------------------------------------------------------------------
def _draw_slopes(
    ax: Any, report: PriorReport, rows: list[int], labels: list[list[str]], height: float
) -> None:
    sides = [report.rank_without, report.rank_with]
    orders = [sorted(rows, key=ranks.__getitem__) for ranks in sides]
    positions = [{j: row for row, j in enumerate(order)} for order in orders]
    for j in rows:
        fate = _fate(report, j)
        tint, style, _ = LOOKS[fate]
        ends = [positions[0][j], positions[1][j]]
        line_width = 1.0 if fate == "stayed" else 1.6
        ax.plot([0, 1], ends, color=tint, linestyle=style, linewidth=line_width, label=fate,
                zorder=2 if fate == "stayed" else 3)  # fmt: skip
        ax.plot([0, 1], ends, "o", color=INK if fate == "stayed" else tint, markersize=2.6,
                clip_on=False, zorder=4)  # fmt: skip
    size = print_size(height)
    step = max(1, int(np.ceil(1.15 * size / 72.0 / height)))
    for side, (x, texts) in enumerate(zip((0.0, 1.0), labels, strict=True)):
        for row in range(0, len(texts), step):
            offset, ha = ((-5, 0), "right") if side == 0 else ((5, 0), "left")
            ax.annotate(
                texts[row], (x, row), offset, textcoords="offset points", ha=ha, va="center",
                fontsize=size, color=INK, parse_math=False, annotation_clip=False,
            )  # fmt: skip
        inside = sum(1 for j in rows if sides[side][j] <= report.size)
        if 0 < inside < len(rows):
            around = (-0.06, 0.22) if side == 0 else (0.78, 1.06)
            line = {"color": INK, "linewidth": 0.9, "clip_on": False, "zorder": 4}
            ax.plot(around, [inside - 0.5] * 2, **line)
    ax.set_xlim(0, 1)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_axis_off()
    ax.set_facecolor("none")
    head = {"fontsize": LARGEST, "color": INK, "va": "bottom", "xycoords": "axes fraction"}
    head |= {"textcoords": "offset points", "annotation_clip": False}
    left, right = _heads(report)
    ax.annotate(left, (0.0, 1.0), (-5, 5), ha="right", **head)
    ax.annotate(right, (1.0, 1.0), (5, 5), ha="left", **head)


def _draw_differences(ax: Any, report: PriorReport) -> None:
    figures = report.figures[report.size]
    for row, name in enumerate(FIGURES):
        value, lower, upper = figures[name].difference
        if np.isnan([value, lower, upper]).any():
            style = {"fontsize": SMALL, "color": INK, "va": "center", "ha": "center"}
            ax.text(0.0, row, "cannot be told", **style)
            continue
        is_sure = lower > 0 or upper < 0
        tint = colour(1 if value > 0 else 0) if is_sure else INK
        ax.plot([lower, upper], [row, row], color=tint, linewidth=1.5, zorder=3)
        face = tint if is_sure else "none"
        ax.plot([value], [row], "o", color=tint, markerfacecolor=face, markersize=6, zorder=4)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=2)
    dress(ax, x=f"difference with {report.level:.0%} interval", grid="x")
    ax.set_ylim(2.6, -0.6)
    ax.set_yticks(range(3), FIGURES, fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    edge = max(np.abs(ax.get_xlim()).max(), 0.01)
    ax.set_xlim(-edge, edge)
    ax.locator_params(axis="x", nbins=5)
    text = f"{report.size} columns, {report.n_splits} splits; filled: the interval leaves out 0"
    ax.annotate(
        wrap_text(text, inches(ax)[0]), (0.0, 1.0), (0, 5), xycoords="axes fraction",
        textcoords="offset points", va="bottom", fontsize=SMALL, color=INK, annotation_clip=False,
    )  # fmt: skip
