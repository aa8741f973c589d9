"""Runs a list of named fits on KDD Cup 99: resumes, shows progress, is judged as a study is.

Why not :class:`featly.study.Study`: there a learner sees the columns as they are in the table; here
it sees them cut, and in the problems of five classes each pair of classes has columns of its own.
Every fit is a file that is written whole or not at all; one that is there is not done again.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from featly.basics.atomic_file import whole_file
from featly.basics.errors import DataError, ParameterError, StudyError
from featly.basics.progress import progress_bar
from featly.study import Claim
from featly.study.plan import _versions
from featly.study.verdicts import Verdicts, judge
from studies.intrusion_data import Data, Figure, Outcome

DATASET = "KDD Cup 99"
ABOUT = "study.json"


@dataclass(frozen=True)
class FitOutput:
    """Output of a fit: columns by problem, and outcomes by decoding ("" where there is none)."""

    columns: dict[str, list[str]]
    outcomes: dict[str, Outcome]
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A fit with a name; `group` is the method and the learner that the page names."""

    name: str
    method: str
    learner: str
    work: Callable[[Data, int | None], FitOutput]


@dataclass
class TaskResults:
    """Results of the tasks; for the page what Results of a study are."""

    about: dict[str, Any]
    records: dict[str, dict[str, Any]]
    claims: Sequence[Claim]
    biased: bool = False

    @cached_property
    def rankings(self) -> pl.DataFrame:
        """One row a fit."""
        rows = [(name, record["seconds"]) for name, record in self.records.items()]
        return pl.DataFrame(rows, orient="row", schema={"fit": pl.String, "seconds": pl.Float64})

    @cached_property
    def failures(self) -> pl.DataFrame:
        """Fits that failed."""
        rows = [(n, r["failure"]) for n, r in self.records.items() if r["failure"]]
        return pl.DataFrame(rows, orient="row", schema={"fit": pl.String, "failure": pl.String})

    def outcome(self, name: str, decoding: str = "") -> Outcome | None:
        """Return the outcome of a fit, or None where it failed."""
        lists = self.records[name]["outcomes"].get(decoding)
        return None if lists is None else Outcome.read(lists)

    def figure(self, figure: str, name: str, decoding: str = "") -> Figure | None:
        """Return a figure of merit of a fit."""
        outcome = self.outcome(name, decoding)
        return None if outcome is None else outcome.figure(figure)

    def columns(self, name: str) -> list[str]:
        """All columns that a fit uses, in any of its problems."""
        lists = self.records[name]["columns"].values()
        return sorted({column for columns in lists for column in columns})

    def verdicts(self) -> Verdicts:
        """A verdict on every claim."""
        return judge(self.claims, self)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Plan:
    """Tasks and claims; for ``python -m studies`` it is what a Study is."""

    title: str
    tasks: Sequence[Task]
    claims: Sequence[Claim]
    seeds: dict[str, Any]
    kind: str
    read: Callable[[], Data] = Data.read
    metrics: tuple[str, ...] = ()

    @property
    def learners(self) -> dict[str, None]:
        """Names of the learners."""
        return dict.fromkeys(task.learner for task in self.tasks)

    def run(
        self,
        folder: Path | None = None,
        *,
        n_jobs: int | None = None,
        verbose: bool | Callable[[int, int], Any] = False,
    ) -> TaskResults:
        """Do the fits that are left, one at a time, each with `n_jobs` threads."""
        data = self.read()
        about = self._about(data)
        if folder is not None:
            _open(Path(folder), about)
        records: dict[str, dict[str, Any]] = {}
        with progress_bar(verbose, self.title, "fits") as show_progress:
            for done, task in enumerate(self.tasks):
                if show_progress is not None:
                    show_progress(done, len(self.tasks))
                records[task.name] = _record(task, data, folder, n_jobs)
            if show_progress is not None:
                show_progress(len(self.tasks), len(self.tasks))
        return TaskResults(about, records, self.claims)

    def _about(self, data: Data) -> dict[str, Any]:
        description = data.about()
        return {
            "title": self.title,
            "methods": list(dict.fromkeys(task.method for task in self.tasks)),
            "learners": list(self.learners),
            "splits": "{train:,} rows to learn, {test:,} to test, the contest's".format(
                **description["parts"]
            ),
            "fill": False,
            "null": 0,
            "versions": _versions(),
            "datasets": {DATASET: description},
            "constant": data.constant_columns(),
            "shares": data.shares(),
            "seeds": self.seeds,
            "classes": self.kind,
        }


def _open(folder: Path, about: dict[str, Any]) -> None:
    """Write what the folder is for, or raise where it is for something else."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ABOUT
    if file.exists():
        if json.loads(file.read_text("utf-8")) != json.loads(json.dumps(about)):
            raise StudyError(
                f"{str(folder)!r} holds a run of other data, versions or fits: use another folder, "
                "or remove it"
            )
        return
    _write(file, about)


def _record(task: Task, data: Data, folder: Path | None, n_jobs: int | None) -> dict[str, Any]:
    """Return the output of a task, from its file if it has one."""
    name = hashlib.sha256(task.name.encode()).hexdigest()[:16]
    file = None if folder is None else Path(folder) / f"{name}.json"
    if file is not None and file.exists():
        return json.loads(file.read_text("utf-8"))
    began = time.perf_counter()
    record: dict[str, Any] = {"task": task.name, "failure": None}
    try:
        output = task.work(data, n_jobs)
    except (DataError, ParameterError) as problem:
        record |= {"failure": str(problem), "columns": {}, "outcomes": {}, "notes": {}}
    else:
        record |= {
            "columns": output.columns,
            "outcomes": {rule: outcome.to_lists() for rule, outcome in output.outcomes.items()},
            "notes": output.notes,
        }
    record["seconds"] = round(time.perf_counter() - began, 3)
    if file is not None:
        _write(file, record)
    return record


def _write(file: Path, content: dict[str, Any]) -> None:
    with whole_file(file) as out:
        out.write((json.dumps(content) + "\n").encode())
