"""Claims about the advice: the method that it names at every split, and its value.

All figures are of values[table][method][split]: the balanced rate, mean of the learners, at the
size that does best on the other splits.
"""

import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from featly.basics.typing import FloatArray, IntArray
from featly.measures.statistics import corrected_interval
from featly.study import Claim, Dataset, Finding, Results, advise
from featly.study.advise import facts as facts_module
from featly.study.advise import rules as rules_module
from featly.study.dataset import take_rows
from featly.study.splits import Splitter

CLOSE = 0.02
NINE_OF_TEN = 0.9
ADVICE = "the advice"
BY_CHANCE = "one at random"
LEFT_OUT = ("none",)  # no selection is not a method to be chosen
SAME_FOR_TWO = {"multiclass-svm-rfe": "svm-rfe"}
CACHE = Path(__file__).parent / "runs" / "advice-choices.json"
# tables of earlier studies, on which the rules rest, and the same patients in other versions;
# of the monks only the third was used, but the others are made by the same authors
SEEN = frozenset(
    (
        "arrhythmia", "arrhythmia_binary", "bands", "boston_housing2", "heart_cleveland",
        "hepatitis", "vantveer_breast",  # heterogeneous
        "brain_nutt_gems", "cns_pomeroy", "colon_alon", "dlbcl_alizadeh",  # microarray
        "cns_pomeroy5", "libras", "lung_bhattacharjee", "mfeat", "monti_leukemia_stjude",
        "novartis_500", "robot_lp1", "robot_lp3", "robot_lp4", "robot_lp5",
        "su_multitissue",  # multiclass-real; su and novartis are one study
        "dlbcl_shipp", "dlbcl_shipp_outcome", "leukemia_golub", "prostate_singh",
        "prostate_singh_6033",  # prior
        "madelon", "monk1", "monk2", "monk3",  # chapter 3 of the book
        "kddcup99",  # intrusion
    )
)  # fmt: skip

Values = dict[str, dict[str, FloatArray]]
Tables = Callable[[], dict[str, Dataset]]


# ---- values and choices --------------------------------------------------------------------------
def values_of(results: Results, learner: str | None = None, *, all_sizes: bool = False) -> Values:
    """Return values of every method on every table, by split; None is all learners.

    With `all_sizes`, the mean over them, and methods that have a size of their own are left out.
    """
    rows = results.rows.filter(pl.col("null_draw") == 0, ~pl.col("method").is_in(LEFT_OUT))
    if learner is not None:
        rows = rows.filter(pl.col("learner") == learner)
    n_splits = results.rankings["split"].n_unique()
    rows = rows.filter(pl.col("bcr").is_not_null() & pl.col("bcr").is_not_nan())
    # CFS has another size at every split
    subsets = results.rankings.filter(pl.col("subset"))["method"].unique().to_list()
    own = pl.col("method").is_in(subsets)
    rows = rows.with_columns(pl.when(own).then(0).otherwise("size").alias("size"))
    if all_sizes:
        rows = rows.filter(~own)
    by_learner: dict[str, dict[str, list[FloatArray]]] = {}
    keys = ("dataset", "method", "learner")
    for (dataset, method, _), part in rows.group_by(*keys, maintain_order=True):
        square = part.pivot("size", index="split", values="bcr", sort_columns=True).sort("split")
        grid = square.drop("split").to_numpy()
        if len(grid) == n_splits and not np.isnan(grid).any():  # else it failed somewhere
            value = grid.mean(axis=1) if all_sizes else at_size_of_others(grid)
            by_learner.setdefault(str(dataset), {}).setdefault(str(method), []).append(value)
    n_learners = rows["learner"].n_unique()
    values: Values = {
        dataset: {m: np.mean(v, axis=0) for m, v in methods.items() if len(v) == n_learners}
        for dataset, methods in sorted(by_learner.items())
    }
    for methods in values.values():
        for other, same in SAME_FOR_TWO.items():
            if other not in methods and same in methods:
                methods[other] = methods[same]
    return values


def at_size_of_others(grid: FloatArray) -> FloatArray:
    """Return rates by split at the size (column) with the highest mean over the other splits.

    Of sizes with equal means the smallest.
    """
    if len(grid) == 1:
        return grid[:, 0]
    others = (grid.sum(axis=0) - grid) / (len(grid) - 1)
    return np.take_along_axis(grid, others.round(12).argmax(axis=1)[:, None], axis=1)[:, 0]


def choices_of(tables: Mapping[str, Dataset], splits: Splitter) -> dict[str, list[dict[str, str]]]:
    """Return method and rule of the advice at every split of every table; cached, as it is slow."""
    known = json.loads(CACHE.read_text("utf-8")) if CACHE.exists() else {}
    texts = [Path(m.__file__).read_text("utf-8") for m in (facts_module, rules_module)]
    version = hashlib.blake2b("".join([*texts, repr(splits)]).encode(), digest_size=8).hexdigest()
    choices = {}
    for name, data in tables.items():
        key = f"{version}:{data.fingerprint}"
        if key not in known:
            known[key] = [_choice(data, split.train) for split in splits.split(data.X, data.codes)]
            CACHE.parent.mkdir(parents=True, exist_ok=True)
            CACHE.write_text(json.dumps(known), "utf-8")
        choices[name] = known[key]
    return choices


def _choice(data: Dataset, rows: IntArray) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        advice = advise(
            take_rows(data.X, rows), data.codes[rows], schema=data.schema, training_rows_only=True
        )
    return {"method": advice.method, "rule": advice.rule}


def values_of_advice(
    values: Values, choices: Mapping[str, Sequence[Mapping[str, str]]]
) -> dict[str, FloatArray | None]:
    """Return the value of the advised method, by table and split; None where it failed."""
    values_by_table: dict[str, FloatArray | None] = {}
    for name, methods in values.items():
        named = [choice["method"] for choice in choices[name]]
        is_complete = all(method in methods for method in named)
        values_by_table[name] = (
            np.array([methods[method][k] for k, method in enumerate(named)])
            if is_complete
            else None
        )
    return values_by_table


# ---- distance to the best method -----------------------------------------------------------------
def nearness(
    values: Values, shares: Mapping[str, tuple[int, int]], ours: Mapping[str, FloatArray | None]
) -> dict[str, dict[str, Any]]:
    """Return, of the advice, of every method always taken, and of one at random, the share of
    tables within noise of the best and close to it, mean loss, mean value.
    """
    methods = sorted({method for table in values.values() for method in table})
    results_by_method = {
        ADVICE: _summarise_method(
            {
                name: _compare_with_best(table, ours[name], shares[name])
                for name, table in values.items()
            }
        ),
        **{
            method: _summarise_method(
                {
                    name: _compare_with_best(table, table.get(method), shares[name])
                    for name, table in values.items()
                }
            )
            for method in methods
        },
    }
    chance = {
        name: [_compare_with_best(table, row, shares[name]) for row in table.values()]
        for name, table in values.items()
    }
    results_by_method[BY_CHANCE] = _summarise_method(
        {name: {part: float(np.mean([row[part] for row in rows])) for part in rows[0]}
         for name, rows in chance.items()}
    )  # fmt: skip
    return results_by_method


def _compare_with_best(
    table: Mapping[str, FloatArray], row: FloatArray | None, parts: tuple[int, int]
) -> dict[str, float]:
    """Return how one method does on a table, compared with the best there."""
    best = max(table.values(), key=lambda own: float(own.mean()))
    if row is None:  # it does not take the table
        return {"within": 0.0, "close": 0.0, "loss": np.nan, "value": np.nan}
    lower, _ = corrected_interval(best - row, *parts)
    loss = float((best - row).mean())
    return {
        "within": float(lower <= 0),
        "close": float(loss <= CLOSE + 1e-12),
        "loss": loss,
        "value": float(row.mean()),
    }


def _summarise_method(tables: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    parts = {part: [table[part] for table in tables.values()] for part in ("within", "close")}
    taken = [table for table in tables.values() if not np.isnan(table["loss"])]
    return {
        "tables": len(tables),
        "taken": len(taken),
        "within": float(np.sum(parts["within"])),
        "close": float(np.sum(parts["close"])),
        "loss": float(np.mean([table["loss"] for table in taken])),
        "value": float(np.mean([table["value"] for table in taken])),
    }


# ---- claims --------------------------------------------------------------------------------------
def claims(tables: Tables, splits: Splitter) -> list[Claim]:
    """Return the claims that were settled before the first run."""
    look = functools.lru_cache(maxsize=2)(lambda results: _find_nearness(results, tables(), splits))
    new = "tables that no earlier study of ours used"
    return [
        Claim("A1", "within noise of the best on nine tables of ten",
              lambda results: _check_within(look(results)[0])),
        Claim("A2", "close to the best (0.02) more often than any one method always taken",
              lambda results: _check_closest(look(results)[0])),
        Claim("A3", "close to the best more often than a method taken at random",
              lambda results: _check_above_chance(look(results)[0])),
        Claim("A4", "a higher mean BCR over tables than any one method that takes them all",
              lambda results: _check_highest(look(results)[0])),
        Claim("A5 within", f"A1 on {new}", lambda results: _check_within(look(results)[1])),
        Claim("A5 close", f"A2 on {new}", lambda results: _check_closest(look(results)[1])),
        Claim("A5 chance", f"A3 on {new}", lambda results: _check_above_chance(look(results)[1])),
        Claim("A5 mean", f"A4 on {new}", lambda results: _check_highest(look(results)[1])),
    ]  # fmt: skip


def _find_nearness(results: Results, tables: dict[str, Dataset], splits: Splitter) -> Any:
    """Return nearness on all tables, and on new ones."""
    values = values_of(results)
    choices = choices_of({name: tables[name] for name in values}, splits)
    ours, shares = values_of_advice(values, choices), parts_of(results)
    new = {name: table for name, table in values.items() if name not in SEEN}
    return nearness(values, shares, ours), nearness(new, shares, ours) if new else None


def parts_of(results: Results) -> dict[str, tuple[int, int]]:
    """Return training and test rows of every table."""
    first = results.rankings.unique("dataset", keep="first")
    return {row["dataset"]: (row["n_train"], row["n_test"]) for row in first.iter_rows(named=True)}


def _check_within(look: Mapping[str, Any] | None) -> Finding:
    if look is None:
        return Finding(None, "no such table is here")
    ours = look[ADVICE]
    share = ours["within"] / ours["tables"]
    return Finding(
        share >= NINE_OF_TEN, f"on {ours['within']:.0f} of {ours['tables']} tables", share
    )


def _check_closest(look: Mapping[str, Any] | None) -> Finding:
    if look is None:
        return Finding(None, "no such table is here")
    ours, rivals = look[ADVICE], _single_methods(look)
    best = max(rivals, key=lambda name: rivals[name]["close"])
    listing = ", ".join(
        f"{name} {row['close']:.0f}"
        for name, row in sorted(rivals.items(), key=lambda item: -item[1]["close"])
    )
    return Finding(
        ours["close"] > rivals[best]["close"],
        f"on {ours['close']:.0f} of {ours['tables']} tables; always {listing}",
        ours["close"] / ours["tables"],
    )


def _check_above_chance(look: Mapping[str, Any] | None) -> Finding:
    if look is None:
        return Finding(None, "no such table is here")
    ours, chance = look[ADVICE], look[BY_CHANCE]
    # were each table decided by a coin of its own, so many or more
    p = stats.binomtest(
        round(ours["close"]), ours["tables"], chance["close"] / ours["tables"], "greater"
    ).pvalue
    return Finding(
        ours["close"] > chance["close"],
        f"on {ours['close']:.0f} of {ours['tables']} tables, one at random on "
        f"{chance['close']:.1f} (p = {p:.2g}, if tables were independent)",
        ours["close"] / ours["tables"],
    )


def _check_highest(look: Mapping[str, Any] | None) -> Finding:
    if look is None:
        return Finding(None, "no such table is here")
    ours = look[ADVICE]
    rivals = {n: row for n, row in _single_methods(look).items() if row["taken"] == ours["tables"]}
    best = max(rivals, key=lambda name: rivals[name]["value"])
    listing = ", ".join(
        f"{name} {row['value']:.3f}"
        for name, row in sorted(rivals.items(), key=lambda item: -item[1]["value"])
    )
    holds = ours["value"] > rivals[best]["value"]
    return Finding(holds, f"{ours['value']:.3f}; always {listing}", ours["value"])


def _single_methods(look: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row for name, row in look.items() if name not in (ADVICE, BY_CHANCE)}


# ---- tables for the page -------------------------------------------------------------------------
def tables(results: Results, data: Tables, splits: Splitter) -> dict[str, Any]:
    """Return nearness under all measures, and every table with its best method and its advice."""
    values = values_of(results)
    choices = choices_of({name: data()[name] for name in values}, splits)
    shares = parts_of(results)
    new = [name for name in values if name not in SEEN]
    looks = {
        "both learners": values,
        "tables of no earlier study": {name: values[name] for name in new},
        **{learner: values_of(results, learner) for learner in results.about["learners"]},
        "rankings alone, mean over all sizes": values_of(results, all_sizes=True),
    }
    looks = {title: look for title, look in looks.items() if look}
    nearness_by_look = {
        title: nearness(look, shares, values_of_advice(look, choices))
        for title, look in looks.items()
    }
    ours = values_of_advice(values, choices)
    by_table = {
        name: {
            "advised": _count_names([c["method"] for c in choices[name]]),
            "rule": _count_names([c["rule"] for c in choices[name]]),
            "best": max(table, key=lambda method: float(table[method].mean())),
            "new": name in new,
            **_compare_with_best(table, ours[name], shares[name]),
            "values": {method: round(float(row.mean()), 4) for method, row in table.items()},
        }
        for name, table in values.items()
    }
    none = results.families("bcr").filter(pl.col("method").is_in(LEFT_OUT))
    return {
        # the curves of all methods would be most of the file; values by table are below
        "summary": {"bcr": none.to_dicts()},
        "advice": {
            "looks": nearness_by_look,
            "tables": by_table,
            "seconds": seconds_of(results, choices),
        },
        "tables": [
            *(_look_table(title, look) for title, look in nearness_by_look.items()),
            _table_by_table(by_table),
        ],
    }


def seconds_of(
    results: Results, choices: Mapping[str, Sequence[Mapping[str, str]]]
) -> dict[str, float]:
    """Return seconds of all fits by method, and of the advised one; the machine was busy."""
    fits = results.rankings.filter(pl.col("failure").is_null())
    seconds_by_fit = {
        (row["dataset"], row["method"], row["split"]): row["select_seconds"]
        for row in fits.iter_rows(named=True)
    }
    totals: dict[str, float] = {}
    for (_, method, _), seconds in seconds_by_fit.items():
        totals[method] = totals.get(method, 0.0) + seconds
    for name, named in choices.items():
        for split, choice in enumerate(named):
            seconds = seconds_by_fit.get((name, choice["method"], split), 0.0)
            totals[ADVICE] = totals.get(ADVICE, 0.0) + seconds
    return {name: round(seconds, 1) for name, seconds in totals.items()}


def _count_names(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in sorted(set(names), key=names.index)}


def _look_table(title: str, look: Mapping[str, Any]) -> dict[str, Any]:
    first = [ADVICE, BY_CHANCE]
    ranked = sorted(_single_methods(look), key=lambda name: -look[name]["close"])
    return {
        "title": f"How near the best: {title}",
        "head": ["taken", "tables", "within noise", "close (0.02)", "mean loss", "mean BCR"],
        "rows": [
            [
                name,
                f"{look[name]['taken']} of {look[name]['tables']}",
                f"{look[name]['within']:.0f}" if name != BY_CHANCE
                else f"{look[name]['within']:.1f}",
                f"{look[name]['close']:.0f}" if name != BY_CHANCE
                else f"{look[name]['close']:.1f}",
                f"{look[name]['loss']:.3f}",
                f"{look[name]['value']:.3f}",
            ]
            for name in (*first, *ranked)
        ],
    }  # fmt: skip


def _table_by_table(by_table: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for name, row in by_table.items():
        methods_text = ", ".join(
            method if len(row["advised"]) == 1 else f"{method} ({count})"
            for method, count in row["advised"].items()
        )
        near = "close" if row["close"] else "within noise" if row["within"] else "no"
        best = row["best"]
        rows.append(
            [
                f"{name.replace('_', '-')}{' (new)' if row['new'] else ''}",
                ", ".join(row["rule"]),
                methods_text,
                f"{row['value']:.3f}",
                f"{best} {row['values'][best]:.3f}",
                near,
            ]
        )
    return {
        "title": "Every table: the advice, its mean BCR, and the best of eleven",
        "head": ["table", "rule", "advised", "BCR", "best", "near it"],
        "rows": rows,
    }
