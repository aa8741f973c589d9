"""Datasets by path, plans in TOML: every key, and misspelt ones."""

import textwrap

import numpy as np
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import RandomUnderSampler

from featly import SVMRFE, DataError, FTest, ParameterError
from featly.learners import LinearSVM
from featly.study import (
    Bootstrap,
    DistributionBalancedKFold,
    Holdout,
    KFold,
    LeaveOneOut,
    Study,
    Subsampling,
    read_dataset,
    read_plan,
)
from featly.study.plan_files import SPLITTERS, study_from_plan


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("FEATLY_DATA", raising=False)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return pl.DataFrame(
        {
            "who": [f"p{k // 2}" for k in range(40)],
            "a": rng.normal(size=40) + y,
            "b": rng.normal(size=40),
            "c": rng.integers(0, 3, size=40),
            "split": ["train"] * 30 + ["test"] * 10,
            "class": np.array(["ill", "well"])[y],
        }
    )


@pytest.fixture
def folder(tmp_path, table):
    """Files of all formats."""
    table.select("a", "b", "c", "class").write_csv(tmp_path / "colon.csv")
    table.write_parquet(tmp_path / "visits.parquet")
    return tmp_path


# ---- datasets ------------------------------------------------------------------------------------
def test_a_table_from_a_file(folder, table):
    data = read_dataset(folder / "colon.csv")
    assert (data.name, data.names, data.n_rows) == ("colon", ["a", "b", "c"], 40)
    assert data.y.tolist() == table["class"].to_list()
    assert np.allclose(data.X, table.select("a", "b", "c").to_numpy())
    assert read_dataset(str(folder / "colon.csv"), name="mine").name == "mine"


def test_the_target(folder, table):
    by_name = read_dataset(folder / "colon.csv", target="c")
    assert by_name.classes.tolist() == [0, 1, 2]
    assert "class" in by_name.names
    for word in ("Target", "outcome", "LABEL", "y"):
        renamed = table.select("a", "b", pl.col("class").alias(word))
        renamed.write_csv(folder / "renamed.csv")
        assert read_dataset(folder / "renamed.csv").names == ["a", "b"]
    table.select("a", "class", "b").write_csv(folder / "middle.csv")
    with pytest.raises(DataError, match=r"which column of .*middle.csv' is to be predicted"):
        read_dataset(folder / "middle.csv")


def test_files_that_declare_their_target(folder):
    (folder / "l.libsvm").write_text("1 1:0.5 2:1\n0 1:1\n1 2:3\n0 1:2 2:1\n")
    data = read_dataset(folder / "l.libsvm")
    assert (data.n_rows, data.n_features, data.classes.tolist()) == (4, 2, [0, 1])
    (folder / "k.arff").write_text(
        "@relation r\n@attribute a numeric\n@attribute kind {p,q}\n@data\n1,p\n2,q\n3,p\n4,q\n"
    )
    data = read_dataset(folder / "k.arff")
    assert (data.names, data.classes.tolist()) == (["a"], ["p", "q"])
    for option in ({"row_groups": "a"}, {"split": "a"}, {"drop": ["a"]}, {"rows": "train"}):
        with pytest.raises(DataError, match=f"{next(iter(option))}=.* has no names of columns"):
            read_dataset(folder / "l.libsvm", **option)


def test_groups_splits_and_columns_to_leave_out(folder):
    data = read_dataset(folder / "visits.parquet", row_groups="who")
    assert data.names == ["a", "b", "c"]
    assert data.row_groups.max() == 19
    assert data.official.tolist().count("test") == 10
    some = read_dataset(folder / "visits.parquet", row_groups="who", drop=["b"])
    assert some.names == ["a", "c"]
    text = read_dataset(folder / "visits.parquet", row_groups="who", drop="split")
    assert (text.official, text.names) == (None, ["a", "b", "c"])
    train = read_dataset(folder / "visits.parquet", row_groups="who", rows="train")
    assert (train.n_rows, train.official) == (30, None)
    assert "split" not in train.names
    schema = read_dataset(folder / "visits.parquet", drop="who", schema={"categorical": ["c"]})
    assert schema.kinds.tolist() == [0, 0, 2]
    named = read_dataset(folder / "visits.parquet", drop=["who", "split"], split=None)
    assert named.official is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["d"]}, "drop names 'd', which is no column"),
        ({"row_groups": "patient"}, "row_groups='patient' is no column"),
        ({"rows": "validation"}, "rows='validation': no row"),
        ({"split": "part", "rows": "train"}, "has no official split"),
        ({"target": "outcome"}, "outcome"),
    ],
)
def test_columns_absent_from_the_file(folder, options, message):
    with pytest.raises(DataError, match=message):
        read_dataset(folder / "visits.parquet", **options)


def test_a_folder_of_data(folder, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    with pytest.raises(DataError, match=r"no file 'colon.csv'; FEATLY_DATA may name its folder"):
        read_dataset("colon.csv")
    monkeypatch.setenv("FEATLY_DATA", str(folder))
    assert read_dataset("colon.csv").n_rows == 40
    with pytest.raises(DataError, match=r"no file 'colin.csv', nor in .* \(FEATLY_DATA\)"):
        read_dataset("colin.csv")
    pl.DataFrame({"z": [1, 2], "class": [0, 1]}).write_csv(elsewhere / "colon.csv")
    assert read_dataset("colon.csv").n_rows == 2  # what is here comes first
    assert Study("f-test", "colon.csv", 2).datasets["colon"].n_rows == 2
    assert list(Study("f-test", folder / "colon.csv", 2).datasets) == ["colon"]


# ---- plans ---------------------------------------------------------------------------------------
def write(folder, text):
    path = folder / "plan.toml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_the_plan_of_the_documentation(folder):
    text = read_plan.__doc__.partition(".. code-block:: toml")[2]
    text = textwrap.dedent(text).replace("colon.parquet", "colon.csv")
    study = read_plan(write(folder, text))
    assert study.title == "Three methods on two tables"
    assert list(study.methods) == ["f-test", "none", "rfe"]
    assert isinstance(study.methods["rfe"], SVMRFE)
    assert study.methods["rfe"].C == 0.1
    assert study.methods["none"] is None
    assert list(study.datasets) == ["colon", *(f"led/{k}" for k in range(10))]
    assert study.splits == Subsampling(50, test_size=0.1)
    assert study.sizes == [1, 2, 4, 8]
    assert list(study.learners) == ["linear-svm"]
    assert [claim.name for claim in study.claims] == ["A1"]


def test_a_plan_with_every_part(folder):
    study = read_plan(
        write(
            folder,
            """
            title = "all"
            sizes = "all"
            metrics = ["success", "error"]
            selection = "outside"
            cut_at_relevant = true
            fill = true
            null = 3
            random_state = 7
            splits = 5
            resample = {sampler = "SMOTE", k_neighbors = 2}

            [methods.mine]
            method = "f-test"
            schema = {keep = ["a"]}

            [methods.f-test]

            [datasets]
            corral = "corral"
            mine = {file = "visits.parquet", row_groups = "who", drop = ["b"], rows = "train"}
            one = {problem = "monk1", random_state = 4}

            [datasets.other]
            file = "visits.parquet"
            target = "c"
            split = "split"
            drop = ["who"]
            schema = {categorical = ["class"]}

            [learners]
            linear-svm = {C = 10}
            near = "1-nn"
            nearer = {learner = "5-nn", n_neighbors = 3}

            [[claims]]
            name = "A"
            text = "a"
            published = 0.5
            dataset = "corral"
            method = "mine"
            metric = "error"
            learner = "near"
            size = 2
            tolerance = 0.1
            where = "table 1"

            [[claims]]
            name = "B"
            text = "b"
            equal = "mine"
            than = "f-test"
            dataset = "corral"
            published = "about the same"

            [[claims]]
            name = "C"
            text = "c"
            why = "the data is gone"
            published = 3
            where = "page 4"
            """,
        )
    )
    assert (study.title, study.sizes, study.selection) == ("all", "all", "outside")
    assert (study.fill, study.null, study.random_state) == (True, 3, 7)
    assert study.cut_at_relevant is True
    assert study.metrics == ("success", "error")
    assert study.splits == KFold(5)
    assert isinstance(study.resample, SMOTE)
    assert study.resample.k_neighbors == 2
    assert study.methods["mine"].schema == {"keep": ["a"]}
    assert isinstance(study.methods["f-test"], FTest)
    assert {name: data.n_rows for name, data in study.datasets.items()} == {
        "corral": 32, "mine": 30, "other": 40, "one": 124
    }  # fmt: skip
    assert study.datasets["mine"].names == ["a", "c"]
    assert study.datasets["mine"].row_groups is not None
    assert study.datasets["other"].official is not None
    assert study.datasets["other"].kinds.tolist() == [0, 0, 2]
    assert study.datasets["corral"].roles is not None
    assert isinstance(study.learners["linear-svm"], LinearSVM)
    assert study.learners["linear-svm"].C == 10
    assert study.learners["linear-svm"].class_weight == "balanced"
    assert study.learners["nearer"].learner.n_neighbors == 3
    assert [claim.published for claim in study.claims] == [0.5, "about the same", 3]
    assert [claim.where for claim in study.claims] == ["table 1", "", "page 4"]


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        (None, Subsampling(200, test_size=0.1)),
        (4, KFold(4)),
        ("k-fold", KFold()),
        ("leave-one-out", LeaveOneOut()),
        ({"n_splits": 3}, Subsampling(3)),
        ({"kind": "k-fold", "n_folds": 3, "n_repeats": 2}, KFold(3, n_repeats=2)),
        ({"kind": "bootstrap", "estimator": ".632"}, Bootstrap(estimator=".632")),
        ({"kind": "holdout", "test_size": 0.25}, Holdout(test_size=0.25)),
        ({"kind": "balanced-k-fold", "n_folds": 5}, DistributionBalancedKFold(5)),
    ],
)
def test_splits(specification, expected):
    plan = {"methods": "f-test", "datasets": "corral"}
    study = study_from_plan(plan if specification is None else {**plan, "splits": specification})
    assert study.splits == expected


def test_every_kind_of_splits_has_a_name():
    for name in SPLITTERS:
        assert study_from_plan({"methods": "f-test", "datasets": "corral", "splits": name})


@pytest.mark.parametrize(
    ("specification", "names"),
    [
        ("f-test", ["f-test"]),
        (["f-test", "none"], ["f-test", "none"]),
        ({"a": "f-test", "b": {"method": "svm-rfe", "C": 2.0}}, ["a", "b"]),
        ({"svm-rfe": {}}, ["svm-rfe"]),
    ],
)
def test_methods(specification, names):
    assert list(study_from_plan({"methods": specification, "datasets": "corral"}).methods) == names


def test_datasets(folder):
    for specification, names in (
        ("corral", ["corral"]),
        (["corral", "monk1"], ["corral", "monk1"]),
        (["colon.csv", "led-25"], ["colon", "led-25"]),
        ({"x": "colon.csv", "l": {"problem": "corral-100", "draws": 2}}, ["x", "l/0", "l/1"]),
    ):
        study = study_from_plan({"methods": "none", "datasets": specification}, folder)
        assert list(study.datasets) == names


def test_draws_differ_and_columns_are_shuffled():
    options = {"problem": "led-25", "draws": 2, "noise": 0.1}
    study = study_from_plan(
        {"methods": "none", "datasets": {"l": options, "m": {**options, "random_state": 1}}}
    )
    fingerprints = {name: data.fingerprint for name, data in study.datasets.items()}
    assert fingerprints["l/0"] != fingerprints["l/1"] == fingerprints["m/0"]
    plain = study_from_plan({"methods": "none", "datasets": {"l": {**options, "shuffle": False}}})
    assert plain.datasets["l/0"].roles.relevant == tuple((j,) for j in range(7))
    assert study.datasets["l/0"].roles.relevant != plain.datasets["l/0"].roles.relevant


def test_files_beside_the_plan_come_first(folder, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    pl.DataFrame({"z": [1, 2, 3], "class": [0, 1, 1]}).write_csv(elsewhere / "colon.csv")
    monkeypatch.setenv("FEATLY_DATA", str(elsewhere))
    path = write(folder, 'methods = "f-test"\ndatasets = "colon.csv"\n')
    assert read_plan(path).datasets["colon"].n_rows == 40
    (folder / "colon.csv").unlink()
    assert read_plan(path).datasets["colon"].n_rows == 3


def test_learners():
    plan = {"methods": "f-test", "datasets": "corral"}
    assert list(study_from_plan({**plan, "learner": "tree"}).learners) == ["tree"]
    assert list(study_from_plan({**plan, "learner": ["tree", "1-nn"]}).learners) == ["tree", "1-nn"]
    assert list(study_from_plan({**plan, "learners": {"logistic": {"C": 3}}}).learners) == [
        "logistic"
    ]


def test_resampling():
    plan = {"methods": "f-test", "datasets": "corral"}
    assert study_from_plan(plan).resample is None
    sampler = study_from_plan({**plan, "resample": "RandomUnderSampler"}).resample
    assert isinstance(sampler, RandomUnderSampler)


def test_a_plan_runs(folder):
    path = write(
        folder,
        """
        methods = ["f-test", "none"]
        datasets = ["colon.csv"]
        sizes = [1, 2]
        learner = "naive-bayes"
        splits = 4

        [[claims]]
        name = "A1"
        text = "selection helps"
        better = "f-test"
        than = "none"
        dataset = "colon"
        size = 1
        """,
    )
    first = read_plan(path).run(folder / "results")
    again = read_plan(path).run(folder / "results")
    assert first.rows.equals(again.rows)
    assert len(first.verdicts()) == 1
    assert first.verdicts()[0].finding.holds is not None
    by_hand = Study(["f-test", "none"], folder / "colon.csv", 4, sizes=[1, 2],
                    learner="naive-bayes").run()  # fmt: skip
    assert by_hand.rows.drop("seconds").equals(first.rows.drop("seconds"))


# ---- wrong plans ---------------------------------------------------------------------------------
BASE = {"methods": "f-test", "datasets": "corral"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metods": "f-test"}, "a plan has no 'metods'; did you mean 'methods'"),
        ({"Size": [1]}, "a plan has no 'Size'; did you mean 'sizes'"),
        ({"zzzz": 1}, "a plan has no 'zzzz': it has title, methods, datasets"),
        ({"methods": None}, "a plan needs methods"),
        ({"datasets": None}, "a plan needs datasets"),
        ({"methods": "f-tets"}, "no method 'f-tets': did you mean 'f-test'"),
        ({"methods": {"a": "svm-ref"}}, "no method 'svm-ref': did you mean 'svm-rfe'"),
        ({"methods": {"a": {"method": "svm-rfe", "c": 1}}}, "svm-rfe has no parameter 'c'; did"),
        ({"methods": {"a": {"method": "f-test", "keep": 1}}}, "f-test has no parameter 'keep'"),
        ({"methods": {"a": 3}}, "methods.a: give the name of a method, or a table"),
        ({"methods": [{"method": "f-test"}]}, "methods: give a name, a list of names, or a table"),
        ({"methods": ["f-test", "f-test"]}, "methods has 'f-test' twice"),
        ({"methods": 3}, "methods: give a name"),
        ({"datasets": {"a": {"fil": "x.csv"}}}, "datasets.a: say file = or problem ="),
        ({"datasets": {"a": 3}}, "datasets.a: give a file, a problem, or a table"),
        ({"datasets": 3}, "datasets: give a name, a list of names, or a table"),
        ({"datasets": ["a/x.csv", "b/x.csv"]}, "two datasets are called 'x'"),
        ({"datasets": {"a": {"file": "x.csv", "taget": "y"}}}, "no 'taget'; did you mean 'target'"),
        ({"datasets": {"a": {"problem": "led25"}}}, "no problem 'led25': did you mean 'led-25'"),
        ({"datasets": {"a": {"problem": "led-25", "nois": 1}}}, "no parameter 'nois': did you"),
        ({"datasets": {"a": {"problem": "led-25", "draws": 0}}}, "draws = 0, give a number from 1"),
        ({"datasets": {"a": {"problem": "led-25", "draws": "9"}}}, "draws = '9'"),
        ({"splits": "kfold"}, "no splits 'kfold'; did you mean 'k-fold'"),
        ({"splits": {"kind": "k-fold", "n_fold": 3}}, "no 'n_fold'; did you mean 'n_folds'"),
        ({"splits": {"n_split": 3}}, "splits 'subsampling' have no 'n_split'; did you mean"),
        ({"splits": {"kind": "holdout", "_": 3}}, "have no '_'"),
        ({"splits": [3]}, "splits: give a number of folds, a name, or a table"),
        ({"learner": "linear-svn"}, "no learner 'linear-svn': did you mean 'linear-svm'"),
        ({"learner": {"linear-svm": {"c": 1}}}, "has no parameter 'c'; did you mean 'C'"),
        ({"learners": {"a": {"learner": "logistic", "maxiter": 1}}}, "did you mean 'max_iter'"),
        ({"learner": {"learner": "linear-svm", "C": 3}}, "learners.C: give the name of a learner"),
        ({"learner": "tree", "learners": "tree"}, "learner or learners, not both"),
        ({"learner": 3}, "learners: give a name"),
        ({"metrics": ["area"]}, "no metric 'area'"),
        ({"selection": "out"}, "selection='out'"),
        ({"resample": "SMOT"}, "no sampler 'SMOT'; did you mean 'SMOTE'"),
        ({"resample": {"sampler": "SMOTE", "k": 1}}, "SMOTE has no parameter 'k'"),
        ({"resample": 3}, "resample: give the name of a sampler"),
        ({"sizes": ["1"]}, "sizes holds '1'"),
        ({"null": "3"}, "null='3'"),
        ({"random_state": "3"}, "random_state='3'"),
        ({"claims": [{"text": "t", "published": 1}]}, "every claim needs a name and a text"),
        ({"claims": [{"name": "A", "text": "t"}]}, "claim 'A': say published ="),
        ({"claims": [{"name": "A", "text": "t", "publishd": 1}]}, "did you mean 'published'"),
        ({"claims": [{"name": "A", "text": "t", "published": 1, "metod": 1}]}, "mean 'method'"),
        ({"claims": [{"name": "A", "text": "t", "published": 1}]}, "claim 'A': say dataset="),
        ({"claims": [{"name": "A", "text": "t", "better": "a", "dataset": "d"}]}, "'A': .*than"),
        ({"claims": [{"name": "A", "text": "t", "why": "w", "size": 3}]}, "claim 'A': .*size"),
        ({"claims": ["A"]}, r"claims: write every claim as a table"),
    ],
)  # fmt: skip
def test_wrong_plans_are_refused(change, message):
    plan = {part: value for part, value in {**BASE, **change}.items() if value is not None}
    with pytest.raises(ParameterError, match=message):
        study_from_plan(plan)


def test_files_that_are_no_plans(tmp_path):
    with pytest.raises(DataError, match="there is no plan"):
        read_plan(tmp_path / "nothing.toml")
    (tmp_path / "bad.toml").write_text("methods = [")
    with pytest.raises(ParameterError, match="is no TOML file"):
        read_plan(tmp_path / "bad.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="is no TOML file"):
        read_plan(tmp_path / "bytes.toml")
    with pytest.raises(DataError, match=r"no file 'x.csv'"):
        study_from_plan({"methods": "f-test", "datasets": "x.csv"}, tmp_path)
