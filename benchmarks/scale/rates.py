"""Rates that the machine reaches: bytes moved, float64 operations and bit counts a second."""

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import featly
from featly.basics.errors import DeviceError
from featly.core.runtime.device_cuda import xp

SIZE = 1 << 28  # bytes of an array that is copied
REPEATS = 5


def cpu_rates(size: int = SIZE, side: int = 1500) -> dict[str, float]:
    """Return rates of all cores that this process may use together.

    The bandwidth is the larger of that of a copy, read and written, and that of a read alone. An
    addition is half of what a product counts, where multiplying and adding is one instruction.
    """
    threads = len(os.sched_getaffinity(0))
    copy, read = _copy_and_read(size, threads)
    matrix = np.random.default_rng(0).standard_normal((side, side))
    products = 2 * side**3 / _best(lambda: matrix @ matrix)
    single = matrix.astype(np.float32)
    return {
        "bandwidth": max(copy, read),
        "copy": copy,
        "read": read,
        "products": products,
        "coarse": 2 * side**3 / _best(lambda: single @ single),
        "additions": products / 2,
        "popcounts": _popcounts(threads),
    }


def _best(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def _copy_and_read(size: int, threads: int) -> tuple[float, float]:
    source = np.ones(size // 8, np.uint64)
    target = np.zeros_like(source)
    width = -(-len(source) // (4 * threads))
    parts = [slice(low, low + width) for low in range(0, len(source), width)]
    with ThreadPoolExecutor(threads) as pool:
        copying = _best(
            lambda: list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))
        )
        reading = _best(lambda: list(pool.map(lambda part: source[part].max(), parts)))
    return 2 * source.nbytes / copying, source.nbytes / reading


def _popcounts(threads: int, n_words: int = 1 << 11, rounds: int = 20_000) -> float:
    """Return words of 64 bits, in a core's cache, joined by AND and counted a second."""
    import numba

    from featly.core.runtime.simd import ones

    @numba.njit(nogil=True)
    def count(first, second, rounds):
        total = np.uint64(0)
        for k in range(rounds):
            mask = np.uint64(k)
            for w in range(len(first)):
                total += ones((first[w] ^ mask) & second[w])
        return total

    first, second = np.random.default_rng(0).integers(0, 1 << 63, (2, n_words)).astype(np.uint64)
    count(first, second, 1)
    with ThreadPoolExecutor(threads) as pool:

        def work() -> None:
            list(pool.map(lambda _: count(first, second, rounds), range(threads)))

        return threads * n_words * rounds / _best(work)


# ---- a CUDA device -------------------------------------------------------------------------------
REGISTERS = r"""
extern "C" __global__ void additions(double* out, double step, int times)
{
    double a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a;
    for (int k = 0; k < times; k++) {
        #pragma unroll
        for (int q = 0; q < 16; q++) {
            a += step; b += step; c += step; d += step; e += step; f += step; g += step; h += step;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;
}
"""
BITS = r"""
extern "C" __global__ void popcounts(unsigned int* out, unsigned int mask, int times)
{
    unsigned int x = threadIdx.x * 2654435761u, a = 0, b = 0, c = 0, d = 0;
    for (int k = 0; k < times; k++) {
        #pragma unroll
        for (int q = 0; q < 16; q++) {
            x += mask;
            a += __popc(x & 0x5bd1e995u); b += __popc(x & 0x9e3779b9u);
            c += __popc(x & 0x85ebca6bu); d += __popc(x & 0xc2b2ae35u);
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
"""


def cuda_rates(size: int = 1 << 31, side: int = 8192) -> dict[str, float]:
    """Return rates of a device: copy, products of matrices, additions and counts in registers.

    What cannot be measured is left out, and floors are then made of the rest.
    """
    rates: dict[str, float] = {}
    for name, measure in {
        "bandwidth": partial(device_copy, size),
        "products": partial(device_products, side, np.float64),
        "coarse": partial(device_products, 2 * side, np.float16),
        "additions": partial(_registers, REGISTERS, "additions", np.float64, 128),
        "popcounts": partial(_registers, BITS, "popcounts", np.uint32, 32),  # words of 64 bits
    }.items():
        try:
            rates[name] = measure()
        except Exception as error:
            print(f"{name} of the device: {type(error).__name__}: {error}", flush=True)
        xp().get_default_memory_pool().free_all_blocks()
    return rates


def needs_device() -> None:
    """Exit with a line on what is missing where there is no device."""
    try:
        xp()
    except DeviceError as error:
        raise SystemExit(str(error)) from None


def _device_best(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    cupy = xp()

    def call_and_wait() -> None:
        call()
        cupy.cuda.runtime.deviceSynchronize()

    call_and_wait()
    return _best(call_and_wait, repeats)


def device_copy(size: int) -> float:
    """Bytes a second that a copy reads and writes."""
    cupy = xp()
    source = cupy.ones(size, cupy.uint8)
    target = cupy.empty_like(source)
    return 2 * size / _device_best(lambda: cupy.copyto(target, source), 10)


def device_products(side: int, dtype: Any) -> float:
    """Operations a second of a product of square matrices."""
    cupy = xp()
    matrix = (cupy.random.random((side, side)) - 0.5).astype(dtype)
    return 2 * side**3 / _device_best(lambda: matrix @ matrix)


def _registers(source: str, name: str, dtype: Any, each: int, times: int = 2000) -> float:
    """Operations a second of a loop that stays in registers, `each` of them in one turn."""
    cupy = xp()
    count = cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
    blocks, threads = 16 * count, 256
    out = cupy.empty(blocks * threads, dtype)
    loop = cupy.RawKernel(source, name)
    argument = (out, np.float64(1e-3) if dtype == np.float64 else np.uint32(77), np.int32(times))
    seconds = _device_best(lambda: loop((blocks,), (threads,), argument))
    return blocks * threads * times * each / seconds


# ---- names ---------------------------------------------------------------------------------------
def machine(device: str) -> dict[str, str]:
    """Describe the machine: featly's version, processor, cores, GPU."""
    description = {
        "featly": featly.__version__,
        "cpu": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
    }
    if device == "cuda":
        cupy = xp()

        description["gpu"] = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        description["cuda"] = str(cupy.cuda.runtime.runtimeGetVersion())
    return description


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
