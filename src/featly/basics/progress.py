"""A progress bar on standard error, for long work and only on request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    verbose: bool | Callable[[int, int], Any], title: str, unit: str = ""
) -> Iterator[Callable[[int, int], Any] | None]:
    """Turn `verbose` into a function of (done, total), or into None.

    True shows a bar with the time left; a callable is used as it is; False is silence.
    """
    if callable(verbose):
        yield verbose
        return
    if not verbose:
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn(title),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} " + unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task(title, total=0)
        yield lambda done, total: bar.update(task, completed=done, total=total)
