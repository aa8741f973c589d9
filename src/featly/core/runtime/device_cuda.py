"""Access to a CUDA device: whether there is one, copies of arrays, memory and kernels.

CuPy is imported at the first use. Large arrays are copied through two pinned buffers, of which one
is filled while the other is on its way: from ordinary memory a copy takes ten times as long.
"""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from featly.basics.errors import DeviceError, Field, Message, Parameter, Setting
from featly.basics.typing import AnyArray
from featly.core.runtime.parallel import run_blocks, split

__all__ = [
    "NotOnDevice",
    "as_device",
    "ensure_on_host",
    "free_bytes",
    "is_available",
    "is_device_array",
    "kernel",
    "take_device_columns",
    "to_host",
    "translate_memory_errors",
    "xp",
]


STAGE = 1 << 25  # bytes of a pinned buffer
PIECE = 1 << 22  # bytes that one thread copies at a time
SMALL = 1 << 20  # bytes up to which an array is copied in one piece
REMEDY = ("give ", Parameter("memory_limit"), ", or ", Setting("device", "cpu"))


class NotOnDevice(Message):
    """The computation is not done on a device; the message is the reason.

    The code that chooses between the device and the CPU then takes the CPU, or raises a DeviceError
    if the user chose the device.

    Examples
    --------
    >>> str(NotOnDevice("missing='spread' is computed on the CPU"))
    "missing='spread' is computed on the CPU"
    """


def is_available() -> bool:
    """Return whether CuPy can be imported and sees a device. Never raises; looked up once."""
    return _unavailable_reason() is None


def xp() -> Any:
    """Return the module CuPy, or raise a DeviceError that says why it cannot be used."""
    reason = _unavailable_reason()
    if reason is not None:
        raise DeviceError(*reason)
    import cupy

    return cupy


@functools.cache
def _unavailable_reason() -> tuple[str | Field, ...] | None:
    """Return the reason why no device can be used, as the parts of a message, or None."""
    on_cpu = Setting("device", "cpu")
    try:
        import cupy
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            needs = " needs CuPy: pip install 'featly[gpu]', or give "
            return Setting("device", "cuda"), needs, on_cpu
        return f"CuPy cannot be imported ({_first_line(error)}): repair it, or give ", on_cpu
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return f"no CUDA device can be used ({_first_line(error)}): give ", on_cpu
    return None if count else ("no CUDA device is there: give ", on_cpu)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_device_array(X: Any) -> bool:
    """Return whether this is a CuPy array, or a torch tensor on a CUDA device. Imports nothing.

    Examples
    --------
    >>> import numpy as np
    >>> is_device_array(np.zeros(3))
    False
    """
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(X, getattr(cupy, "ndarray", ())):
        return True
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(X, getattr(torch, "Tensor", ())):
        return False
    tensor: Any = X
    return bool(tensor.is_cuda)


def ensure_on_host(y: Any) -> Any:
    """Copy an array on a device to the host; return anything else as it is."""
    return to_host(as_device(y)) if is_device_array(y) else y


def take_device_columns(X: Any, columns: AnyArray) -> Any:
    """Return some columns of a CuPy array or of a torch tensor, of the same library."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return X[:, torch.as_tensor(columns, device=X.device)]
    return X[:, xp().asarray(columns)]


def as_device(X: Any) -> Any:
    """Return an array on the device.

    A CuPy array is returned as it is. A torch tensor on the device shares its memory with the
    result. Anything else is copied to the device, in its own order of memory.
    """
    cupy = xp()
    if isinstance(X, cupy.ndarray):
        return _require_current_device(X)
    if is_device_array(X):
        return _require_current_device(_from_tensor(cupy, X.detach()))
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise DeviceError(f"an array of {array.dtype} cannot lie on the device: give numbers")
    by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    with translate_memory_errors(array.nbytes):
        if by_columns:
            return _upload(cupy, array.T).T
        return _upload(cupy, array)


def _require_current_device(array: Any) -> Any:
    current = xp().cuda.runtime.getDevice()
    if array.device.id != current:
        raise DeviceError(
            f"the table lies on device {array.device.id}, and device {current} is in use: "
            f"call fit within 'with cupy.cuda.Device({array.device.id}):'"
        )
    return array


def _from_tensor(cupy: Any, tensor: Any) -> Any:
    if str(tensor.dtype) == "torch.bool":  # not every version exports it by DLPack
        return cupy.from_dlpack(tensor.view(sys.modules["torch"].uint8)).view(cupy.bool_)
    return cupy.from_dlpack(tensor)


def _upload(cupy: Any, array: AnyArray) -> Any:
    out = cupy.empty(array.shape, array.dtype)
    if array.nbytes <= SMALL or array.ndim == 0:
        out.set(np.ascontiguousarray(array).reshape(array.shape))
        return out
    stream = cupy.cuda.get_current_stream()
    rows = array if array.ndim > 1 and not array.flags.c_contiguous else array.reshape(-1)
    flat = out.reshape(rows.shape)
    with _staging:
        for number, (low, high) in enumerate(_pieces(rows, STAGE)):
            buffer, free = _buffers(STAGE)[number % 2]
            free.synchronize()
            part = rows[low:high]
            staged = np.ndarray(part.shape, part.dtype, buffer)
            _copy(staged, part)
            flat[low:high].set(staged, stream=stream)
            free.record(stream)
        _wait()
    return out


def to_host(array: Any) -> AnyArray:
    """Copy a CuPy array to a NumPy array, a large one through pinned buffers."""
    cupy = xp()
    if array.nbytes <= SMALL or array.ndim == 0:
        return np.asarray(cupy.asnumpy(array))
    array = cupy.ascontiguousarray(array)
    out = np.empty(array.shape, array.dtype)
    flat, rows = array.reshape(-1), out.reshape(-1)
    stream = cupy.cuda.get_current_stream()
    waiting: list[tuple[AnyArray, AnyArray, Any]] = []
    with _staging:
        for number, (low, high) in enumerate(_pieces(rows, STAGE)):
            buffer, done = _buffers(STAGE)[number % 2]
            staged = np.ndarray((high - low,), rows.dtype, buffer)
            flat[low:high].get(stream=stream, out=staged, blocking=False)
            done.record(stream)
            waiting.append((rows[low:high], staged, done))
            if len(waiting) == 2:
                _finish_copy(*waiting.pop(0))
        while waiting:
            _finish_copy(*waiting.pop(0))
    return out


def _finish_copy(target: AnyArray, staged: AnyArray, done: Any) -> None:
    done.synchronize()
    _copy(target, staged)


def _pieces(array: AnyArray, size: int) -> list[tuple[int, int]]:
    """Return ranges of the first axis of at most `size` bytes, or of one entry."""
    row_bytes = array.nbytes // max(1, len(array))
    if row_bytes > STAGE:
        raise DeviceError(
            f"a row of {row_bytes} bytes is larger than the pinned buffer of {STAGE} bytes: "
            "give X in feature-major order, np.asfortranarray(X)"
        )
    return split(len(array), max(1, size // max(1, row_bytes)))


def _copy(target: AnyArray, values: AnyArray) -> None:
    """Copy by several threads: a single one does not use the full bandwidth."""

    def copy_piece(piece: tuple[int, int]) -> None:
        target[slice(*piece)] = values[slice(*piece)]

    run_blocks(copy_piece, _pieces(values, PIECE))


_staging = threading.Lock()  # the process has one pair of buffers


@functools.cache
def _buffers(size: int) -> list[tuple[Any, Any]]:
    """Return two pinned buffers, each with the event after which it may be used again."""
    cuda = xp().cuda
    return [(cuda.alloc_pinned_memory(size), cuda.Event(disable_timing=True)) for _ in range(2)]


def _wait() -> None:
    for _, event in _buffers(STAGE):
        event.synchronize()


def free_bytes() -> int:
    """Return the bytes that may still be allocated, free memory in CuPy's pool included."""
    cupy = xp()
    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, limit - int(pool.used_bytes())) if limit else free


@contextmanager
def translate_memory_errors(n_bytes: int | None = None) -> Iterator[None]:
    """Turn CuPy's out-of-memory error into a :class:`DeviceError`, for the length of a ``with``."""
    cupy = xp()
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        needed = _format_gigabytes(n_bytes) if n_bytes else _first_line(error)
        raise DeviceError(
            f"the device has too little memory: {needed} are needed, "
            f"{_format_gigabytes(free_bytes())} are free: ",
            *REMEDY,
        ) from error


def _format_gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def kernel(source: str, name: str, **defines: int | str) -> Any:
    """Return a kernel in CUDA C, compiled once for every set of defines.

    The source must declare it ``extern "C" __global__``. CuPy caches compiled kernels in a folder
    of the user, so that the next process does not compile them.
    """
    return _compile_kernel(source, name, tuple(sorted(defines.items())))


@functools.cache
def _compile_kernel(source: str, name: str, defines: tuple[tuple[str, int | str], ...]) -> Any:
    options = ("--std=c++17", *(f"-D{key}={value}" for key, value in defines))
    return xp().RawKernel(source, name, options=options)
