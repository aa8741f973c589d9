"""The report as Markdown, for notebooks, repositories and other programs."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from featly.reports import text as words
from featly.reports.columns import number
from featly.reports.figures import Figure

__all__ = ["markdown"]


def markdown(facts: dict[str, Any], drawn: list[Figure], folder: str) -> str:
    """All parts of the page as text; figures are shown where they belong."""
    parts = [f"# {safe(facts['title'])}", safe(facts["summary"])]
    if drawn and facts["individuals"]:
        parts.append(
            "**Values of single rows are in the figures.** Before you pass them on, see whether "
            "you may."
        )
    parts += ["## How sure can one be?", _answers(facts), *_figures(drawn, "certainty", folder)]
    parts += [
        f"## The signature: {words.counted(len(facts['signature']), 'column')}",
        _signature(facts),
        _misses(facts),
        *_figures(drawn, "signature", folder),
        "## The ranking",
        _ranking(facts),
        *_figures(drawn, "ranking", folder),
        "## Compared with other methods",
        _compared(facts),
        _pairs(facts),
        *_figures(drawn, "comparison", folder),
        "## The data",
        _data(facts),
        "## What was done",
        *(safe(paragraph) for paragraph in words.done(facts)),
        *([_listed(facts["method"]["reasons"])] if facts["method"]["reasons"] else []),
        f"Versions: {', '.join(f'{k} {v}' for k, v in facts['versions'].items())}.",
        "## Do it again",
        *([_code(facts["command"])] if facts.get("command") else []),
        _code(facts["python"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def safe(text: Any) -> str:
    """Text that Markdown and the HTML that is made of it show as it is."""
    flat = " ".join(str(text).split())
    return re.sub(r"([\\`*_|<>$\[\]#~&])", r"\\\1", flat)


def _answers(facts: dict[str, Any]) -> str:
    return "\n".join(
        f"- {safe(one['question'])} **{safe(one['answer'])}.** {safe(one['text'])}"
        for one in facts["answers"]
    )


def _figures(drawn: list[Figure], part: str, folder: str) -> list[str]:
    return [
        f"![{safe(figure.title)}]({folder.replace(' ', '%20')}/{figure.name}.svg)\n\n"
        f"*{safe(figure.title)}.* {safe(figure.reading)}"
        for figure in drawn
        if figure.part == part
    ]


def _signature(facts: dict[str, Any]) -> str:
    rows = []
    for row in facts["features"]:
        if not row["selected"]:
            continue
        others = [
            f"{one['name']} ({one['association']:.2f})" if "name" in one else f"{one['more']} more"
            for one in row.get("alternatives", ())
        ]
        rows.append(
            (row["rank"], row["name"], row["kind"], f"{row['frequency']:.0%}",
             _small(row["q_value"]), row.get("words", ""), ", ".join(others))
        )  # fmt: skip
    head = ("rank", "column", "kind", "chosen in splits", "q alone", "how the classes differ",
            "says much the same")  # fmt: skip
    return _table(head, rows)


def _misses(facts: dict[str, Any]) -> str:
    misses = facts["near_misses"][:20]
    told = ", ".join(f"{safe(one['name'])} ({one['frequency']:.0%})" for one in misses)
    return (
        f"Not in the signature, though more than half of the splits choose them: {told}."
        if (told)
        else ""
    )


def _ranking(facts: dict[str, Any]) -> str:
    rows = [
        (row["rank"], row["name"], row["kind"],
         "–" if row["score"] is None else number(row["score"]),
         f"{row['frequency']:.0%}", _small(row["p_value"]), _small(row["q_value"]))
        for row in facts["features"]
    ]  # fmt: skip
    return _table(("rank", "column", "kind", "score", "chosen", "p alone", "q alone"), rows)


def _compared(facts: dict[str, Any]) -> str:
    rows = [
        (row["method"], row["learner"], "–" if row["size"] is None else f"{row['size']:,}",
         _three(row["value"]), _interval(row), _three(row["stability"]))
        for row in facts["comparison"]["rows"]
    ]  # fmt: skip
    metric = words.METRICS_IN_WORDS[facts["protocol"]["metric"]]
    return _table(("method", "learner", "columns", metric, "95% interval", "stability"), rows)


def _pairs(facts: dict[str, Any]) -> str:
    rows = [
        (f"{row['method_a']} - {row['method_b']}", row["learner"], f"{row['difference']:+.3f}",
         f"{row['lower']:+.3f} to {row['upper']:+.3f}", _small(row["p_adjusted"]))
        for row in facts["comparison"]["pairs"]
    ]  # fmt: skip
    head = ("difference", "learner", "mean", "95% interval", "p (Holm)")
    return _table(head, rows) if rows else ""


def _data(facts: dict[str, Any]) -> str:
    data = facts["data"]
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in data["kinds"].items())
    classes = ", ".join(f"{label} {n:,}" for label, n in data["classes"].items())
    lines = [
        f"{data['rows']:,} rows, {data['columns']:,} columns ({kinds}), "
        f"{data['missing_cells']:,} missing cells in {data['columns_with_gaps']:,} columns",
        f"classes: {classes}",
        f"fingerprint: {data['hash']}",
        *data["warnings"],
    ]
    return _listed(lines)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {safe(line)}" for line in lines)


def _code(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *([safe(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _small(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2g}" if value >= 1e-3 else f"{value:.0e}"


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(row: dict[str, Any]) -> str:
    return "–" if row["lower"] is None else f"{row['lower']:.3f} to {row['upper']:.3f}"
