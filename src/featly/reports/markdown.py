"""The report as Markdown, for notebooks, repositories and other programs."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from featly.reports import text as words
from featly.reports.columns import number
from featly.reports.figures import Figure

__all__ = ["markdown"]


def markdown(facts: dict[str, Any], figures: list[Figure], folder: str) -> str:
    """Return all parts of the page as text; figures are shown where they belong."""
    parts = [f"# {escape(facts['title'])}", escape(facts["summary"])]
    if figures and facts["individuals"]:
        parts.append(
            "**Values of single rows are in the figures.** Before you pass them on, see whether "
            "you may."
        )
    parts += [_finding(finding) for finding in words.spoken_findings(facts)]
    parts += ["## How sure can one be?", _answers(facts), *_figures(figures, "certainty", folder)]
    parts += [
        f"## The signature: {words.amount(len(facts['signature']), 'column')}",
        _signature(facts),
        _misses(facts),
        *_figures(figures, "signature", folder),
        "## The ranking",
        escape(words.evidence_sentence(facts)),
        _ranking(facts),
        *_figures(figures, "ranking", folder),
        "## Compared with other methods",
        _comparison(facts),
        _pairs(facts),
        *_figures(figures, "comparison", folder),
        "## The data",
        _data(facts),
        "## What was done",
        *(escape(paragraph) for paragraph in words.describe_protocol(facts)),
        *([_bullet_list(facts["method"]["reasons"])] if facts["method"]["reasons"] else []),
        f"Versions: {', '.join(f'{k} {v}' for k, v in facts['versions'].items())}.",
        "## Do it again",
        *([_code_block(facts["command"])] if facts.get("command") else []),
        _code_block(facts["python"]),
        "## For a paper",
        _code_block(facts["methods_paragraph"]),
        _bullet_list(facts["citation"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: Any) -> str:
    """Escape text so that Markdown, and HTML made of it, show it as it is."""
    flat = " ".join(str(text).split())
    return re.sub(r"([\\`*_|<>$\[\]#~&])", r"\\\1", flat)


def _finding(finding: dict[str, Any]) -> str:
    level = "Done" if finding["mended"] else finding["level"].capitalize()
    options = ""
    if finding["command"]:
        options = f" In a shell {' or '.join(map(_code, finding['command']))}"
        if finding["python"]:
            options += f", in Python {' or '.join(map(_code, finding['python']))}"
        options += "."
    return f"> **{level}.** {escape(finding['text'])}{options}"


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{text}{fence}"


def _answers(facts: dict[str, Any]) -> str:
    return "\n".join(
        f"- {escape(answer['question'])} **{escape(answer['answer'])}.** {escape(answer['text'])}"
        for answer in facts["answers"]
    )


def _figures(figures: list[Figure], part: str, folder: str) -> list[str]:
    return [
        f"![{escape(figure.title)}]({folder.replace(' ', '%20')}/{figure.name}.svg)\n\n"
        f"*{escape(figure.title)}.* {escape(figure.reading)}"
        for figure in figures
        if figure.part == part
    ]


def _signature(facts: dict[str, Any]) -> str:
    rows = []
    for row in facts["features"]:
        if not row["selected"]:
            continue
        alternatives = [
            f"{alternative['name']} ({alternative['association']:.2f})"
            if "name" in alternative
            else f"{alternative['more']} more"
            for alternative in row.get("alternatives", ())
        ]
        rows.append(
            (row["rank"], _mark_filler(row), row["kind"], f"{row['frequency']:.0%}",
             _format_p(row["q_value"]), _words(row), ", ".join(alternatives))
        )  # fmt: skip
    head = ("rank", "column", "kind", "chosen in splits", "q alone", "how the classes differ",
            "says much the same")  # fmt: skip
    return _table(head, rows)


def _words(row: dict[str, Any]) -> str:
    """Return how the classes differ in a column, and whether its missing values chose it."""
    said = row.get("missing", {}).get("text", "")
    return f"{row.get('words', '')}{f'; {said}' if said else ''}"


def _mark_filler(row: dict[str, Any]) -> str:
    """Return the name of a column, and whether there is no evidence for it."""
    return f"{row['name']} (no evidence)" if row["filler"] else str(row["name"])


def _misses(facts: dict[str, Any]) -> str:
    misses = facts["near_misses"][:20]
    names = ", ".join(f"{escape(miss['name'])} ({miss['frequency']:.0%})" for miss in misses)
    return (
        f"Not in the signature, though more than half of the splits choose them: {names}."
        if names
        else ""
    )


def _ranking(facts: dict[str, Any]) -> str:
    rows = [
        (row["rank"], _mark_filler(row), row["kind"],
         "–" if row["score"] is None else number(row["score"]),
         f"{row['frequency']:.0%}", _format_p(row["p_value"]), _format_p(row["q_value"]),
         words.describe_test(row))
        for row in facts["features"]
    ]  # fmt: skip
    head = ("rank", "column", "kind", "score", "chosen", "p alone", "q alone", "test")
    return _table(head, rows)


def _comparison(facts: dict[str, Any]) -> str:
    rows = [
        (row["method"], "–" if row["size"] is None else f"{row['size']:,}",
         "not compared" if row["value"] is None else f"{row['value']:.2f}", _format_interval(row))
        for row in facts["comparison"]["rows"]
    ]  # fmt: skip
    metric = words.METRICS_IN_WORDS[facts["protocol"]["metric"]]
    return _table(("method", "columns", metric, "95% interval"), rows)


def _pairs(facts: dict[str, Any]) -> str:
    rows = [
        (f"{row['method_a']} - {row['method_b']}", f"{row['difference']:+.2f}",
         "–" if row["p_adjusted"] is None else f"{row['lower']:+.2f} to {row['upper']:+.2f}",
         _format_p(row["p_adjusted"]), row["answer"])
        for row in facts["comparison"]["pairs"]
    ]  # fmt: skip
    head = ("difference", "mean", "interval (Holm)", "p (Holm)", "in words")
    return _table(head, rows) if rows else ""


def _data(facts: dict[str, Any]) -> str:
    data = facts["data"]
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in data["kinds"].items())
    n_missing = data["missing_cells"]
    missing = "missing cells" if n_missing is None else f"{n_missing:,} missing cells"
    classes = ", ".join(f"{label} {n:,}" for label, n in data["classes"].items())
    lines = [
        f"{data['rows']:,} rows, {data['columns']:,} columns ({kinds}), "
        f"{missing} in {data['columns_with_gaps']:,} columns",
        f"classes: {classes}",
        *([f"fingerprint: {data['hash']}"] if data["hash"] else []),
        *(f["text"] for f in facts["findings"] if f["level"] == "note" and not f["mended"]),
        *data["warnings"],
    ]
    return _bullet_list(lines)


def _bullet_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _code_block(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _format_p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2g}" if value >= 1e-3 else f"{value:.0e}"


def _format_interval(row: dict[str, Any]) -> str:
    return "–" if row["lower"] is None else f"{row['lower']:.2f} to {row['upper']:.2f}"
