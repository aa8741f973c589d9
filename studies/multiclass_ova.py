"""Izetta, Verdes and Granitto (2017), figure 3 and claim C7: lists of every pair of classes (OvO)
against lists of every class and the rest (OvA), with the 3,000 rows of the paper.

See :mod:`studies.multiclass` for the protocol, what differs, and how C7 is tested. A problem of a
class against the rest has all 2,250 training rows, so these lists cost six times those of pairs:
the two tables of figure 3 and one with three classes, 4 draws, the first of
:mod:`studies.multiclass`. All nine tables are in :mod:`studies.multiclass_few_rows`.
"""

from typing import Any

from featly.study import Claim, Results, Study, Subsampling
from studies.multiclass import ROWS, SPLIT_SEED, TEST
from studies.multiclass_claims import decomposition_claims
from studies.multiclass_lists import RULES, SharedPriceSVM, against_all, rules
from studies.multiclass_measures import (
    ONE,
    TWO,
    error_table,
    lines,
    made_sizes,
    make_tables,
    runs,
    tables_of,
)

DRAWS = 4
TABLES = ("Artificial-1-3C", ONE, TWO)


def claims() -> list[Claim]:
    """C7."""
    return decomposition_claims()


def study() -> Study:
    """The plan."""
    return Study(
        rules() | rules("ova"),
        make_tables(TABLES, DRAWS, lambda n_classes: ROWS),
        Subsampling(1, test_size=TEST, random_state=SPLIT_SEED),
        sizes=made_sizes,
        learner={"linear SVM": SharedPriceSVM()},
        balanced=False,
        metrics=(),
        claims=claims(),
        title="Izetta, Verdes and Granitto 2017, pairs of classes or each against the rest",
    )


def extras(results: Results) -> dict[str, Any]:
    """Return data of figure 3."""
    pairs = {table: lines(results, table, list(RULES)) for table in tables_of(results)}
    ova_names = [against_all(name) for name in RULES]
    against_rest = {table: lines(results, table, ova_names) for table in tables_of(results)}
    spent = {
        f"{table}, {label}": round(float(runs(results, table, name).figure("listing").mean()), 3)
        for table in tables_of(results)
        for label, name in (("OvO lists", "K-First"), ("OvA lists", against_all("K-First")))
    }
    return {
        "lines": pairs,
        "ova": against_rest,
        "seeds": {"splits": SPLIT_SEED, "draws": "1000 x place in table 3 + draw"},
        "seconds": spent,
        "tables": [
            error_table(f"Errors on {table}, OvO and OvA", pairs[table] | against_rest[table])
            for table in pairs
        ],
    }
