"""Names, places and letters that pictures share."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly import plots
from featly.basics.errors import ParameterError
from featly.plots import canvas
from featly.plots.canvas import make_readable, shorten_names, shown_names, spread, wrap_text
from tests.plots.shared import HOSTILE, make_results


# ---- names ---------------------------------------------------------------------------------------
@given(st.lists(st.text(max_size=80), max_size=8))
def test_names_that_differ_still_do(texts):
    shown = shown_names(texts)
    assert len(shown) == len(texts)
    assert len(set(shown)) == len(set(texts))
    assert len(set(zip(texts, shown, strict=True))) == len(set(texts)), "and equal ones are equal"


def test_hostile_names_are_short_and_in_the_font():
    shown = shown_names(HOSTILE)
    assert len(set(shown)) == len(HOSTILE)
    assert max(map(len, shown)) <= 60
    fonts = canvas._fonts()
    assert all(canvas._has_glyph(ord(letter), fonts) for text in shown for letter in text)
    assert shown[1] == HOSTILE[1], "formulas stay as they are written"
    assert shown[6] == HOSTILE[6], "Hebrew is in the font"
    assert shown[7] == "reversed", "no text turns the rest around"
    assert shown[8] == "tab and line"


def test_letters_that_the_font_lacks():
    assert make_readable(["日本"]) == ["□□"]
    assert make_readable(["a日", "a本", "b日"]) == ["a<U+65E5>", "a<U+672C>", "b□"]
    assert make_readable(["a\ud800"]) == ["a□"]


def test_long_names_that_differ_in_the_middle_are_numbered():
    texts = ["x" * 99 + letter + "x" * 99 for letter in "ab"]
    assert shorten_names(texts, 9) == ["xxxx…xxxx #1", "xxxx…xxxx #2"]
    assert shorten_names([*texts, texts[0]], 9)[2] == "xxxx…xxxx #1", "the same name looks the same"
    assert shorten_names(["abcdefghij1", "abcdefghij2"], 9) == ["abcd…hij1", "abcd…hij2"]


# ---- positions -----------------------------------------------------------------------------------
@given(
    st.lists(st.floats(-1, 2), min_size=1, max_size=12),
    st.floats(0.01, 0.3),
)
def test_positions_are_spread(positions, distance):
    moved = spread(positions, distance, 0.0, 1.0)
    ordered = np.sort(moved)
    assert (np.diff(ordered) >= distance - 1e-9).all()
    assert (np.argsort(moved, kind="stable") == np.argsort(positions, kind="stable")).all()
    if (len(positions) - 1) * distance <= 1:
        assert ordered[0] >= -1e-9
        assert ordered[-1] <= 1 + 1e-9
    else:
        assert ordered[0] + ordered[-1] == pytest.approx(1), "around the middle"


def test_positions_that_are_far_enough_apart_stay():
    assert spread([0.9, 0.1, 0.5], 0.2, 0, 1).tolist() == pytest.approx([0.9, 0.1, 0.5])
    assert spread([0.5, 0.5], 0.2, 0, 1).tolist() == pytest.approx([0.4, 0.6])


def test_lines_of_a_note():
    assert wrap_text("short", 3.0) == "short"
    lines = wrap_text("so many words that they need more than one line", 1.2).split("\n")
    assert len(lines) > 2
    assert all(canvas.text_width([line]) <= 1.2 for line in lines)
    assert " ".join(lines) == "so many words that they need more than one line"


# ---- without matplotlib --------------------------------------------------------------------------
@pytest.mark.parametrize("name", plots.__all__)
def test_without_matplotlib_the_error_names_the_extra(monkeypatch, name):
    for module in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    positional = {"plot_column": 3, "plot_scatter": 3, "plot_redundancy": 2, "plot_cost_front": 2}
    arguments = [make_results()] + [None] * (positional.get(name, 1) - 1)
    words = rf"{name} needs matplotlib: pip install 'featly\[report\]'"
    with pytest.raises(ParameterError, match=words):
        getattr(plots, name)(*arguments)
