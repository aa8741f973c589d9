"""Choice of the place where a method computes: memory, disk or a GPU.

A method says which questions it asks of its table (``_asks``), and a question knows where it is
answered (:mod:`featly.core.runtime.question`). Here the table is moved once; who answers then
follows from its type. A GPU is taken if it is requested, or worth it. An answer that finds that it
cannot be given there raises :class:`~featly.core.runtime.device_cuda.NotOnDevice`, and the CPU
computes instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from featly.basics.caller import warn_user
from featly.basics.errors import DeviceError, Setting, SlowWarning
from featly.basics.kinds import CONTINUOUS
from featly.core.runtime.device_cuda import NotOnDevice, as_device, is_available, to_host, xp
from featly.core.runtime.question import DISK, GPU, Question, find_unanswered
from featly.core.sources import weighted_moments
from featly.problem.ingest import IngestedTable, read
from featly.problem.problem import Problem
from featly.table.frames import DefaultNames
from featly.table.schema import Schema

__all__ = ["Questions", "read_device", "run_where_best", "to_device"]

Outcome = TypeVar("Outcome")
Questions = Sequence[Question[..., Any]]

WORTH_A_DEVICE = 1e10  # operations; fewer are done before a device is ready


def run_where_best(
    questions: Questions,
    problem: Problem,
    compute: Callable[[Problem], Outcome],
    *,
    name: str,
    operations: Callable[[int, int], float],
    integers: bool,
) -> Outcome:
    """Run a computation where its questions are answered, with the same outcome everywhere.

    Parameters
    ----------
    questions : sequence of Question
        Those that it asks of the table.
    problem : Problem
    compute : callable
    name : str
        Of the method, for errors.
    operations : callable
        Number of operations for (rows, columns), by which a GPU is worth it or not.
    integers : bool
        Whether the method reads whole numbers as they are, on the CPU.
    """
    device, source = problem.resources.device, problem.source
    if problem.weights is not None:
        questions = (*questions, weighted_moments)
    whole_for, on_host_for = find_unanswered(questions, DISK), find_unanswered(questions, GPU)
    asks_for = f"{name} asks for {(whole_for or '').replace('_', ' ')} and"
    if whole_for is not None and source.lies != GPU:
        problem = problem.in_memory(asks_for)
    wants_device = device == "cuda" or (device == "auto" and on_host_for is None)
    if wants_device and device == "auto" and source.lies != GPU:  # only then is CuPy imported
        n_operations = operations(source.n_rows, source.n_features)
        wants_device = n_operations >= WORTH_A_DEVICE and is_available()
    if wants_device:
        try:
            xp()  # raises DeviceError if something is missing
            if on_host_for is not None:
                asked = on_host_for.replace("_", " ")
                raise DeviceError(
                    f"{name} asks here for {asked}, which only the CPU computes: give "
                    "device='auto' or device='cpu'"
                )
            return compute(to_device(problem, questions))
        except NotOnDevice as reason:
            if device == "cuda":
                raise DeviceError(
                    *reason.args,
                    ": give ",
                    Setting("device", "auto"),
                    " or ",
                    Setting("device", "cpu"),
                ) from None
        except DeviceError as reason:
            if device == "cuda":
                raise
            warn_user(SlowWarning(*reason.args, ". It is done on the CPU instead"))
    if source.lies == GPU:
        problem = problem.on_host(integers=integers)
        problem = problem if whole_for is None else problem.in_memory(asks_for)
    return compute(problem)


def to_device(problem: Problem, questions: Questions) -> Problem:
    """Return the problem with its table in the form in which a GPU answers these questions.

    A table is copied to the device, or passes through it, unless one of them takes only what it
    needs of a table that is lent.
    """
    from featly.core.sources.lent_cuda import LentSource
    from featly.core.sources.source_cuda import cuda_source

    source, resources = problem.source, problem.resources
    if source.lies == GPU:
        return problem
    for module in {asked.gpu_module for asked in questions} - {None}:
        import_module(str(module))
    if any(LentSource in asked.kinds for asked in questions):
        return replace(problem, source=LentSource(source))
    return replace(problem, source=cuda_source(source, resources.memory, source.n_jobs))


def read_device(
    X: Any,
    schema: Schema,
    n_jobs: int | None = None,
    *,
    integers: bool = False,
    host_memory: int | None = None,
) -> IngestedTable:
    """Read an array of CuPy, or a tensor of torch on a GPU, without a copy.

    If the schema declares categories or orders, it is copied to the host, where these are coded.
    """
    from featly.core.sources.source_cuda import CudaSource

    array, n_features = as_device(X), X.shape[1]
    columns = schema.resolve(DefaultNames(n_features), np.full(n_features, CONTINUOUS))
    if (columns.kinds != CONTINUOUS).any():
        return read(to_host(array), schema, n_jobs, integers=integers)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    return IngestedTable(CudaSource(array, columns.kinds, n_jobs, host_memory), columns)
