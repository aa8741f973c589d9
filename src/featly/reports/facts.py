"""All facts of a report as plain numbers and texts, for pages and documents."""

import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import Words
from featly.basics.kinds import KINDS
from featly.basics.privacy import round_figures
from featly.diagnostics import suspect_columns
from featly.registry import METHODS
from featly.reports import text as words
from featly.reports.answers import answers
from featly.reports.context import Evidence
from featly.reports.inference import compared_metric
from featly.reports.paste import citation, methods_paragraph
from featly.reports.signature import MOST_CELLS, feature_facts, near_misses
from featly.study import Dataset, Results
from featly.table.frames import is_frame

__all__ = ["gather", "size_by_splits"]


def gather(evidence: Evidence) -> dict[str, Any]:
    """Collect the facts by part of the report; all of it can be written as JSON."""
    facts: dict[str, Any] = {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": None,
        "individuals": evidence.individuals,
        "findings": _findings(evidence),
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
        "halves": _halves(evidence),
        "selections": _selections(evidence),
        "versions": evidence.results.about["versions"] | {"system": platform.system()},
    }
    if evidence.prior is not None:
        facts["prior"] = evidence.prior.summary(remarks=evidence.individuals).split("\n")
    facts["summary"] = words.summary(facts)
    facts["answers"] = answers(facts)
    facts["methods_paragraph"] = methods_paragraph(facts)
    facts["citation"] = citation(facts)
    return facts


def _findings(evidence: Evidence) -> list[dict[str, Any]]:
    """Return alarms, questions and what was left out, with options for a shell and for Python."""
    findings = evidence.data.findings
    if evidence.study.fill:
        findings = findings.mend("missing values", "They are filled, from training rows alone.")
    return [
        {
            "level": finding.level,
            "kind": finding.kind,
            "columns": list(finding.columns),
            "rows": list(finding.rows) if evidence.individuals else [],
            "text": words.finding_text(finding, individuals=evidence.individuals),
            "command": finding.say_options(words.PAGE_WORDS),
            "python": finding.say_options(Words()),
            "mended": bool(finding.mended),
            "withholds": finding.withholds,
        }
        for finding in findings
    ]


# ---- the data ------------------------------------------------------------------------------------
def _data(evidence: Evidence) -> dict[str, Any]:
    data = evidence.data
    codes, classes = evidence.shown_classes
    counts = np.bincount(codes, minlength=len(classes))
    kinds = {KINDS[code]: int((data.kinds == code).sum()) for code in range(len(KINDS))}
    return {
        "file": None,
        "target": None,
        "notes": [],
        "rows": data.n_rows,
        "columns": data.n_features,
        "kinds": {kind: n for kind, n in kinds.items() if n},
        "columns_with_gaps": len(data.columns_with_missing),
        # from the sum, and what the signature tells of its columns, a hidden number would follow
        "missing_cells": _missing(data) if evidence.individuals else None,
        "classes": dict(zip(classes, counts.tolist(), strict=True)),
        "row_groups": None if data.row_groups is None else int(data.row_groups.max()) + 1,
        # which would tell somebody who knows all rows but one whether a guess is right
        "hash": data.fingerprint if evidence.individuals else None,
        "warnings": _warnings(evidence),
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


def _warnings(evidence: Evidence) -> list[str]:
    """Return what looks wrong, most serious first."""
    filler = evidence.filler
    warnings = words.about_filler(
        int(filler[evidence.signature_columns].sum()), len(evidence.signature_columns)
    )
    warnings += evidence.warnings
    if evidence.advice is not None and not evidence.pools_classes:
        warnings += [text for text in evidence.advice.warnings if text not in warnings]
    codes, classes = evidence.shown_classes
    if evidence.pools_classes:
        warnings.append(f"classes with fewer than five rows are not shown alone: {classes[-1]!r}")
    warnings += words.about_classes(classes, np.bincount(codes, minlength=len(classes)).tolist())
    rows, columns = evidence.data.n_rows, evidence.data.n_features
    if rows * columns <= MOST_CELLS and not scipy.sparse.issparse(evidence.table):
        description = evidence.schema.describe(evidence.table)
        description = description if evidence.individuals else description.without_values()
        description_lines = str(description).split("\n")[1:]
        warnings += [
            line for line in description_lines if "missing values" not in line.partition(":")[0]
        ]
        suspect = suspect_columns(
            evidence.table, schema=evidence.kinds_of_table, n_jobs=evidence.n_jobs
        )
        warnings += words.about_columns(suspect)
    return warnings + _warnings_of_fits(evidence, warnings)


def _warnings_of_fits(evidence: Evidence, said: list[str]) -> list[str]:
    """Return what fits said; without individuals, how often, since they may name rows or values."""
    notes = [note.partition(": ")[2] or note for note in evidence.results.notes]
    notes = [note for note in notes if note not in said]
    estimate = evidence.inference.estimate(evidence.main)
    notes = notes[:5] + ([] if estimate is None else list(estimate.notes))
    failed = evidence.results.failures
    failure = [f"{failed.height:,} fits failed and are left out"] if failed.height else []
    if evidence.individuals:
        return notes + [f"{text}; the first: {failed['failure'][0]}" for text in failure]
    if notes:
        failure.append(f"{words.amount(len(notes), 'warning')} of fits: a page with individuals "
                       "has the words")  # fmt: skip
    return failure


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
        **_nested_protocol(evidence),
        "seed": evidence.seed,
        "fits": _n_fits(evidence),
    }


def _nested_protocol(evidence: Evidence) -> dict[str, Any]:
    """Return how the estimate was made; repeats is 0 where there is none."""
    result = evidence.inference.nested
    return {
        "thorough": evidence.inference.thorough,
        "folds": 0 if result is None else result.folds,
        "inner": 0 if result is None else result.inner,
        "repeats": 0 if result is None else result.repeats,
        "judged_rows": 0 if result is None else result.dataset.n_rows,
    }


def _tried_sizes(evidence: Evidence) -> list[int]:
    import polars as pl

    curves = evidence.results.curves(evidence.metric)
    return sorted(set(curves.filter(pl.col("method") == evidence.main)["size"].to_list()))


def _n_fits(evidence: Evidence) -> int:
    """Return the number of rankings: of splits, nested folds, halves and shuffled labels."""
    inference = evidence.inference
    n = evidence.results.rankings.height
    n += 0 if inference.nested is None else inference.nested.n_paths
    n += 0 if inference.halves is None else 4 * inference.halves.n_splits
    shuffles = None if inference.test is None else inference.test.test
    return n + (0 if shuffles is None else 5 * (1 + shuffles.drawn))


# ---- the results ---------------------------------------------------------------------------------
def _headline(evidence: Evidence) -> dict[str, Any]:
    """Return the estimate, the test and the agreement of halves of the main method."""
    inference, size = evidence.inference, evidence.size
    at = _row(evidence.results.curves(evidence.metric), evidence.main, evidence.learner, size=size)
    halves = inference.halves_at(evidence.main, size)
    headline = {
        **_estimate(evidence, evidence.main),
        "size": size,
        "refusal": _refusal(evidence, inference.refusal),
        "chance": _chance(evidence),
        "greater_is_better": evidence.metric != "error",
        "n_rows": evidence.data.n_rows,
        "test": _test(evidence),
        "halves": None if halves is None else halves[0],
        "halves_null": None if halves is None else halves[1],
        "halves_refusal": _refusal(evidence, inference.halves_refusal),
        "n_halves": 0 if inference.halves is None else inference.halves.n_splits,
        "overlap": at["nogueira"],
        "n_splits": int(at["n"]),
    }
    return headline if evidence.individuals else dict(round_figures(headline))


def _refusal(evidence: Evidence, text: str) -> str:
    """Return why there is no figure; without individuals, no class that is too small is named."""
    if evidence.individuals or not text:
        return text
    return "a class has too few rows, or too few groups of rows"


def _estimate(evidence: Evidence, method: str) -> dict[str, Any]:
    """Return the rate of a method on new rows, its interval and the sentence on both."""
    estimate = evidence.inference.estimate(method)
    facts = {"metric": evidence.metric, "value": None, "lower": None, "upper": None}
    if estimate is None:
        return facts | {"sentence": "", "notes": []}
    ends = (estimate.lower, estimate.upper) if estimate.has_interval else (None, None)
    return facts | {
        "value": estimate.value,
        "lower": ends[0],
        "upper": ends[1],
        "sentence": str(estimate),
        "notes": list(estimate.notes) if evidence.individuals else [],
    }


def _chance(evidence: Evidence) -> float | None:
    """Return the value of guessing; None for a rate of one class, where any can be guessed.

    The share of the largest class would tell its size, where that is not shown.
    """
    if evidence.pools_classes and evidence.metric in ("accuracy", "error"):
        return None
    counts = np.bincount(evidence.data.codes)
    largest = float(counts.max() / counts.sum())
    chances = {"bcr": 1 / len(counts), "accuracy": largest, "error": 1 - largest, "auc": 0.5}
    return chances.get(evidence.metric)


def _test(evidence: Evidence) -> dict[str, Any] | None:
    """Return the test by shuffled labels; None where there is not even an estimate."""
    result = evidence.inference.test
    if result is None:
        return None
    shuffles = result.test
    return {
        "answer": result.answer,
        "by": result.by,
        "p_value": result.p_value,
        "reached": None if shuffles is None else shuffles.reached,
        "drawn": None if shuffles is None else shuffles.drawn,
        "sentence": "" if evidence.pools_classes and shuffles is None else str(result),
    }


def size_by_splits(results: Results, main: str, metric: str, rule: str | int, learner: str) -> int:
    """Return the number of columns that the rule chooses on the splits, for want of an estimate."""
    return int(_row(results.summary(metric, rule=rule), main, learner)["size"])


def _row(frame: Any, method: str, learner: str, size: int | None = None) -> dict[str, Any]:
    import polars as pl

    rows = frame.filter((pl.col("method") == method) & (pl.col("learner") == learner))
    if size is not None and rows.height > 1:  # a method that chooses the size itself has one row
        rows = rows.filter(pl.col("size") == size)
    return dict(rows.row(0, named=True))


def _comparison(evidence: Evidence) -> dict[str, Any]:
    rows = [_comparison_row(evidence, name) for name in evidence.study.methods]
    rows += [_empty_row(name) for name in evidence.fitted if name not in evidence.study.methods]
    pairs = [
        {
            "method_a": row["first"],
            "method_b": row["second"],
            "difference": row["difference"],
            "lower": row["lower"],
            "upper": row["upper"],
            "p_adjusted": row["p_holm"],
            "answer": row["answer"],
        }
        for row in evidence.inference.comparisons(evidence.main)
    ]
    comparison = {"metric": compared_metric(evidence.metric), "rows": rows, "pairs": pairs}
    return comparison if evidence.individuals else dict(round_figures(comparison))


def _empty_row(method: str) -> dict[str, Any]:
    """Return the row of a method that was not judged."""
    nothing = dict.fromkeys(("size", "value", "lower", "upper", "seconds"))
    return {"method": method, **nothing, "failed": 0}


def _comparison_row(evidence: Evidence, method: str) -> dict[str, Any]:
    estimate = evidence.inference.estimate(method)
    summary = evidence.results.summary(evidence.metric, rule="best")
    row = _row(summary, method, evidence.learner)
    return {
        "method": method,
        "size": None if estimate is None else estimate.size,
        **{
            k: v for k, v in _estimate(evidence, method).items() if k in ("value", "lower", "upper")
        },
        "seconds": row["seconds"],
        "failed": row["n_failed"],
    }


def _curves(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the rates at every size, of nested folds; of the splits if there are none."""
    result = evidence.inference.nested
    if result is not None:
        curves = result.curve(evidence.metric).drop("learner").to_dicts()
    else:
        table = evidence.results.curves(evidence.metric)
        curves = table.select("method", "size", "mean").to_dicts()
    return curves if evidence.individuals else list(round_figures(curves))


def _halves(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the agreement of halves at every size, beside that of shuffled labels."""
    halves = evidence.inference.halves
    return [] if halves is None else halves.table().drop("method", "n").to_dicts()


def _selections(evidence: Evidence) -> dict[str, list[str]]:
    """Return the selection of each method from all rows, as many as the signature has."""
    return {
        name: [evidence.names[c] for c in evidence.signature_of(name, evidence.size).tolist()]
        for name in evidence.fitted
    }
