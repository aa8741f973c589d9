"""Parameters that many estimators have, each declared once.

A class derives from those it has, and adds its own as further fields.
"""

import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from featly.basics.params import FLAG, Function, InstanceOf, OneOf, Parameters, Threads, Whole
from featly.basics.resources import DEVICE, FOLDER, MEMORY
from featly.table.schema import Schema

__all__ = [
    "Caching",
    "ClassWeighted",
    "InSchema",
    "OnDevice",
    "Seeded",
    "Streaming",
    "Threaded",
    "Verbose",
]


class InSchema(Parameters):
    """Estimators that take a schema."""

    schema: Annotated[
        Schema | dict[str, Any] | None,
        InstanceOf(Schema, Mapping, words="a Schema, a dict of its parts"),
    ] = None


class Threaded(Parameters):
    """Estimators that run in threads."""

    n_jobs: Annotated[int | None, Threads()] = None


class OnDevice(Parameters):
    """Estimators that may compute on a GPU."""

    device: Annotated[str, DEVICE] = "auto"


class Streaming(Parameters):
    """Estimators that read a table on disk by blocks of columns."""

    memory_limit: Annotated[int | str | None, MEMORY] = None


class Caching(Parameters):
    """Estimators that store packed columns and unfinished searches."""

    cache: Annotated[str | os.PathLike[str] | None, FOLDER] = None


class Verbose(Parameters):
    """Estimators that show their progress."""

    verbose: Annotated[
        bool | Callable[[int, int], Any], FLAG, Function("a function of (done, total)")
    ] = False


class Seeded(Parameters):
    """Estimators that draw random numbers."""

    random_state: Annotated[int, Whole(at_least=0)] = 0


class ClassWeighted(Parameters):
    """Machines whose prices depend on the class."""

    class_weight: Annotated[
        dict[Any, float] | str | None,
        OneOf("balanced"),
        InstanceOf(dict, words="a dict of factors by class"),
    ] = None
