"""From the options of ``featly report`` to a report."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import scipy.sparse

from featly.basics.atomic_file import check_place
from featly.basics.errors import DataError, ParameterError
from featly.cli import job, judging
from featly.io.write import check_ending
from featly.registry import METHODS
from featly.reports.build import report
from featly.reports.pdf import find_browser, no_browser
from featly.reports.report import Report, format_of, need_extra
from featly.study import Advice
from featly.study.plan_files import make_sampler

__all__ = ["check", "found_report"]


def check(options: dict[str, Any]) -> None:
    """Refuse what cannot be before the file is read."""
    need_extra()
    kind = format_of(options["output"], options["page_format"])
    check_place(options["output"])
    if kind == "pdf" and find_browser() is None:
        raise no_browser()
    if options["ranking"] is not None:
        check_ending(options["ranking"])
        check_place(options["ranking"])
    judging.check(
        options | {"rule": options["rule"] or "best", "sizes": options["sizes"] or "powers"}
    )
    if "," in (options["learner"] or ""):
        raise ParameterError(
            f"--learner {options['learner']!r}: a report has one; 'featly evaluate' takes several"
        )
    if options["methods"] is not None and options["methods"].strip().startswith("none"):
        raise ParameterError(
            "--methods none,...: the first method makes the signature, and 'none' selects nothing"
        )


def found_report(
    options: Mapping[str, Any], *, told: Callable[..., None], verbose: bool = False
) -> Report:
    """Read the table, make the report, and write down in it where it came from."""
    known = [f.name for f in fields(job.Request)]
    given = {k: v for k, v in options.items() if k in known and v is not None} | {"fill": False}
    with job.load(job.Request(**given), verbose=verbose) as found:
        rows, columns = found.X.shape
        told("; ".join([f"{found.table.source}: {rows:,} rows, {columns:,} columns", *found.notes]))
        for option in ("row_groups", "split_column"):
            name = options[option]
            if name is not None and name not in [str(n) for n in found.names]:
                raise DataError(f"--{option.replace('_', '-')} {name!r} is no column of the table")
        methods = _methods(found, options)
        if isinstance(methods, Advice):
            told(f"signature by {methods.call()}, as advised: {methods.reasons[0]}")
        elif methods is not None:
            told(f"signature by {methods[0]}")
        name = str(found.table.source).strip("'").rpartition("/")[2]
        try:
            made = report(
                found.X,
                found.y,
                methods=methods,
                schema=found.schema,
                splits=_splits(options),
                sizes=None if options["sizes"] is None else judging.asked_sizes(options["sizes"]),
                learner=options["learner"],
                metric=options["metric"],
                rule=None if options["rule"] is None else judging.asked_rule(options["rule"]),
                fill=True if options["fill"] else None,
                resample=make_sampler(options["resample"]),
                null=options["null"],
                row_groups=options["row_groups"],
                official=options["split_column"],
                individuals=not options["no_individuals"],
                n_shown=options["shown"],
                title=options["title"],
                names=found.names if scipy.sparse.issparse(found.X) else None,
                directory=options["keep_fits"],
                random_state=options["seed"],
                n_jobs=options["jobs"],
                verbose=verbose,
            )
        except DataError as problem:
            raise type(problem)(job.in_words_of_the_file(str(problem), found)) from None
        facts = made.facts
        facts["command"] = options["command"]
        facts["data"] |= {"file": name, "target": found.target, "notes": list(found.notes)}
        if options["title"] is None:
            facts["title"] = f"What tells of {found.target} in {name}"
    return made


def _methods(found: job.Job, options: Mapping[str, Any]) -> list[str] | Advice | None:
    """The methods that are named, or advice; one that does not take the table is refused."""
    if options["methods"] is None or options["methods"].strip().lower() == job.AUTO:
        if options["split_column"] is not None:
            return None  # the training rows alone may be asked, and the report will
        return job.advised(found, row_groups=options["row_groups"], seed=options["seed"])
    names = judging.asked_names(options["methods"])
    kinds = job._kinds(found)
    # gaps are filled where the first method needs it, for all methods then
    filled = options["fill"] or not METHODS[names[0]].missing
    gap = None if filled else job._first_gap(found)
    for name in names:
        obstacles = [] if name == "none" else job.obstacles(METHODS[name], found, kinds, gap)
        if obstacles:
            instead = "add --fill, or leave it out" if "missing" in obstacles[0] else "leave it out"
            raise DataError(
                f"{found.table.source}: {name} does not take {obstacles[0]}: {instead}; "
                "'featly methods' tells what each takes"
            )
    return names


def _splits(options: Mapping[str, Any]) -> Any:
    """What is asked for; None where nothing is, so that advice or the default decides."""
    plain = options["protocol"] == "subsampling" and options["split_column"] is None
    if plain and options["splits"] is None and options["test_size"] is None:
        return None
    asked = dict(options)
    if plain and options["splits"] is None:
        from featly.reports.build import SPLITS

        asked["splits"] = SPLITS
    return judging.asked_splitter(asked)
