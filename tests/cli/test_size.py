"""``featly select`` without a count: the size of a rule, and the columns expected to be false."""

import json

import numpy as np
import polars as pl
import pytest

from featly import FTest, ReliefF

UNKNOWN = "how many of them are noise is not known; featly evaluate tells how well they predict"


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 100))
    X[:, :8] += 0.9 * y[:, None]
    return X.round(3), np.where(y, "ill", "well")


@pytest.fixture
def path(table, tmp_path):
    frame = pl.DataFrame(table[0], schema=[f"c{j}" for j in range(100)])
    frame.with_columns(y=pl.Series(table[1])).write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def select(featly, path, *options):
    code, out, err = featly("select", path, "-t", "y", "--json", *options)
    assert code == 0, err
    return json.loads(out), err


def test_a_method_with_q_values_takes_as_many_as_are_small(featly, path, table):
    test = FTest().fit(*table)
    small = np.flatnonzero(test.q_value_ <= 0.1)
    document, err = select(featly, path)
    assert document["selected"] == [f"c{j}" for j in test.order_[: len(small)]]
    assert (document["size"], document["rule"]) == (len(small), "fdr")
    expected = len(small) * test.q_value_[small].max()
    assert document["expected_false"] == pytest.approx(expected)
    said = f"of {len(small)} columns about {expected:.1f} are expected to be false (q <= 0.09)"
    assert said in err
    assert "a q-value of at most 0.10, at least one (rule fdr)" in err


def test_another_method_takes_what_the_rule_of_thumb_says(featly, path, table):
    document, err = select(featly, path, "-m", "relieff")
    order = ReliefF().fit(*table).order_
    assert document["selected"] == [f"c{j}" for j in order[:10]]
    assert [document[key] for key in ("size", "rule", "expected_false")] == [
        10, "rule-of-thumb", None,
    ]  # fmt: skip
    assert f"10 columns, by the number of columns of the table (rule-of-thumb); {UNKNOWN}" in err


def test_a_subset_tells_that_the_method_chose_its_size(featly, path):
    document, err = select(featly, path, "-m", "fcbf")
    assert document["rule"] is None
    assert document["expected_false"] is None
    assert f"as many as the method chose itself; {UNKNOWN}" in err


def test_no_filler_is_taken_unasked(featly, path, table):
    frame = pl.read_csv(path).select("c0", "y").with_columns(
        **{f"flat{j}": pl.lit(1.0) for j in range(30)}
    )  # fmt: skip
    frame.write_csv(path)
    document, err = select(featly, path, "-m", "relieff")
    assert document["selected"] == ["c0"]
    assert "are filler" not in err


def test_a_given_count_is_taken_without_a_word(featly, path, table):
    document, err = select(featly, path, "-k", 20)
    assert (document["size"], document["rule"]) == (20, None)
    q = FTest().fit(*table).q_value_
    largest = np.sort(q)[19]  # that of six other columns, too
    assert document["expected_false"] == pytest.approx(largest * (q <= largest).sum())
    assert "expected" not in err
    assert "expected" in select(featly, path, "-k", "fdr")[1]
    assert "expected" not in select(featly, path, "-q")[1]


def test_noise_gives_one_column_that_is_probably_false(featly, path):
    frame = pl.read_csv(path)
    rng = np.random.default_rng(1)
    frame.with_columns(pl.Series("y", rng.permutation(frame["y"].to_numpy()))).write_csv(path)
    document, err = select(featly, path)
    assert document["size"] == 1
    assert document["expected_false"] > 0.3
    assert "of 1 column about" in err


def test_columns_to_keep_are_not_counted(featly, path):
    document, err = select(featly, path, "--keep", "c50,c51")
    alone, _ = select(featly, path)
    assert document["size"] == alone["size"] + 2
    assert document["expected_false"] == pytest.approx(alone["expected_false"])
    assert f"of {alone['size']} columns, those to keep left out (2) about" in err


def test_a_target_of_numbers_is_not_sent_to_evaluate(featly, path, table):
    frame = pl.read_csv(path).with_columns(y=pl.Series(table[0][:, 0] + table[0][:, 9]))
    frame.write_csv(path)
    _, err = select(featly, path, "-m", "symmetric-uncertainty")
    assert "is not known" in err
    assert "evaluate" not in err


def test_methods_without_q_values_refuse_the_rule(mistake, path):
    message = mistake("select", path, "-t", "y", "-m", "relieff", "-k", "fdr")
    assert message.startswith("--count fdr: ReliefF has no q-values")
