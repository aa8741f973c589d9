"""The learner of a study where the user names none."""

import numpy as np
import pytest

from featly import FTest, MultiSURF, Relief, ReliefF, report
from featly.study.plan import default_learner


@pytest.mark.parametrize(
    ("methods", "learner"),
    [
        ([], "linear-svm"),
        (["f-test", "none"], "linear-svm"),
        ([FTest(), None], "linear-svm"),
        (["f-test", "relieff"], "linear-or-neighbours"),
        (["relief"], "linear-or-neighbours"),
        ([None, MultiSURF()], "linear-or-neighbours"),
        ([Relief(), ReliefF(), FTest()], "linear-or-neighbours"),
    ],
)
def test_what_ranks_by_neighbours_is_judged_by_neighbours(methods, learner):
    assert default_learner(methods) == learner


def test_so_it_is_in_a_report():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    for methods, learner in ((["relieff"], "linear-or-neighbours"), (["f-test"], "linear-svm")):
        page = report(X, y, methods=methods, splits=2, sizes=[1, 2])
        assert list(page.results.about["learners"]) == [learner]
