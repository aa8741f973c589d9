"""What ``featly describe`` and ``featly methods`` tell."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from featly.basics.resources import in_words
from featly.cli.job import OWN_OPTIONS, Job, method_name
from featly.cli.stored import StoredFile
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
    if isinstance(job.table, StoredFile):
        return _on_disk(job, job.table)
    report = job.schema.describe(job.X)
    named = dict(zip(report.names, (str(name) for name in job.names), strict=True))
    lines = str(report).split("\n")
    lines[0] = lines[0].partition(": ")[2]  # the shape has been told
    lines += _about_target(job)
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
        "classes": job.classes,
        "columns": [dict(zip(table, row, strict=True)) for row in rows],
    }
    return Description(lines, list(table), rows, document)


def _about_target(job: Job) -> list[str]:
    lines, classes = [], job.classes
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
    return lines


def _on_disk(job: Job, file: StoredFile) -> Description:
    """The same of a table that stays on disk: what can be told without reading it."""
    table = job.X
    order = "column after column" if table.feature_major else "row after row"
    values = "columns of several kinds" if table.dtype is None else f"{table.dtype}, {order}"
    ends = f"{job.names[0]} to {job.names[len(job.names) - 1]}"
    lines = [
        f"{file.format}: {values}, {in_words(table.nbytes)}; columns {ends}",
        *_about_target(job),
        "the table stays on disk, so its values were not looked at",
    ]
    document = {
        "file": file.source.strip("'"),
        "format": file.format,
        "notes": job.notes,
        "rows": table.n_rows,
        "n_columns": table.n_features,
        "dtype": None if table.dtype is None else str(table.dtype),
        "bytes": table.nbytes,
        "feature_major": table.feature_major,
        "target": job.target,
        "classes": job.classes,
    }
    return Description(lines, [], [], document)


def method_rows(*, short: bool = False) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The registry as a table; a short one fits on a terminal."""
    if short:
        names = ["method", "tier", "what it does", "not for", "disk, GPU"]
        return names, [(n, m.tier, m.summary, _not_for(m), _places(m)) for n, m in METHODS.items()]
    names = ["method", "tier", "columns", "missing", "sparse", "classes", "disk", "gpu", "cost",
             "what it does"]  # fmt: skip
    rows = [
        (
            name,
            method.tier,
            ", ".join(method.kinds),
            "yes" if method.missing else "no",
            "yes" if method.sparse else "no",
            "many" if method.many_classes else "2",
            "yes" if method.streams else "no",
            "yes" if method.on_device else "no",
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
        "runs": "on the CPU or a GPU" if method.on_device else "on the CPU",
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
    if method.streams:
        parts.append("tables on disk, by blocks of columns")
    return "; ".join(parts)


def _places(method: Method) -> str:
    """Where a table may lie and where it is computed on, beside memory and processor."""
    places = {"disk": method.streams, "GPU": method.on_device}
    return ", ".join(place for place, able in places.items() if able)


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
