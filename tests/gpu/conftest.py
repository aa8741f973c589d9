"""Tests on a CUDA device; skipped where there is none."""

import pytest

from featly.core.runtime.device_cuda import is_available


@pytest.fixture(autouse=True)
def device():
    if not is_available():
        pytest.skip("no CUDA device")
    import cupy

    # memory is full of ones, where a new process finds zeros: what reads before it writes is seen
    for size in (1 << 27, 1 << 22, 1 << 16, 1 << 12):
        garbage = [cupy.full(size, 255, cupy.uint8) for _ in range(4)]
        del garbage
