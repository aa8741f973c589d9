"""Where a method computes: on a GPU, if that is asked for or worth it, else on the CPU.

A method says by ``_device_form()`` what it wants of a table there: "numbers", a source on the
device that answers as any other does, or "own", the problem as it is, which it moves itself. It
raises :class:`~featly.core.runtime.device_cuda.NotOnDevice` for what only the CPU does.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from featly.basics.errors import DeviceError, SlowWarning
from featly.basics.kinds import CONTINUOUS
from featly.core.counts.codes import Codes
from featly.core.counts.discretise import CutRule
from featly.core.pairs.devices import WORTH_A_DEVICE
from featly.core.runtime.device_cuda import NotOnDevice, as_device, available, to_host, xp
from featly.core.sources import DenseSource
from featly.problem.ingest import Reading, read
from featly.problem.problem import Problem
from featly.table.frames import DefaultNames
from featly.table.schema import Schema

__all__ = ["computed", "device_codes", "read_device"]

Outcome = TypeVar("Outcome")


def computed(
    method: Any, problem: Problem, compute: Callable[[Problem], Outcome], *, integers: bool
) -> Outcome:
    """What a method makes of a problem, wherever that is done; it is the same.

    Parameters
    ----------
    method : Ranker or SubsetSelector
    problem : Problem
    compute : callable
    integers : bool
        Whether the method reads whole numbers as they are, on the CPU.
    """
    asked, lies_there = problem.resources.device, problem.lies_on_device
    if not method._streams and not lies_there:
        problem = problem.in_memory(type(method).__name__)
    n, p = problem.source.n_rows, problem.source.n_features
    wanted = method._on_device and asked != "cpu"
    if wanted and (asked == "cuda" or lies_there or _worth(method, n, p)):
        try:
            xp()  # says what is missing
            return compute(_sent(problem, method._device_form()))
        except NotOnDevice as reason:
            if asked == "cuda":
                raise DeviceError(f"{reason}: give device='auto' or device='cpu'") from None
        except DeviceError as reason:
            if asked == "cuda":
                raise
            told = f"{reason}. It is done on the CPU instead"
            warnings.warn(told, SlowWarning, stacklevel=5)  # the caller of fit
    if lies_there:
        problem = problem.on_host(integers=integers)
        problem = problem if method._streams else problem.in_memory(type(method).__name__)
    return compute(problem)


def _worth(method: Any, n_rows: int, n_features: int) -> bool:
    """Whether a table on the host is worth a device. CuPy is looked for only if it is."""
    return method._operations(n_rows, n_features) >= WORTH_A_DEVICE and available()


def _sent(problem: Problem, form: str) -> Problem:
    """The problem for the device."""
    if form == "own":
        return replace(problem, on_device=True)
    from featly.core.sources.source_cuda import cuda_source

    room, n_jobs = problem.resources.memory, problem.source.n_jobs
    return replace(problem, source=cuda_source(problem.source, room, n_jobs), on_device=True)


def read_device(
    X: Any, schema: Schema, n_jobs: int | None = None, *, integers: bool = False
) -> Reading:
    """Read an array of CuPy, or a tensor of torch on a GPU: it stays there, and is not copied.

    A schema that declares categories or orders brings it to the host, where these are coded.
    """
    from featly.core.sources.source_cuda import CudaSource

    array, n_features = as_device(X), X.shape[1]
    columns = schema.resolve(DefaultNames(n_features), np.full(n_features, CONTINUOUS))
    if (columns.kinds != CONTINUOUS).any():
        return read(to_host(array), schema, n_jobs, integers=integers)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    return Reading(CudaSource(array, columns.kinds, n_jobs), columns)


def device_codes(problem: Problem, rule: CutRule | None, n_jobs: int | None = None) -> Any:
    """The columns as codes on the device: :class:`featly.core.counts.codes_cuda.CudaCodes`.

    Whole numbers are coded there. Others are cut on the CPU, and the codes are sent over.
    """
    from featly.core.counts.codes_cuda import CudaCodes

    source = problem.source
    if rule is None and problem.lies_on_device:
        return CudaCodes.of(source.values)  # type: ignore[attr-defined]
    if rule is None and isinstance(source, DenseSource) and not len(source.categorical):
        whole = np.arange(source.values.shape[1])
        if np.array_equal(source.place, whole):
            return CudaCodes.of(source.values)
    codes: Codes = problem.coded(rule, n_jobs)
    return CudaCodes.of_codes(codes)
