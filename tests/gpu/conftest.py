"""Tests on a CUDA device; skipped where there is none."""

import pytest

from featly.core.cuda.device import available


@pytest.fixture(autouse=True)
def device():
    if not available():
        pytest.skip("no CUDA device")
