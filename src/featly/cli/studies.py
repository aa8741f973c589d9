"""Options of ``featly evaluate`` in, a study out; and its results as tables and sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from featly.basics.errors import ParameterError
from featly.cli import printing
from featly.cli.alarms import check_data, document_findings, prepare_rows, settle_row_groups
from featly.cli.load import LoadedData, Request, load
from featly.cli.method import AUTO, choose_method, find_obstacles, method_name
from featly.cli.new_rows import NewRows
from featly.cli.words import in_words_of_the_file
from featly.measures.scores import SCORE_METRICS
from featly.measures.sizes import SCORE_RULES, SIZE_RULES
from featly.study import Advice, Dataset, Results, Study
from featly.study.advise.advice import advise_on_training_rows
from featly.study.comparison import describe_difference
from featly.study.curves import PARTNERS, limit_intervals
from featly.study.plan import default_learner, require_scores
from featly.study.plan_files import SPLITTERS, make_sampler
from featly.study.predictability import FEWEST_SHUFFLES
from featly.study.results import GREATER, SELECTION_METRICS

__all__ = [
    "check_metric",
    "check_shuffles",
    "check_study_options",
    "make_splitter",
    "parse_methods",
    "parse_rule",
    "parse_sizes",
    "plan_lines",
    "plan_study",
    "requested_fill",
    "show_results",
]

QUICK = ("f-test", "svm-rfe")  # evaluated if none is named
SPLITS_SHARE_ROWS = (
    "note: splits share rows, so that these intervals and p-values promise too much; 'featly "
    "evaluate' has figures for new rows"
)
COUNT_PARAMETERS = {"subsampling": "n_splits", "bootstrap": "n_splits", "k-fold": "n_folds",
           "balanced-k-fold": "n_folds"}  # fmt: skip


# ---- the plan ------------------------------------------------------------------------------------
def check_study_options(options: Mapping[str, Any]) -> None:
    """Raise an error for impossible options before the file is read."""
    make_splitter(options)
    parse_sizes(options["sizes"])
    parse_rule(options["rule"])
    _check_known(options["metric"])
    make_sampler(options["resample"])
    if options["methods"] is not None and not _is_auto(options):
        parse_methods(options["methods"])


def check_shuffles(null: int) -> None:
    """Raise an error for so few shuffles that none could say yes."""
    if 0 < null < FEWEST_SHUFFLES:
        raise ParameterError(
            f"--null {null}: give at least {FEWEST_SHUFFLES}; fewer shuffles cannot show anything "
            "at 5%"
        )


def plan_study(
    options: Mapping[str, Any],
) -> tuple[Study, Advice | None, list[dict[str, Any]]]:
    """Read the table and plan the study.

    Return it with the advice that its methods come from, and what is odd about the table.
    """
    splits = make_splitter(options)
    advice, fill = None, requested_fill(options)
    # missing values are filled split by split, from the training rows
    with load(Request.from_options({**options, "fill": False, "ignore_missing": False})) as loaded:
        loaded.require_classes("'featly evaluate'")
        loaded.check_column(options["split_column"], "--split-column")
        prepare_rows(loaded, options)
        row_groups = settle_row_groups(loaded, options)
        check_data(loaded, options)
        findings = document_findings(loaded, options)
        name = str(loaded.table.source).strip("'").rpartition("/")[2].partition(".")[0]
        with in_words_of_the_file(loaded):
            data = Dataset.of(
                loaded.X,
                loaded.y,
                name=name or "data",
                schema=loaded.schema,
                row_groups=row_groups,
                official=options["split_column"],
                names=loaded.own_names,
                findings=loaded.findings,
            )
        if _is_auto(options):
            advice = advise_on_training_rows(data, options["seed"], options["split_column"])
            methods, fill = advice.methods(), fill or advice.fill
        else:
            names = (
                _default_methods(loaded, fill=bool(fill))
                if options["methods"] is None
                else parse_methods(options["methods"])
            )
            methods = {name: name for name in names}
    if options["learner"] is not None:
        learners = [name.strip() for name in options["learner"].split(",")]
    else:
        learners = [default_learner(methods.values()) if advice is None else advice.learner]
    study = Study(
        methods,
        data,
        splits,
        sizes=parse_sizes(options["sizes"]),
        learner=learners,
        balanced="auto" if options["balanced"] is None else options["balanced"],
        metric=options["metric"],
        selection="outside" if options["outside"] else "inside",
        fill=fill,
        resample=make_sampler(options["resample"]),
        random_state=options["seed"],
        title=data.name,
    )
    return study, advice, findings


def requested_fill(options: Mapping[str, Any]) -> bool | str:
    """Return the `fill` of a study that the options ask for."""
    if options["fill"] and options["ignore_missing"]:
        raise ParameterError("--fill and --ignore-missing both fill missing values: give one")
    return "draw" if options["ignore_missing"] else bool(options["fill"])


def _check_known(metric: str | None) -> None:
    if metric is not None and metric not in GREATER:
        raise ParameterError(f"there is no metric {metric!r}: there are {', '.join(GREATER)}")


def check_metric(study: Study, metric: str | None) -> None:
    """Raise an error before a plan is run for a metric that its learners cannot give."""
    _check_known(metric)
    if metric in SCORE_METRICS:
        for name, learner in study.learners.items():
            require_scores(metric, name, learner)


def _is_auto(options: Mapping[str, Any]) -> bool:
    return str(options["methods"]).strip().lower() == AUTO


def make_splitter(options: Mapping[str, Any]) -> Any:
    """Return the splitter of ``--protocol`` and the options beside it."""
    kind = options["protocol"]
    if kind not in SPLITTERS:
        raise ParameterError(f"--protocol {kind!r}: there are {', '.join(SPLITTERS)}")
    if options["split_column"] is not None and kind != "holdout":
        kind = "holdout" if kind == "subsampling" else kind
        if kind != "holdout":
            raise ParameterError(
                f"--split-column goes with --protocol holdout, not with {kind}: leave one out"
            )
    parameters: dict[str, Any] = {}
    if options["splits"] is not None:
        if kind not in COUNT_PARAMETERS:
            raise ParameterError(f"--splits is not for --protocol {kind}: leave it out")
        parameters[COUNT_PARAMETERS[kind]] = options["splits"]
    if options["test_size"] is not None:
        if kind not in ("subsampling", "holdout") or options["split_column"] is not None:
            raise ParameterError(f"--test-size is not for --protocol {kind}: leave it out")
        parameters["test_size"] = options["test_size"]
    if options["split_column"] is not None:
        return SPLITTERS[kind](column=options["split_column"])
    if kind != "leave-one-out":
        parameters["random_state"] = options["seed"]
    return SPLITTERS[kind](**parameters)


def parse_sizes(text: str) -> Any:
    """Parse the sizes to try."""
    if text in ("powers", "all", "rule-of-thumb"):
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(
            f"--sizes {text!r}: give numbers with commas, powers, all or rule-of-thumb"
        ) from None


def parse_rule(text: str) -> str | int:
    """Parse the rule for the number of columns."""
    if text.isdecimal():
        return int(text)
    usable = [name for name in SIZE_RULES if name not in SCORE_RULES]
    if text not in usable:
        raise ParameterError(f"--rule {text!r}: give a number or one of {', '.join(usable)}")
    return text


def parse_methods(text: str) -> list[str]:
    """Parse names of methods."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    methods = [name if name == "none" else method_name(name) for name in names]
    repeated = [name for name in methods if methods.count(name) > 1]
    if repeated or not methods:
        raise ParameterError(f"--methods {text!r}: give different names, with commas")
    return methods


def _default_methods(data: LoadedData, *, fill: bool) -> list[str]:
    """Return the quick methods that take the table, or else a default one, and no selection.

    If there is a prior, a method that uses it comes first.
    """
    obstacles = find_obstacles(data, fill=fill)
    names = [name for name in QUICK if not obstacles(name)]
    if data.schema.prior or not names:
        names = list(dict.fromkeys([choose_method(data, fill=fill), *names]))
    return [*names, "none"]


def plan_lines(study: Study, advice: Advice | None = None) -> list[str]:
    """Describe the methods, tables and splits of a study in a few lines."""
    lines = []
    if advice is not None:
        split = any(data.official is not None for data in study.datasets.values())
        rows = "training rows" if split else "all rows"
        lines.append(f"methods as advised on {rows}: {advice.call()}, {advice.reasons[0]}")
        if advice.fill:
            lines.append(
                f"missing values are filled on the training rows, which {advice.method} needs"
            )
    for data in list(study.datasets.values())[:5]:
        groups = "" if data.row_groups is None else f", {data.row_groups.max() + 1} groups of rows"
        lines.append(
            f"{data.name}: {data.n_rows:,} rows, {data.n_features:,} columns, "
            f"{len(data.classes)} classes{groups}"
        )
    if len(study.datasets) > 5:
        lines.append(f"and {len(study.datasets) - 5} other datasets")
    lines.append(
        f"{', '.join(study.methods)} judged by {', '.join(study.learners)} "
        f"{'with classes of equal weight ' if study.balanced else ''}on {study.splits!r}"
        + (f", and {study.null} times with shuffled labels" if study.null else "")
    )
    return lines


# ---- the results ---------------------------------------------------------------------------------
def show_results(
    results: Results,
    *,
    metric: str | None,
    rule: str,
    curves: bool,
    json: bool,
    quiet: bool,
    advice: Advice | None = None,
    new_rows: NewRows | None = None,
    findings: Sequence[dict[str, Any]] = (),
) -> None:
    """Print tables on standard output, and sentences about them on standard error.

    A study of a plan keeps its protocol and is shown as it is; `new_rows` come before it.
    """
    metric = metric or results.metric
    chosen = results.summary(metric, rule=parse_rule(rule))
    several = len(results.about["methods"]) > 1
    comparison = results.compare(metric, size="chosen", rule=parse_rule(rule)) if several else None
    if new_rows is not None and new_rows.result is not None:
        comparison = None  # splits that share rows say too often that methods differ
    if json:
        document = _make_document(results, chosen, comparison, metric, rule)
        if advice is not None:
            document["advice"] = advice.document()
        if new_rows is not None:
            document["new_rows"] = new_rows.document()
            document["findings"] = list(findings)
        printing.print_json(document)
        return
    if results.biased and not quiet:
        printing.say("BIASED: columns were selected on all rows, test rows included", "red")
    is_single = len(results.about["datasets"]) == 1 and len(results.about["learners"]) == 1
    table = limit_intervals(results.curves(metric), metric) if curves else chosen
    if printing.is_output_terminal():
        table = _select_for_terminal(table, metric, curves=curves, is_single=is_single)
    else:
        table = table.rename({"lower": "lower_over_splits", "upper": "upper_over_splits"})
    at = "" if curves else ", at a size chosen on them"
    title = f"{metric} over splits{at}: not an interval for new rows"
    if new_rows is not None:
        table = _join_new_rows(table, new_rows, curves=curves)
    if metric in SELECTION_METRICS:
        title = f"{metric} of the selected columns"
    elif results.biased:
        title = f"{metric}, BIASED: columns were selected on all rows"
    printing.print_table(table.columns, table.rows(), title=title)
    if not quiet:
        if new_rows is not None:
            for line in new_rows.lines():
                printing.say(line)
        for line in _conclusions(results, comparison, metric):
            printing.say(line)


def _join_new_rows(table: pl.DataFrame, new_rows: NewRows, *, curves: bool) -> pl.DataFrame:
    """Print the figures for new rows on a terminal; in a pipe, add them to the only table."""
    records = new_rows.records()
    if curves or not records:
        return table
    if printing.is_output_terminal():
        frame = _select_new_rows(pl.DataFrame(records), new_rows.metric)
        printing.print_table(frame.columns, frame.rows(), title=f"{new_rows.metric} on new rows")
        return table
    names = {"size": "size_new", new_rows.metric: "new_rows", "lower": "lower_new",
             "upper": "upper_new"}  # fmt: skip
    figures = pl.DataFrame(records).rename(names)
    return table.join(figures, on=["method", "learner"], how="left", maintain_order="left")


def _select_new_rows(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the columns that fit a terminal, rounded as far as they can be trusted."""
    interval = pl.format("{} to {}", pl.col("lower"), pl.col("upper")).alias("95% interval")
    learner = ["learner"] if frame["learner"].n_unique() > 1 else []
    columns = pl.col("size").alias("columns")
    return frame.select("method", *learner, columns, pl.col(metric).round(2), interval)


def _select_for_terminal(
    table: pl.DataFrame, metric: str, *, curves: bool, is_single: bool
) -> pl.DataFrame:
    """Return the columns of a table that fit a terminal, rounded."""
    value = "mean" if curves else metric
    interval = pl.format(
        "{} to {}",
        pl.col("lower").round(3).cast(pl.String),
        pl.col("upper").round(3).cast(pl.String),
    )
    columns: list[str | pl.Expr] = [
        *([] if is_single else ["dataset"]),
        "method",
        *([] if is_single else ["learner"]),
        pl.col("size").alias("columns"),
        pl.col(value).round(3).alias(metric),
        interval.alias("over splits"),
        *(
            pl.col(name).round(3)
            for name in PARTNERS.values()
            if name in table.columns and name != metric
        ),
        pl.col("kuncheva").round(3).alias("agreement"),
    ]
    if not curves:
        # with the names of datasets and learners, and two metrics, a line would be too long
        if is_single or not PARTNERS.keys() <= set(table.columns):
            columns.append(pl.col("geometric_mean").round(3).alias("both"))
        columns.append(pl.col("seconds").round(4).alias("s a fit"))
    return table.select(columns)


def _conclusions(results: Results, comparison: Any, metric: str) -> list[str]:
    """Return sentences on differences, chance, failures, notes and claims."""
    lines = []
    if comparison is not None:
        for row in comparison.pairs.rows(named=True):
            is_significant = row["p_adjusted"] < 0.05
            prefix = "" if len(results.about["datasets"]) == 1 else f"{row['dataset']}: "
            if len(results.about["learners"]) > 1:
                prefix += f"{row['learner']}: "
            lines.append(
                f"{prefix}{row['method_a']} - {row['method_b']}: {describe_difference(row)}, "
                f"p = {row['p_adjusted']:.2g}"
                f"{'' if is_significant else ': cannot be told apart'}"
            )
        if comparison.pairs.height:
            lines.append(SPLITS_SHARE_ROWS)
        if comparison.friedman is not None and len(results.about["datasets"]) > 2:
            lines += [comparison.friedman.summary(), comparison.nemenyi.summary()]
    if results.about["null"]:
        for row in results.null_test(metric).rows(named=True):
            lines.append(
                f"{row['method']} ({row['learner']}) at its best size {row['observed']:.3f}; "
                f"shuffled labels {row['null_mean']:.3f} on average, {row['null_best']:.3f} at "
                f"best of {row['n_null']}: p = {row['p_value']:.2g}"
            )
    failed = results.failures
    if failed.height:
        noun = "fit" if failed.height == 1 else "fits"
        lines.append(f"{failed.height:,} {noun} failed, the first: {failed['failure'][0]}")
    lines += [f"note: {remark}" for remark in results.remarks(metric)[:3]]
    lines += [f"note: {note}" for note in results.notes[:3]]
    verdicts = results.verdicts()
    if len(verdicts):
        lines.append(repr(verdicts))
    return lines


def _make_document(
    results: Results, chosen: pl.DataFrame, comparison: Any, metric: str, rule: str
) -> dict[str, Any]:
    """Return everything about the results, for machines."""
    about = {k: v for k, v in results.about.items() if k != "datasets"}
    about["datasets"] = {
        name: {k: v for k, v in data.items() if k not in ("names", "kinds", "roles")}
        for name, data in results.about["datasets"].items()
    }
    document = {
        "about": about,
        "biased": results.biased,
        "metric": metric,
        "rule": rule,
        "summary": chosen.to_dicts(),
        "curves": limit_intervals(results.curves(metric), metric).to_dicts(),
        "failures": results.failures.height,
        "remarks": results.remarks(metric),
    }
    if comparison is not None:
        document["pairs"] = comparison.pairs.to_dicts()
        if comparison.friedman is not None:
            document["friedman_p"] = comparison.friedman.p_value
            document["mean_ranks"] = dict(
                zip(comparison.friedman.names, comparison.friedman.mean_ranks, strict=True)
            )
            document["critical_difference"] = comparison.nemenyi.critical_difference
    if results.about["null"]:
        document["null"] = results.null_test(metric).to_dicts()
    if len(results.claims):
        document["verdicts"] = results.verdicts().table().to_dicts()
    return document
