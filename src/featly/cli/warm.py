"""Loops compiled ahead of the first table, and a line where a command compiles some."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.options import Jobs, Quiet, complete_method

if TYPE_CHECKING:
    from featly.cli.load import LoadedData

__all__ = ["announce_compilation", "warm"]

WORTH_A_LINE = 1  # seconds


@contextmanager
def announce_compilation(name: str) -> Iterator[None]:
    """Print a line when a method compiles its first loop, and one with the time at the end."""
    from featly.cli.printing import say
    from featly.core.runtime.jit import Compilation

    def announce() -> None:
        say(f"compiling {name} for this machine, which is done once ...", "dim")

    with Compilation(announce) as compilation:
        yield
    if compilation.seconds >= WORTH_A_LINE:
        say(f"compiled in {compilation.seconds:.0f} s; later runs load that from the disk", "dim")


@make_command(stop_message="featly: stopped; what was compiled until then is kept")
def warm(
    method: Annotated[
        list[str] | None,
        typer.Argument(help="Methods; those that featly chooses by itself if none is named.",
                       metavar="METHOD", autocompletion=complete_method),
    ] = None,
    all_methods: Annotated[bool, typer.Option("--all", help="All methods: some minutes.")] = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Compile what methods need, so that their first ranking is as quick as later ones.

    featly warm svm-rfe mrmr
    """
    import tempfile
    import warnings

    from featly.basics.errors import DataError, ParameterError
    from featly.cli.method import DEFAULTS, find_obstacles, method_name
    from featly.cli.printing import say
    from featly.core.runtime import jit
    from featly.registry import METHODS

    if method and all_methods:
        raise ParameterError("--all and names of methods: give one of the two")
    names = [method_name(text) for text in method or (METHODS if all_methods else DEFAULTS)]
    if jit.cache_folder(Path(jit.__file__)) is None:
        raise DataError(
            "no folder can be written where compiled loops would be kept: name one by the "
            "variable FEATLY_CACHE_DIR"
        )
    names = list(dict.fromkeys(names))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what such tables have
        tables = [_load(path) for path in _write_small_tables(Path(folder))]
        for position, name in enumerate(names, 1):
            with jit.Compilation() as compilation:
                _fit_all(name, [data for data in tables if not find_obstacles(data)(name)], jobs)
            if not quiet:
                done = f"{compilation.n_loops} loops compiled in {compilation.seconds:.1f} s"
                done = done if compilation.n_loops else "ready"
                say(f"[{position}/{len(names)}] {name}: {done}")


def _fit_all(name: str, tables: list["LoadedData"], n_jobs: int | None) -> None:
    """Fit a method to tables; it may refuse some, for reasons that it does not declare."""
    from featly.basics.errors import DataError
    from featly.cli.method import fit

    refusals = []
    for data in tables:
        try:
            fit(data, name, {}, n_jobs=n_jobs)
        except DataError as problem:
            refusals.append(problem)
    if refusals and len(refusals) == len(tables):
        raise refusals[0]


def _load(path: Path) -> "LoadedData":
    """Read a table into memory as `rank` does."""
    from featly.cli.load import Request, load

    with load(Request(file=str(path), target="target")) as data:
        return data


def _write_small_tables(folder: Path) -> list[Path]:
    """Write tables whose kinds, shapes and targets lead to different loops."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    paths = []
    for n_rows, n_columns in ((24, 40), (60, 5)):
        two, three = np.arange(n_rows) % 2, np.arange(n_rows) % 3
        numbers: Any = rng.normal(size=(n_rows, n_columns)) + 6 * two[:, None] * (
            np.arange(n_columns) < 3
        )
        decimal = pl.from_numpy(numbers, schema=[f"x{j}" for j in range(n_columns)])
        whole = decimal.select((pl.all() * 10).round().cast(pl.Int64))
        mixed = decimal.with_columns(
            ward=pl.Series(rng.choice(["a", "b", "c"], n_rows)),
            sex=pl.Series(rng.choice(["f", "m"], n_rows)),
        )
        incomplete = mixed.with_columns(
            x1=pl.when(pl.int_range(n_rows) % 7 == 1).then(None).otherwise(pl.col("x1"))
        )
        frames = {"decimal": decimal, "whole": whole, "mixed": mixed, "incomplete": incomplete}
        labels = {"two": np.array(["no", "yes"])[two], "three": np.array(["I", "II", "III"])[three]}
        labels["numbers"] = numbers[:, 0] + rng.normal(size=n_rows)
        for kind, frame in frames.items():
            for word, target in labels.items():
                path = folder / f"{kind}-{word}-{n_rows}.csv"
                frame.with_columns(target=pl.Series(target)).write_csv(path)
                paths.append(path)
    return paths
