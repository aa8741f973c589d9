"""Studies from files: datasets by path, plans in TOML."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.learners import balance, make_learner
from featly.registry import describe_unknown_method, find_method, method_class
from featly.study.dataset import Dataset
from featly.study.plan import Study, settle_balanced
from featly.study.splits import (
    Bootstrap,
    DistributionBalancedKFold,
    Holdout,
    KFold,
    LeaveOneOut,
    Subsampling,
)
from featly.study.verdicts import WHICH, Claim
from featly.table.unknown_column import describe_unknown_column

__all__ = ["SPLITTERS", "make_sampler", "read_dataset", "read_plan"]

SPLITTERS: dict[str, Any] = {
    "subsampling": Subsampling,
    "k-fold": KFold,
    "leave-one-out": LeaveOneOut,
    "holdout": Holdout,
    "bootstrap": Bootstrap,
    "balanced-k-fold": DistributionBalancedKFold,
}
TARGETS = ("class", "target", "outcome", "label", "y")
CLAIM_KEYS = ("published", "tolerance", "better", "equal", "than", "why", "where", *WHICH)
_PLAN_KEYS = (
    "title", "methods", "datasets", "splits", "sizes", "learner", "learners", "balanced", "metric",
    "metrics", "keep_predictions", "selection", "cut_at_relevant", "fill", "resample", "null",
    "claims", "random_state",
)  # fmt: skip


def read_dataset(
    path: str | Path,
    *,
    name: str | None = None,
    target: str | None = None,
    row_groups: str | None = None,
    split: str | None = None,
    drop: Any = (),
    rows: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Dataset:
    """Read a table from a file, as a dataset of a study.

    Parameters
    ----------
    path : path
        Any file that :func:`featly.read_table` reads. A file that does not exist is looked for in
        the folder of the environment variable ``FEATLY_DATA``.
    name : str, optional
        By default the name of the file up to its first dot.
    target : str, optional
        By default the last column, if it is called class, target, outcome, label or y, or the
        target that the file declares (LIBSVM, MATLAB, KEEL, ARFF).
    row_groups : str, optional
        Name of the column with the groups of rows that belong together.
    split : str, optional
        Name of the column that is "train" or "test"; by default ``split``, if there is one.
    drop : sequence of str
        Columns to leave out.
    rows : {"train", "test"}, optional
        Use only the rows of that part of the official split.
    schema : mapping, optional
        What is known about the columns, see :class:`featly.Schema`.

    Returns
    -------
    Dataset
    """
    from featly.io import read_table

    file = _locate_file(Path(path))
    name = name or file.name.split(".")[0]
    names = _columns(file)
    if target is None and names and names[-1].lower() in TARGETS:
        target = names[-1]
    table = read_table(file, target=target)
    try:
        frame: Any = table.X
        y: Any = table.y
        if y is None:
            raise DataError(f"which column of {str(path)!r} is to be predicted? Say target=")
        known_schema = dict(schema) if schema else None
        drop = [drop] if isinstance(drop, str) else list(drop)
        if not hasattr(frame, "columns"):
            named = {"row_groups": row_groups, "split": split, "drop": drop, "rows": rows}
            for option, value in named.items():
                if value:
                    raise DataError(f"{option}={value!r}: {str(path)!r} has no names of columns")
            return Dataset.of(frame, y, name=name, schema=known_schema)
        official = split if split is not None else ("split" if "split" in frame.columns else None)
        dropped = set(drop)
        absent = [column for column in dropped if column not in frame.columns]
        if absent:
            problem = describe_unknown_column(absent[0], frame.columns, repr(str(path)))
            raise DataError(f"drop names {absent[0]!r}, which {problem}")
        if rows is not None:
            if official is None or official not in frame.columns:
                raise DataError(f"rows={rows!r}: {str(path)!r} has no official split")
            chosen = np.flatnonzero(frame[official].cast(str).str.to_lowercase() == rows)
            if not len(chosen):
                raise DataError(f"rows={rows!r}: no row of {str(path)!r} says so")
            frame, y = frame[chosen], y[chosen]
            dropped.add(official)
        if dropped:
            frame = frame[:, [c for c, n in enumerate(frame.columns) if n not in dropped]]
        official = None if official in dropped else official
        return Dataset.of(
            frame, y, name=name, row_groups=row_groups, official=official, schema=known_schema
        )
    finally:
        table.close()


def _locate_file(path: Path) -> Path:
    if path.exists():
        return path
    folder = os.environ.get("FEATLY_DATA")
    if folder and (Path(folder) / path).exists():
        return Path(folder) / path
    elsewhere = (
        f", nor in {folder!r} (FEATLY_DATA)" if folder else "; FEATLY_DATA may name its folder"
    )
    raise DataError(f"there is no file {str(path)!r}{elsewhere}")


def _columns(path: Path) -> list[str]:
    from featly.io.read import column_names

    return [str(name) for name in column_names(str(path))]


# ---- plans ---------------------------------------------------------------------------------------
def read_plan(path: str | Path) -> Study:
    """Read a study from a TOML file.

    Parameters
    ----------
    path : path

    Returns
    -------
    Study

    Notes
    -----
    The keys are the parameters of :class:`Study`. A method, a dataset, a learner or the splits are
    a name, or a table with a name and parameters; `resample` is the name of a class of
    imbalanced-learn's, or a table with `sampler` and its parameters. The columns of a made problem
    are shuffled, since the relevant ones come first and would win ties (``shuffle = false`` leaves
    the columns in their order).

    .. code-block:: toml

        title = "Three methods on two tables"
        sizes = [1, 2, 4, 8]
        learner = "linear-svm"

        [methods]
        f-test = "f-test"
        none = "none"
        rfe = {method = "svm-rfe", C = 0.1}

        [datasets]
        colon = "colon.parquet"
        led = {problem = "led-25", noise = 0.1, draws = 10}

        [splits]
        kind = "subsampling"
        n_splits = 50
        test_size = 0.1

        [[claims]]
        name = "A1"
        text = "rfe is better than f-test"
        better = "rfe"
        than = "f-test"
        dataset = "colon"
        size = 8
    """
    path = Path(path)
    try:
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"there is no plan {str(path)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ParameterError(f"{str(path)!r} is no TOML file: {problem}") from None
    return study_from_plan(plan, path.parent)


def study_from_plan(plan: Mapping[str, Any], folder: Path = Path()) -> Study:
    """Make a study from the content of a TOML file."""
    for part in plan:
        if part not in _PLAN_KEYS:
            raise ParameterError(f"a plan has no {part!r}{_suggest(part, _PLAN_KEYS)}")
    for part in ("methods", "datasets"):
        if part not in plan:
            raise ParameterError(f"a plan needs {part}")
    if "learner" in plan and "learners" in plan:
        raise ParameterError("a plan has learner or learners, not both")
    parameters = {
        part: plan[part]
        for part in (
            "title", "sizes", "balanced", "metric", "metrics", "keep_predictions", "selection",
            "cut_at_relevant", "fill", "null", "random_state",
        )
        if part in plan
    }  # fmt: skip
    balanced = settle_balanced(plan.get("balanced", "auto"), str(plan.get("metric", "bcr")))
    return Study(
        _methods(plan["methods"]),
        _datasets(plan["datasets"], folder),
        _splits(plan.get("splits")),
        learner=_learners(plan.get("learners", plan.get("learner", "linear-svm")), balanced),
        resample=make_sampler(plan.get("resample")),
        claims=[_claim(entry) for entry in plan.get("claims", ())],
        **parameters,
    )


def _suggest(word: str, known: Any) -> str:
    spelt = {str(name).lower(): name for name in known}
    matches = difflib.get_close_matches(str(word).lower(), list(spelt), n=1)
    return f"; did you mean {spelt[matches[0]]!r}?" if matches else f": it has {', '.join(known)}"


def _methods(specification: Any) -> dict[str, Any]:
    if isinstance(specification, str):
        specification = [specification]
    if not isinstance(specification, Mapping):
        _require_names("methods", specification)
        specification = {name: name for name in specification}
    methods: dict[str, Any] = {}
    for name, entry in specification.items():
        if isinstance(entry, str):
            methods[name] = _method(entry, {})
        elif isinstance(entry, Mapping):
            parameters = dict(entry)
            methods[name] = _method(str(parameters.pop("method", name)), parameters)
        else:
            raise ParameterError(f"methods.{name}: give the name of a method, or a table")
    return methods


def _require_names(part: str, specification: Any) -> None:
    """Raise ParameterError unless this is a list of different names."""
    names = isinstance(specification, list | tuple) and all(
        isinstance(entry, str) for entry in specification
    )
    if not names:
        raise ParameterError(f"{part}: give a name, a list of names, or a table")
    twice = [name for name in specification if specification.count(name) > 1]
    if twice:
        raise ParameterError(f"{part} has {twice[0]!r} twice")


def _method(name: str, parameters: dict[str, Any]) -> Any:
    if name == "none":
        return None
    if find_method(name) is None:
        raise ParameterError(describe_unknown_method(name))
    kind = method_class(name)
    known = kind().get_params()
    for parameter in parameters:
        if parameter not in known:
            raise ParameterError(
                f"{name} has no parameter {parameter!r}{_suggest(parameter, known)}"
            )
    return kind(**parameters)


def _datasets(specification: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(specification, Mapping):
        listed = [specification] if isinstance(specification, str) else specification
        _require_names("datasets", listed)
        stems = [Path(entry).name.split(".")[0] for entry in listed]
        twice = [stem for stem in stems if stems.count(stem) > 1]
        if twice:
            raise ParameterError(f"two datasets are called {twice[0]!r}: write them as a table")
        specification = dict(zip(stems, listed, strict=True))
    datasets: dict[str, Any] = {}
    for name, entry in specification.items():
        if not isinstance(entry, str | Mapping):
            raise ParameterError(f"datasets.{name}: give a file, a problem, or a table")
        options = {"file": entry} if isinstance(entry, str) else dict(entry)
        if isinstance(entry, str) and _is_problem(entry):
            options = {"problem": entry}
        if "problem" in options:
            datasets |= _draw_problem(name, options)
        elif "file" in options:
            path = Path(options.pop("file"))
            beside = folder / path
            datasets[name] = _read(beside if beside.exists() else path, name, options)
        else:
            raise ParameterError(f"datasets.{name}: say file = or problem =")
    return datasets


def _read(path: Path, name: str, options: dict[str, Any]) -> Dataset:
    known = ("target", "row_groups", "split", "drop", "rows", "schema")
    for option in options:
        if option not in known:
            raise ParameterError(f"datasets.{name} has no {option!r}{_suggest(option, known)}")
    return read_dataset(path, name=name, **options)


def _is_problem(name: str) -> bool:
    from featly.datasets import PROBLEMS

    return name in PROBLEMS


def _draw_problem(name: str, options: dict[str, Any]) -> dict[str, Dataset]:
    """Draw a made dataset, or several: name/0, name/1, ..."""
    from featly.datasets import make_problem

    problem, draws = options.pop("problem"), options.pop("draws", None)
    first, shuffles = options.pop("random_state", 0), options.pop("shuffle", True)

    def draw(number: int, dataset_name: str) -> Dataset:
        problem_table = make_problem(problem, random_state=number, **options)
        if shuffles:  # else relevant columns, which come first, would win ties
            problem_table = problem_table.shuffle_columns(number)
        return Dataset.of(problem_table, name=dataset_name)

    if draws is None:
        return {name: draw(first, name)}
    if not Whole(at_least=1).accepts(draws):
        raise ParameterError(f"datasets.{name}: draws = {draws!r}, give a number from 1")
    return {f"{name}/{number}": draw(first + number, f"{name}/{number}") for number in range(draws)}


def _splits(specification: Any) -> Any:
    if specification is None or isinstance(specification, int):
        return specification
    if not isinstance(specification, str | Mapping):
        raise ParameterError("splits: give a number of folds, a name, or a table")
    options = {"kind": specification} if isinstance(specification, str) else dict(specification)
    kind = options.pop("kind", "subsampling")
    if kind not in SPLITTERS:
        raise ParameterError(f"there are no splits {kind!r}{_suggest(kind, SPLITTERS)}")
    known = [field.name for field in fields(SPLITTERS[kind])]
    for option in options:
        if option not in known:
            raise ParameterError(f"splits {kind!r} have no {option!r}{_suggest(option, known)}")
    return SPLITTERS[kind](**options)


def _learners(specification: Any, balanced: bool) -> Any:
    if isinstance(specification, str):
        return specification
    if not isinstance(specification, Mapping):
        _require_names("learners", specification)
        return list(specification)
    learners = {}
    for name, entry in specification.items():
        if not isinstance(entry, str | Mapping):
            raise ParameterError(f"learners.{name}: give the name of a learner, or a table")
        options = {"learner": entry} if isinstance(entry, str) else dict(entry)
        kind = str(options.pop("learner", name))
        plain = make_learner(kind)
        known = (plain.steps[-1][1] if hasattr(plain, "steps") else plain).get_params(deep=False)
        for option in options:
            if option not in known:
                raise ParameterError(f"{kind} has no parameter {option!r}{_suggest(option, known)}")
        learner = make_learner(kind, **options)
        learners[name] = balance(learner) if balanced else learner
    return learners


def make_sampler(specification: Any) -> Any:
    """Make a sampler of imbalanced-learn's, by the name of its class."""
    if specification is None:
        return None
    if not isinstance(specification, str | Mapping):
        raise ParameterError("resample: give the name of a sampler, or a table")
    try:
        from imblearn import combine, over_sampling, under_sampling
    except ImportError:
        raise ParameterError(
            "resample needs imbalanced-learn: pip install 'featly[imbalance]'"
        ) from None
    options = {"sampler": specification} if isinstance(specification, str) else dict(specification)
    kinds = {
        name: getattr(module, name)
        for module in (over_sampling, under_sampling, combine)
        for name in module.__all__
    }
    name = str(options.pop("sampler", ""))
    if name not in kinds:
        raise ParameterError(f"resample: there is no sampler {name!r}{_suggest(name, kinds)}")
    known = kinds[name]().get_params(deep=False)
    for option in options:
        if option not in known:
            raise ParameterError(f"{name} has no parameter {option!r}{_suggest(option, known)}")
    return kinds[name](**options)


def _claim(entry: Mapping[str, Any]) -> Claim:
    if not isinstance(entry, Mapping):
        raise ParameterError("claims: write every claim as a table, [[claims]]")
    options = dict(entry)
    name, text = str(options.pop("name", "")), str(options.pop("text", ""))
    if not name or not text:
        raise ParameterError("every claim needs a name and a text")
    for option in options:
        if option not in CLAIM_KEYS:
            raise ParameterError(f"claim {name!r} has no {option!r}{_suggest(option, CLAIM_KEYS)}")
    try:
        if "why" in options:
            return Claim.untestable(name, text, **options)
        for kind, make_claim in (("better", Claim.better), ("equal", Claim.equal)):
            if kind in options:
                return make_claim(name, text, method=options.pop(kind), **options)
        if "published" not in options:
            raise ParameterError(
                f"claim {name!r}: say published =, or better = and than =, or equal = and "
                "than =, or why ="
            )
        return Claim.value(name, text, options.pop("published"), **options)
    except TypeError as problem:
        raise ParameterError(f"claim {name!r}: {problem}") from None
