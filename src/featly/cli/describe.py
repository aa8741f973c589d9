"""Descriptions of a table and of the methods, for ``featly describe`` and ``featly methods``."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from featly.basics.params import parameters_of
from featly.basics.resources import format_bytes
from featly.cli.load import LoadedData
from featly.cli.method import OWN_OPTIONS, method_name
from featly.cli.stored import StoredFile
from featly.registry import METHODS, Method, all_methods, method_class

__all__ = ["Description", "about_method", "description", "method_rows"]


@dataclass(frozen=True)
class Description:
    """A table in sentences, as rows, and as a document for machines."""

    lines: list[str]
    names: list[str]
    rows: list[tuple[Any, ...]]
    document: dict[str, Any]


def description(data: LoadedData) -> Description:
    """Describe the columns of a table and what looks wrong with them."""
    if isinstance(data.table, StoredFile):
        return _describe_on_disk(data, data.table)
    report = data.schema.describe(data.X)
    file_name = dict(zip(report.names, (str(name) for name in data.names), strict=True))
    lines = str(report).split("\n")
    lines[0] = lines[0].partition(": ")[2]  # the shape was printed before
    lines += _target_lines(data)
    table = {
        "column": [file_name[name] for name in report.names],
        "kind": report.kinds,
        "missing": report.n_missing,
        "distinct": report.n_distinct,
        "remark": [report.remarks.get(name, "") for name in report.names],
    }
    rows = list(zip(*table.values(), strict=True))
    document = {
        "file": data.table.source.strip("'"),
        "format": data.table.format,
        "notes": data.notes,
        "rows": report.n_rows,
        "target": data.target,
        **data.target_facts(),
        "columns": [dict(zip(table, row, strict=True)) for row in rows],
    }
    return Description(lines, list(table), rows, document)


def _target_lines(data: LoadedData) -> list[str]:
    """Describe the target, and what looks wrong with it."""
    lines, sizes = [], data.classes
    if data.target_kind == "numbers":
        return [f"target {data.target!r}: {data.describe_target()}"]
    if data.y is not None and data.target_kind is None:
        return [
            f"target {data.target!r}: {len(sizes)} different whole numbers from "
            "{:g} to {:g}".format(*data.numbers)
            + ", which may be classes or numbers: --target-kind says which"
        ]
    if sizes:
        n_rows = sum(sizes.values())
        examples = ", ".join(f"{label} {count}" for label, count in list(sizes.items())[:12])
        ellipsis = ", ..." if len(sizes) > 12 else ""
        lines.append(f"target {data.target!r}: {len(sizes)} classes ({examples}{ellipsis})")
        smallest = min(sizes.values())
        if len(sizes) == 1:
            lines.append(f"target {data.target!r} has one class only: nothing can be ranked for it")
        elif len(sizes) > max(20, n_rows // 10):
            lines.append(
                f"target {data.target!r} has a class for every {n_rows / len(sizes):.1f} rows: is "
                "it a measurement, or an identifier?"
            )
        elif smallest < 5:
            lines.append(f"target {data.target!r} has a class with {smallest} rows only")
    return lines


def _describe_on_disk(data: LoadedData, file: StoredFile) -> Description:
    """Describe a table that stays on disk, without reading its values."""
    table = data.X
    order = "column after column" if table.feature_major else "row after row"
    values = "columns of several kinds" if table.dtype is None else f"{table.dtype}, {order}"
    ends = f"{data.names[0]} to {data.names[len(data.names) - 1]}"
    lines = [
        f"{file.format}: {values}, {format_bytes(table.nbytes)}; columns {ends}",
        *_target_lines(data),
        "the table stays on disk, so its values were not looked at",
    ]
    document = {
        "file": file.source.strip("'"),
        "format": file.format,
        "notes": data.notes,
        "rows": table.n_rows,
        "n_columns": table.n_features,
        "dtype": None if table.dtype is None else str(table.dtype),
        "bytes": table.nbytes,
        "feature_major": table.feature_major,
        "target": data.target,
        **data.target_facts(),
    }
    return Description(lines, [], [], document)


def method_rows(*, short: bool = False) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the registry as a table; a short one fits on a terminal."""
    if short:
        names = ["method", "tier", "what it does", "not for", "disk, GPU"]
        return names, [
            (n, m.tier, m.summary, _refused_tables(m), _capabilities(m))
            for n, m in all_methods().items()
        ]
    names = ["method", "tier", "columns", "missing", "sparse", "classes", "numbers", "disk", "gpu",
             "cost", "what it does"]  # fmt: skip
    rows = [
        (
            name,
            method.tier,
            ", ".join(method.kinds),
            "yes" if method.missing else "no",
            "yes" if method.sparse else "no",
            "many" if method.many_classes else "2",
            "yes" if "numbers" in method.targets else "no",
            "yes" if method.streams else "no",
            "yes" if method.on_device else "no",
            method.cost,
            method.summary,
        )
        for name, method in all_methods().items()
    ]
    return names, rows


def about_method(text: str) -> dict[str, Any]:
    """Describe one method and its parameters."""
    name = method_name(text)
    method, cls = METHODS[name], method_class(name)
    meanings = _parameter_meanings(inspect.getdoc(cls) or "")
    return {
        "name": name,
        "class": method.public_path,
        "tier": method.tier,
        "summary": method.summary,
        "takes": _accepted_tables(method),
        "uses": ", ".join(method.uses),
        "cost": method.cost,
        "runs": "on the CPU or a GPU" if method.on_device else "on the CPU",
        "parameters": [
            {
                "name": parameter.name,
                "default": repr(parameter.default),
                "values": parameter.words(),
                "meaning": meanings.get(parameter.name, ""),
            }
            for parameter in parameters_of(cls).values()
            if parameter.name not in OWN_OPTIONS
        ],
    }


def _accepted_tables(method: Method) -> str:
    parts = [f"{', '.join(method.kinds)} columns"]
    parts.append("missing values" if method.missing else "no missing values")
    parts.append("many classes" if method.many_classes else "two classes")
    if "numbers" in method.targets:
        parts.append("numeric targets")
    if method.sparse:
        parts.append("sparse tables")
    if method.streams:
        parts.append("tables on disk, by blocks of columns")
    return "; ".join(parts)


def _capabilities(method: Method) -> str:
    """Return whether a method reads from disk, and whether it computes on a GPU."""
    capabilities = {"disk": method.streams, "GPU": method.on_device}
    return ", ".join(name for name, is_able in capabilities.items() if is_able)


def _refused_tables(method: Method) -> str:
    """Return the kinds of tables that a method does not take."""
    parts = {
        "categories": "categorical" in method.kinds,
        "missing values": method.missing,
        "3+ classes": method.many_classes,
        "numeric targets": "numbers" in method.targets,
        "sparse tables": method.sparse,
    }
    return ", ".join(part for part, is_taken in parts.items() if not is_taken)


def _parameter_meanings(doc: str) -> dict[str, str]:
    """Return the first sentence on every parameter of a numpydoc docstring."""
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", doc, re.DOTALL)
    meanings: dict[str, str] = {}
    current: list[str] = []
    for line in section[1].split("\n") if section else []:
        declared = re.match(r"(\w[\w, ]*) : ", line)
        if declared:
            current = [name.strip() for name in declared[1].split(",")]
            meanings |= dict.fromkeys(current, "")
        else:
            for name in current:
                meanings[name] = f"{meanings[name]} {line.strip()}".strip()
    first = {name: re.split(r"(?<=\.)\s", text)[0] for name, text in meanings.items()}
    return {name: re.sub(r":\w+:|[`*]", "", text) for name, text in first.items()}
