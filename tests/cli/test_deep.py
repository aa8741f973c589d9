"""``featly describe --deep`` on tables whose properties are known."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from featly.basics.errors import DataError
from featly.basics.json_text import as_json
from featly.cli.deep import deep_description
from featly.cli.deep_words import THRESHOLDS, about_boundaries, about_classes
from featly.cli.load import Request, load
from featly.cli.main import app
from featly.diagnostics import MEASURES, Complexity, complexity


def describe_deep(tmp_path, table, target="outcome", against=None, **options):
    """Return lines and document of a table that went through a file."""
    file = tmp_path / "table.csv"
    table.write_csv(file)
    other = None
    if against is not None:
        against.write_csv(tmp_path / "other.csv")
        other = load(Request(str(tmp_path / "other.csv"), target=target), need_target=False)
    job = load(Request(str(file), target=target), need_target=False)
    description = deep_description(job, against=other, **options)
    return "\n".join(description.lines), json.loads(as_json(description.document))


def table(n=80, p=4, distance=4.0, share=0.5, seed=0):
    rng = np.random.default_rng(seed)
    ill = np.arange(n) < n * share
    X = rng.normal(size=(n, p))
    X[:, :2] += distance * ill[:, None]
    columns = {f"m{f}": X[:, f] for f in range(p)}
    return pl.DataFrame(columns | {"outcome": np.where(ill, "ill", "well")})


def test_easy_classes(tmp_path):
    lines, document = describe_deep(tmp_path, table())
    assert "the classes are balanced: ill 40 rows, well 40" in lines
    assert "linear separation looks easy (a linear machine misses" in lines
    assert "that is the training error, not a promise" in lines
    assert "the classes form clear groups" in lines
    assert document["complexity"]["values"]["L2"] <= THRESHOLDS["linear: easy"]
    assert document["thresholds"] == THRESHOLDS
    assert [f["text"] for f in document["findings"]] == lines.split("\n")


def test_noise(tmp_path):
    lines, _ = describe_deep(tmp_path, table(n=300, distance=0.0))
    assert "nearest neighbours know next to nothing of the class" in lines
    assert "is not enough" in lines or "next to nothing: a linear machine" in lines


def test_a_small_class_comes_first(tmp_path):
    lines, _ = describe_deep(tmp_path, table(share=0.1))
    assert lines.startswith("the minority class (ill) has 8 rows, 1 for every 9.0 of well; fewer")


def test_many_classes(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(list("abcd"), [40, 40, 40, 12])
    X = rng.normal(size=(132, 3))
    X[:, 0] += 6 * (y == "a")
    frame = pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "outcome": y})
    lines, _ = describe_deep(tmp_path, frame)
    assert "the smallest of 4 classes (d) has 12 rows, the largest (a) 40" in lines
    assert "on average over pairs of classes" in lines
    wide = frame.with_columns(pl.Series(f"n{f}", rng.normal(size=132)) for f in range(60))
    assert (
        "63 columns for at most 66 rows in half of the pairs of classes: almost"
        in describe_deep(tmp_path, wide)[0]
    )


@pytest.mark.parametrize("n_used", [3000, 60])
def test_a_sample_is_not_the_table(n_used):
    """Few rows that were looked at do not make a long table wide; the linear error is left out."""
    values = dict.fromkeys(MEASURES, 0.1)
    measures = Complexity(values, "ho-basu", dict.fromkeys("abc", 1000), 3000, 41, n_used, "x",
                       n_directions=41)  # fmt: skip
    assert [finding.about for finding in about_classes(measures)] == ["classes"]
    subjects = [finding.about for finding in about_boundaries(measures)]
    assert ("linear" in subjects) == (n_used == 3000)


def test_small_classes_are_counted():
    values = dict.fromkeys(MEASURES, 0.1)
    measures = Complexity(values, "ho-basu", {"a": 3, "b": 1000, "c": 9}, 1012, 2, 1012, "x")
    (finding,) = about_classes(measures)
    assert finding.serious
    assert finding.text == (
        "the smallest of 3 classes (a) has 3 rows, the largest (b) 1,000; 2 classes have fewer "
        "than 10 rows"
    )


def test_more_columns_than_rows(tmp_path):
    lines, _ = describe_deep(tmp_path, table(n=40, p=60))
    assert "60 columns for 40 rows: almost any labels could be separated here" in lines
    assert "linear machine" not in lines


def test_half_as_many_columns_as_rows(tmp_path):
    lines, _ = describe_deep(tmp_path, table(n=100, p=60, distance=0.0))
    assert "60 columns for 100 rows: almost any labels could be separated here" in lines
    assert "linear" not in lines
    lines, _ = describe_deep(tmp_path, table(n=100, p=40, distance=3.0))
    assert "not a promise: with a column for every 2.5 rows it flatters" in lines


def test_levels_are_columns_to_a_linear_machine(tmp_path):
    rng = np.random.default_rng(0)
    village = [f"v{i}" for i in rng.integers(0, 28, 100)]
    frame = pl.DataFrame({"a": village, "b": village[::-1], "c": village[50:] + village[:50]})
    lines, _ = describe_deep(
        tmp_path, frame.with_columns(pl.Series("outcome", ["ill", "well"] * 50))
    )
    assert "with one for each level of text) for 100 rows: almost any labels" in lines
    assert "linear" not in lines


def test_identifiers_are_no_leak(tmp_path):
    frame = table(n=100, distance=0.0).with_columns(
        pl.Series("patient", [f"P{i}" for i in range(100)]),
        pl.Series("part", ["train", "train", "test", None] * 25),
    )
    lines, document = describe_deep(tmp_path, frame, split="part")
    assert lines.startswith("50 train and 25 test rows (25 of neither stay out); what")
    assert "'patient' differs in most rows, as identifiers do: left out" in lines
    assert "leak" not in lines
    assert "levels in test" not in lines
    assert "patient" not in document["complexity"]["best_column"]
    lines, document = describe_deep(tmp_path, frame.select("patient", "outcome"))
    assert "complexity" not in document


def test_a_column_that_separates_few_rows_is_no_leak(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 400))
    X[:3, 7] += 9
    names = {f"m{f}": X[:, f] for f in range(400)}
    frame = pl.DataFrame(names | {"outcome": ["ill"] * 3 + ["well"] * 21})
    lines, document = describe_deep(tmp_path, frame)
    assert "m7" in document["complexity"]["separating_columns"]
    assert "leak" not in lines


def test_rare_classes_are_not_called_clear_groups_or_wrong(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    y = np.where(np.arange(400) < 6, "ill", "well")
    frame = pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "outcome": y})
    lines, document = describe_deep(tmp_path, frame)
    assert "clear groups" not in lines
    assert document["suspect_rows"]["mislabelled"]
    assert "much of 'ill', so rather hard than wrong" in lines


def test_words_know_of_width_and_of_chance():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) < 3, "ill", "well")
    measures = complexity(rng.normal(size=(300, 4)), y)
    assert "almost any labels" in about_classes(replace(measures, n_directions=170))[-1].text
    for share, word in ((0.013, "the classes overlap"), (0.004, "clear groups")):
        lines = [
            f.text
            for f in about_boundaries(replace(measures, values=measures.values | {"N3": share}))
        ]
        assert word in next(line for line in lines if "neighbours" in line)


def test_a_measured_target(tmp_path):
    frame = table().with_columns(pl.Series("score", np.random.default_rng(0).normal(size=80)))
    other = frame.with_columns(pl.col("score") + 3)
    lines, document = describe_deep(tmp_path, frame.drop("outcome"), "score", other.drop("outcome"))
    assert "target 'score' looks measured: no classes to tell apart" in lines
    assert "target 'score' differs between this table and the other (" in lines
    assert "class shares" not in lines
    assert "complexity" not in document


def test_parts_that_are_numbered_and_have_one_class(tmp_path):
    frame = table().with_columns(
        pl.Series("fold", [1] * 40 + [2] * 40), (pl.col("m3") > 0).cast(pl.String).alias("high")
    )
    lines, document = describe_deep(tmp_path, frame, split="fold", against=frame.drop("fold"))
    assert lines.startswith("40 fold 1 and 40 fold 2 rows; what follows is of the fold 1 rows")
    assert "the fold 1 rows are all of class ill: nothing to tell apart" in lines
    assert "a class is only in fold 2: 'well'" in lines
    assert "no sign that this table and the other differ" in lines
    assert "complexity" not in document


def test_missing_values_that_differ(tmp_path):
    frame = table(distance=0.0)
    other = frame.with_columns(pl.when(pl.int_range(80) % 2 == 0).then("m2").alias("m2"))
    lines, _ = describe_deep(tmp_path, frame, against=other)
    assert "1 of 4 columns differs between this table and the other (p = 0.001;" in lines
    assert "m2 (missing +50%)" in lines


def test_a_curved_boundary(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    frame = pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "outcome": y})
    assert "the boundary is curved" in describe_deep(tmp_path, frame)[0]


def test_a_leak(tmp_path):
    frame = table(distance=1.0).with_columns(pl.Series("died_on_day", [3.5] * 40 + [99.5] * 40))
    lines, _ = describe_deep(tmp_path, frame)
    assert "'died_on_day' alone tells all classes apart: a gift, or a leak" in lines


def test_odd_columns(tmp_path):
    frame = table().with_columns(
        pl.col("m0").alias("again"),
        (pl.col("m1") * 2.54).alias("inches"),
        pl.lit(3).alias("site"),
        pl.Series("rare", [1.5] * 2 + [0.0] * 78),
    )
    lines, document = describe_deep(tmp_path, frame)
    assert "'m0' and 'again' are the same column" in lines
    assert "'m1' and 'inches' are the same numbers in other units" in lines
    assert "'site' is empty or constant" in lines
    assert "'rare' is nearly constant" in lines
    assert document["suspect_columns"]["identical"] == [["m0", "again"]]


def test_odd_rows_are_counted_from_1_in_the_file(tmp_path):
    frame = table(n=100, distance=6.0)
    frame[4, "m3"] = 60.0
    outcome = frame["outcome"].to_list()
    outcome[30], outcome[0] = "well", None  # the first row stays out
    lines, document = describe_deep(tmp_path, frame.with_columns(pl.Series("outcome", outcome)))
    assert "row 5 ('m3') is far from all others" in lines
    assert "1 row looks mislabelled: nearly all neighbours are of another class, row 31" in lines
    assert document["suspect_rows"]["mislabelled"][0]["row"] == 31
    assert document["suspect_rows"]["mislabelled"][0]["suggested"] == "ill"


def test_a_split_column(tmp_path):
    frame = table(n=120).with_columns(
        pl.Series("part", ["test", "train", "train"] * 40),
        pl.Series("ward", ["north", "south", "south"] * 40),
    )
    moved = frame.with_columns(pl.col("m2") + 5 * (pl.col("part") == "test"))
    lines, document = describe_deep(tmp_path, moved, split="part")
    assert lines.startswith("80 train and 40 test rows; what follows is of the train rows")
    assert "2 of 5 columns differ between train and test (p = 0.001; " in lines
    assert "ward has 1 level in test that train never had: 'north'" in lines
    assert "class shares of train and test do not differ visibly" in lines
    assert document["shift"]["split"]["new_levels"] == {"ward": ["north"]}
    assert "part" not in [c["column"] for c in document["shift"]["split"]["columns"]]


def test_against_another_table(tmp_path):
    first, second = table(seed=1), table(seed=2)
    lines, document = describe_deep(
        tmp_path, first, against=second.select(reversed(second.columns))
    )
    assert "no sign that this table and the other differ" in lines
    lines, document = describe_deep(tmp_path, first, against=table(seed=2, distance=9.0, share=0.2))
    assert "columns differ between this table and the other" in lines
    assert "class shares differ between this table and the other" in lines
    assert document["shift"]["against"]["n_second"] == 80


def test_without_a_target(tmp_path):
    frame = table().drop("outcome").with_columns(pl.col("m0").alias("again"))
    words = []
    lines, document = describe_deep(tmp_path, frame, target=None, progress=words.append)
    assert "'m0' and 'again' are the same column" in lines
    assert "complexity" not in document
    assert words == ["reading", "columns", "rows"]


def test_equal_seeds_give_equal_results(tmp_path):
    frame = table(distance=1.0)
    assert describe_deep(tmp_path, frame, seed=3) == describe_deep(tmp_path, frame, seed=3)


def test_wrong_options(tmp_path):
    frame = table().with_columns(pl.Series("part", ["a", "b", "c", "d"] * 20))
    with pytest.raises(DataError, match="--split-column 'fold' is no column of"):
        describe_deep(tmp_path, frame, split="fold")
    with pytest.raises(DataError, match="has to have two values; it has a, b, c, d"):
        describe_deep(tmp_path, frame, split="part")
    with pytest.raises(DataError, match=r"other\.csv' has 1 row: at least 2"):
        describe_deep(tmp_path, frame, against=frame[:1])
    lone = frame.with_columns(pl.Series("part", ["a"] * 79 + ["b"]))
    with pytest.raises(DataError, match="part': part 'b' has 1 row: at least 2"):
        describe_deep(tmp_path, lone, split="part")
    with pytest.raises(DataError, match=r"--against .*other\.csv'?: column 'm1' .* 'high'"):
        describe_deep(tmp_path, frame, against=frame.with_columns(pl.lit("high").alias("m1")))
    with pytest.raises(DataError, match="column 'm1' is not in"):
        describe_deep(tmp_path, frame, against=frame.drop("m1"))


def test_the_other_table_may_come_without_the_target(tmp_path, capsys):
    table().write_csv(tmp_path / "a.csv")
    table(seed=1).drop("outcome").write_csv(tmp_path / "b.csv")
    words = ["describe", str(tmp_path / "a.csv"), "--target", "outcome", "--deep", "--json"]
    app([*words, "--against", str(tmp_path / "b.csv")], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)
    assert list(document["deep"]["shift"]) == ["against"]
