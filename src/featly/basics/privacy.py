"""Suppression of numbers that rest on few rows, so that no individual can be recognised.

Every number that is shown rests on at least five rows. A smaller count is shown as "<5". A
percentile is shown only if five rows lie on either side of it: a median of 10 rows, quartiles of
20, the 5th and 95th percentile of 100.
"""

__all__ = ["OUTER_ROWS", "QUARTILE_ROWS", "SMALL_CELL", "is_percentile_safe", "mask_count"]

SMALL_CELL = 5
QUARTILE_ROWS = 4 * SMALL_CELL
OUTER_ROWS = 20 * SMALL_CELL  # for the 5th and 95th percentile


def is_percentile_safe(percentile: float, n_rows: int) -> bool:
    """Return whether enough rows lie on either side of a percentile.

    Examples
    --------
    >>> from featly.basics.privacy import is_percentile_safe
    >>> is_percentile_safe(50, 10), is_percentile_safe(25, 10), is_percentile_safe(25, 20)
    (True, False, True)
    """
    return min(percentile, 100 - percentile) * n_rows >= 100 * SMALL_CELL


def mask_count(count: int, *, individuals: bool = False) -> str:
    """Return a count as text, "<5" if it is small.

    With `individuals`, individual rows may be shown, and every count is.

    Examples
    --------
    >>> from featly.basics.privacy import mask_count
    >>> mask_count(3), mask_count(0), mask_count(12), mask_count(3, individuals=True)
    ('<5', '0', '12', '3')
    """
    return f"<{SMALL_CELL}" if not individuals and 0 < count < SMALL_CELL else f"{count:,}"
