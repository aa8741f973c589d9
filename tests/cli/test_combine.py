"""``featly combine``: files of rankings in, one ranking out."""

import json

import numpy as np
import polars as pl
import pytest

from featly.combine.rankings import RULES, combine_rankings, positions_of
from featly.io.schema_files import read_ranking
from tests.cli.reading import cells

LISTS = {"a": "pqrst", "b": "qprts", "c": "tpqsr"}


@pytest.fixture
def files(tmp_path):
    """Three rankings of five features, in three formats."""
    paths = []
    for (name, letters), ending in zip(LISTS.items(), ("csv", "parquet", "json"), strict=True):
        frame = pl.DataFrame({"rank": range(1, 6), "feature": list(letters), "score": 1.0})
        path = tmp_path / f"{name}.{ending}"
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "json": frame.write_json}[ending](
            path
        )
        paths.append(path)
    return paths


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_those_of_python(featly, files, rule):
    code, out, err = featly("combine", *files, "--rule", rule)
    assert code == 0
    positions, names = positions_of(map(list, LISTS.values()))
    combined = combine_rankings(positions, rule)
    head, *rows = cells(out)
    assert head == [
        "rank",
        "feature",
        "score",
        *["p_value"] * (combined.p_values is not None),
        *"abc",
    ]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [row[1] for row in rows] == [names[i] for i in combined.order]
    assert [float(row[2]) for row in rows] == combined.scores[combined.order].tolist()
    assert [[int(cell) for cell in row[-3:]] for row in rows] == positions[combined.order].tolist()
    assert "3 lists, 5 features" in err
    assert ("share their score" in err) == (combined.ties > 0)
    assert "missing" not in err


def test_help_names_every_rule(featly):
    code, out, _ = featly("combine", "--help")
    assert code == 0
    words = " ".join(out.replace("│", " ").split())
    for rule in RULES:
        assert rule in words


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json"])
def test_what_is_saved_can_be_read_again(featly, files, tmp_path, ending):
    path = tmp_path / f"one.{ending}"
    code, out, err = featly("combine", *files, "--rule", "borda", "-o", path, "--top", "2")
    assert code == 0
    assert len(cells(out)) == 3
    assert str(path) in err
    names = [row[1] for row in cells(out)[1:]]
    assert read_ranking(path)["feature"].to_list()[:2] == names
    assert read_ranking(path)["rank"].to_list() == [1, 2, 3, 4, 5]
    code, out, _ = featly("combine", *files, path, "--quiet")
    assert code == 0


def test_options_reach_the_rule(featly, files):
    positions, names = positions_of(map(list, LISTS.values()))
    for options, same in (
        (("--k", "2"), {"k": 2}),
        (("--k", "0.4"), {"k": 0.4}),
        (
            ("-r", "average-sd", "--tie-sd", "smaller"),
            {"method": "average-sd", "tie_sd": "smaller"},
        ),
        (
            ("-r", "reciprocal-rank", "--constant", "3"),
            {"method": "reciprocal-rank", "constant": 3},
        ),
    ):
        code, out, err = featly("combine", *files, *options, "--json", "--quiet")
        assert code == 0
        assert err == ""
        document = json.loads(out)
        combined = combine_rankings(positions, **same)
        assert [row["feature"] for row in document["ranking"]] == [names[i] for i in combined.order]
        assert [row["score"] for row in document["ranking"]] == combined.scores[
            combined.order
        ].tolist()
        assert document["ties"] == combined.ties
        assert {**document["options"], "method": document["rule"]}.items() >= same.items()
        assert document["lists"] == 3


def test_missing_features_are_counted(featly, files, tmp_path):
    short = tmp_path / "short.csv"
    short.write_text("rank,feature\n3,t\n7,p\n")  # the ranks of a file that was cut
    code, out, err = featly("combine", *files, short, "--rule", "best")
    assert code == 0
    assert "missing: 3 in short; they come last there" in err
    assert "--unlisted unknown" in err
    rows = {row[1]: row[-1] for row in cells(out)[1:]}
    assert rows == {"t": "1", "p": "2", "q": "", "r": "", "s": ""}
    positions, names = positions_of([*map(list, LISTS.values()), ["t", "p"]])
    for unlisted in ("last", "unknown"):
        code, out, err = featly(
            "combine", *files, short, "-r", "average-sd", "--unlisted", unlisted
        )
        combined = combine_rankings(positions, "average-sd", unlisted=unlisted)
        assert [row[1] for row in cells(out)[1:]] == [names[i] for i in combined.order]
    assert "the lists that have them decide" in err


def test_tied_ranks_and_selections_are_lists_too(featly, files, tmp_path):
    tied, chosen = tmp_path / "tied.csv", tmp_path / "chosen.csv"
    tied.write_text("feature,rank\np,1\nq,1\nr,2\ns,2\nt,3\n")
    chosen.write_text("feature,selected\np,true\nq,false\nr,false\ns,true\nt,false\n")
    code, out, _ = featly("combine", tied, chosen, "--json")
    assert code == 0
    rows = {row["feature"]: (row["tied"], row["chosen"]) for row in json.loads(out)["ranking"]}
    assert rows == {"p": (1.5, 1.5), "q": (1.5, 4), "r": (3.5, 4), "s": (3.5, 1.5), "t": (5, 4)}


def test_files_of_the_same_name_have_their_folders(featly, tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "list.csv").write_text("rank,feature\n1,p\n2,q\n")
    paths = [str(tmp_path / folder / "list.csv") for folder in ("x", "y")]
    code, out, _ = featly("combine", *paths)
    assert code == 0
    assert cells(out)[0][-2:] == paths


def test_mistakes_are_reported_in_one_line(mistake, files, tmp_path):
    assert "did you mean 'schulze'?" in mistake("combine", *files, "--rule", "shulze")
    assert "there are average-sd" in mistake("combine", *files, "--rule", "xyz")
    assert "at least two files" in mistake("combine", files[0])
    assert "named twice" in mistake("combine", files[0], files[0])
    assert "--k 'ten'" in mistake("combine", *files, "--k", "ten")
    assert "--k 9: give a whole number from 1 to 5" in mistake("combine", *files, "--k", "9")
    assert "--k 2 is not used by 'best'" in mistake("combine", *files, "-r", "best", "--k", "2")
    assert "--tie-sd x" in mistake("combine", *files, "-r", "average-sd", "--tie-sd", "x")
    assert "unlisted='x'" in mistake("combine", *files, "--unlisted", "x")
    assert "nowhere.csv" in mistake("combine", files[0], tmp_path / "nowhere.csv")
    assert "one.xyz" in mistake("combine", *files, "-o", tmp_path / "one.xyz")
    table = tmp_path / "table.csv"
    table.write_text("x,y\n1,2\n")
    assert "is no ranking" in mistake("combine", files[0], table)
    table.write_text("rank,feature\n1,p\n2,p\n")
    assert "has 'p' twice" in mistake("combine", files[0], table)
    table.write_text("rank,feature\n")
    assert "has no row" in mistake("combine", files[0], table)
    table.write_text("rank,feature\nnan,p\n")
    assert "has no rank for 'p'" in mistake("combine", files[0], table)
    table.write_text("rank,feature\n1,p\n2,zz\n")
    message = mistake("combine", files[0], table, "-r", "stuart", "--unlisted", "unknown")
    assert "'p' is in 2 and 'q' in 1" in message


def test_long_runs_are_announced(featly, files, monkeypatch):
    from featly.core.ranking import voting

    monkeypatch.setattr(voting, "_LONG", -np.inf)
    code, _, err = featly("combine", *files, "-r", "condorcet")
    assert code == 0
    assert "hours here" in err
