"""Warnings that point at the line of the user, not at one of featly."""

import os
import sys
import warnings
from pathlib import Path

__all__ = ["warn_user"]

PACKAGE = f"{Path(__file__).resolve().parents[1]}{os.sep}"


def warn_user(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn, and point at the first line outside featly that led here.

    Parameters
    ----------
    message : str or Warning
        A warning itself, if its message has fields.
    category : type, optional
        Of a message that is text.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("look out", UserWarning)
    >>> caught[0].lineno
    3
    """
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)
