"""Progress of a method at work on a table, and the message when Ctrl-C stops it."""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

from featly.basics.progress import progress_bar
from featly.cli.load import LoadedData
from featly.cli.printing import say
from featly.core.counts.codes import range_columns
from featly.io.stores import StoredTable
from featly.registry import method_class

__all__ = ["SearchProgress", "Watcher", "choose_watcher", "describe_stop"]

SHOWN = 20  # columns in a message


class Watcher(Protocol):
    """Context that reports the progress of a method; it gives the method's `verbose`."""

    def __enter__(self) -> bool | Callable[[int, int], Any]: ...

    def __exit__(self, *_: object) -> None: ...

    def finish(self) -> None:
        """Report the end of the fit."""


class SearchProgress:
    """Progress of a greedy search, with notes on work that an earlier run left in the cache.

    A method takes it as `verbose`. Columns are packed first if they are read from disk, then they
    are chosen step by step.

    Parameters
    ----------
    name : str
        Title of the bar.
    shape : tuple of int or None
        Rows and columns of the table, if it is on disk.
    max_steps : int
        Columns that the search chooses one by one; the others follow by the last step.
    cache : str or None
        Folder for packed columns and unfinished searches; the next fit goes on from there.
    bar, loud : bool
        Whether a bar is shown; whether notes are printed.
    """

    packed: int

    all_steps: int
    steps: int
    loud: bool
    bar: bool
    cache: str | None
    max_steps: int
    name: str

    def __init__(
        self,
        name: str,
        shape: tuple[int, int] | None,
        max_steps: int,
        cache: str | None,
        *,
        bar: bool,
        loud: bool,
    ) -> None:
        self.name, self.max_steps = name, max_steps
        self.n_rows: int = shape[0] if shape else 0
        self.n_columns: int | None = shape[1] if shape else None
        self.cache, self.bar, self.loud = cache, bar, loud
        self.packed = self.steps = self.all_steps = 0
        self._packed_before = self._packed_files()
        self._phase = ""
        self._show: Callable[[int, int], Any] | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def __call__(self, done: int, total: int) -> None:
        """Take note of columns packed, or of steps."""
        if total == self.n_columns and total > self.max_steps:
            # no run packs more at once, so these columns were in the cache before
            if not self.packed and self.cache is not None and done > range_columns(self.n_rows):
                self._say(f"going on with columns that are packed in {self.cache!r}")
            self.packed = done
            self._show_bar("packing", "columns", done, total)
            return
        if not self.all_steps and self.cache is not None:
            self._say_start(done - 1)
        self.steps, self.all_steps = done, total
        self._show_bar("", "steps", done, total)

    def finish(self) -> None:
        """Close the bar; say so if the whole search was in the cache."""
        self._opened.close()
        if self.cache is not None and not self.all_steps:
            self._say(f"the whole search was in {self.cache!r}")

    def _say_start(self, before: int) -> None:
        if before:
            self._say(f"going on after step {before:,}, up to which {self.cache!r} has the search")
        elif self._packed_before and self._packed_before == self._packed_files():
            self._say(f"packed columns: from {self.cache!r}")

    def _packed_files(self) -> set[str]:
        if self.cache is None or not Path(self.cache).is_dir():
            return set()
        return {path.name for path in Path(self.cache).glob("*.packed")}

    def _say(self, text: str) -> None:
        if self.loud:
            say(text, "dim")

    def _show_bar(self, phase: str, unit: str, done: int, total: int) -> None:
        if not self.bar:
            return
        if self._show is None or phase != self._phase:
            self._opened.close()
            title = f"{self.name}, {phase}" if phase else self.name
            self._phase = phase
            self._show = self._opened.enter_context(progress_bar(True, title, unit))
        assert self._show is not None
        self._show(done, total)


class _ReadBar:
    """Bar over the columns read, for a method on a table on disk that has no bar itself."""

    def __init__(self, name: str, table: StoredTable) -> None:
        self.name, self.table = name, table
        self._opened = ExitStack()

    def __enter__(self) -> bool:
        bar = self._opened.enter_context(progress_bar(True, f"{self.name}, reading", "columns"))
        assert bar is not None
        self._opened.enter_context(_CountedReads(self.table, bar))
        return False  # `verbose` of the method

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def finish(self) -> None:
        """Do nothing: there is nothing more to say."""


class _CountedReads:
    """Count of the columns that are read from a table, while it is entered.

    Parameters
    ----------
    table : StoredTable
    progress : callable
        Called with (columns read, columns in all); columns read again are counted again.
    """

    def __init__(self, table: StoredTable, progress: Callable[[int, int], Any]) -> None:
        self.table, self.progress = table, progress
        self._done, self._lock = 0, threading.Lock()
        self._own = {name: getattr(table, name) for name in ("read", "frame")}

    def __enter__(self) -> Self:
        for name, function in self._own.items():
            setattr(self.table, name, self._count_reads(function))
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._own:
            delattr(self.table, name)

    def _count_reads(self, function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
        def read_and_count(low: int, high: int) -> Any:
            block = function(low, high)
            with self._lock:
                self._done += high - low
                passes = max(1, -(-self._done // self.table.n_features))
                self.progress(self._done, passes * self.table.n_features)
            return block

        return read_and_count


def choose_watcher(
    data: LoadedData,
    name: str,
    settings: Mapping[str, Any],
    resources: Mapping[str, Any],
    *,
    bar: bool,
    loud: bool,
) -> Watcher | None:
    """Return a context that reports the progress of a method; None if its own bar will do."""
    cls = method_class(name)
    parameters = {**cls().get_params(), **settings}
    is_stored = isinstance(data.X, StoredTable)
    if "cache" in parameters and isinstance(parameters["max_steps"], int):
        max_steps = parameters["max_steps"] + len(data.schema.keep)
        shape = data.X.shape if is_stored else None
        return SearchProgress(
            cls.__name__, shape, max_steps, resources["cache"], bar=bar, loud=loud
        )
    if is_stored and bar and "verbose" not in parameters:
        return _ReadBar(cls.__name__, data.X)
    return None


def describe_stop(method: Any, data: LoadedData, cache: str | None, watcher: object) -> str:
    """Describe the work done when Ctrl-C came, and how to go on."""
    chosen = _chosen_columns(method, data)
    if chosen:
        steps = getattr(watcher, "all_steps", 0)
        text = f"stopped after {len(chosen):,}{f' of {steps:,}' if steps else ''} steps"
    elif packed := getattr(watcher, "packed", 0):
        text = f"stopped after {packed:,} of {data.X.shape[1]:,} columns were packed"
    else:
        text = "stopped"
    if cache is not None and text == "stopped":
        text = "featly: stopped; nothing was written yet"
    elif cache is not None:
        text = f"featly: {text}. The same command goes on from there, with what is in {cache!r}"
    elif "cache" in method.get_params():
        text = f"featly: {text}; nothing was written. With --cache FOLDER another run can go on"
    else:
        text = f"featly: {text}; nothing was written"
    if chosen:
        and_more = f" and {len(chosen) - SHOWN:,} more" if len(chosen) > SHOWN else ""
        text += f"\nchosen so far: {', '.join(chosen[:SHOWN])}{and_more}"
    return text


def _chosen_columns(method: Any, data: LoadedData) -> list[str]:
    """Return the names of the columns that a greedy search had chosen, in order."""
    steps = getattr(method, "step_", None)
    if steps is None:
        return []
    return [str(data.names[column]) for column in method.order_[: int(steps.max())].tolist()]
