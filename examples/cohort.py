"""A cohort: which of two thousand columns predict who will relapse?

Three hundred patients, eleven clinical columns, two thousand genes. Some values are missing, some
numbers are labels, some genes are copies of others. The table is made, so that we know what each
column is worth, and can compare three rankings with the truth. Run it with ``make demo``, or with
``python examples/cohort.py [folder]`` where featly is installed.
"""

import argparse
from pathlib import Path
from textwrap import fill

import polars as pl
from polars import selectors

from featly import MKLRFE, SVMRFE, FTest, Schema
from featly.datasets import Cohort, make_cohort
from featly.io import whole_file, write_frame
from featly.preprocessing import fill_missing

# what the command line should know about the columns: the schema of the cohort as a file
SCHEMA = """target = "outcome"
drop = ["patient"]
categorical = ["ward"]

[ordinal]
stage = ["I", "II", "III", "IV"]
grade = ["G1", "G2", "G3"]
"""


def main(folder: str | Path = "demo") -> None:
    """Look at the table, rank its columns three times, compare with the truth, save."""
    cohort = make_cohort()

    # Nothing is changed here; remarks are hints. We follow them: the identifier is dropped, the
    # numbers of the wards are labels. No program can see the order of stage and grade, so the
    # schema has it.
    print_heading(
        "1. How the table is read: as it is, then without the identifier and with a schema"
    )
    print(Schema().describe(cohort.frame.drop("outcome")))
    print(cohort.schema.describe(cohort.X))

    print_heading("2. Each column by itself: FTest, with missing values as they are")
    alone = rank_alone(cohort)
    print_heading(
        "3. All columns together: SVMRFE, which needs every value, and MKLRFE, which does not"
    )
    together, mixed = rank_together(cohort), rank_mixed(cohort)
    compare(alone, together, mixed, n_causes=(cohort.truth["role"] == "causal").sum())
    print_heading("5. Saved, to go on with")
    save(cohort, alone, together, mixed, Path(folder))


def rank_alone(cohort: Cohort) -> pl.DataFrame:
    """Rank every column that has an order by the F-test; join the truth."""
    order = cohort.schema.ordinal
    unordered = ["ward", *cohort.X.select(selectors.string()).columns]
    unordered = [name for name in unordered if name not in order]
    test = FTest(schema=Schema(ordinal=order)).fit(cohort.X.drop(unordered), cohort.y)
    table = with_truth(test.table(), cohort)
    n_significant, left_out = len(select_significant(table)), ", ".join(unordered)
    print(
        f"{len(table)} columns, {n_significant} with q <= 0.05. No order, so left out: {left_out}."
    )
    return table


def rank_together(cohort: Cohort) -> pl.DataFrame:
    """Rank all columns by SVM-RFE, missing values filled by medians; join the truth."""
    full, incomplete = fill_missing(cohort.X)
    rfe = SVMRFE(schema=cohort.schema).fit(full, cohort.y)
    print(
        f"Missing values in {len(incomplete)} columns filled: numbers by their median, text by a "
        "level 'missing'."
    )
    return with_truth(rfe.table(), cohort)


def rank_mixed(cohort: Cohort) -> pl.DataFrame:
    """Rank all columns by MKL-RFE, categories and missing values as they are; join the truth."""
    rfe = MKLRFE(schema=cohort.schema).fit(cohort.X, cohort.y)
    print("Nothing is filled for MKLRFE: it compares patients column by column.")
    return with_truth(rfe.table(), cohort)


def compare(
    alone: pl.DataFrame, together: pl.DataFrame, mixed: pl.DataFrame, n_causes: int
) -> None:
    """Print what the methods put first, and what it is worth."""
    significant, first, second = (
        select_significant(alone),
        alone.head(n_causes),
        together.head(n_causes),
    )
    third = mixed.head(n_causes)
    print_heading(
        f"4. The {n_causes} best of each, and the truth: {n_causes} columns cause the outcome"
    )
    print(f"rank  {'FTest':<34}{'SVMRFE':<24}MKLRFE")
    rows = zip(entries(first), entries(second), entries(third), strict=True)
    for rank, (a, b, c) in enumerate(rows, 1):
        print(f"{rank:>4}  {a:<34}{b:<24}{c}")
    print("        causal  redundant  batch or noise  causes covered")
    lists = {"FTest": first, "SVMRFE": second, "MKLRFE": third, "q<=0.05": significant}
    for name, table in lists.items():
        causal, redundant, other = count_by_role(table)
        print(f"{name:<7} {causal:>6}{redundant:>11}{other:>16}{count_causes(table):>16}")

    shown = alone.filter(pl.col("role") == "causal")
    n_missed = len(shown) - count_by_role(significant)[0]
    middle = together.filter(pl.col("role") == "redundant")["rank"].median()
    text = f"""
        FTest has q-values. Of its {len(significant)} columns with q <= 0.05, neither cause nor
        copy: {count_by_role(significant)[2]}. Causes in its table that it missed: {n_missed} of
        {len(shown)}. It repeats itself: a copy of a gene scores much like the gene. SVMRFE measures
        what a column adds to the others. Its {n_causes} best cover {count_causes(second)} causes,
        those of FTest {count_causes(first)}. But {count_by_role(second)[2]} of its {n_causes}
        are neither cause nor copy, and the list does not say which. Low does not mean useless: half
        of the copies, which do depend on the outcome, rank below {middle:.0f}. MKLRFE lets copies
        share a weight instead of choosing one: {count_by_role(third)[1]} of its {n_causes} are
        copies, {count_by_role(third)[2]} neither. All methods saw all patients; a fair test would
        hold some back."""
    print(fill(" ".join(text.split()), 100))


def save(
    cohort: Cohort,
    alone: pl.DataFrame,
    together: pl.DataFrame,
    mixed: pl.DataFrame,
    folder: Path,
) -> None:
    """Write the table and the rankings, and say what to do with them."""
    joint = together.select("feature", "kind", "role", "partner", "effect", svm_rfe_rank="rank")
    single = alone.select("feature", f_test_rank="rank", f_test_q_value="q_value")
    third = mixed.select("feature", mkl_rfe_rank="rank")
    joined = joint.join(third, on="feature").join(single, on="feature", how="left")
    joined = joined.sort("svm_rfe_rank")
    table, schema, ranking = (folder / n for n in ("cohort.csv", "schema.toml", "ranking.csv"))
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(cohort.frame, table)
    write_frame(joined, ranking)
    with whole_file(schema) as out:
        out.write(SCHEMA.encode())
    print(f"{table}: the table; {ranking}: the rankings and the truth. From a shell:")
    print(f"  featly describe {table} --schema {schema}")
    print(f"  featly rank {table} --schema {schema} --top 10")
    print(f"  featly select {table} --schema {schema} --count 20 --output small.csv")


def print_heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}")


def with_truth(table: pl.DataFrame, cohort: Cohort) -> pl.DataFrame:
    """Join to a method's table, best first, what each column is worth."""
    return table.join(cohort.truth, left_on="feature", right_on="column").sort("rank")


def select_significant(table: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that the F-test calls significant."""
    return table.filter(pl.col("q_value") <= 0.05)


def entries(table: pl.DataFrame) -> list[str]:
    """Describe each column with its role, and its q-value where it has one."""
    return [
        f"{row['feature']} ({'copy of ' + row['partner'] if row['partner'] else row['role']})"
        + (f" q = {row['q_value']:.0e}" if "q_value" in row else "")
        for row in table.iter_rows(named=True)
    ]


def count_by_role(table: pl.DataFrame) -> tuple[int, int, int]:
    """Count the columns that are causal, redundant, neither."""
    n_causal, n_redundant = ((table["role"] == role).sum() for role in ("causal", "redundant"))
    return n_causal, n_redundant, len(table) - n_causal - n_redundant


def count_causes(table: pl.DataFrame) -> int:
    """Count the causes that a list names, by the causal column itself or by a copy."""
    about = table.filter(pl.col("role").is_in(["causal", "redundant"]))
    return about.select(pl.coalesce("partner", "feature")).n_unique()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Rank the columns of a made cohort.")
    parser.add_argument("folder", nargs="?", default="demo", help="where the tables go")
    main(parser.parse_args().folder)
