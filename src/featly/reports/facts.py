"""All facts of a report as plain numbers and texts, for pages and documents."""

import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.kinds import KINDS
from featly.basics.typing import IntArray
from featly.diagnostics import suspect_columns
from featly.measures.sizes import CURVE_RULES, Curve, choose_size
from featly.registry import METHODS
from featly.reports import text as words
from featly.reports.context import Evidence
from featly.reports.signature import MOST_CELLS, feature_facts, near_misses
from featly.study import Dataset, Results
from featly.table.frames import is_frame

__all__ = ["gather", "headline_size"]


def gather(evidence: Evidence) -> dict[str, Any]:
    """Collect the facts by part of the report; all of it can be written as JSON."""
    facts: dict[str, Any] = {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": None,
        "individuals": evidence.individuals,
        "data": _data(evidence),
        "method": _method(evidence),
        "protocol": _protocol(evidence),
        "headline": _headline(evidence),
        "signature": [evidence.names[column] for column in evidence.signature_columns.tolist()],
        "features": feature_facts(evidence),
        "filler": int(evidence.filler.sum()),
        "near_misses": near_misses(evidence),
        "comparison": _comparison(evidence),
        "curves": _curves(evidence),
        "selections": _selections(evidence),
        "versions": evidence.results.about["versions"] | {"system": platform.system()},
    }
    if evidence.results.about["null"]:
        facts["null"] = _null(evidence)
    if evidence.prior is not None:
        facts["prior"] = str(evidence.prior).split("\n")
    facts["summary"] = words.summary(facts)
    facts["answers"] = words.answers(facts)
    return facts


# ---- the data ------------------------------------------------------------------------------------
def _data(evidence: Evidence) -> dict[str, Any]:
    data = evidence.data
    counts = np.bincount(data.codes, minlength=len(data.classes))
    kinds = {KINDS[code]: int((data.kinds == code).sum()) for code in range(len(KINDS))}
    return {
        "file": None,
        "target": None,
        "notes": [],
        "rows": data.n_rows,
        "columns": data.n_features,
        "kinds": {kind: n for kind, n in kinds.items() if n},
        "columns_with_gaps": len(data.columns_with_missing),
        "missing_cells": _missing(data),
        "classes": dict(zip(evidence.classes, counts.tolist(), strict=True)),
        "row_groups": None if data.row_groups is None else int(data.row_groups.max()) + 1,
        "hash": data.fingerprint,
        "warnings": _warnings(evidence, counts),
    }


def _missing(data: Dataset) -> int:
    if scipy.sparse.issparse(data.X):
        return int(np.isnan(data.X.data).sum())
    if not is_frame(data.X):
        return int(sum(np.isnan(data.X[:, column]).sum() for column in data.columns_with_missing))
    columns = [data.X.to_series(column) for column in data.columns_with_missing]
    return int(
        sum(np.isnan(c.to_numpy()).sum() if c.dtype.is_float() else c.null_count() for c in columns)
    )


def _warnings(evidence: Evidence, counts: IntArray) -> list[str]:
    """Return what looks wrong, most serious first."""
    filler = evidence.filler
    warnings = words.about_filler(
        int(filler[evidence.signature_columns].sum()), len(evidence.signature_columns)
    )
    warnings += evidence.warnings
    if evidence.advice is not None:
        warnings += [text for text in evidence.advice.warnings if text not in warnings]
    warnings += words.about_classes(evidence.classes, counts.tolist())
    rows, columns = evidence.data.n_rows, evidence.data.n_features
    if rows * columns <= MOST_CELLS and not scipy.sparse.issparse(evidence.table):
        description_lines = str(evidence.schema.describe(evidence.table)).split("\n")[1:]
        warnings += [
            line for line in description_lines if "missing values" not in line.partition(":")[0]
        ]
        suspect = suspect_columns(
            evidence.table, schema=evidence.kinds_of_table, n_jobs=evidence.n_jobs
        )
        warnings += words.about_columns(suspect)
    notes = [note.partition(": ")[2] or note for note in evidence.results.notes]
    warnings += [note for note in notes if note not in warnings][:5]
    failed = evidence.results.failures
    if failed.height:
        warnings.append(
            f"{failed.height:,} fits failed and are left out; the first: {failed['failure'][0]}"
        )
    return warnings


# ---- the method and the evaluation ---------------------------------------------------------------
def _method(evidence: Evidence) -> dict[str, Any]:
    fitted = evidence.fitted_main
    kind = type(fitted).__name__
    registered = next((m for m in METHODS.values() if m.class_name == kind), None)
    parameters = {
        name: value
        for name, value in fitted.get_params(deep=False).items()
        if name not in ("schema", "n_features_to_select", "n_jobs", "verbose")
    }
    return {
        "name": evidence.main,
        "class": kind,
        "summary": registered.summary if registered else "",
        "tier": registered.tier if registered else "",
        "parameters": {name: repr(value) for name, value in parameters.items()},
        "advised": evidence.advice is not None,
        "reasons": _reasons(evidence),
    }


def _reasons(evidence: Evidence) -> list[str]:
    if evidence.advice is None:
        return []
    # those of the method and the learner; splits and sizes may differ from the advised ones
    method, learner, *_ = evidence.advice.reasons
    return [str(method), *([str(learner)] if evidence.learner == evidence.advice.learner else [])]


def _protocol(evidence: Evidence) -> dict[str, Any]:
    study, about = evidence.study, evidence.results.about
    train, test = evidence.results._parts(evidence.data.name)
    n_splits = int(evidence.results.curves(evidence.metric)["n"].max() or 0)  # type: ignore[arg-type]
    return {
        "splits": about["splits"],
        "splitter": about["splitter"],
        "n_splits": n_splits,
        "n_train": train,
        "n_test": test,
        "sizes": _tried_sizes(evidence),
        "learner": evidence.learner,
        "methods": list(study.methods),
        "metric": evidence.metric,
        "rule": evidence.rule,
        "fill": study.fill,
        "resample": about["resample"],
        "null": study.null,
        "seed": evidence.seed,
        "fits": evidence.results.rankings.height,
    }


def _tried_sizes(evidence: Evidence) -> list[int]:
    import polars as pl

    curves = evidence.results.curves(evidence.metric)
    return sorted(set(curves.filter(pl.col("method") == evidence.main)["size"].to_list()))


# ---- the results ---------------------------------------------------------------------------------
def _headline(evidence: Evidence) -> dict[str, Any]:
    results, metric = evidence.results, evidence.metric
    summary = results.summary(metric, rule=evidence.rule)
    row = _row(summary, evidence.main, evidence.learner)
    curves = results.curves(metric)
    at = _row(curves, evidence.main, evidence.learner, size=row["size"])
    counts = np.bincount(evidence.data.codes)
    chance = {
        "bcr": 1 / len(counts),
        "accuracy": counts.max() / counts.sum(),
        "error": 1 - counts.max() / counts.sum(),
        "auc": 0.5,
    }
    return {
        "metric": metric,
        "size": int(row["size"]),
        "value": row[metric],
        "lower": row["lower"],
        "upper": row["upper"],
        "chance": chance.get(metric),
        "stability": at["nogueira"],
        "stability_lower": at["nogueira_lower"],
        "stability_upper": at["nogueira_upper"],
        "n_splits": int(at["n"]),
        "nested": _nested_mean(evidence),
        "greater_is_better": metric != "error",
    }


def headline_size(results: Results, main: str, metric: str, rule: str | int, learner: str) -> int:
    """Return the number of columns that the rule chooses for the main method."""
    return int(_row(results.summary(metric, rule=rule), main, learner)["size"])


def _row(frame: Any, method: str, learner: str, size: int | None = None) -> dict[str, Any]:
    import polars as pl

    rows = frame.filter((pl.col("method") == method) & (pl.col("learner") == learner))
    if size is not None:
        rows = rows.filter(pl.col("size") == size)
    return dict(rows.row(0, named=True))


def _nested_mean(evidence: Evidence) -> float | None:
    """Return the mean over splits with the size for each chosen on the others.

    The size of the headline is chosen on the splits that it is evaluated on, which makes it a
    little optimistic; the difference to this mean shows how much.
    """
    if evidence.rule not in CURVE_RULES:
        return None
    selection: dict[str, Any] = {"method": evidence.main, "learner": evidence.learner}
    curve = evidence.results.curve(evidence.metric, **selection)
    n = len(curve.values)
    if n < 3 or len(curve.sizes) < 2:
        return None
    left_out_values = []
    for split in range(n):
        other_values = np.delete(curve.values, split, axis=0)
        other_curve = Curve(curve.sizes, other_values, greater_is_better=curve.greater_is_better,
                     n_train=curve.n_train, n_test=curve.n_test)  # fmt: skip
        size = choose_size(other_curve, evidence.rule, n_features=evidence.data.n_features)
        left_out_values.append(curve.values[split, list(curve.sizes).index(size)])
    value = float(np.nanmean(left_out_values)) if not np.isnan(left_out_values).all() else np.nan
    return None if np.isnan(value) else value


def _comparison(evidence: Evidence) -> dict[str, Any]:
    metric = evidence.metric
    summary = evidence.results.summary(metric, rule=evidence.rule)
    rows = [
        {
            "method": row["method"],
            "learner": row["learner"],
            "size": row["size"],
            "value": row[metric],
            "lower": row["lower"],
            "upper": row["upper"],
            "stability": row["kuncheva"],
            "seconds": row["seconds"],
            "failed": row["n_failed"],
        }
        for row in summary.rows(named=True)
    ]
    pairs = evidence.results.compare(metric, size="chosen", rule=evidence.rule).pairs
    return {"rows": rows, "pairs": pairs.drop("dataset").to_dicts()}


def _curves(evidence: Evidence) -> list[dict[str, Any]]:
    names = ["method", "learner", "size", "mean", "lower", "upper", "nogueira", "nogueira_lower",
              "nogueira_upper"]  # fmt: skip
    return evidence.results.curves(evidence.metric).select(names).to_dicts()


def _null(evidence: Evidence) -> list[dict[str, Any]]:
    return evidence.results.null_test(evidence.metric).drop("dataset", "biased").to_dicts()


def _selections(evidence: Evidence) -> dict[str, list[str]]:
    """Return the selection of each method from all rows, at the size that the rule chooses."""
    sizes = {
        row["method"]: row["size"]
        for row in _comparison(evidence)["rows"]
        if row["learner"] == evidence.learner and row["size"] is not None
    }
    return {
        name: [evidence.names[c] for c in evidence.signature_of(name, int(sizes[name])).tolist()]
        for name in evidence.fitted
        if name in sizes
    }
