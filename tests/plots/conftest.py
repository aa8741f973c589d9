"""Figures are closed after every test, and matplotlib's settings stay as they were."""

import importlib.util

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("matplotlib") else ["*"]


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before, "settings are the user's"
    plt.close("all")
