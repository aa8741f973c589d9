"""Where all pairs are compared: on a device, where one is asked for or worth it, or on the host."""

from collections.abc import Callable
from typing import Any, TypeVar

from featly.basics.errors import DeviceError
from featly.core.runtime.device_cuda import NotOnDevice, available

__all__ = ["WORTH_A_DEVICE", "compared"]

Result = TypeVar("Result")

WORTH_A_DEVICE = 1e10  # multiplications; fewer are done before a device is ready


def compared(
    device: str,
    work: float,
    there: Callable[[Any], Result],
    here: Callable[[], Result] | None,
) -> Result:
    """What a comparison gives, wherever it is done; it is the same.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        "auto": a device where there is one, the work is worth it, and it can do it.
    work : float
        Multiplications: rows times the square of the columns.
    there : callable
        Of the module :mod:`featly.core.pairs.search_cuda`.
    here : callable or None
        On the host; None where the table lies on the device.

    Examples
    --------
    >>> compared("cpu", 1e20, lambda twin: "device", lambda: "host")
    'host'
    """
    worth = here is None or work >= WORTH_A_DEVICE
    if device == "cuda" or (device == "auto" and worth and available()):
        from featly.core.pairs import search_cuda as twin

        try:
            return there(twin)
        except (NotOnDevice, DeviceError) as reason:
            if device == "cuda" or here is None:
                raise DeviceError(str(reason)) from None
    assert here is not None
    return here()
