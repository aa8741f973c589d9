"""Settings that all parts of the study share, and what is counted of an interval."""

from typing import Any

__all__ = ["ALPHA", "LEARNER", "STABLE_SIZES", "Row", "interval_figures"]

Row = dict[str, Any]
ALPHA = 0.05
STABLE_SIZES = (4, 16)
LEARNER = "linear-svm"  # the default of the report and of featly evaluate


def interval_figures(
    suffix: str, value: float, lower: float | None, upper: float | None, true: float
) -> dict[str, bool | float | None]:
    """Return how a rate and its interval compare with the true rate."""
    known = lower is not None and upper is not None
    return {
        f"told{suffix}": value,
        f"true{suffix}": true,
        f"told less true{suffix}": value - true,
        f"interval given{suffix}": known,
        f"interval covers{suffix}": lower <= true <= upper if known else None,  # type: ignore[operator]
        f"interval too high{suffix}": lower > true if known else None,  # type: ignore[operator]
        f"interval has no width{suffix}": upper - lower < 1e-9 if known else None,  # type: ignore[operator]
        f"width{suffix}": upper - lower if known else None,  # type: ignore[operator]
    }
