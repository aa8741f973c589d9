"""What ``featly describe`` and ``featly methods`` tell."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from featly.present.job import OWN_OPTIONS, Job, method_name
from featly.registry import METHODS, Method, method_class

__all__ = ["Description", "about_method", "description", "method_rows"]


@dataclass(frozen=True)
class Description:
    """A table in words, as rows, and as a document for machines."""

    lines: list[str]
    names: list[str]
    rows: list[tuple[Any, ...]]
    document: dict[str, Any]


def description(job: Job) -> Description:
    """What the columns are and what looks wrong."""
    report = job.schema.describe(job.X)
    named = dict(zip(report.names, (str(name) for name in job.names), strict=True))
    lines = str(report).split("\n")
    lines[0] = lines[0].partition(": ")[2]  # the shape has been told
    classes = job.classes
    if classes:
        shown = ", ".join(f"{label} {count}" for label, count in list(classes.items())[:12])
        more = ", ..." if len(classes) > 12 else ""
        lines.append(f"target {job.target!r}: {len(classes)} classes ({shown}{more})")
        smallest = min(classes.values())
        if len(classes) == 1:
            lines.append(f"target {job.target!r} has one class only: nothing can be ranked for it")
        elif len(classes) > max(20, len(job.y) // 10):  # type: ignore[arg-type]
            lines.append(
                f"target {job.target!r} has a class for every {len(job.y) / len(classes):.1f} rows:"  # type: ignore[arg-type]
                " is it a measurement, or an identifier?"
            )
        elif smallest < 5:
            lines.append(f"target {job.target!r} has a class with {smallest} rows only")
    table = {
        "column": [named[name] for name in report.names],
        "kind": report.kinds,
        "missing": report.n_missing,
        "distinct": report.n_distinct,
        "remark": [report.remarks.get(name, "") for name in report.names],
    }
    rows = list(zip(*table.values(), strict=True))
    document = {
        "file": job.table.source.strip("'"),
        "format": job.table.format,
        "notes": job.notes,
        "rows": report.n_rows,
        "target": job.target,
        "classes": classes,
        "columns": [dict(zip(table, row, strict=True)) for row in rows],
    }
    return Description(lines, list(table), rows, document)


def method_rows(*, short: bool = False) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The registry as a table; a short one fits on a terminal."""
    if short:
        names = ["method", "tier", "what it does", "not for"]
        return names, [(n, m.tier, m.summary, _not_for(m)) for n, m in METHODS.items()]
    names = ["method", "tier", "columns", "missing", "sparse", "classes", "cost", "what it does"]
    rows = [
        (
            name,
            method.tier,
            ", ".join(method.kinds),
            "yes" if method.missing else "no",
            "yes" if method.sparse else "no",
            "many" if method.many_classes else "2",
            method.cost,
            method.summary,
        )
        for name, method in METHODS.items()
    ]
    return names, rows


def about_method(text: str) -> dict[str, Any]:
    """One method with its parameters."""
    name = method_name(text)
    method, cls = METHODS[name], method_class(name)
    meanings = _meanings(inspect.getdoc(cls) or "")
    return {
        "name": name,
        "class": f"featly.{method.class_name}",
        "tier": method.tier,
        "summary": method.summary,
        "takes": _takes(method),
        "uses": ", ".join(method.uses),
        "cost": method.cost,
        "parameters": [
            {"name": parameter, "default": repr(default), "meaning": meanings.get(parameter, "")}
            for parameter, default in cls().get_params().items()
            if parameter not in OWN_OPTIONS
        ],
    }


def _takes(method: Method) -> str:
    parts = [f"{', '.join(method.kinds)} columns"]
    parts.append("missing values" if method.missing else "no missing values")
    parts.append("many classes" if method.many_classes else "two classes")
    if method.sparse:
        parts.append("sparse tables")
    return "; ".join(parts)


def _not_for(method: Method) -> str:
    """What a method does not take; most take everything."""
    parts = {
        "categories": "categorical" in method.kinds,
        "gaps": method.missing,
        "3+ classes": method.many_classes,
        "sparse tables": method.sparse,
    }
    return ", ".join(part for part, taken in parts.items() if not taken)


def _meanings(doc: str) -> dict[str, str]:
    """The first sentence on every parameter of a numpydoc docstring."""
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", doc, re.DOTALL)
    found: dict[str, str] = {}
    current: list[str] = []
    for line in section[1].split("\n") if section else []:
        declared = re.match(r"(\w[\w, ]*) : ", line)
        if declared:
            current = [name.strip() for name in declared[1].split(",")]
            found |= dict.fromkeys(current, "")
        else:
            for name in current:
                found[name] = f"{found[name]} {line.strip()}".strip()
    first = {name: re.split(r"(?<=\.)\s", text)[0] for name, text in found.items()}
    return {name: re.sub(r":\w+:|[`*]", "", text) for name, text in first.items()}
