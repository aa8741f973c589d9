"""A yes or no by shuffled labels of the whole protocol."""

import sys

import numpy as np
import pytest

from featly.basics.errors import DataError, ParameterError
from featly.study import Dataset, nested, predictability
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
    """The time of a shuffle is measured; here it is a second."""
    monkeypatch.setattr(predictability_module, "_seconds", lambda *_: 1.0)
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
    def stop_after(paths):
        def stop(done, total, left):
            if done > paths:
                raise KeyboardInterrupt

        return stop

    X, y = table(signal=3.0)
    enough = answer(X, y, verbose=stop_after(5 * 45))
    assert enough.answer == "yes"
    assert 19 <= enough.test.drawn < 99
    assert enough.p_value == 1 / (1 + enough.test.drawn)
    few = answer(X, y, verbose=stop_after(5 * 12))
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
