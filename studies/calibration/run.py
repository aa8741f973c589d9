"""Tables are measured one after the other; a row is written for each, so that a run can go on."""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import featly
from featly.basics.errors import DataError, ParameterError, StudyError
from studies.calibration.figures import Row
from studies.calibration.laws import Law, available
from studies.calibration.parts import PARTS, Part

__all__ = ["code_digest", "read_rows", "run_part"]

Task = tuple[str, int]  # a law by name, and the number of a table


def run_part(
    name: str, file: Path, *, tables: int, minutes: float, jobs: int = 1, aside: bool = False
) -> list[Row]:
    """Measure the tables of a part that are not in the file yet, and return all its rows.

    Table 0 of every law comes first, then table 1, so that a run that was stopped has about as
    many of each. No table is begun after so many minutes.
    """
    part = PARTS[name]
    laws = {law.name: law for law in available(part.aside if aside else part.laws)}
    rows = read_rows(file)
    known = {(row["law"], row["table"]) for row in rows}
    todo = iter(
        (law, number) for number in range(tables) for law in laws if (law, number) not in known
    )
    deadline = time.monotonic() + 60 * minutes
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as journal:
        for row in _measure_all(name, todo, jobs, deadline, aside):
            journal.write(json.dumps(row) + "\n")
            journal.flush()
            rows.append(row)
    return [row for row in rows if row["law"] in laws and row["table"] < tables]


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a journal; its last line may be cut, and is then left out.

    Rows of another state of featly are refused.
    """
    if not file.exists():
        return []
    whole, _, rest = file.read_text("utf-8").rpartition("\n")
    if rest:
        file.write_text(whole + "\n" if whole else "", encoding="utf-8")
    rows = [json.loads(line) for line in whole.splitlines()]
    digest = code_digest()
    if any(row["code"] != digest for row in rows):
        raise SystemExit(
            f"{file} has rows of another state of featly: give another --label, or move it away"
        )
    return rows


def code_digest() -> str:
    """Return a hash of the code of featly, so that rows of two states are never mixed."""
    folder = Path(featly.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _measure_all(
    name: str, todo: Iterator[Task], jobs: int, deadline: float, aside: bool
) -> Iterator[Row]:
    """Yield rows in the order in which they are done."""
    digest = code_digest()
    if jobs == 1:
        for law, number in todo:
            if time.monotonic() >= deadline:
                return
            yield measure(name, law, number, aside) | {"code": digest}
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # in the processes, which start with it
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending: set[Future[Row]] = set()
        while True:
            free = jobs - len(pending) if time.monotonic() < deadline else 0
            pending |= {pool.submit(measure, name, *task, aside) for task in islice(todo, free)}
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() | {"code": digest} for future in done)


def measure(name: str, law: str, number: int, aside: bool) -> Row:
    """Measure one table; an error becomes a row, too."""
    part: Part = PARTS[name]
    laws: dict[str, Law] = {each.name: each for each in (part.aside if aside else part.laws)}
    start = time.perf_counter()
    try:
        values: dict[str, Any] = part.measure(laws[law], number)
    except (DataError, ParameterError, StudyError) as error:
        values = {"error": f"{type(error).__name__}: {error}"}
    seconds = round(time.perf_counter() - start, 3)
    return {"law": law, "table": number, "seconds": seconds, **values}
