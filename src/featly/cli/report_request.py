"""Options of ``featly report`` in, a report out."""

from collections.abc import Callable, Mapping
from typing import Any

from featly.basics.atomic_file import check_writable
from featly.basics.errors import DataError, ParameterError
from featly.cli.alarms import check_data, prepare_rows, settle_row_groups
from featly.cli.load import LoadedData, Request, load
from featly.cli.method import AUTO, advise_on_table, find_obstacles
from featly.cli.printing import amount, check_output
from featly.cli.studies import (
    check_study_options,
    make_splitter,
    parse_methods,
    parse_rule,
    parse_sizes,
    requested_fill,
)
from featly.cli.words import in_words_of_the_file
from featly.registry import METHODS
from featly.reports.build import report
from featly.reports.pdf import find_browser, no_browser_error
from featly.reports.report import Report, check_extra, format_of
from featly.study import Advice
from featly.study.plan_files import make_sampler

__all__ = ["check_report_options", "make_report"]


def check_report_options(options: dict[str, Any]) -> None:
    """Raise an error for impossible options before the file is read."""
    check_extra()
    kind = format_of(options["output"], options["page_format"])
    check_writable(options["output"])
    if kind == "pdf" and find_browser() is None:
        raise no_browser_error()
    check_output(options["ranking"])
    check_study_options(
        options | {"rule": options["rule"] or "best", "sizes": options["sizes"] or "powers"}
    )
    if "," in (options["learner"] or ""):
        raise ParameterError(
            f"--learner {options['learner']!r}: give one; 'featly evaluate' takes several"
        )
    if options["methods"] is not None and options["methods"].strip().startswith("none"):
        raise ParameterError(
            "--methods none,...: the first method makes the signature, and 'none' selects nothing"
        )


def make_report(
    options: Mapping[str, Any], *, print_note: Callable[..., None], verbose: bool = False
) -> Report:
    """Read the table, make the report, and add the file and the command to its facts."""
    # missing values are filled split by split, from the training rows
    request = Request.from_options({**options, "fill": False, "ignore_missing": False})
    with load(request, verbose=verbose) as data:
        rows, columns = data.X.shape
        shape = f"{data.table.source}: {amount(rows, 'row')}, {amount(columns, 'column')}"
        print_note("; ".join([shape, *data.notes]))
        data.require_classes("'featly report'")
        data.check_column(options["split_column"], "--split-column")
        prepare_rows(data, options)
        row_groups = settle_row_groups(data, options)
        check_data(data, options)
        methods = _read_methods(data, options, row_groups)
        if isinstance(methods, Advice):
            print_note(f"signature by {methods.call()}, as advised: {methods.reasons[0]}")
        elif methods is not None:
            print_note(f"signature by {methods[0]}")
        name = str(data.table.source).strip("'").rpartition("/")[2]
        with in_words_of_the_file(data):
            result = report(
                data.X,
                data.y,
                methods=methods,
                schema=data.schema,
                splits=_read_splits(options),
                sizes=None if options["sizes"] is None else parse_sizes(options["sizes"]),
                learner=options["learner"],
                metric=options["metric"],
                rule=None if options["rule"] is None else parse_rule(options["rule"]),
                fill=requested_fill(options) or None,
                resample=make_sampler(options["resample"]),
                null=options["null"],
                thorough=options["thorough"],
                row_groups=row_groups,
                official=options["split_column"],
                individuals=not options["no_individuals"],
                n_shown=options["shown"],
                title=options["title"],
                names=data.own_names,
                findings=data.findings,
                directory=options["keep_fits"],
                random_state=options["seed"],
                n_jobs=options["jobs"],
                verbose=verbose,
            )
        facts = result.facts
        facts["command"] = options["command"]
        notes = [] if options["no_individuals"] else list(data.notes)  # these count single rows
        facts["data"] |= {"file": name, "target": data.target, "notes": notes}
        if options["title"] is None:
            facts["title"] = f"What tells of {data.target} in {name}"
    return result


def _read_methods(
    data: LoadedData, options: Mapping[str, Any], row_groups: Any
) -> list[str] | Advice | None:
    """Return the named methods, or advice; raise an error if one does not take the table."""
    if options["methods"] is None or options["methods"].strip().lower() == AUTO:
        if options["split_column"] is not None:
            return None  # advice has to come from the training rows alone: the report sees to that
        advice: Advice = advise_on_table(data, row_groups=row_groups, seed=options["seed"])
        return advice
    names = parse_methods(options["methods"])
    # if the first method needs missing values filled, they are filled for all methods
    fill = bool(requested_fill(options)) or not METHODS[names[0]].missing
    list_obstacles = find_obstacles(data, fill=fill)
    for name in names:
        obstacles = [] if name == "none" else list_obstacles(name)
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
    return make_splitter(split_options)
