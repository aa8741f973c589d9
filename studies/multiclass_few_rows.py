"""The artificial problems of Izetta, Verdes and Granitto (2017) with 15 training rows a class,
where they are hard. Tables 4 to 6, figures 1 to 4, claims C1 to C8 again:
:mod:`studies.multiclass` describes how they are tested, why 15 rows, and what differs from it.

All nine sets, 30 draws, 60 rows a class of which 45 are to test, lists of every pair of classes
and of every class against the rest.
"""

from typing import Any

from featly.study import Claim, Results, Study, Subsampling
from studies.multiclass import SPLIT_SEED, curves, seconds, tables
from studies.multiclass_claims import artificial_claims, decomposition_claims
from studies.multiclass_lists import RULES, SharedPriceSVM, against_all, rules, sweep
from studies.multiclass_measures import MADE, error_table, lines, made_sizes, make_tables, tables_of

DRAWS = 30
ROWS_A_CLASS = 60
TEST = 0.75
NOTE = " (15 training rows a class)"


def claims() -> list[Claim]:
    """C1 to C8."""
    return artificial_claims("-few", NOTE) + decomposition_claims("-few", NOTE)


def study() -> Study:
    """The plan."""
    return Study(
        rules() | sweep() | rules("ova"),
        make_tables(list(MADE), DRAWS, lambda n_classes: ROWS_A_CLASS * n_classes),
        Subsampling(1, test_size=TEST, random_state=SPLIT_SEED),
        sizes=made_sizes,
        learner={"linear SVM": SharedPriceSVM()},
        balanced=False,
        metrics=(),
        claims=claims(),
        title="Izetta, Verdes and Granitto 2017, artificial problems with few rows",
    )


def extras(results: Results) -> dict[str, Any]:
    """Return data of figures 1 to 4, and tables 4 to 6."""
    ova_names = [against_all(name) for name in RULES]
    ova = {table: lines(results, table, ova_names) for table in tables_of(results)}
    return {
        **curves(results),
        "ova": ova,
        "seeds": {"splits": SPLIT_SEED, "draws": "1000 x place in table 3 + draw"},
        "seconds": seconds(results),
        "tables": tables(results)
        + [
            error_table(f"Errors on {table}, OvA lists", error_lines)
            for table, error_lines in ova.items()
        ],
    }
