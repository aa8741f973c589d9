"""The figures of a report, and matplotlib's drawings as parts of a page."""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from featly.basics.typing import FloatArray
from featly.diagnostics import associations
from featly.reports.context import Evidence
from featly.reports.curves import draw_halves, draw_rates
from featly.table.frames import is_frame, take_columns

__all__ = ["Figure", "figures", "inline_svg"]

MOST_IN_MAP, LEAST_IN_MAP = 60, 3  # columns of the redundancy map
LISTED = 30  # columns of a figure with a row for each
MOST, MOST_SETS = 20, 12  # methods in one picture, selections in one
LARGE, LEAST = 1.65, 1.3  # pixels for a point on a wide screen and on a narrow one


@dataclass(frozen=True)
class Figure:
    """A picture with its title and explanation.

    Attributes
    ----------
    name : str
        Name of the figure and of its file.
    title, reading : str
        Title, and how to read the figure.
    svg : bytes
        The SVG file that matplotlib writes.
    part : str
        The part of the report that it belongs to.
    """

    name: str
    title: str
    reading: str
    svg: bytes
    part: str


def figures(evidence: Evidence, facts: dict[str, Any]) -> list[Figure]:
    """Draw all figures that make sense for these facts."""
    import matplotlib
    import matplotlib.pyplot as plt

    drawn_figures = []
    # text stays text: small, searched by readers, spoken by screen readers
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "featly"}
    with matplotlib.rc_context(settings), plt.ioff():
        for name, title, reading, part, draw in _drawings(evidence, facts):
            open_before = set(plt.get_fignums())
            try:
                ax = draw()
                written = io.BytesIO()
                ax.figure.savefig(
                    written,
                    format="svg",
                    bbox_inches="tight",
                    transparent=True,
                    metadata={"Date": None},
                )
                drawn_figures.append(Figure(name, title, reading, written.getvalue(), part))
            finally:
                for number in set(plt.get_fignums()) - open_before:
                    plt.close(number)
    return drawn_figures


def _drawings(
    evidence: Evidence, facts: dict[str, Any]
) -> Iterator[tuple[str, str, str, str, Callable[[], Any]]]:
    """Yield name, title, how to read it, part, and the function that draws it."""
    from featly import plots
    from featly.plots.path import has_path

    results, main, fitted = evidence.results, evidence.main, evidence.fitted_main
    selection: dict[str, Any] = {"learner": evidence.learner}
    ranks_all = all(len(order) == evidence.data.n_features for order in evidence.orders)
    size = evidence.size if ranks_all else None  # a method that chooses the size itself takes None
    of_folds = facts["protocol"]["repeats"] > 0
    predicted_by = "models that did not see them" if of_folds else "models of the random splits"
    yield (
        "performance",
        "How well, by number of columns",
        f"Of rows predicted by {predicted_by}. Higher is better, unless it is an error; the broken "
        "line is the chosen size, the dotted line is guessing. The best point of a curve is too "
        "good, since chance helped to choose it; the figure above is without that.",
        "certainty",
        lambda: draw_rates(evidence, facts, MOST),
    )
    if any(row["stability"] is not None for row in facts["halves"]):
        yield (
            "halves",
            "Do two halves of the rows choose the same, by number of columns",
            "1: both halves choose the same columns. 0: they agree as random choices do. With "
            "shuffled outcomes there is nothing to agree on.",
            "certainty",
            lambda: draw_halves(evidence, facts),
        )
    yield (
        "frequencies",
        "Which columns the splits choose",
        "The share of the splits in which a column is among the chosen"
        f"{f' (the best {size:,})' if size else ''}. The dotted line is what random choices would "
        "give. Splits share most of their rows: columns of noise may be chosen often, too.",
        "certainty",
        lambda: plots.plot_frequencies(
            results, size=size, method=main, n_features=LISTED, **selection
        ),
    )
    # pictures of scores are finer than any rounding
    draws_scores = evidence.individuals
    if draws_scores and hasattr(fitted, "table"):  # a method of featly
        yield (
            "ranking",
            f"The ranking of {main}",
            "The first columns by the method's own score, on all rows. A score is no probability.",
            "ranking",
            lambda: plots.plot_ranking(fitted, n_features=LISTED, names=evidence.names),
        )
    if draws_scores and has_path(fitted):
        yield (
            "path",
            f"The path of {main}",
            "What the method saw on its way from all columns to one.",
            "ranking",
            lambda: plots.plot_path(fitted, names=evidence.names),
        )
    yield from _signature_drawings(evidence, facts)
    if len(facts["selections"]) > 1:
        yield (
            "overlap",
            "Do the methods agree?",
            "Every column of dots is a group of methods; the bar above it counts the columns that "
            "those methods select and no other does.",
            "comparison",
            lambda: plots.plot_overlap(dict(list(facts["selections"].items())[:MOST_SETS])),
        )
    by_pairs = hasattr(fitted, "positions_") and hasattr(fitted, "problems_")
    if by_pairs and not evidence.pools_classes:
        yield (
            "pairs",
            "Which column tells which classes apart",
            "A row a column, a column a pair of classes: the darker, the higher it ranks there.",
            "ranking",
            lambda: plots.plot_pairs(fitted, n_features=LISTED, names=evidence.names),
        )
    if evidence.prior is not None:
        yield (
            "prior",
            "What the prior changed",
            "Left: ranks without and with the prior. Right: differences, with minus without; an "
            "interval across 0 shows no significant difference.",
            "signature",
            lambda: plots.plot_prior(evidence.prior, n_features=LISTED),
        )
    if evidence.schema.costs:
        costs: dict[str | int, float] = dict(zip(evidence.names, _costs(evidence), strict=True))
        yield (
            "costs",
            "What the columns cost",
            "A point for every method and size; no point lies below and left of the line.",
            "comparison",
            lambda: plots.plot_cost_front(results, costs, metric="error", **selection),
        )


def _costs(evidence: Evidence) -> list[float]:
    schema = evidence.data.schema
    costs = np.zeros(evidence.data.n_features)
    for column, cost in (schema.costs if schema is not None else {}).items():
        costs[int(column)] = cost
    return [float(cost) for cost in costs]


def _signature_drawings(
    evidence: Evidence, facts: dict[str, Any]
) -> Iterator[tuple[str, str, str, str, Callable[[], Any]]]:
    from featly import plots

    chosen = [row["position"] for row in facts["features"] if row["selected"]]
    # two columns of levels would be one more table of counts, which those above help to solve
    drawn = [c for c in chosen if evidence.individuals or _is_number(facts, c)][:2]
    if len(drawn) == 2:
        first, second = (evidence.names[c] for c in drawn)
        of_numbers = "" if evidence.individuals else " of numbers"
        points = "A point a row" if evidence.individuals else "Summaries of each class"
        yield (
            "scatter",
            f"The two best{of_numbers}: {_cut_name(first)} and {_cut_name(second)}",
            f"{points}; colour and shape are the class. Two columns are rarely the whole story.",
            "signature",
            lambda: plots.plot_scatter(
                *_name_columns(evidence, drawn), individuals=evidence.individuals
            ),
        )
    if len(chosen) >= LEAST_IN_MAP:
        columns_text = (
            "selected columns" if len(chosen) <= MOST_IN_MAP else f"{MOST_IN_MAP} best columns"
        )
        chosen = chosen[:MOST_IN_MAP]
        yield (
            "redundancy",
            f"What the {columns_text} have in common",
            "0: two columns are not associated. 1: each determines the other. Similar columns are "
            "side by side.",
            "signature",
            lambda: plots.plot_redundancy(
                _round_associations(
                    associations(
                        _take_columns(evidence, chosen), schema=evidence.kinds_of_data(chosen)
                    ),
                    evidence,
                ),
                [evidence.names[c] for c in chosen],
                threshold=0.7,
            ),
        )


def _is_number(facts: dict[str, Any], position: int) -> bool:
    """Return whether the facts of a column of the signature are of numbers."""
    row = next(row for row in facts["features"] if row["position"] == position)
    return not any("levels" in group for group in row["classes"])


def _round_associations(values: FloatArray, evidence: Evidence) -> FloatArray:
    return values if evidence.individuals else np.round(values, 1)


def _cut_name(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:38]}…"


def _take_columns(evidence: Evidence, positions: list[int]) -> Any:
    X = evidence.data.X
    if is_frame(X):
        return take_columns(X, positions)
    part = X[:, positions]
    return part.toarray() if hasattr(part, "toarray") else part


def _name_columns(evidence: Evidence, positions: list[int]) -> tuple[Any, Any, list[str]]:
    """Return some columns under the names of the report, the classes, and those names."""
    import polars as pl

    names = [evidence.names[c] for c in positions]
    part = _take_columns(evidence, positions)
    if is_frame(part):
        frame = pl.DataFrame([part.to_series(k).alias(name) for k, name in enumerate(names)])
    else:
        frame = pl.DataFrame(
            [pl.Series(name, np.ascontiguousarray(part[:, k])) for k, name in enumerate(names)]
        )
    if evidence.individuals:
        return frame, evidence.data.y, names
    codes, classes = evidence.shown_classes
    return frame, np.array(classes, dtype=object)[codes], names


# ---- SVG in a page -------------------------------------------------------------------------------
def inline_svg(figure: Figure, label: str) -> str:
    """Return a drawing as part of a page, in the page's colours and with unique identifiers.

    Drawings of matplotlib use the same identifiers: on one page, the second would show parts of the
    first.
    """
    from featly.plots.canvas import FAINT, INK

    text = figure.svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    prefix = f"{figure.name}-"
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    text = re.sub(r'(xlink:href="#|href="#|url\(#)(?=[^"\)])', rf"\g<1>{prefix}", text)
    text = re.sub(re.escape(INK), "currentColor", text, flags=re.IGNORECASE)
    text = re.sub(re.escape(FAINT), "var(--faint)", text, flags=re.IGNORECASE)
    text = re.sub(r"font: ([^;\"]*?)(\d+(?:\.\d+)?px) [^;\"]*", r"font: \1\2 var(--sans)", text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", text)
    text = re.sub(r"(\.\d\d)\d+", r"\1", text)  # a hundredth of a point is finer than any screen
    width = re.search(r'width="([\d.]+)pt"', text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    points = float(width[1]) if width else 400.0
    # print of 7 points can be read on paper, but has to be larger on a screen
    size = f"width:{points * LARGE:.0f}px;min-width:{points * LEAST:.0f}px"
    attributes = f'role="img" aria-label="{escape(label, quote=True)}" style="{size}"'
    text = text.replace("<svg", f"<svg {attributes}", 1)
    return re.sub(r"\n\s*", "\n", text)
