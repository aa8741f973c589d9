"""The made cohort is what its description says, and the demo that ranks it runs."""

import os
import runpy
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from featly import SVMRFE, FTest, Schema
from featly.datasets import make_cohort
from featly.io.schema_files import read_schema_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "cohort.py"
LABELS = ["sex", "smoker", "treatment", "ward", "plate"]


@pytest.fixture(scope="module")
def cohort():
    return make_cohort()


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE))


def columns_of(cohort, role):
    return cohort.truth.filter(pl.col("role") == role)["column"].to_list()


def number(cohort, name):
    """A column as the model of the outcome sees it."""
    column = cohort.frame[name]
    if name in ("stage", "grade"):
        return np.array([cohort.schema.ordinal[name].index(level) for level in column])
    if name == "treatment":
        return (column == "intensive").to_numpy().astype(float)
    return np.log(column.to_numpy()) if name == "crp" else column.to_numpy()


def standardise(cohort, names):
    values = np.column_stack([number(cohort, name) for name in names])
    return (values - values.mean(axis=0)) / values.std(axis=0)


def significant_roles(cohort, y=None):
    """Roles of the columns that the F-test finds, best first."""
    X = cohort.X.drop(LABELS)
    test = FTest(schema=Schema(ordinal=cohort.schema.ordinal))
    table = test.fit(X, cohort.y if y is None else y).table()
    passed = table.filter(pl.col("q_value") <= 0.05).sort("rank")
    return passed.join(cohort.truth, left_on="feature", right_on="column").sort("rank")


def test_the_frame_and_the_truth_speak_of_the_same_columns(cohort):
    frame, truth = cohort.frame, cohort.truth
    assert frame.shape == (300, 2013)
    assert (frame.columns[0], frame.columns[-1]) == ("patient", "outcome")
    assert frame["patient"].n_unique() == 300
    assert cohort.X.columns == truth["column"].to_list() == frame.columns[1:-1]
    assert cohort.y.tolist() == frame["outcome"].to_list()
    assert cohort.y.dtype.kind == "U"
    assert truth.columns == ["column", "role", "partner", "effect"]
    counts = dict(truth["role"].value_counts().iter_rows())
    assert counts == {"causal": 9, "redundant": 26, "batch": 198, "noise": 1778}
    assert repr(cohort).endswith("9 causal, 26 redundant, 198 batch, 1778 noise)")
    with pytest.raises(FrozenInstanceError):
        cohort.frame = None


def test_effects_and_partners_follow_from_the_roles(cohort):
    causal, redundant = columns_of(cohort, "causal"), columns_of(cohort, "redundant")
    assert cohort.truth.filter(pl.col("effect") != 0)["column"].to_list() == causal
    assert cohort.truth.drop_nulls("partner")["column"].to_list() == redundant
    partners = cohort.truth.drop_nulls("partner")["partner"].value_counts()
    genes = [name for name in causal if name.startswith("G")]
    assert dict(partners.iter_rows()) == {"stage": 1, **dict.fromkeys(genes, 5)}


def test_the_schema_fits_the_table(cohort):
    report = cohort.schema.describe(cohort.X)
    kinds = dict(zip(report.names, report.kinds, strict=True))
    assert not report.remarks
    assert {name for name in kinds if kinds[name] == "categorical"} == set(LABELS)
    assert kinds["stage"] == kinds["grade"] == "ordinal"
    hints = Schema().describe(cohort.frame.drop("outcome")).remarks
    assert set(hints) == {"patient", "ward"}


def test_the_seed_decides(cohort):
    again, reseeded = make_cohort(), make_cohort(random_state=1)
    assert_frame_equal(again.frame, cohort.frame)
    assert_frame_equal(again.truth, cohort.truth)
    assert (again.log_odds == cohort.log_odds).all()
    assert not reseeded.frame.equals(cohort.frame)
    assert columns_of(reseeded, "causal") != columns_of(cohort, "causal")


def test_missing_rate_changes_missing_values_only(cohort):
    full = make_cohort(missing_rate=0).frame
    assert sum(full.null_count().row(0)) == 0
    assert (cohort.y == full["outcome"].to_numpy()).all()
    filled = cohort.frame.select(pl.col(name).fill_null(full[name]) for name in full.columns)
    assert_frame_equal(filled, full)


@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_number_of_missing_values(rate):
    X = make_cohort(missing_rate=rate).X
    missing = {name: count for name, count in X.null_count().row(0, named=True).items() if count}
    assert set(missing.values()) == {round(rate * 300)}
    clinical = {name for name in missing if not name.startswith("G")}
    assert clinical == {"crp", "creatinine", "smoker"}
    assert len(missing) == 3 + 200


def test_missing_values_gather_in_one_ward_and_on_one_plate():
    frame = make_cohort(n_patients=4000, n_genes=100).frame
    by_ward = frame.group_by("ward").agg(pl.col("crp", "smoker").is_null().mean()).sort("crp")
    assert by_ward["ward"][-1] == 21
    assert 3.5 < by_ward["crp"][-1] / by_ward["crp"][:-1].mean() < 6.5
    assert by_ward["smoker"].max() < 2 * by_ward["smoker"].min()
    incomplete = [name for name in frame.columns if name[0] == "G" and frame[name].null_count()]
    by_plate = frame.group_by("plate").agg(pl.col(incomplete).is_null().mean()).drop("plate")
    shares = np.sort(by_plate.to_numpy(), axis=0)
    assert (shares[-1] > 2.5 * shares[-2]).all()


def test_the_log_odds_are_the_formula_of_the_docstring():
    cohort = make_cohort(missing_rate=0)
    causal = cohort.truth.filter(pl.col("role") == "causal")
    score = standardise(cohort, causal["column"]) @ causal["effect"].to_numpy()
    assert np.ptp(cohort.log_odds - score) < 1e-9
    assert 0.85 < roc_auc_score(cohort.y == "relapse", cohort.log_odds) < 0.98


def test_a_logistic_regression_recovers_the_effects():
    cohort = make_cohort(n_patients=20_000, n_genes=60, missing_rate=0)
    causal = cohort.truth.filter(pl.col("role") == "causal")
    # the copies are offered too: given the causal columns, they add nothing
    copies = columns_of(cohort, "redundant")
    z = standardise(cohort, [*causal["column"], *copies])
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    model.fit(z, cohort.y == "relapse")
    effects = model.coef_[0]
    assert effects[: len(causal)] == pytest.approx(causal["effect"].to_numpy(), abs=0.2)
    assert np.abs(effects[len(causal) :]).max() < 0.2
    probability = 1 / (1 + np.exp(-cohort.log_odds))
    assert probability.mean() == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("redundancy", [0.6, 0.9, 1.0])
def test_copies_follow_their_partner(redundancy):
    cohort = make_cohort(n_patients=1000, redundancy=redundancy, missing_rate=0)
    pairs = cohort.truth.drop_nulls("partner").select("column", "partner").rows()
    correlations = {
        name: np.corrcoef(number(cohort, name), number(cohort, partner))[0, 1]
        for name, partner in pairs
    }
    graded = correlations.pop("grade")
    assert list(correlations.values()) == pytest.approx([redundancy] * 25, abs=0.08)
    assert 0.75 * redundancy < graded < redundancy


def test_expression_is_on_a_log_scale_with_modules(cohort):
    genes = cohort.X.select("^G.*$")
    means = np.array(genes.mean().row(0))
    deviations = np.array(genes.std().row(0))
    assert 5 < means.min() < 7.5 < means.mean() < 8.5 < means.max() < 11
    assert deviations.max() > 3 * deviations.min()
    noise = make_cohort(missing_rate=0).X.select(columns_of(cohort, "noise")).select("^G.*$")
    correlations = np.abs(np.corrcoef(noise.to_numpy().T) - np.eye(noise.width))
    # Among independent genes, no correlation of 300 patients comes near six standard errors.
    error = np.sqrt(1 / 300)
    assert np.median(correlations) < error
    assert 0.25 < (correlations.max(axis=0) > 6 * error).mean() < 0.75


def test_the_f_test_finds_most_of_it_and_little_else():
    n_right, n_wrong, n_tested = 0, 0, 0
    for seed in range(4):
        cohort = make_cohort(random_state=seed)
        roles = significant_roles(cohort)["role"]
        n_true = roles.is_in(["causal", "redundant"]).sum()
        n_right, n_wrong, n_tested = n_right + n_true, n_wrong + len(roles) - n_true, n_tested + 34
        # copies crowd the top: nine places, and few of them for the causes themselves
        assert (roles[:9] == "redundant").sum() >= 4
    assert n_right > 0.55 * n_tested
    assert n_wrong < 0.15 * (n_right + n_wrong)


def test_joint_elimination_covers_more_causes_than_the_filter(cohort, example):
    numbers, texts = pl.selectors.numeric(), pl.selectors.string()
    full = cohort.X.with_columns(numbers.fill_null(numbers.median()), texts.fill_null("missing"))
    table = SVMRFE(schema=cohort.schema).fit(full, cohort.y).table()
    joint = example["with_truth"](table, cohort).head(9)
    assert example["count_causes"](joint) > example["count_causes"](
        significant_roles(cohort).head(9)
    )


def test_plates_are_even_over_the_outcome_and_visible_in_batch_genes(cohort):
    counts = cohort.frame.group_by("plate", "outcome").len()
    assert set(counts.filter(pl.col("outcome") == "relapse")["len"]) == {20}
    assert set(counts.filter(pl.col("outcome") == "remission")["len"]) == {30}
    roles = significant_roles(cohort, cohort.frame["plate"].to_numpy())["role"].to_list()
    assert roles.count("batch") > 0.9 * 197
    assert len(roles) - roles.count("batch") < 0.1 * len(roles)
    assert "batch" not in significant_roles(cohort)["role"].to_list()


@pytest.mark.parametrize("arguments", [{"batch_effect": 0}, {"batch_share": 0}, {"n_batches": 1}])
def test_without_a_batch_effect_only_the_plate_has_that_role(arguments):
    cohort = make_cohort(**arguments)
    assert columns_of(cohort, "batch") == ["plate"]
    if "n_batches" not in arguments:
        assert len(significant_roles(cohort, cohort.frame["plate"].to_numpy())) <= 2


def test_confounding_is_a_trap():
    finds = []
    for confounding in (0, 0.3, 0.6, 1):
        cohort = make_cohort(confounding=confounding)
        finds.append((significant_roles(cohort)["role"] == "batch").sum())
    assert finds[0] == 0
    assert finds == sorted(finds)
    assert finds[-1] > 100  # of 197: the shifts of some genes differ little between outcomes
    pure = cohort.frame.group_by("plate").agg(pl.col("outcome").n_unique())
    assert set(pure["outcome"]) == {1}
    # nothing else was touched
    plain = make_cohort()
    assert (cohort.y == plain.y).all()
    real_names = [name for role in ("causal", "redundant") for name in columns_of(plain, role)]
    for name in real_names:
        pairs = pl.DataFrame({"a": cohort.X[name], "b": plain.X[name]}).drop_nulls()
        assert (pairs["a"] == pairs["b"]).all()


@pytest.mark.parametrize("n_patients", [4, 5, 9])
@pytest.mark.parametrize("relapse_rate", [0.001, 0.5, 0.999])
def test_no_class_is_ever_empty(n_patients, relapse_rate):
    for seed in range(5):
        cohort = make_cohort(
            n_patients=n_patients,
            n_genes=40,
            n_batches=3,
            confounding=0.5,
            relapse_rate=relapse_rate,
            missing_rate=0.4,
            random_state=seed,
        )
        n_relapses = (cohort.y == "relapse").sum()
        assert n_relapses == min(max(round(relapse_rate * n_patients), 1), n_patients - 1)
        assert max(cohort.frame.null_count().row(0)) < n_patients


def test_clinical_columns_alone():
    cohort = make_cohort(n_genes=0, n_causal_genes=0)
    assert cohort.X.width == 11
    assert columns_of(cohort, "causal") == ["age", "stage", "treatment", "crp"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_patients": 3}, "n_patients=3: give a whole number from 4"),
        ({"n_patients": 30.0}, "n_patients=30.0: give a whole number"),
        ({"n_genes": -1}, "n_genes=-1: give a whole number from 0"),
        ({"n_genes": 29}, "n_genes=29: give at least 30, for 5 causal genes and 5 copies of each"),
        ({"n_causal_genes": True}, "n_causal_genes=True: give a whole number"),
        ({"n_redundant": -2}, "n_redundant=-2: give a whole number"),
        ({"redundancy": 0}, "redundancy=0: give a number above 0 and at most 1"),
        ({"redundancy": 1.1}, "redundancy=1.1: give a number above 0 and at most 1"),
        ({"effect_size": 0}, "effect_size=0: give a finite number above 0"),
        ({"effect_size": float("inf")}, "effect_size=inf: give a finite number above 0"),
        ({"relapse_rate": 1}, "relapse_rate=1: give a number above 0 and below 1"),
        ({"relapse_rate": float("nan")}, "relapse_rate=nan: give a number above 0 and below 1"),
        ({"n_batches": 0}, "n_batches=0: give a whole number from 1"),
        ({"n_batches": 301}, "n_batches=301: give at most one a patient, 300"),
        ({"batch_share": 2}, "batch_share=2: give a number from 0 to 1"),
        ({"batch_effect": -1}, "batch_effect=-1: give a finite number from 0"),
        ({"confounding": "all"}, "confounding='all': give a number from 0 to 1"),
        ({"confounding": 0.1, "n_batches": 1}, "confounding=0.1: give n_batches of at least 2"),
        ({"missing_rate": 0.5}, "missing_rate=0.5: give a number from 0 to 0.4"),
        ({"random_state": None}, "random_state=None: give a whole number from 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make_cohort(**arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_output_of_the_demo(example, tmp_path, monkeypatch, capsys, cohort):
    monkeypatch.chdir(tmp_path)
    example["main"]()
    printed = capsys.readouterr().out
    folder = tmp_path / "demo"
    assert sorted(os.listdir(folder)) == ["cohort.csv", "ranking.csv", "schema.toml"]
    assert_frame_equal(pl.read_csv(folder / "cohort.csv"), cohort.frame)
    ranking = pl.read_csv(folder / "ranking.csv")
    assert ranking["svm_rfe_rank"].to_list() == list(range(1, 2012))
    assert ranking["mkl_rfe_rank"].sort().to_list() == list(range(1, 2012))
    assert ranking["f_test_rank"].drop_nulls().sort().to_list() == list(range(1, 2007))
    truth = ranking.select(column="feature", role="role", partner="partner", effect="effect")
    assert_frame_equal(truth, cohort.truth, check_row_order=False)
    assert printed.count("demo/cohort.csv") == 4
    assert max(map(len, printed.splitlines())) <= 100
    assert len(printed.splitlines()) <= 52

    # the schema it saves is that of the cohort
    parts = read_schema_file(folder / "schema.toml")
    assert (parts.pop("target"), parts.pop("drop")) == ("outcome", ["patient"])
    assert Schema.of(parts) == cohort.schema

    # its figures are those of the ranking it saved
    passed = ranking.filter(pl.col("f_test_q_value") <= 0.05)
    assert f"2006 columns, {len(passed)} with q <= 0.05." in printed
    for rank in range(1, 10):
        alone = ranking.filter(pl.col("f_test_rank") == rank)["feature"].item()
        together = ranking.filter(pl.col("svm_rfe_rank") == rank)["feature"].item()
        mixed = ranking.filter(pl.col("mkl_rfe_rank") == rank)["feature"].item()
        (line,) = [line for line in printed.splitlines() if line.startswith(f"{rank:>4}  ")]
        assert f"  {alone} (" in line[:40]
        assert line[40:].startswith(f"{together} (")
        assert line[64:].startswith(f"{mixed} (")
    lists = {
        "FTest": ranking.filter(pl.col("f_test_rank") <= 9),
        "SVMRFE": ranking.filter(pl.col("svm_rfe_rank") <= 9),
        "MKLRFE": ranking.filter(pl.col("mkl_rfe_rank") <= 9),
        "q<=0.05": passed,
    }
    for name, table in lists.items():
        roles = table["role"].to_list()
        counts = [roles.count("causal"), roles.count("redundant")]
        causes = {row["partner"] or row["feature"] for row in table.iter_rows(named=True)}
        counts += [len(roles) - sum(counts), len(causes) - (len(roles) - sum(counts))]
        (line,) = [line for line in printed.splitlines() if line.split()[:1] == [name]][:1]
        assert [int(word) for word in line.split()[1:]] == counts
