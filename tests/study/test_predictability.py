"""A yes or no by shuffled labels of the whole protocol."""

import sys

import numpy as np
import pytest

from featly.basics.errors import DataError, ParameterError
from featly.study import Dataset, Study, nested, predictability, shuffle_runs
from featly.study.paths import fit_path
from featly.study.shuffle_runs import ShuffleDesign, ShuffleTask
from featly.study.training_part import HeldParts
from tests.study.quick_pipeline import NearestMean, QuickF

predictability_module = sys.modules["featly.study.predictability"]  # the name is a function's, too


def table(n=40, p=10, signal=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, 0] += signal * y
    return X, y


def answer(X, y, methods=None, **options):
    options = {"learner": {"mean": NearestMean()}, "n_jobs": 1} | options
    data = options.pop("data", (X, y))
    return predictability({"f": QuickF()} if methods is None else methods, data, **options)


def test_a_clear_yes_and_a_clear_no():
    yes = answer(*table(signal=3.0))
    assert (yes.answer, yes.by, yes.statistic, yes.p_value) == ("yes", "shuffles", "auc", 0.01)
    assert str(yes).endswith("0 of 99 tries, so the columns do predict.")
    no = answer(*table(seed=2))
    assert (no.answer, no.test.reached) == ("no", 5)
    assert no.test.drawn < 99
    assert "not shown to predict" in str(no)


def test_the_answer_is_that_of_the_same_draws_in_any_number_of_jobs():
    X, y = table(signal=0.4, seed=3)
    options = {"sizes": [2], "most": 19}
    alone = predictability("f-test", (X, y), n_jobs=1, **options)
    together = predictability("f-test", (X, y), n_jobs=2, **options)
    assert alone.test == together.test


def test_three_classes_are_judged_by_their_rate():
    X, _ = table(45, 8)
    y = np.arange(45) % 3
    X[:, 0] += 3 * y
    assert (result := answer(X, y)).statistic == "bcr"
    assert result.answer == "yes"


def test_blocks_that_explain_all_leave_no_yes():
    rng = np.random.default_rng(4)
    site = np.repeat([0, 1], 30)
    y = np.where(rng.random(60) < 0.85, site, 1 - site)
    X = rng.normal(size=(60, 6)) + 2 * site[:, None]
    assert answer(X, y).answer == "yes"
    assert answer(X, y, blocks=site).answer == "no"


def test_rows_that_occur_twice_are_no_evidence():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(25, 6)), np.arange(25) % 2
    X2, y2, groups = np.tile(X, (2, 1)), np.tile(y, 2), np.tile(np.arange(25), 2)
    data = Dataset.of(X2, y2, row_groups=groups)
    assert answer(None, None, data=data).answer == "no"


def test_no_time_for_ninety_nine_is_nineteen(monkeypatch):
    """The time of a path is measured; here it is a fifth of a second, and a shuffle has five."""
    monkeypatch.setattr(predictability_module, "_seconds", lambda run: 0.2)
    X, y = table(signal=3.0)
    assert answer(X, y, time_limit=99).test.most == 99
    limited = answer(X, y, time_limit=98)
    assert (limited.test.most, limited.p_value, limited.answer) == (19, 0.05, "yes")
    assert answer(X, y, time_limit=19).test.most == 19
    assert "about 19 seconds" in answer(X, y, time_limit=18).reason


def test_no_time_at_all_is_answered_by_the_interval_or_not():
    X, y = table(signal=3.0)
    none = answer(X, y, time_limit=1e-9)
    assert (none.answer, none.by, none.p_value) == ("not tested", None, None)
    assert "not tested: 19 shuffles would take" in str(none)
    options = {"learner": {"mean": NearestMean()}, "repeats": 1, "n_jobs": 1}
    estimate = nested({"f": QuickF()}, (X, y), **options).estimate()
    yes = answer(X, y, time_limit=1e-9, estimate=estimate)
    assert (yes.answer, yes.by) == ("yes", "interval")
    assert "above guessing" in str(yes)
    noise = nested({"f": QuickF()}, table(), **options).estimate()
    assert answer(X, y, time_limit=1e-9, estimate=noise).answer == "not tested"


def test_ctrl_c_counts_what_was_drawn():
    def stop_after(runs):
        def stop(done, total, left):
            if done > runs:
                raise KeyboardInterrupt

        return stop

    X, y = table(signal=3.0)
    enough = answer(X, y, verbose=stop_after(45))
    assert enough.answer == "yes"
    assert 19 <= enough.test.drawn < 99
    assert enough.p_value == 1 / (1 + enough.test.drawn)
    few = answer(X, y, verbose=stop_after(12))
    assert few.answer == "not tested"
    assert few.reason == "it was stopped"


def test_labels_that_can_hardly_be_shuffled_are_not_tested():
    X, y = table(12, 4)
    groups = np.repeat(np.arange(8), [1, 1, 1, 1, 2, 2, 2, 2])
    y = np.array([0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0])
    blocks = np.repeat(np.arange(4), [2, 2, 4, 4])
    data = Dataset.of(X, y, row_groups=groups)
    result = answer(None, None, data=data, blocks=blocks)
    assert result.answer == "not tested"
    assert "16 different ways" in result.reason


class Counts(QuickF):
    """Count fits."""

    fits = 0

    def fit(self, X, y):
        """Rank."""
        Counts.fits += 1
        return super().fit(X, y)


def test_a_shuffle_that_cannot_reach_the_observed_value_ends_and_changes_nothing(monkeypatch):
    X, y = table(signal=2.0)
    monkeypatch.setattr(Counts, "fits", 0)
    ended = answer(X, y, {"f": Counts()})
    fits = Counts.fits
    monkeypatch.setattr(shuffle_runs._Run, "is_hopeless", lambda run: False)
    full = answer(X, y, {"f": Counts()})
    assert Counts.fits - fits == 5 * 100
    assert fits < 0.8 * 500
    assert (ended.test.reached, ended.p_value) == (full.test.reached, full.p_value)
    values = np.array([ended.test.values, full.test.values])
    assert (values[0] >= values[1]).all()
    reached = values[1] >= full.test.statistic
    assert (values[0] >= full.test.statistic).tolist() == reached.tolist()


def test_labels_are_shuffled_within_folds_and_blocks():
    site = np.arange(60) % 3
    y = (np.random.default_rng(0).random(60) < 0.4).astype(int)
    design = ShuffleDesign(Dataset.of(np.zeros((60, 1)), y), 5, site, random_state=3)
    assert design.keeps_folds
    real, draws = design.draw(0), [design.draw(k) for k in (1, 2)]
    for draw in draws:
        assert (draw.fold_of == real.fold_of).all()
        assert (draw.codes != y).any()
        for fold in range(5):
            for block in range(3):
                own = (real.fold_of == fold) & (site == block)
                assert draw.codes[own].sum() == y[own].sum()


def test_folds_are_dealt_anew_where_labels_cannot_be_shuffled_within_them():
    """Ten groups of two rows in five folds: two in each, so there are few arrangements."""
    groups, y = np.repeat(np.arange(10), 2), np.repeat([0, 1], 10)
    data = Dataset.of(np.zeros((20, 1)), y, row_groups=groups)
    design = ShuffleDesign(data, 5, None, random_state=0)
    assert not design.keeps_folds
    assert design.n_arrangements == 252
    assert (design.draw(1).fold_of != design.draw(0).fold_of).any()
    assert answer(None, None, data=data).test.drawn >= 5


@pytest.mark.parametrize("method", ["mkl-rfe", "svm-rfe", "f-test"])
def test_what_is_shared_changes_no_run(method, monkeypatch):
    study = Study(method, table(40, 12, signal=0.8, seed=5), sizes=[2, 8])
    data, methods = study.datasets["data"], study.methods
    design = ShuffleDesign(data, 2, None, random_state=0)
    draws = [design.draw(number) for number in range(3)]
    task = ShuffleTask(draws, tuple(methods), 2, design.keeps_folds)
    protocol = study.protocol(one_thread=True)
    shared = task.run(data, methods, protocol, HeldParts(data, 2))
    monkeypatch.setattr(shuffle_runs, "fit_path", lambda *args: fit_path(*args[:4]))
    alone = task.run(data, methods, protocol, HeldParts(data, 0))
    assert [run.value for run in shared] == [run.value for run in alone]
    assert len({run.value for run in shared}) == 3


def test_shuffles_go_on_where_they_were_stopped(tmp_path, monkeypatch):
    X, y = table(signal=1.0)
    options = {"most": 19, "directory": tmp_path}

    def stop(done, total, left):
        if done > 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(Counts, "fits", 0)
    stopped = answer(X, y, {"f": Counts()}, verbose=stop, **options)
    assert stopped.answer == "not tested"
    full = answer(X, y, {"f": Counts()}, **options)
    fits = Counts.fits
    assert answer(X, y, {"f": Counts()}, **options).test == full.test
    assert Counts.fits == fits
    assert full.test == answer(X, y, {"f": Counts()}, most=19).test
    assert fits == Counts.fits - fits  # nothing was fitted twice
    other = answer(X, 1 - y, {"f": Counts()}, **options)  # other labels are other fits
    assert Counts.fits > 2 * fits
    assert other.test.statistic == pytest.approx(full.test.statistic)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"most": 18}, ParameterError, "most=18"),
        ({"time_limit": 0}, ParameterError, "time_limit=0"),
        ({"blocks": [1, 2]}, DataError, "one for each row"),
    ],
)
def test_senseless_parameters_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        answer(*table(), **options)


class Fails(QuickF):
    """Fail always."""

    def fit(self, X, y):
        raise ValueError("no such luck")


def test_a_method_that_fails_says_why():
    with pytest.raises(DataError, match="no such luck"):
        answer(*table(), {"f": Fails()})
