"""The studies of the book's chapter 3: what they compute is what the book printed."""

import numpy as np
import pytest
from studies import book_chapter_3
from studies.book_tables import ROWS

from featly.measures.recovery import Roles, success_index


@pytest.fixture
def robots(data_folder):
    """Monk3 as the studies read it."""
    return book_chapter_3.datasets({}, ())["monk3 real"]


def test_monk3_is_read_as_numbers_and_gives_ten_of_eleven_printed_indices(robots):
    assert np.asarray(robots.X).dtype.kind in "if"
    assert robots.roles == Roles(6, ((1,), (3,), (4,)))
    met = set()
    for name, method in book_chapter_3.methods().items():
        if name in ("none", "f-test"):
            continue
        order = method.fit(robots.X, robots.y).order_
        is_ranking = len(order) == 6
        index = success_index(order[:5], robots.roles, ranked=is_ranking)
        if round(index) == ROWS["monk3 real"][name][0]:
            met.add(name)
    assert set(ROWS["monk3 real"]) - met == {"md-0", "wrapper-svm"}  # no wrapper was run


def test_the_monks_of_all_draws_are_numbers():
    drawn = book_chapter_3.datasets({"monk3": 1}, ())["monk3/0"]
    assert np.asarray(drawn.X).dtype.kind in "if"
