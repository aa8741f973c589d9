"""Settings of the whole suite."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "featly",
    deadline=None,  # the first example compiles
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,  # new examples are for developers, not for landings
)
settings.load_profile("featly")

# a shell ignores Ctrl-C on behalf of what it starts in the background; the tests send it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def data_folder():
    """The real datasets, where FEATLY_DATA names them."""
    folder = os.environ.get("FEATLY_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("FEATLY_DATA names no folder of datasets")
    return Path(folder)
