"""Priors on the command line: what they changed is said, measured, and carried to other tables."""

import json

import numpy as np
import polars as pl
import pytest

from featly import SignalToNoise, read_table
from featly.cli import changes, main, method
from featly.cli.load import Request, load
from featly.cli.method import PRIOR_DEFAULTS, choose_method
from featly.method_facts import FACTS
from featly.registry import METHODS
from featly.study import prior_report
from tests.cli.conftest import featly, mistake  # noqa: F401
from tests.cli.reading import cells

PRIOR = {"g5": 50.0, "g11": 50.0}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    ill = np.arange(60) % 2
    X = rng.normal(size=(60, 12))
    X[:, :4] += 2 * ill[:, None]
    columns = {f"g{j}": X[:, j].round(3) for j in range(12)}
    return pl.DataFrame(columns | {"ill": np.where(ill, "yes", "no")})


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "tumours.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def prior(tmp_path):
    path = tmp_path / "prior.csv"
    path.write_text(
        "gene,prior\n" + "".join(f"{name},{value:g}\n" for name, value in PRIOR.items())
    )
    return path


@pytest.fixture(scope="module")
def fits(frame):
    X, y = frame.drop("ill"), frame["ill"].to_numpy()
    return [SignalToNoise(schema={"prior": p}).fit(X, y) for p in (PRIOR, {})]


SN = ("-t", "ill", "-m", "signal-to-noise")


# ---- rank and select say what a prior changed ----------------------------------------------------
def test_rank_reports_the_effect_of_a_prior(featly, csv, prior, fits):  # noqa: F811
    code, out, err = featly("rank", csv, *SN, "--prior", prior, "--top", 4)
    assert code == 0
    now, before = fits
    assert [row[1] for row in cells(out)[1:]] == [f"g{j}" for j in now.order_[:4]]
    ranks = sorted((now.ranking_[j], f"g{j}", before.ranking_[j]) for j in (5, 11))
    rank_texts = ", ".join(f"'{name}' {a} (without it {b})" for a, name, b in ranks)
    same = len(set(now.order_[:4].tolist()) & set(before.order_[:4].tolist()))
    assert same < 4
    line = (
        f"note: ranks with the prior: {rank_texts}; {same} of the first 4 columns are the same as "
        "without it"
    )
    assert err.splitlines()[-1] == line


def test_with_quiet_nothing_is_fitted_again(featly, csv, prior, monkeypatch):  # noqa: F811
    count = []
    fit = method.fit
    monkeypatch.setattr(method, "fit", lambda *a, **k: count.append(1) or fit(*a, **k))
    code, _, err = featly("rank", csv, *SN, "--prior", prior, "-q")
    assert (code, err, len(count)) == (0, "", 1)
    assert featly("rank", csv, *SN, "--prior", prior, "-q", "--json")[0] == 0
    assert len(count) == 3
    assert featly("rank", csv, *SN)[0] == 0  # there is nothing to compare with
    assert len(count) == 4


def test_json_has_the_whole_comparison(featly, csv, prior, fits, tmp_path):  # noqa: F811
    now, before = fits
    code, out, _ = featly("rank", csv, *SN, "--prior", prior, "--top", 4, "--json", "-q")
    assert code == 0
    document = json.loads(out)
    assert len(document["ranking"]) == 4
    prior_facts = document["prior"]
    assert prior_facts["first"] == 4
    assert [row["feature"] for row in prior_facts["favoured"]] == sorted(
        PRIOR, key=lambda name: now.ranking_[int(name[1:])]
    )
    for row in prior_facts["favoured"]:
        j = int(row["feature"][1:])
        assert row["prior"] == PRIOR[row["feature"]]
        assert (row["rank"], row["rank_without"]) == (now.ranking_[j], before.ranking_[j])
    first, other = (set(f.order_[:4].tolist()) for f in (now, before))
    assert prior_facts["same"] == len(first & other)
    assert {int(name[1:]) for name in prior_facts["came_in"]} == first - other
    assert {int(name[1:]) for name in prior_facts["went_out"]} == other - first
    saved = tmp_path / "ranking.json"
    assert featly("rank", csv, *SN, "--prior", prior, "-q", "-o", saved)[0] == 0
    assert json.loads(saved.read_text())["prior"]["first"] == 6  # half, where all are shown
    assert "prior" not in json.loads(featly("rank", csv, *SN, "--json", "-q")[1])


def test_a_ranking_on_standard_output_has_the_note_too(featly, csv, prior):  # noqa: F811
    code, out, err = featly("rank", csv, *SN, "--prior", prior, "--output", "-")
    assert code == 0
    assert out.startswith("rank,feature")
    assert "note: ranks with the prior" in err


def test_after_a_long_fit_there_is_no_second_one(
    featly, csv, prior, monkeypatch  # noqa: F811
):  # fmt: skip
    monkeypatch.setattr(changes, "PATIENCE", -1.0)
    code, _, err = featly("rank", csv, *SN, "--prior", prior)
    assert code == 0
    assert "note: 'featly prior' tells what the prior changed; it takes more fits" in err
    assert "ranks with" not in err
    document = json.loads(featly("rank", csv, *SN, "--prior", prior, "--json")[1])
    assert document["prior"]["favoured"]


def test_select_reports_the_effect_on_the_selection(featly, csv, prior, fits, tmp_path):  # noqa: F811
    small, ranking = tmp_path / "small.csv", tmp_path / "ranking.json"
    code, _, err = featly("select", csv, *SN, "--prior", prior, "-k", 3, "-o", small, "--ranking",
                          ranking)  # fmt: skip
    assert code == 0
    now, before = (set(f.order_[:3].tolist()) for f in fits)
    assert f"{len(now & before)} of the first 3 columns are the same as without it" in err
    assert json.loads(ranking.read_text())["prior"]["first"] == 3
    assert featly("select", csv, *SN, "--prior", prior, "-k", 3, "-o", small, "-q")[2] == ""


def test_a_method_without_priors_has_a_note(featly, csv, prior):  # noqa: F811
    unused = next(name for name, m in METHODS.items() if "prior" not in m.uses and m.many_classes)
    code, _, err = featly("rank", csv, "-t", "ill", "-m", unused, "--prior", prior)
    assert code == 0
    assert "does not use prior of the schema" in err
    assert "ranks with the prior" not in err


def test_all_columns_favoured_alike(featly, csv, tmp_path):  # noqa: F811
    path = tmp_path / "all.csv"
    path.write_text("".join(f"g{j},10\n" for j in range(12)))
    code, _, err = featly("rank", csv, *SN, "--prior", path)
    assert code == 0
    assert "note: prior is 10 for every column, so it favours none" in err
    assert "ranks with the prior" not in err


def test_of_many_favoured_columns_three_are_named(featly, csv, tmp_path):  # noqa: F811
    path = tmp_path / "five.csv"
    path.write_text("".join(f"g{j},10\n" for j in range(5)))
    _, _, err = featly("rank", csv, *SN, "--prior", path, "--top", 2)
    line = err.splitlines()[-1]
    assert line.count("without it ") == 3
    assert ") and 2 more; " in line


@pytest.mark.parametrize(
    ("first", "same", "expected"),
    [
        (1, 1, "the first column is the same as without it"),
        (1, 0, "the first column is not the same as without it"),
        (4, 1, "1 of the first 4 columns is the same as without it"),
        (4, 0, "0 of the first 4 columns are the same as without it"),
    ],
)
def test_the_line_reads_well(first, same, expected):
    favoured = [{"feature": "g5", "prior": 2.0, "rank": 1, "rank_without": 1200}]
    line = changes.Change(favoured, first, same).line()
    assert line == f"ranks with the prior: 'g5' 1 (without it 1,200); {expected}"
    assert changes.Change().line() == ""


# ---- the method if none is named -----------------------------------------------------------------
def chosen_method(err):
    return err.partition("method: ")[2].split(" ")[0]


@pytest.fixture
def wide(frame, tmp_path):
    path = tmp_path / "wide.csv"
    noise = np.random.default_rng(1).normal(size=(60, 60)).round(2)
    extra = [pl.Series(f"n{j}", noise[:, j]) for j in range(60)]
    frame.with_columns(extra).write_csv(path)
    return path


def set_uses(monkeypatch, name, parts):
    """Pretend that a method uses some parts of a schema."""
    key = METHODS[name].class_name
    monkeypatch.setitem(FACTS, key, FACTS[key] | {"uses": parts})


@pytest.fixture
def methods_with_prior(monkeypatch):
    """All of the methods that may be chosen use a prior."""
    for name in PRIOR_DEFAULTS:
        set_uses(monkeypatch, name, ("keep", "prior"))


def test_a_prior_chooses_a_method_that_uses_it(featly, wide, csv, prior, methods_with_prior):  # noqa: F811
    assert chosen_method(featly("rank", csv, "-t", "ill")[2]) == "f-test"
    code, _, err = featly("rank", wide, "-t", "ill", "--prior", prior)
    assert (code, chosen_method(err)) == (0, "arom")
    assert "note: ranks with the prior" in err
    code, _, err = featly("rank", csv, "-t", "ill", "--prior", prior)  # it cannot be separated
    assert (code, chosen_method(err)) == (0, "svm-rfe")
    assert chosen_method(featly("rank", wide, "-t", "ill")[2]) == "f-test"


def test_it_is_chosen_by_what_the_table_needs(wide, prior, methods_with_prior, tmp_path):
    frame = pl.read_csv(wide)
    with_missing = pl.when(pl.col("g3") > 1).then(None).otherwise("g3").alias("g3")
    tables = {
        "mkl-rfe": frame.with_columns(with_missing),
        "relieff": frame.with_columns(pl.Series("ill", np.arange(60) % 3)),
        "arom": frame.with_columns(pl.Series("sex", ["f", "m"] * 30)),
    }
    for name, table in tables.items():
        path = tmp_path / f"{name}.csv"
        table.write_csv(path)
        with load(Request(str(path), target="ill", prior=str(prior))) as data:
            assert choose_method(data) == name
            assert choose_method(data, fill=True) == ("arom" if name == "mkl-rfe" else name)


def test_where_no_method_uses_it_the_usual_one_is_chosen(
    wide, prior, methods_with_prior, monkeypatch
):
    with load(Request(str(wide), target="ill", prior=str(prior))) as data:
        for name in ("arom", "svm-rfe"):
            assert choose_method(data) == name
            set_uses(monkeypatch, name, ("keep",))
        for name in PRIOR_DEFAULTS:
            set_uses(monkeypatch, name, ("keep",))
        assert choose_method(data) == "f-test"


def test_evaluate_judges_a_method_that_uses_the_prior(featly, wide, csv, prior):  # noqa: F811
    few = ("--splits", "3", "--sizes", "2", "-q")
    _, out, _ = featly("evaluate", wide, "-t", "ill", "--prior", prior, *few)
    assert [row[1] for row in cells(out)[1:]] == ["arom", "f-test", "svm-rfe", "none"]
    _, out, _ = featly("evaluate", csv, "-t", "ill", *few)
    assert [row[1] for row in cells(out)[1:]] == ["f-test", "svm-rfe", "none"]


# ---- a ranking of another table ------------------------------------------------------------------
@pytest.fixture
def donor(tmp_path):
    path = tmp_path / "other.csv"
    names = ["far", "g11", "away", "g5", "g7", "g0"]
    pl.DataFrame({"rank": range(1, 7), "feature": names}).write_csv(path)
    return path


def test_a_ranking_becomes_a_prior(featly, csv, donor, prior):  # noqa: F811
    options = ("--prior-from", donor, "--prior-top", 2, "--prior-weight", 50)
    code, out, err = featly("rank", csv, *SN, *options)
    assert code == 0
    assert (
        f"2 columns are favoured by 50: the best of '{donor}' that are here, 1 of them among its "
        "first 2"
    ) in err
    assert out == featly("rank", csv, *SN, "--prior", prior)[1]
    assert "note: ranks with the prior" in err


def test_defaults_of_prior_from_and_priors_of_single_columns(csv, donor, prior):
    request = {"file": str(csv), "target": "ill", "prior_from": str(donor)}
    with load(Request(**request)) as data:
        assert data.schema.prior == {"g11": 10, "g5": 10, "g7": 10, "g0": 10}
    with load(Request(**request, prior=str(prior), drop=["g7"])) as data:
        assert data.schema.prior == {"g11": 50, "g5": 50, "g0": 10}
        assert data.notes[-1].startswith("3 columns are favoured by 10: ")
        assert data.notes[-1].endswith("3 of them among its first 6")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json"])
def test_what_rank_writes_is_what_prior_from_reads(featly, csv, tmp_path, ending):  # noqa: F811
    saved = tmp_path / f"ranking.{ending}"
    assert featly("rank", csv, *SN, "-o", saved, "-q")[0] == 0
    ranked = [row[1] for row in cells(featly("rank", csv, *SN, "-q")[1])[1:]]
    request = Request(str(csv), target="ill", prior_from=str(saved), prior_top=3)
    with load(request) as data:
        assert list(data.schema.prior) == ranked[:3]


def test_what_select_writes_of_a_subset_is_read(featly, csv, tmp_path):  # noqa: F811
    saved, small = tmp_path / "ranking.csv", tmp_path / "small.csv"
    assert featly("select", csv, "-t", "ill", "-m", "cfs", "--ranking", saved, "-o", small)[0] == 0
    with load(Request(str(csv), target="ill", prior_from=str(saved))) as data:
        assert sorted(data.schema.prior) == sorted(read_table(small, target="ill").names)


# ---- featly prior --------------------------------------------------------------------------------
FEW = ("-k", "3", "--splits", "6")


@pytest.fixture(scope="module")
def expected_report(frame):
    X, y = frame.drop("ill"), frame["ill"].to_numpy()
    return prior_report(SignalToNoise(), X, y, schema={"prior": PRIOR}, size=3, splits=6)


def test_prior_prints_the_report(featly, csv, wide, prior, expected_report):  # noqa: F811
    code, out, err = featly("prior", csv, *SN, "--prior", prior, *FEW)
    assert code == 0
    assert out == f"{expected_report}\n"
    assert "60 rows, 12 columns" in err
    assert "method:" not in err
    code, out, err = featly("prior", wide, "-t", "ill", "--prior", prior, *FEW)
    assert code == 0
    assert chosen_method(err) == "arom"
    assert out.startswith("AROM: what the prior changed")
    assert featly("prior", csv, *SN, "--prior", prior, *FEW, "-q")[2] == ""


def test_prior_as_json_and_as_a_file(featly, csv, prior, expected_report, tmp_path):  # noqa: F811
    code, out, _ = featly("prior", csv, *SN, "--prior", prior, *FEW, "--sizes", "2,5", "--json",
                          "-q")  # fmt: skip
    assert code == 0
    printed = json.loads(out)
    assert printed["came_in"] == expected_report.came_in
    assert printed["common"] == expected_report.common
    assert printed["went_out"] == expected_report.went_out
    assert {row["size"] for row in printed["figures"]} == {2, 3, 5}
    row = next(r for r in printed["figures"] if r["size"] == 3 and r["figure"] == "bcr")
    assert row["difference"]["value"] == expected_report.bcr.difference.value
    assert row["with"]["lower"] == expected_report.bcr.with_prior.lower
    assert row["without"]["upper"] == expected_report.bcr.without.upper
    assert row["verdict"] == expected_report.bcr.verdict()
    assert "too good" in printed["caution"]
    assert len(printed["ranking"]) == 12
    assert [row["feature"] for row in printed["favoured"]] == expected_report.favoured
    saved = tmp_path / "ranks.csv"
    code, out, err = featly("prior", csv, *SN, "--prior", prior, *FEW, "-o", saved)
    assert code == 0
    assert out == f"{expected_report}\n"
    assert f"the ranks with and without the prior are in {saved}" in err
    assert pl.read_csv(saved).rows() == expected_report.table().rows()
    code, out, _ = featly("prior", csv, *SN, "--prior", prior, *FEW, "-o", "-")
    assert out.startswith("feature,prior,rank_without,rank_with,in_without,in_with\n")
    document = tmp_path / "ranks.json"
    assert featly("prior", csv, *SN, "--prior", prior, *FEW, "-o", document, "-q")[0] == 0
    assert json.loads(document.read_text())["size"] == 3


def test_options_of_prior_reach_the_report(featly, csv, prior, donor, frame):  # noqa: F811
    X, y = frame.drop("ill"), frame["ill"].to_numpy()
    method = SignalToNoise()
    options = {"size": 3, "splits": 5, "learner": "naive-bayes", "random_state": 4}
    expected = prior_report(method, X, y, schema={"prior": PRIOR}, **options)
    few = ("-k", 3, "-s", 5, "--learner", "naive-bayes", "--seed", 4, "-q")
    assert featly("prior", csv, *SN, "--prior", prior, *few)[1] == f"{expected}\n"
    carried = featly("prior", csv, *SN, "--prior-from", donor, "--prior-top", 2, "--prior-weight",
                     50, *few)  # fmt: skip
    assert carried[1] == f"{expected}\n"


def test_missing_values_and_row_groups(featly, wide, prior, tmp_path):  # noqa: F811
    path = tmp_path / "gappy.csv"
    with_missing = pl.when(pl.col("g3") > 1).then(None).otherwise("g3").alias("g3")
    visits = pl.read_csv(wide).with_columns(with_missing, pl.Series("patient", np.arange(60) // 2))
    visits.write_csv(path)
    options = ("-t", "ill", "-m", "arom", "--prior", prior, "-k", 3, "-s", 3)
    _, out, err = featly("prior", path, *options, "--fill", "--row-groups", "patient")
    assert "missing values filled" not in err  # beforehand, from all rows
    known = {"schema": {"prior": PRIOR}, "fill": True, "row_groups": "patient"}
    assert out == f"{prior_report('arom', visits, 'ill', size=3, splits=3, **known)}\n"
    assert "72 columns" in out.splitlines()[0]
    code, _, err = featly("prior", path, *options, "--drop", "patient", "-q")
    assert code == 2
    assert "'g3'" in err


def test_a_sparse_table_has_the_names_of_its_file(featly, frame, prior, tmp_path):  # noqa: F811
    path = tmp_path / "t.arff"
    head = ["@relation t", *(f"@attribute g{j} numeric" for j in range(12))]
    rows = [
        "{" + ", ".join(f"{j} {v}" for j, v in enumerate(row[:-1])) + f", 12 {row[-1]}" + "}"
        for row in frame.rows()
    ]
    path.write_text("\n".join([*head, "@attribute ill {no, yes}", "@data", *rows]) + "\n")
    with read_table(path, target="ill") as table:
        assert not hasattr(table.X, "columns")
    _, out, _ = featly("prior", path, *SN, "--prior", prior, *FEW, "-q")
    line_words = [line.split() for line in out.splitlines()]
    assert {"g5", "g11"} <= {words[0] for words in line_words if words}
    _, out, _ = featly("prior", path, *SN, "--prior", prior, *FEW, "-q", "-o", "-")
    assert {line.partition(",")[0] for line in out.splitlines()[1:]} == {f"g{j}" for j in range(12)}


# ---- mistakes ------------------------------------------------------------------------------------
def test_prior_needs_a_prior_and_a_method_that_uses_it(mistake, csv, prior):  # noqa: F811
    assert "there is no prior: say --prior FILE" in mistake("prior", csv, "-t", "ill")
    unused = next(name for name, m in METHODS.items() if "prior" not in m.uses)
    message = mistake("prior", csv, "-t", "ill", "-m", unused, "--prior", prior)
    assert message.startswith(f"{unused} does not rank by a prior: use one of ")
    assert "arom" in message
    message = mistake("prior", csv, *SN, "--prior", prior, "-k", 12)
    assert "size=12: give a whole number from 1 and below the 12 columns" in message
    assert "--sizes 'a': give numbers" in mistake(
        "prior", csv, *SN, "--prior", prior, "--sizes", "a"
    )
    assert "no column of the table" in mistake(
        "prior", csv, *SN, "--prior", prior, "--row-groups", "who"
    )
    assert "the ending says" in mistake("prior", csv, *SN, "--prior", prior, "-o", "x.doc")


@pytest.mark.parametrize("command", ["rank", "prior"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("G5x,10\n", "prior 'G5x' is no column of"),
        ("G5,10\n", "did you mean 'g5'?"),
        ("g5,0.5\n", "prior of 'g5' is 0.5: a prior is a finite number of at least 1"),
        ("g5,inf\n", "prior of 'g5' is inf"),
        ("g5,ten\ng6,ten\n", "gives 'g6' the prior 'ten', which is no number"),
    ],
)
def test_priors_that_make_no_sense(mistake, csv, tmp_path, command, text, expected):  # noqa: F811
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert expected in mistake(command, csv, *SN, "--prior", path)


def test_files_that_are_not_there(mistake, csv, tmp_path):  # noqa: F811
    for option in ("--prior", "--prior-from"):
        message = mistake("rank", csv, *SN, option, tmp_path / "gone.csv")
        assert "there is no file" in message
        assert "gone.csv" in message


def test_rankings_that_make_no_sense(mistake, csv, tmp_path, donor):  # noqa: F811
    strange = tmp_path / "strange.csv"
    strange.write_text("rank,feature\n1,a\n2,b\n")
    message = mistake("rank", csv, *SN, "--prior-from", strange)
    assert message.startswith(
        f"--prior-from '{strange}': none of the 2 ranked columns ('a', 'b') is"
    )
    assert "('g0', 'g1', 'g2', ...)" in message
    twice = tmp_path / "twice.csv"
    twice.write_text("rank,feature\n1,g1\n2,g1\n")
    assert "the ranking names 'g1' twice" in mistake("rank", csv, *SN, "--prior-from", twice)
    assert "is no ranking" in mistake("rank", csv, *SN, "--prior-from", csv)
    message = mistake("rank", csv, *SN, "--prior-from", donor, "--prior-weight", 0.5)
    assert message == "--prior-weight 0.5: give a finite number from 1"
    assert "goes with --prior-from" in mistake("rank", csv, *SN, "--prior-weight", 5)
    assert "--prior-top goes with --prior-from" in mistake("rank", csv, *SN, "--prior-top", 5)
    assert "prior-top" in mistake("rank", csv, *SN, "--prior-from", donor, "--prior-top", 0)


def test_help_names_the_command(featly):  # noqa: F811
    code, out, _ = featly("--help")
    assert code in (0, None)
    assert " prior " in out
    assert main.app is not None
