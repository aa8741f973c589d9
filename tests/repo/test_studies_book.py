"""The studies of the book's chapter 3: what they compute is what the book printed."""

import numpy as np
import pytest
from studies import book_chapter_3
from studies.book_led_sd_tables import BEST, LED_ROWS, SD_ROWS
from studies.book_tables import LEARNERS, ROWS, SUCCESS

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


@pytest.mark.parametrize("problem", ["led-25", "led-100"])
def test_the_rows_of_led_agree_with_the_averages_of_table_3_12(problem):
    at = 4 + ("led-25", "led-100").index(problem)
    families = [family for family in LED_ROWS if family.startswith(f"{problem} ")]
    assert len(families) == 6
    for method, averages in SUCCESS.items():
        values = [LED_ROWS[family][method.lower().replace(" ", "-")][0] for family in families]
        assert np.mean(values) == pytest.approx(averages[at], abs=0.7), method


def test_the_rows_of_sd_agree_with_the_averages_of_table_3_12():
    groups = {"sd1": 2, "sd2": 4, "sd3": 6}
    for method in ("cfs", "interact", "relieff", "mrmr", "svm-rfe", "fs-p", "md-0", "md-1"):
        best = [
            max(100 * row[0] / n for (name, _), row in SD_ROWS[family].items() if name == method)
            for family, n in groups.items()
        ]
        assert np.mean(best) == pytest.approx(SUCCESS[method][7], abs=0.7), method


def test_the_best_accuracies_of_table_3_13_are_the_largest_of_the_rows():
    """The best method of table 3.13 has the largest accuracy of its table, ties included."""
    for family in ("led-25 20%", "led-100 20%", "led-100 0%"):
        for at, learner in enumerate(LEARNERS):
            values = {method: row[1 + at] for method, row in LED_ROWS[family].items()}
            largest = max(value for value in values.values() if value is not None)
            best = {method for method, value in values.items() if value == largest}
            assert best & set(BEST[family][learner]), (family, learner, best)
