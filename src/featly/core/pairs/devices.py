"""Choice between the device and the host for comparing all pairs."""

from collections.abc import Callable
from typing import Any, TypeVar

from featly.basics.errors import DeviceError
from featly.core.runtime.device_cuda import NotOnDevice, is_available

__all__ = ["WORTH_A_DEVICE", "compare_where_best"]

Result = TypeVar("Result")

WORTH_A_DEVICE = 1e10  # multiplications; fewer are done before a device is ready


def compare_where_best(
    device: str,
    work: float,
    on_device: Callable[[Any], Result],
    on_host: Callable[[], Result] | None,
) -> Result:
    """Compare on the device or on the host, whichever is faster; the result is the same.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        It also takes the host for what the device cannot do.
    work : float
        Number of multiplications: rows times the square of the columns.
    on_device : callable
        The comparison on the device; called with the module :mod:`featly.core.pairs.search_cuda`.
    on_host : callable or None
        The comparison on the host; None where the table lies on the device.

    Examples
    --------
    >>> compare_where_best("cpu", 1e20, lambda cuda: "device", lambda: "host")
    'host'
    """
    worth = on_host is None or work >= WORTH_A_DEVICE
    if device == "cuda" or (device == "auto" and worth and is_available()):
        from featly.core.pairs import search_cuda as cuda

        try:
            return on_device(cuda)
        except (NotOnDevice, DeviceError) as reason:
            if device == "cuda" or on_host is None:
                raise DeviceError(*reason.args) from None
    assert on_host is not None
    return on_host()
