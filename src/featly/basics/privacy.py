"""What may be shown of few rows where no individual is to be seen.

One rule: whatever is shown rests on at least five rows. A count below that is told as "<5", and a
percentile only where five rows lie on either side of it: a median of 10 rows, quartiles of 20, the
5th and 95th percentile of 100.
"""

__all__ = ["OUTER_ROWS", "QUARTILE_ROWS", "SMALL_CELL", "count_told", "percentile_told"]

SMALL_CELL = 5
QUARTILE_ROWS = 4 * SMALL_CELL
OUTER_ROWS = 20 * SMALL_CELL  # for the 5th and 95th percentile


def percentile_told(percentile: float, n_rows: int) -> bool:
    """Whether enough rows lie on either side of a percentile.

    Examples
    --------
    >>> from featly.basics.privacy import percentile_told
    >>> percentile_told(50, 10), percentile_told(25, 10), percentile_told(25, 20)
    (True, False, True)
    """
    return min(percentile, 100 - percentile) * n_rows >= 100 * SMALL_CELL


def count_told(count: int, *, individuals: bool = False) -> str:
    """A count, or that it is small.

    Examples
    --------
    >>> from featly.basics.privacy import count_told
    >>> count_told(3), count_told(0), count_told(12), count_told(3, individuals=True)
    ('<5', '0', '12', '3')
    """
    return f"<{SMALL_CELL}" if not individuals and 0 < count < SMALL_CELL else f"{count:,}"
