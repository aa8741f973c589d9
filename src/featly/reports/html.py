"""The page: a filled template with all pictures in it, kept small."""

import json
import math
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.kinds import KINDS
from featly.plots.table_columns import read_columns
from featly.reports import text as words
from featly.reports.columns import number
from featly.reports.context import Evidence
from featly.reports.figures import Figure, inline_svg
from featly.reports.signature import shown_scores
from featly.reports.sparklines import miniature

if TYPE_CHECKING:
    import polars as pl

__all__ = ["page", "whole_ranking"]

POINT_BYTES, CLASS_BYTES = 10, 90  # for a point in a picture, for the text on a class
MOST_POINT_BYTES = 250_000  # for all points
MOST_PICTURE_BYTES = 500_000  # for all pictures of single columns without points
LONGEST = 60  # letters of a name in running text
MOST_LOOKUP_BYTES = 300_000  # for the names that can be looked up


def page(evidence: Evidence, facts: dict[str, Any], drawn: list[Figure]) -> str:
    """Return the page as text."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(_read_page_file("page.html.j2"))
    figures = {figure.name: figure for figure in drawn}

    def show(name: str) -> str:
        if name not in figures:
            return ""
        figure = figures[name]
        caption = Markup("<b>{}</b> {}").format(figure.title, figure.reading)
        drawing = Markup(inline_svg(figure, figure.title))
        return Markup(
            '<figure><figcaption>{}</figcaption><div class="drawing" tabindex="0" role="region" '
            'aria-label="{}">{}</div></figure>'
        ).format(caption, figure.title, drawing)

    cards, smaller = _cards(evidence, facts)
    tests = dict.fromkeys(row["test"] for row in facts["features"] if row["test"])
    metric = facts["protocol"]["metric"]
    return template.render(
        facts=facts,
        spoken_findings=words.spoken_findings(facts),
        style=Markup(_read_page_file("style.css")),
        script=Markup(_read_page_file("page.js")),
        done=words.describe_protocol(facts),
        evidence=words.evidence_sentence(facts),
        drawn=show,
        cards=cards,
        smaller=smaller,
        lookup=Markup(_lookup(evidence)),
        metric=words.METRICS_IN_WORDS[metric],
        explained=words.EXPLAINED[metric],
        tests=", ".join(tests) or "none was possible here",
        compared_metric=words.METRICS_IN_WORDS[facts["comparison"]["metric"]],
        not_compared=words.not_compared(facts),
        seconds=_format_duration(facts["seconds"]),
        counted=words.amount,
        cut=lambda name: name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…",
        two=lambda value: "–" if value is None else f"{value:.2f}",
        interval=lambda low, high: "–" if low is None else f"{low:.2f} to {high:.2f}",
        percent=lambda value: f"{value:.0%}",
        value=lambda value=None: "–" if value is None else number(value),
        small=_format_p,
        describe_test=words.describe_test,
        exact=lambda value: "" if value is None or not math.isfinite(value) else f"{value:.6g}",
    )


def _read_page_file(name: str) -> str:
    return resources.files("featly.reports").joinpath("page", name).read_text("utf-8")


def _cards(evidence: Evidence, facts: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Return the signature's columns with pictures, and a remark on pictures left out."""
    from markupsafe import Markup

    chosen = [row for row in facts["features"] if row["selected"]]
    columns = read_columns(
        evidence.table, [row["position"] for row in chosen], evidence.schema, evidence.names
    )
    codes, classes = evidence.shown_classes
    most_dotted = MOST_POINT_BYTES // max(1, POINT_BYTES * evidence.data.n_rows)
    cards, n_dotted, n_plain, bytes_left = [], 0, 0, MOST_PICTURE_BYTES
    for row, column in zip(chosen, columns, strict=True):
        points = evidence.individuals and n_dotted < most_dotted and column.numbers is not None
        picture = ""
        if bytes_left > 0:
            picture = miniature(
                column, classes, codes, points=points, individuals=evidence.individuals
            )
            n_dotted += points
            n_plain += not points and column.numbers is not None
        bytes_left -= len(picture) - points * POINT_BYTES * evidence.data.n_rows
        bytes_left -= CLASS_BYTES * len(evidence.classes)
        cards.append(row | {"picture": Markup(picture)})
    remarks = []
    if evidence.individuals and n_plain and not n_dotted:
        remarks.append("Pictures of numbers show boxes, and no single rows.")
    elif evidence.individuals and n_plain:
        remarks.append(
            f"The first {n_dotted} pictures of numbers show every row, the others boxes alone."
        )
    n_without = sum(not card["picture"] for card in cards)
    if n_without:
        remarks.append(f"The last {n_without} have no picture.")
    return cards, f"To keep this page small: {' '.join(remarks)}" if remarks else ""


def _format_p(value: float | None) -> str:
    """Return a probability as text."""
    if value is None:
        return "–"
    if value < 1e-300:
        return "<1e-300"
    return f"{value:.2g}" if value >= 1e-3 else f"{value:.0e}"


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.1f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _lookup(evidence: Evidence) -> str:
    """Return JSON of names by rank, as many as fit, and how often chosen; "" if all are shown."""
    order = evidence.order
    if len(order) <= evidence.n_shown:
        return ""
    names, bytes_left = [], MOST_LOOKUP_BYTES
    for column in order.tolist():
        bytes_left -= len(json.dumps(evidence.names[column]).encode()) + 3
        if bytes_left < 0:
            break
        names.append(evidence.names[column])
    counts = evidence.times_chosen[order[: len(names)]]
    document = {
        "names": names,
        "chosen": {int(k): int(counts[k]) for k in np.flatnonzero(counts)},
        "splits": len(evidence.orders),
        "total": evidence.data.n_features,
    }
    # "<" cannot end the script then, whatever the columns are called
    return json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")


def whole_ranking(evidence: Evidence, facts: dict[str, Any]) -> "pl.DataFrame":
    """Return all columns that the method ranked."""
    import polars as pl

    order = evidence.order
    scores = shown_scores(evidence, order)
    n_splits = max(1, len(evidence.orders))
    columns: dict[str, Any] = {
        "rank": np.arange(1, len(order) + 1),
        "feature": [evidence.names[c] for c in order.tolist()],
        "kind": [KINDS[kind] for kind in evidence.data.kinds[order]],
        "score": None if scores is None else pl.Series(scores, dtype=pl.Float64),
        "chosen": evidence.times_chosen[order] / n_splits,
        "selected": np.arange(len(order)) < len(facts["signature"]),
        "evidence": ~evidence.filler[order],
    }
    return pl.DataFrame({name: values for name, values in columns.items() if values is not None})
