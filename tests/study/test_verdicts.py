"""Every verdict on a claim: it holds, does not hold, or cannot be tested."""

import re
import statistics

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from featly import FTest, ParameterError
from featly.datasets import make_problem
from featly.study import (
    Bootstrap,
    Claim,
    Finding,
    Holdout,
    KFold,
    LeaveOneOut,
    Results,
    Study,
    Subsampling,
    Verdict,
    Verdicts,
)
from featly.study.verdicts import _half_unit
from tests.reference import study as reference


class Column(BaseEstimator):
    """Puts one column first; fails where a training row has a value in column 5."""

    def __init__(self, column=0, fails_at=None):
        self.column = column
        self.fails_at = fails_at

    def fit(self, X, y):
        if self.fails_at is not None and (X[:, 5] == self.fails_at).any():
            raise ValueError(f"{self.fails_at} is here")
        self.order_ = np.array([self.column, *(j for j in range(6) if j != self.column)])
        self.ranking_ = np.argsort(self.order_) + 1
        return self


class Says(ClassifierMixin, BaseEstimator):
    """Predicts the first column, or its opposite."""

    def __init__(self, flip=False):
        self.flip = flip

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        labels = X[:, 0].astype(int)
        return 1 - labels if self.flip else labels


def add_errors(y, wrong, seed):
    """Return the labels, wrong in so many rows of each class."""
    rng = np.random.default_rng(seed)
    labels = y.copy()
    for label in (0, 1):
        rows = rng.choice(np.flatnonzero(y == label), size=wrong, replace=False)
        labels[rows] = 1 - label
    return labels


def a_table(seed=0, n=60):
    """Column 0 is right in 90% of the rows, 1 in 80%, 2 in 80% of others, 3 in half of them."""
    y = np.arange(n) % 2
    columns = [add_errors(y, wrong, seed + k) for k, wrong in enumerate((3, 6, 6, 15))]
    return np.column_stack([*columns, np.zeros(n), np.arange(n) + 0.5]).astype(float), y


METHODS = {f"{name}": Column(k) for k, name in enumerate(("good", "fair", "alike", "blind"))}


def judge_claims(*claims, results=None, **options):
    """Return the verdicts on claims about a small study."""
    if results is None:
        options = {"splits": KFold(10), "sizes": [1], "learner": Says(), **options}
        methods = options.pop("methods", METHODS)
        results = Study(methods, options.pop("data", a_table()), options.pop("splits"), **options)
        results = results.run()
    results.claims = claims
    return results.verdicts()


def judge_claim(claim, **options):
    return judge_claims(claim, **options)[0]


def value(published, **line_key):
    line_key = {"dataset": "data", "method": "good", **line_key}
    return Claim.value("v", "a figure", published, **line_key)


# ---- values --------------------------------------------------------------------------------------
def test_a_value_inside_the_interval():
    verdict = judge_claim(value(0.88))
    assert verdict.verdict == "holds"
    assert verdict.finding.why == "inside our 95% interval (10 splits)"
    assert verdict.finding.ours == pytest.approx(0.9)
    assert verdict.finding.lower < 0.88 < verdict.finding.upper


def test_the_interval_is_the_corrected_one():
    results = Study(METHODS, a_table(), KFold(10), sizes=[1], learner=Says()).run()
    finding = judge_claim(value(0.1), results=results).finding
    values = results.rows.filter(pl.col("method") == "good")["bcr"].to_list()
    lower, upper = reference.interval(values, 54, 6)
    assert (finding.lower, finding.upper) == (pytest.approx(lower), pytest.approx(upper))


def test_a_value_outside():
    verdict = judge_claim(value(0.5))
    assert verdict.verdict == "does not hold"
    assert verdict.finding.why == "outside our 95% interval (10 splits)"
    assert verdict.finding.holds is False


def test_a_value_that_rounds_to_ours():
    y = np.arange(40) % 2
    data = np.column_stack([y, *[np.zeros(40)] * 5]).astype(float), y
    options = {"data": data, "methods": {"good": Column(0)}}
    assert judge_claim(value(1), **options).finding.why == "inside our 95% interval (10 splits)"
    near = judge_claim(value(0.996, tolerance=0.005), **options)
    assert near.verdict == "holds"
    assert near.finding.why == "ours rounds to it (10 splits)"
    assert judge_claim(value(0.99), **options).verdict == "does not hold"  # 0.005 away at most
    assert judge_claim(value(100, metric="accuracy"), **options).verdict == "does not hold"


@pytest.mark.parametrize(
    ("published", "half"),
    [(80, 0.5), (80.0, 0.5), (0.8, 0.05), (0.85, 0.005), (81.25, 0.005), (1e-5, 5e-6),
     (1.5e-7, 5e-9), (-0.21, 0.005), (1e22, 0.5), (np.float64(0.125), 0.0005), (0, 0.5)],
)  # fmt: skip
def test_half_a_unit_of_the_last_digit(published, half):
    assert _half_unit(published) == pytest.approx(half)


def test_one_split_makes_no_interval():
    results = Study(METHODS, a_table(), Holdout(), sizes=[1], learner=Says()).run()
    ours = results.curves().filter(pl.col("method") == "good")["mean"][0]
    close, far = judge_claims(value(round(ours, 2)), value(0.123), results=results)
    assert close.verdict == "holds"
    assert close.finding.why == "ours rounds to it (1 split)"
    assert far.verdict == "does not hold"
    assert far.finding.why == "ours does not round to it (1 split, which makes no interval)"
    assert (far.finding.lower, far.finding.upper) == (None, None)
    for make in (Claim.better, Claim.equal):
        verdict = judge_claim(
            make("p", "t", method="good", than="blind", dataset="data"), results=results
        )
        assert verdict.verdict == "cannot be tested"
        assert verdict.finding.why.startswith("one split makes no interval")
        assert verdict.finding.ours is not None


# ---- pairs ---------------------------------------------------------------------------------------
def pair(make, method, than, **line_key):
    return make("p", "a pair", method=method, than=than, **{"dataset": "data", **line_key})


def test_better():
    results = Study(METHODS, a_table(), Subsampling(20, test_size=0.3), sizes=[1], learner=Says())
    results = results.run()
    above, below, between = judge_claims(
        pair(Claim.better, "good", "blind"),
        pair(Claim.better, "blind", "good"),
        pair(Claim.better, "fair", "alike"),
        results=results,
    )
    assert above.verdict == "holds"
    assert above.finding.why == "the difference is above 0 (20 splits)"
    assert below.verdict == between.verdict == "does not hold"
    assert below.finding.why == "the difference is below 0 (20 splits)"
    assert between.finding.why == "the difference cannot be told from 0 (20 splits)"
    assert above.finding.ours == pytest.approx(-below.finding.ours)
    values = {
        name: results.rows.filter(pl.col("method") == name)["bcr"].to_list() for name in METHODS
    }
    difference = [a - b for a, b in zip(values["good"], values["blind"], strict=True)]
    lower, upper = reference.interval(difference, 42, 18)
    assert above.finding.lower == pytest.approx(lower)
    assert above.finding.upper == pytest.approx(upper)


def test_less_is_better_for_errors():
    verdict = judge_claim(pair(Claim.better, "good", "blind", metric="error"))
    assert verdict.verdict == "holds"
    assert verdict.finding.ours > 0


def test_equal():
    same, different = judge_claims(
        pair(Claim.equal, "fair", "alike"), pair(Claim.equal, "good", "blind")
    )
    assert same.verdict == "holds"
    assert same.finding.why == "the interval of the difference contains 0 (10 splits)"
    assert different.verdict == "does not hold"
    assert different.finding.why == "the interval of the difference excludes 0 (10 splits)"


def test_a_method_against_no_selection_at_some_size():
    """A method that chooses its size needs none in a claim."""
    claim = pair(Claim.better, "good", "none", size=1)
    methods = {"good": Column(0), "none": None}
    verdict = judge_claim(claim, methods=methods, sizes=[1, 2], learner="naive-bayes")
    assert verdict.finding.holds is not None
    assert (
        judge_claim(value(0.9, method="none", size=1), methods=methods, sizes=[1, 2]).finding.ours
        == 0.9
    )


def test_values_are_paired_by_split():
    """As many failures, but on different splits: pairing by position would be wrong."""
    X, y = a_table()
    methods = {"a": Column(0, fails_at=0.5), "b": Column(1, fails_at=1.5), "c": Column(2)}
    splits = [(np.r_[4:60], [1, 2]), (np.r_[1, 4:60], [2, 3]), (np.r_[0, 4:60], [2, 3]),
              (np.r_[5:60], [0, 1])]  # fmt: skip
    options = {"data": (X, y), "methods": methods, "splits": splits}
    apart = judge_claim(pair(Claim.better, "a", "b"), **options)
    assert apart.verdict == "cannot be tested"
    assert apart.finding.why == "the methods failed on different splits: they cannot be paired"


# ---- untestable claims ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (Claim.untestable("u", "t", "the data is not public"), "the data is not public"),
        (value(1, dataset="colon"), "the study has no dataset 'colon'"),
        (value(1, method="mrmr"), "the study has no method 'mrmr'"),
        (value(1, metric="area"), "there is no metric 'area'"),
        (value(1, metric="success"), "needs datasets of which the truth is known"),
        (value(1, learner="forest"), "the study has no learner 'forest'"),
        (value(1), "say which learner is meant: says, flips"),
        (value(1, learner="says"), r"say at which size 'good' is meant: \[1, 2\]"),
        (
            value(1, learner="says", size=7),
            r"'good' was not evaluated at 7 columns, but at \[1, 2\]",
        ),
        (
            value(1, learner="says", size=1, method="bad"),
            "bad failed on data: ValueError: 3 is here",
        ),
        (pair(Claim.better, "good", "bad", learner="says", size=1), "bad failed on data"),
        (pair(Claim.equal, "good", "none", learner="says", size=1), "no method 'none'"),
    ],
)
def test_untestable_claims_say_why(mixture, claim, why):
    verdict = judge_claim(claim, results=mixture)
    assert verdict.verdict == "cannot be tested"
    assert verdict.finding.holds is None
    assert re.search(why, verdict.finding.why)


@pytest.fixture(scope="module")
def mixture():
    X, y = a_table()
    X[:, 5] = 3
    methods = {"good": Column(0), "bad": Column(0, fails_at=3)}
    learners = {"says": Says(), "flips": Says(flip=True)}
    return Study(methods, (X, y), KFold(5), sizes=[1, 2], learner=learners).run()


def test_learners_are_not_mixed(mixture):
    says, flips = judge_claims(
        value(0.9, learner="says", size=1), value(0.1, learner="flips", size=1), results=mixture
    )
    assert says.finding.ours == pytest.approx(0.9)
    assert flips.finding.ours == pytest.approx(0.1)


def test_a_learner_that_failed_says_so():
    class Broken(Says):
        def fit(self, X, y):
            raise RuntimeError("no")

    verdict = judge_claim(value(1), learner=Broken())
    assert verdict.finding.why == "good failed on data: RuntimeError: no"


# ---- wrong claims --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (
            Claim.value,
            {"dataset": "d", "metod": "m"},
            "claim 'C' has no 'metod': did you mean 'method'",
        ),
        (Claim.value, {"method": "m"}, "claim 'C': say dataset="),
        (Claim.value, {"dataset": "d"}, "claim 'C': say method="),
        (Claim.better, {"dataset": "d", "sise": 3}, "did you mean 'size'"),
        (Claim.equal, {"metric": "bcr"}, "claim 'C': say dataset="),
        (Claim.equal, {"dataset": "d", "zzz": 1}, "it has dataset, metric, learner, size"),
    ],
)
def test_claims_are_checked_before_the_study_is_run(make, options, message):
    more = {"published": 1} if make == Claim.value else {"method": "a", "than": "b"}
    with pytest.raises(ParameterError, match=message):
        make("C", "text", **more, **options)


# ---- draws ---------------------------------------------------------------------------------------
def run_on_draws(n=6, **options):
    datasets = {f"made/{k}": a_table(seed=10 * k) for k in range(n)}
    for k, (X, y) in enumerate(datasets.values()):
        X[: 2 * (k % 3) + 2, 0] = 1 - y[: 2 * (k % 3) + 2]  # draws differ
    datasets["other"] = a_table()
    options = {"sizes": [1], "learner": Says(), **options}
    return Study(METHODS, datasets, KFold(10), **options).run()


def test_draws_of_one_dataset():
    results = run_on_draws()
    verdict = judge_claim(value(0.9, dataset="made"), results=results)
    means = (
        results.curves()
        .filter(pl.col("dataset").str.starts_with("made") & (pl.col("method") == "good"))["mean"]
        .to_list()
    )
    assert len(means) == 6
    assert verdict.finding.ours == pytest.approx(statistics.mean(means))
    assert (verdict.finding.lower, verdict.finding.upper) == (min(means), max(means))
    assert "the range of our draws (6 draws)" in verdict.finding.why
    pairs = judge_claim(pair(Claim.better, "good", "blind", dataset="made"), results=results)
    other = (
        results.curves()
        .filter(pl.col("dataset").str.starts_with("made") & (pl.col("method") == "blind"))["mean"]
        .to_list()
    )
    difference = [a - b for a, b in zip(means, other, strict=True)]
    half = stats.t.ppf(0.975, 5) * statistics.stdev(difference) / 6**0.5
    assert pairs.finding.lower == pytest.approx(statistics.mean(difference) - half)
    assert pairs.finding.why == "the difference is above 0 (6 draws)"


def test_one_draw_and_the_name_itself():
    results = run_on_draws(1)
    family, itself = judge_claims(
        value(0.9, dataset="made"), value(0.9, dataset="made/0"), results=results
    )
    assert family.finding == itself.finding
    assert "10 splits" in family.finding.why
    assert family.finding.lower is not None
    both = Study(METHODS, {"made": a_table(1), "made/0": a_table(2)}, KFold(5), sizes=[1],
                 learner=Says()).run()  # fmt: skip
    exact = judge_claim(value(0.9, dataset="made"), results=both)
    assert "5 splits" in exact.finding.why  # the dataset of that very name


def test_metrics_of_the_selection_need_no_learner():
    corral = {f"corral/{k}": make_problem("corral", random_state=k) for k in range(3)}
    results = Study({"f": FTest()}, corral, KFold(4), sizes=[4], learner=["1-nn", "tree"]).run()
    verdict = judge_claim(
        value(75, dataset="corral", method="f", metric="success"), results=results
    )
    assert verdict.finding.holds is not None
    assert "3 draws" in verdict.finding.why


# ---- the same figures as in the summary ----------------------------------------------------------
@pytest.mark.parametrize("splits", [LeaveOneOut(), Bootstrap(8), Bootstrap(8, estimator=".632")])
def test_ours_is_the_mean_of_the_curves(splits):
    X, y = a_table(n=36)
    X, y = X[:30], y[:30]
    y = y.copy()
    y[:12:2] = 1  # 9 and 21
    results = Study({"good": Column(0), "blind": Column(3)}, (X, y), splits, sizes=[1],
                    learner=Says()).run()  # fmt: skip
    finding = judge_claim(value(0.5), results=results).finding
    line = results.curves().row(0, named=True)
    assert finding.ours == pytest.approx(line["mean"])
    assert finding.lower == pytest.approx(line["lower"])
    assert finding.upper == pytest.approx(line["upper"])
    if isinstance(splits, LeaveOneOut):
        pairs = list(zip(y.tolist(), X[:, 0].astype(int).tolist(), strict=True))
        assert finding.ours == pytest.approx(reference.bcr(pairs))
        assert finding.ours != pytest.approx(reference.accuracy(pairs))
        other = list(zip(y.tolist(), X[:, 3].astype(int).tolist(), strict=True))
        better = judge_claim(pair(Claim.better, "good", "blind"), results=results).finding
        assert better.ours == pytest.approx(reference.bcr(pairs) - reference.bcr(other))


# ---- checks of one's own -------------------------------------------------------------------------
def test_a_check_of_ones_own():
    def check(results: Results) -> Finding:
        return Finding(results.rows.height > 3, "counted", results.rows.height)

    claim = Claim("own", "there are rows", check, published="many", where="fig. 1")
    verdict = judge_claim(claim)
    assert (verdict.verdict, verdict.finding.ours) == ("holds", 40)


# ---- tables and text -----------------------------------------------------------------------------
CLAIMS = (
    Claim.value("A|1", "ninety\nper cent", 0.9, where="table 2", dataset="data", method="good"),
    Claim.better("A2", "good beats blind", method="good", than="blind", dataset="data",
                 published="p < 0.05"),
    Claim.value("A3", "a coin", 0.5, dataset="data", method="good"),
    Claim.untestable("A4", "costs less", "no prices are given", published=12.5, where="4.1"),
)  # fmt: skip


@pytest.fixture
def verdicts():
    return judge_claims(*CLAIMS)


def test_a_sequence_of_verdicts(verdicts):
    assert isinstance(verdicts, Verdicts)
    assert len(verdicts) == 4
    assert isinstance(verdicts[0], Verdict)
    assert [v.claim.name for v in verdicts[1:3]] == ["A2", "A3"]
    assert verdicts.counts() == {"holds": 2, "does not hold": 1, "cannot be tested": 1}


def test_the_table(verdicts):
    table = verdicts.table()
    assert table.columns == ["claim", "text", "where", "published", "ours", "lower", "upper",
                             "verdict", "why", "biased"]  # fmt: skip
    assert table["published"].to_list() == ["0.9", "p < 0.05", "0.5", "12.5"]
    assert table["ours"].to_list()[0] == pytest.approx(0.9)
    assert table["ours"].to_list()[3] is None
    assert table["verdict"].to_list() == ["holds", "holds", "does not hold", "cannot be tested"]
    assert table["why"][3] == "no prices are given"
    assert not table["biased"].any()
    assert Verdicts([]).table().height == 0


def test_markdown(verdicts):
    lines = verdicts.markdown().splitlines()
    assert len(lines) == 6
    assert lines[0] == "| claim | what was published | printed | ours | verdict | why |"
    assert lines[2].startswith(r"| A\|1 | ninety per cent (table 2) | 0.9 | 0.9 (0.")
    assert lines[5] == (
        "| A4 | costs less (4.1) | 12.5 |  | cannot be tested | no prices are given |"
    )
    assert verdicts.markdown().endswith("|\n")


def test_verdicts_as_text(verdicts):
    words = repr(verdicts).splitlines()
    assert words[0] == "4 claims: 2 holds, 1 does not hold, 1 cannot be tested"
    assert (
        "A4: cannot be tested (no figure; printed 12.5): costs less. no prices are given" in words
    )


def test_biased_verdicts_say_so(verdicts):
    biased = judge_claims(*CLAIMS, selection="outside")
    assert biased.biased
    assert biased.markdown().startswith("**BIASED: columns were selected on all rows")
    assert "BIASED" in repr(biased)
    assert biased.table()["biased"].all()
    assert "BIASED" not in verdicts.markdown() + repr(verdicts)


def test_claims_come_with_the_study(tmp_path):
    study = Study(METHODS, a_table(), KFold(4), sizes=[1], learner=Says(), claims=CLAIMS)
    results = study.run(tmp_path)
    assert study.verdicts().counts() == results.verdicts().counts()
    assert study.run(tmp_path).verdicts().table().equals(results.verdicts().table())
    opened = Results.open(tmp_path)  # claims are no part of the files
    assert len(opened.verdicts()) == 0


def test_shuffles_do_not_change_a_verdict():
    assert judge_claim(value(0.9), null=2).finding == judge_claim(value(0.9)).finding
