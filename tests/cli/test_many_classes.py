"""``featly rank`` for many classes: pairs of them, in the words of the command line."""

import json

import numpy as np
import polars as pl
import pytest

from featly import SVMRFE, PairwiseRanker
from featly.cli import printing
from tests.cli.reading import cells


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    tumour = np.array(["lung", "colon", "breast", "skin"])[np.arange(80) % 4]
    values = rng.normal(size=(80, 12)).round(3)
    values[:, 3] += 4 * (tumour == "lung")
    values[:, 8] += 4 * (tumour == "skin")
    table = pl.DataFrame(values, schema=[f"G{j}" for j in range(12)])
    return table.with_columns(tumour=tumour)


@pytest.fixture
def file(frame, tmp_path):
    path = tmp_path / "tumours.csv"
    frame.write_csv(path)
    return path


def test_a_method_for_two_classes_says_what_to_type(mistake, file):
    message = mistake("rank", file, "--target", "tumour", "--method", "svm-rfe")
    assert "4 classes" in message
    assert "--set multiclass=ovo" in message
    assert "PairwiseRanker" not in message


def test_pairs_of_classes(featly, file, frame):
    code, out, _ = featly(
        "rank", file, "--target", "tumour", "--method", "svm-rfe", "--set", "multiclass=ovo"
    )
    assert code == 0
    head, *rows = cells(out)
    expected = SVMRFE(multiclass="ovo").fit(frame.drop("tumour"), frame["tumour"])
    at = head.index("best_position")
    assert head[at:] == ["best_position", "best_in", "among_first", *expected.problems_]
    assert [row[1] for row in rows] == expected.table()["feature"].to_list()
    assert {row[1] for row in rows[:2]} == {"G3", "G8"}


@pytest.mark.parametrize("command", ["rank", "select"])
def test_a_terminal_shows_no_list_of_many(featly, file, monkeypatch, command):
    monkeypatch.setattr(printing, "is_output_terminal", lambda: True)
    code, out, err = featly(command, file, "-t", "tumour", "-m", "pairwise")
    assert code == 0
    assert "among_first" in out
    assert "breast vs skin" not in out.splitlines()[2]
    if command == "rank":
        assert "the position in each of the 6 lists is with --output or --json" in out + err


def test_all_positions_are_in_the_file(featly, file, frame, tmp_path):
    saved = tmp_path / "ranking.csv"
    code, _, _ = featly(
        "rank", file, "-t", "tumour", "-m", "pairwise", "--set", "combine=best",
        "--set", "ranker=svm-rfe", "--set", "ranker__C=0.1", "--output", saved,
    )  # fmt: skip
    assert code == 0
    ranking = pl.read_csv(saved)
    expected = PairwiseRanker(SVMRFE(C=0.1), combine="best")
    expected.fit(frame.drop("tumour"), frame["tumour"])
    assert ranking["feature"].to_list() == expected.table()["feature"].to_list()
    for label in expected.problems_:
        assert ranking[label].to_list() == expected.table()[label].to_list()


def test_json_names_the_ranker(featly, file):
    code, out, _ = featly(
        "rank", file, "-t", "tumour", "-m", "pairwise", "--json", "--set", "ranker__C=0.1"
    )
    assert code == 0
    document = json.loads(out)
    assert "SVMRFE(C=0.1)" in document["parameters"]["ranker"]
    assert document["parameters"]["combine"] == "k-first"
    assert "breast vs skin" in document["ranking"][0]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (["ranker__D=1"], "svm-rfe has no parameter 'D'"),
        (["ranker=svm-rf", "ranker__C=1"], "did you mean"),
        (["ranker=cfs"], "ranks all columns"),
        (["ranker=svm-rfe", "ranker__C=-1"], "C=-1"),
        (["combine=mean"], "average-sd"),
        (["k=13"], "k=13"),
    ],
)
def test_mistakes(mistake, file, settings, word):
    chosen = [part for setting in settings for part in ("--set", setting)]
    assert word in mistake("rank", file, "-t", "tumour", "-m", "pairwise", *chosen)
