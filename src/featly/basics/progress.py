"""Progress bars on standard error, for long work and only on request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = [
    "Progress",
    "TimedProgress",
    "describe_time_left",
    "progress_bar",
    "timed_progress_bar",
]

Progress = Callable[[int, int], Any]  # of (done, total)
TimedProgress = Callable[[int, int, float | None], Any]  # of (done, total, seconds left)


@contextmanager
def progress_bar(verbose: bool | Progress, title: str, unit: str = "") -> Iterator[Progress | None]:
    """Turn `verbose` into a function of (done, total), or into None.

    True shows a bar with the time left, as rich estimates it; a function is used as it is; False
    shows nothing.
    """
    if callable(verbose):
        yield verbose
    elif not verbose:
        yield None
    else:
        with _open_bar(title, "{task.completed:.0f}/{task.total:.0f} " + unit) as bar:
            task = bar.add_task(title, total=0)
            yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def timed_progress_bar(
    verbose: bool | TimedProgress, title: str, unit: str = ""
) -> Iterator[TimedProgress | None]:
    """Do the same as :func:`progress_bar` where the caller estimates the time left itself.

    The function takes (done, total, seconds left or None).
    """
    if callable(verbose):
        yield verbose
    elif not verbose:
        yield None
    else:
        counts = "{task.completed:,.0f}/{task.total:,.0f} " + unit
        with _open_bar(title, counts, "{task.fields[left]}") as bar:
            task = bar.add_task(title, total=0, left="")
            yield lambda done, total, seconds: bar.update(
                task, completed=done, total=total, left=describe_time_left(seconds)
            )


def describe_time_left(seconds: float | None) -> str:
    """Return the time left in words; None is a time that is not known yet.

    Examples
    --------
    >>> describe_time_left(1800)
    'about 30 min left'
    """
    if seconds is None:
        return "time left not known yet"
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"


def _open_bar(title: str, counts: str, time_left: str | None = None) -> "RichProgress":
    """Return a bar; `counts` and `time_left` are templates of its columns, None is rich's own."""
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn(title),
        progress.BarColumn(),
        progress.TextColumn(counts),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn() if time_left is None else progress.TextColumn(time_left),
        console=Console(stderr=True),
    )
