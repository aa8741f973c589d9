"""Messages while a method is at work on a table, and when Ctrl-C stops it."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from featly.basics.progress import progress_bar
from featly.cli.job import LoadedData
from featly.cli.printing import say
from featly.cli.stored import ReadProgress
from featly.core.counts.streamed_codes import range_columns
from featly.io.stores import StoredTable
from featly.registry import method_class

__all__ = ["Watching", "choose_watcher", "describe_stop"]

SHOWN = 20


class Watching:
    """Progress of a greedy search, with notes on what is resumed from an earlier run.

    It is what a method takes as `verbose`. Columns are packed first where they are read from disk,
    then they are chosen step by step.

    Parameters
    ----------
    name : str
        What the bar is called.
    shape : tuple of int or None
        Of the table, if it is on disk.
    most_steps : int
    cache : str or None
    bar, loud : bool
        Whether a bar is shown; whether something is said.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, int] | None,
        most_steps: int,
        cache: str | None,
        *,
        bar: bool,
        loud: bool,
    ) -> None:
        self.name, self.most_steps = name, most_steps
        self.n_rows, self.n_columns = shape or (0, None)
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
        if total == self.n_columns and total > self.most_steps:
            # no run packs more at once, so the others were there before
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
        """Say that nothing was left to do, if so."""
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


class _ReadingBar:
    """Progress of a method that shows nothing itself: the share of the table read."""

    def __init__(self, name: str, table: StoredTable) -> None:
        self.name, self.table = name, table
        self._opened = ExitStack()

    def __enter__(self) -> bool:
        bar = self._opened.enter_context(progress_bar(True, f"{self.name}, reading", "columns"))
        assert bar is not None
        self._opened.enter_context(ReadProgress(self.table, bar))
        return False  # what the method itself is to show

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def finish(self) -> None:
        """Do nothing: nothing is left to say."""


def choose_watcher(
    data: LoadedData,
    name: str,
    settings: Mapping[str, Any],
    resources: Mapping[str, Any],
    *,
    bar: bool,
    loud: bool,
) -> Any:
    """Return an object that reports the progress of a method; None if its own bar will do."""
    cls = method_class(name)
    parameters = {**cls().get_params(), **settings}
    is_stored = isinstance(data.X, StoredTable)
    if "cache" in parameters and isinstance(parameters["max_steps"], int):
        most_steps = parameters["max_steps"] + len(data.schema.keep)
        shape = data.X.shape if is_stored else None
        return Watching(cls.__name__, shape, most_steps, resources["cache"], bar=bar, loud=loud)
    if is_stored and bar and "verbose" not in parameters:
        return _ReadingBar(cls.__name__, data.X)
    return None


def describe_stop(method: Any, data: LoadedData, cache: str | None, watching: Any) -> str:
    """Describe what was done when Ctrl-C came, and how to go on."""
    chosen = chosen_columns(method, data)
    if chosen:
        steps = getattr(watching, "all_steps", 0)
        text = f"stopped after {len(chosen):,}{f' of {steps:,}' if steps else ''} steps"
    elif getattr(watching, "packed", 0):
        text = f"stopped after {watching.packed:,} of {data.X.shape[1]:,} columns were packed"
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


def chosen_columns(method: Any, data: LoadedData) -> list[str]:
    """Return the names of the columns that a greedy search had chosen, in order."""
    steps = getattr(method, "step_", None)
    if steps is None:
        return []
    return [str(data.names[column]) for column in method.order_[: int(steps.max())].tolist()]
