"""Commands that report an error in one line and end with its exit code."""

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import typer

__all__ = ["INTERRUPTED", "MISTAKE", "OWN_FAULT", "make_command"]

MISTAKE, OWN_FAULT, INTERRUPTED = 2, 1, 130


def make_command(
    shared: Callable[..., None] | None = None,
    without: Sequence[str] = (),
    stop_message: str = "featly: stopped; nothing was written",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: errors in one line, and the options of `shared` added.

    A mistake of the user ends in code 2, a fault of featly in code 1, Ctrl-C in code 130.

    Parameters
    ----------
    shared : function or None, default=None
        Its parameters take the place of ``**shared`` among those of the command.
    without : sequence of str, default=()
        Parameters to leave out.
    stop_message : str
        The message after Ctrl-C, if the exception brings none.
    """

    def wrap_command(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**options: Any) -> None:
            _run(command, options, stop_message)

        parameters = dict(inspect.signature(command).parameters)
        if shared is not None:
            parameters.popitem()  # **shared
            parameters |= inspect.signature(shared).parameters
        remaining = [p for name, p in parameters.items() if name not in without]
        run.__signature__ = inspect.Signature(remaining)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in remaining}
        return run

    return wrap_command


def _run(command: Callable[..., None], options: dict[str, Any], stop_message: str) -> None:
    """Run a command; print its errors and warnings, and end with the exit code."""
    from featly.basics.errors import DataError, Message, Text
    from featly.cli.printing import say, silence_broken_pipe
    from featly.cli.words import OptionWords

    def in_words(message: Any) -> str:
        return message.say(OptionWords(options)) if isinstance(message, Message) else str(message)

    def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        if not options.get("quiet"):
            say(f"note: {in_words(message)}", "yellow")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in _shown_warnings():
                warnings.simplefilter("always", kind)
            warnings.showwarning = show_warning
            command(**options)
            sys.stdout.flush()
    except BrokenPipeError:
        silence_broken_pipe()
        raise typer.Exit(0) from None
    except KeyboardInterrupt as stopped:
        say(getattr(stopped, "message", "") or stop_message)
        raise typer.Exit(INTERRUPTED) from None
    except MemoryError:
        say(
            "featly: there is not enough memory for this table: use fewer columns or rows, or a "
            f"machine with more. {_describe_blocks()}"
        )
        raise typer.Exit(MISTAKE) from None
    except Exception as problem:
        if os.environ.get("FEATLY_DEBUG"):
            raise
        if _is_mistake(problem):
            if isinstance(problem, OSError) and problem.errno is not None:
                location, reason = problem.filename or "standard output", problem.strerror
                is_ours = isinstance(reason, Text)
                problem = DataError(*([] if is_ours else [f"{location} cannot be used: "]), reason)
            say(f"featly: {in_words(problem)}", "red")
            raise typer.Exit(MISTAKE) from None
        say(
            f"featly: this is a fault of featly's ({type(problem).__name__}: {problem}). "
            "Please report it; FEATLY_DEBUG=1 shows where it happened",
            "red",
        )
        raise typer.Exit(OWN_FAULT) from None


def _describe_blocks() -> str:
    """Return a sentence on the files that are read by blocks of columns."""
    from featly.table.formats import always_stored, describe_endings, scannable

    always = always_stored()
    limited = [name for name in scannable() if name not in always]
    return (
        f"Files that end in {describe_endings(always, usual=True)} are read by blocks of columns, "
        f"and {describe_endings(limited, usual=True)} with --memory-limit"
    )


def _shown_warnings() -> tuple[type[Warning], ...]:
    from featly.basics.errors import (
        ConvergenceWarning,
        LeakWarning,
        MethodWarning,
        NoEvidenceWarning,
        SchemaWarning,
        SlowWarning,
    )

    return (
        ConvergenceWarning,
        NoEvidenceWarning,
        LeakWarning,
        MethodWarning,
        SchemaWarning,
        SlowWarning,
    )


def _is_mistake(problem: Exception) -> bool:
    from featly.basics.errors import DataError, DeviceError, ParameterError, StudyError

    return isinstance(problem, DataError | DeviceError | ParameterError | StudyError | OSError)
