"""Two figures of the page: the rate and the agreement of halves, by number of columns."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from featly.plots.canvas import INK, colour, dress, marker, new_axes, shown_names, text_width
from featly.plots.curves import draw_end_labels, set_whole_number_ticks
from featly.reports.context import Evidence
from featly.reports.text import METRICS_IN_WORDS

__all__ = ["draw_halves", "draw_rates"]

WIDTH, HEIGHT = 4.6, 3.1
Lines = Mapping[str, list[tuple[int, float]]]


def draw_rates(evidence: Evidence, facts: dict[str, Any], most: int) -> Any:
    """Draw the rate of every method at every size; return the axes."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in facts["curves"]:
        if row["mean"] is not None:
            lines.setdefault(row["method"], []).append((row["size"], row["mean"]))
    kept = dict(list(lines.items())[:most])
    level, name = facts["headline"]["chance"], METRICS_IN_WORDS[evidence.metric]
    return _draw_lines(kept, name, level, "guessing", evidence.size)


def draw_halves(evidence: Evidence, facts: dict[str, Any]) -> Any:
    """Draw the agreement of halves at every size beside that of shuffled labels."""
    known = [row for row in facts["halves"] if row["stability"] is not None]
    lines = {
        evidence.main: [(row["size"], row["stability"]) for row in known],
        "shuffled outcomes": [
            (row["size"], row["null"]) for row in known if row["null"] is not None
        ],
    }
    return _draw_lines(lines, "agreement of halves", 0.0, "random choices", evidence.size)


def _draw_lines(lines: Lines, y_label: str, level: float | None, label: str, size: int) -> Any:
    names = shown_names(list(lines), 22)
    labels = [*names, *([label] if level is not None else [])]
    ax = new_axes(WIDTH, HEIGHT, left=0.6, right=text_width(labels) + 0.35, top=0.15)
    sizes = [k for points in lines.values() for k, _ in points]
    low, high = max(min(sizes), 0.7) / 1.15, max(*sizes, 1.0) * 1.15
    ends = []
    for position, points in enumerate(lines.values()):
        x, y = np.array(sorted(points)).T
        ax.plot(
            x, y, color=colour(position), marker=marker(position), markersize=3.6, linewidth=1.3
        )
        ends.append((float(x[-1]), float(y[-1])))
    ax.axvline(size, color=INK, linewidth=0.8, linestyle="--", zorder=1)
    tints = [colour(position) for position in range(len(lines))]
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    set_whole_number_ticks(ax.xaxis, low, high)
    if level is not None:
        ax.axhline(level, color=INK, linewidth=0.8, linestyle=":", zorder=1)
        ends.append((high, level))
        tints.append(INK)
    dress(ax, x="columns", y=y_label, grid="y")
    draw_end_labels(ax, ends, labels, tints)
    return ax
