"""Choice of the GPU or the CPU: the GPU if it is requested, or worth it.

``_device_form()`` of a method returns the form of the table that it needs on a GPU: "numbers", a
source on the device with the interface of all sources, or "own", the problem as it is, which the
method copies to the device itself. It raises
:class:`~featly.core.runtime.device_cuda.NotOnDevice` for what only the CPU computes.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from featly.basics.caller import warn_user
from featly.basics.errors import DeviceError, Setting, SlowWarning
from featly.basics.kinds import CONTINUOUS
from featly.core.counts.codes import Codes
from featly.core.counts.discretise import CutRule, Cuts
from featly.core.pairs.devices import WORTH_A_DEVICE
from featly.core.runtime.device_cuda import NotOnDevice, as_device, is_available, to_host, xp
from featly.core.sources import DenseSource
from featly.problem.ingest import IngestedTable, read
from featly.problem.problem import Problem
from featly.table.frames import DefaultNames
from featly.table.schema import Schema

__all__ = ["device_codes", "read_device", "run_where_best"]

Outcome = TypeVar("Outcome")


def run_where_best(
    method: Any, problem: Problem, compute: Callable[[Problem], Outcome], *, integers: bool
) -> Outcome:
    """Run a method's computation on the GPU or on the CPU, with the same outcome.

    Parameters
    ----------
    method : Ranker or SubsetSelector
    problem : Problem
    compute : callable
    integers : bool
        Whether the method reads whole numbers as they are, on the CPU.
    """
    wanted_device, is_on_device = problem.resources.device, problem.lies_on_device
    if not method._streams and not is_on_device:
        problem = problem.in_memory(type(method).__name__)
    n, p = problem.source.n_rows, problem.source.n_features
    try_device = method._on_device and wanted_device != "cpu"
    if try_device and (wanted_device == "cuda" or is_on_device or _is_worth_device(method, n, p)):
        try:
            xp()  # raises DeviceError if something is missing
            return compute(to_device(problem, method._device_form()))
        except NotOnDevice as reason:
            if wanted_device == "cuda":
                raise DeviceError(
                    *reason.args,
                    ": give ",
                    Setting("device", "auto"),
                    " or ",
                    Setting("device", "cpu"),
                ) from None
        except DeviceError as reason:
            if wanted_device == "cuda":
                raise
            warn_user(SlowWarning(*reason.args, ". It is done on the CPU instead"))
    if is_on_device:
        problem = problem.on_host(integers=integers)
        problem = problem if method._streams else problem.in_memory(type(method).__name__)
    return compute(problem)


def _is_worth_device(method: Any, n_rows: int, n_features: int) -> bool:
    """Return whether a table on the host is worth a device; only then is CuPy imported."""
    return method._operations(n_rows, n_features) >= WORTH_A_DEVICE and is_available()


def to_device(problem: Problem, form: str) -> Problem:
    """Return the problem in the form that the method needs on the device."""
    if problem.weights is not None:
        raise NotOnDevice("weights of rows are used on the CPU")
    if form == "own":
        return replace(problem, on_device=True)
    if problem.target.kind != "classes":  # told before the table is copied
        raise NotOnDevice("numbers and survival times as targets are computed on the CPU")
    from featly.core.sources.source_cuda import cuda_source

    capacity, n_jobs = problem.resources.memory, problem.source.n_jobs
    return replace(problem, source=cuda_source(problem.source, capacity, n_jobs), on_device=True)


def read_device(
    X: Any, schema: Schema, n_jobs: int | None = None, *, integers: bool = False
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
    return IngestedTable(CudaSource(array, columns.kinds, n_jobs), columns)


def device_codes(problem: Problem, rule: CutRule | Cuts | None, n_jobs: int | None = None) -> Any:
    """Return the columns as :class:`featly.core.counts.codes_cuda.CudaCodes` on the device.

    Whole numbers are coded there. Others are discretised on the CPU, and the codes are copied.
    """
    from featly.core.counts.codes_cuda import CudaCodes

    source = problem.source
    if rule is None and problem.lies_on_device:
        return CudaCodes.from_array(source.values)  # type: ignore[attr-defined]
    if rule is None and isinstance(source, DenseSource) and not len(source.categorical):
        in_table_order = np.arange(source.values.shape[1])
        if np.array_equal(source.place, in_table_order):
            return CudaCodes.from_array(source.values)
    codes: Codes = problem.coded(rule, n_jobs)
    return CudaCodes.from_codes(codes)
