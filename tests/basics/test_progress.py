"""A progress bar only on request, on standard error, with the time left."""

import pytest

from featly.basics.progress import describe_time_left, progress_bar, timed_progress_bar


@pytest.mark.parametrize("make_bar", [progress_bar, timed_progress_bar])
def test_a_function_is_used_as_it_is(make_bar, capsys):
    with make_bar(print, "title") as progress:
        assert progress is print
    with make_bar(False, "title") as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts(capsys):
    with progress_bar(True, "merging", "pairs") as progress:
        progress(1500, 2000)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "merging" in captured.err
    assert "1500/2000 pairs" in captured.err


def test_a_bar_shows_the_time_left_as_estimated_by_the_caller(capsys):
    with timed_progress_bar(True, "my study", "fits") as progress:
        progress(1500, 2000, None)
        progress(1501, 2000, 1800.0)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "my study" in captured.err
    assert "1,501/2,000 fits" in captured.err
    assert "about 30 min left" in captured.err


def test_the_time_left_in_words():
    assert describe_time_left(None) == "time left not known yet"
    assert describe_time_left(59.6) == "about 60 s left"
    assert describe_time_left(1800) == "about 30 min left"
    assert describe_time_left(9000) == "about 2.5 h left"
