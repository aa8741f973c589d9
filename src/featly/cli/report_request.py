"""Conversion of ``featly report`` options to a report."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import scipy.sparse

from featly.basics.atomic_file import check_writable
from featly.basics.errors import DataError, ParameterError
from featly.cli import job, judging
from featly.io.write import check_ending
from featly.registry import METHODS
from featly.reports.build import report
from featly.reports.pdf import find_browser, no_browser_error
from featly.reports.report import Report, check_extra, format_of
from featly.study import Advice
from featly.study.plan_files import make_sampler

__all__ = ["check", "make_report"]


def check(options: dict[str, Any]) -> None:
    """Raise an error for impossible options before the file is read."""
    check_extra()
    kind = format_of(options["output"], options["page_format"])
    check_writable(options["output"])
    if kind == "pdf" and find_browser() is None:
        raise no_browser_error()
    if options["ranking"] is not None:
        check_ending(options["ranking"])
        check_writable(options["ranking"])
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


def make_report(
    options: Mapping[str, Any], *, print_note: Callable[..., None], verbose: bool = False
) -> Report:
    """Read the table, make the report, and write down in it where it came from."""
    request_fields = [f.name for f in fields(job.Request)]
    request_options = {
        k: v for k, v in options.items() if k in request_fields and v is not None
    } | {"fill": False}
    with job.load(job.Request(**request_options), verbose=verbose) as data:
        rows, columns = data.X.shape
        print_note(
            "; ".join([f"{data.table.source}: {rows:,} rows, {columns:,} columns", *data.notes])
        )
        for option in ("row_groups", "split_column"):
            name = options[option]
            if name is not None and name not in [str(n) for n in data.names]:
                raise DataError(f"--{option.replace('_', '-')} {name!r} is no column of the table")
        methods = _read_methods(data, options)
        if isinstance(methods, Advice):
            print_note(f"signature by {methods.call()}, as advised: {methods.reasons[0]}")
        elif methods is not None:
            print_note(f"signature by {methods[0]}")
        name = str(data.table.source).strip("'").rpartition("/")[2]
        try:
            result = report(
                data.X,
                data.y,
                methods=methods,
                schema=data.schema,
                splits=_read_splits(options),
                sizes=None if options["sizes"] is None else judging.parse_sizes(options["sizes"]),
                learner=options["learner"],
                metric=options["metric"],
                rule=None if options["rule"] is None else judging.parse_rule(options["rule"]),
                fill=True if options["fill"] else None,
                resample=make_sampler(options["resample"]),
                null=options["null"],
                row_groups=options["row_groups"],
                official=options["split_column"],
                individuals=not options["no_individuals"],
                n_shown=options["shown"],
                title=options["title"],
                names=data.names if scipy.sparse.issparse(data.X) else None,
                directory=options["keep_fits"],
                random_state=options["seed"],
                n_jobs=options["jobs"],
                verbose=verbose,
            )
        except DataError as problem:
            raise type(problem)(job.reword_for_file(str(problem), data)) from None
        facts = result.facts
        facts["command"] = options["command"]
        facts["data"] |= {"file": name, "target": data.target, "notes": list(data.notes)}
        if options["title"] is None:
            facts["title"] = f"What tells of {data.target} in {name}"
    return result


def _read_methods(data: job.LoadedData, options: Mapping[str, Any]) -> list[str] | Advice | None:
    """Return the named methods, or advice; refuse a method that does not take the table."""
    if options["methods"] is None or options["methods"].strip().lower() == job.AUTO:
        if options["split_column"] is not None:
            return None  # the training rows alone may be asked, and the report will
        return job.advise_on_table(data, row_groups=options["row_groups"], seed=options["seed"])
    names = judging.parse_methods(options["methods"])
    kinds = job._kind_examples(data)
    # gaps are filled where the first method needs it, for all methods then
    is_filled = options["fill"] or not METHODS[names[0]].missing
    missing_column = None if is_filled else job._column_with_missing(data)
    for name in names:
        obstacles = (
            [] if name == "none" else job.obstacles(METHODS[name], data, kinds, missing_column)
        )
        if obstacles:
            remedy = "add --fill, or leave it out" if "missing" in obstacles[0] else "leave it out"
            raise DataError(
                f"{data.table.source}: {name} does not take {obstacles[0]}: {remedy}; "
                "'featly methods' tells what each takes"
            )
    return names


def _read_splits(options: Mapping[str, Any]) -> Any:
    """Return the requested splits; None if advice or the default decides."""
    is_default = options["protocol"] == "subsampling" and options["split_column"] is None
    if is_default and options["splits"] is None and options["test_size"] is None:
        return None
    split_options = dict(options)
    if is_default and options["splits"] is None:
        from featly.reports.build import SPLITS

        split_options["splits"] = SPLITS
    return judging.make_splitter(split_options)
