"""Parameters chosen inside the training part."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from featly import SVMRFE, ParameterError
from featly.study import Study, Tuned


class First(BaseEstimator):
    """A ranker that puts one column first."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        other_columns = [j for j in range(X.shape[1]) if j != self.column]
        self.order_ = np.array([self.column, *other_columns])
        self.ranking_ = np.argsort(self.order_) + 1
        return self


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    X[:, 4] += 2 * y
    return X, y


def test_the_best_combination_is_taken_and_fitted_to_all_rows(table):
    X, y = table
    tuned = Tuned(First(), {"column": [0, 2, 4]}, sizes=[1]).fit(X, y)
    assert tuned.best_params_ == {"column": 4}
    assert tuned.order_.tolist() == [4, 0, 1, 2, 3, 5]
    assert [chosen["column"] for chosen, _ in tuned.results_] == [0, 2, 4]
    assert max(tuned.results_, key=lambda pair: pair[1])[0] == {"column": 4}
    assert Tuned(First(), {"column": [0, 4]}, sizes=[1], metric="error").fit(X, y).best_params_ == {
        "column": 4
    }


def test_a_study_passes_training_rows_only(table):
    X, y = table
    rows = np.arange(60)
    split = [(rows[:40], rows[40:])]
    spoilt = X.copy()
    spoilt[40:] = 1e6
    orders = [
        Study({"tuned": Tuned(SVMRFE(), {"C": [0.01, 1.0, 100.0]})}, (table_, y), split)
        .run()
        .orders()[0]
        .tolist()
        for table_ in (X, spoilt)
    ]
    assert orders[0] == orders[1]


def test_wrong_parameters_are_refused(table):
    with pytest.raises(ParameterError, match="no parameter 'colum'"):
        Tuned(First(), {"colum": [1]}).fit(*table)
    with pytest.raises(ParameterError, match="metric='bcd'"):
        Tuned(First(), {"column": [1]}, metric="bcd").fit(*table)
