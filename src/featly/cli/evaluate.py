"""``featly evaluate`` and ``featly study``: the quality of a selection on rows it never saw."""

from typing import Annotated, Any

import typer

from featly.cli.errors import make_command
from featly.cli.options import (
    DropTwins,
    File,
    Json,
    Quiet,
    Target,
    about_columns,
    complete_column,
    complete_method_or_auto,
)

__all__ = ["evaluate", "study"]

_PROTOCOL = "How methods are evaluated"

Processes = Annotated[
    int | None, typer.Option("--jobs", "-j", help="Processes; all cores by default.")
]
Metric = Annotated[
    str | None,
    typer.Option(help="bcr, auc, accuracy, error, sensitivity, specificity, ppv, npv, f1, pr_auc; "
                 "of learners with probabilities brier, log_loss. Left out: that of the plan, "
                 "bcr."),
]  # fmt: skip
Balanced = Annotated[
    bool | None,
    typer.Option("--balanced/--unbalanced", rich_help_panel=_PROTOCOL, show_default=False,
                 help="Train the learner with classes of equal weight. Left out: yes, unless the "
                 "metric is accuracy, error, brier or log_loss."),
]  # fmt: skip
Rule = Annotated[
    str,
    typer.Option(help="How the number of columns is chosen: within-interval, best, "
                 "one-standard-error, knee, rule-of-thumb, or a number."),
]  # fmt: skip
Curves = Annotated[bool, typer.Option("--curves", help="Show every size, not the chosen only.")]

ProtocolName = Annotated[
    str,
    typer.Option(rich_help_panel=_PROTOCOL,
                 help="subsampling, k-fold, balanced-k-fold, leave-one-out, holdout, "
                 "bootstrap."),
]  # fmt: skip
TestSize = Annotated[
    float | None,
    typer.Option(rich_help_panel=_PROTOCOL, help="Share of the rows to test on (0.1)."),
]  # fmt: skip
Shuffles = Annotated[
    int,
    typer.Option("--null", min=0, rich_help_panel=_PROTOCOL,
                 help="Test whether the columns predict: do it again with shuffled classes, up to "
                 "so many times, at least 19."),
]  # fmt: skip
Thorough = Annotated[
    bool,
    typer.Option("--thorough", rich_help_panel=_PROTOCOL,
                 help="Draw the nested folds five times: narrower intervals, five times the "
                 "work."),
]  # fmt: skip
Sampler = Annotated[
    str | None,
    typer.Option(rich_help_panel=_PROTOCOL, metavar="SAMPLER",
                 help="Balance the training rows: RandomUnderSampler, RandomOverSampler, "
                 "SMOTE, ... of imbalanced-learn."),
]  # fmt: skip
RowGroups = Annotated[
    str | None,
    typer.Option(rich_help_panel=_PROTOCOL, autocompletion=complete_column, metavar="COLUMN",
                 help="The column that tells which rows belong together, such as the patient; "
                 "a split never separates them. auto: rows that are alike in nearly everything."),
]  # fmt: skip
SplitColumn = Annotated[
    str | None,
    typer.Option(rich_help_panel=_PROTOCOL, autocompletion=complete_column, metavar="COLUMN",
                 help="The column that says train or test."),
]  # fmt: skip
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the splits and shuffles.", rich_help_panel=_PROTOCOL)
]  # fmt: skip


@make_command(
    about_columns,
    stop_message="featly: stopped; with --output FOLDER what is done is kept, and the same command "
    "goes on",
)
def evaluate(
    file: File,
    target: Target = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", "-m", metavar="NAMES", autocompletion=complete_method_or_auto,
                     help="Methods to evaluate: svm-rfe,f-test,none; auto is what 'featly advise' "
                     "says, its alternatives and none. Left out: those that take the table."),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option("--splits", "-s", min=1, rich_help_panel=_PROTOCOL,
                     help="Number of random splits (200), folds (10) or bootstrap samples (100)."),
    ] = None,
    protocol: ProtocolName = "subsampling",
    test_size: TestSize = None,
    sizes: Annotated[
        str,
        typer.Option(rich_help_panel=_PROTOCOL, metavar="SIZES",
                     help="Numbers of columns to try: 1,2,4,8, powers, all or rule-of-thumb."),
    ] = "powers",
    learner: Annotated[
        str | None,
        typer.Option(rich_help_panel=_PROTOCOL, metavar="NAMES",
                     help="What is trained on the selected columns: linear-svm, naive-bayes, "
                     "logistic, 1-nn, 5-nn, tree, forest, rbf-svm, linear-or-neighbours; several "
                     "with commas. Left out: as advised with auto, linear-or-neighbours for what "
                     "ranks by neighbours (relieff), else linear-svm."),
    ] = None,
    balanced: Balanced = None,
    null: Shuffles = 0,
    thorough: Thorough = False,
    resample: Sampler = None,
    row_groups: RowGroups = None,
    drop_twins: DropTwins = False,
    split_column: SplitColumn = None,
    outside: Annotated[
        bool,
        typer.Option("--select-outside", rich_help_panel=_PROTOCOL,
                     help="Select once on all rows, as some papers did. The results are biased, "
                     "and say so."),
    ] = False,
    seed: Seed = 0,
    metric: Metric = None,
    rule: Rule = "best",
    curves: Curves = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER",
                     help="Keep the results there; a run that was stopped goes on where it was."),
    ] = None,
    json: Json = False,
    jobs: Processes = None,
    quiet: Quiet = False,
    **shared: Any,
) -> None:  # fmt: skip
    """Measure how well methods predict new rows, how they vary, and whether differences are real.

    featly evaluate tumours.csv --target outcome --methods svm-rfe,f-test --splits 200
    """
    options = {**locals(), **shared}
    from featly.cli import studies
    from featly.cli.new_rows import estimate_new_rows
    from featly.cli.printing import is_error_terminal, say

    studies.check_study_options(options)
    studies.check_shuffles(null)
    plan, advice, findings = studies.plan_study(options)
    if not quiet:
        for line in studies.plan_lines(plan, advice):
            say(line, "dim")
    is_shown = not quiet and is_error_terminal()
    results = plan.run(output, n_jobs=jobs, verbose=is_shown)
    new_rows = estimate_new_rows(
        plan,
        rule=studies.parse_rule(rule),
        thorough=thorough,
        null=null,
        column=split_column,
        n_jobs=jobs,
        verbose=is_shown,
    )
    studies.show_results(
        results,
        metric=metric,
        rule=rule,
        curves=curves,
        json=json,
        quiet=quiet,
        advice=advice,
        new_rows=new_rows,
        findings=findings,
    )
    if output is not None and not quiet:
        say(f"the results are in {output}; 'featly study show {output}' shows them again")


study: typer.Typer = typer.Typer(
    help="Run the plan of a study, or show its results again.", no_args_is_help=True
)
Plan = Annotated[str, typer.Argument(help="A plan in TOML.", metavar="PLAN.toml")]


@study.command(name="run")
@make_command(stop_message="featly: stopped; what is done is kept, and the same command goes on")
def run_plan(
    plan: Plan,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER",
                     help="Where the results go; the name of the plan without its ending."),
    ] = None,
    metric: Metric = None,
    rule: Rule = "within-interval",
    curves: Curves = False,
    json: Json = False,
    jobs: Processes = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a plan, or go on with it where it was stopped.

    featly study run plan.toml --output results
    """
    from pathlib import Path

    from featly.cli import studies
    from featly.cli.printing import is_error_terminal, say
    from featly.study import read_plan

    study_plan = read_plan(plan)
    studies.check_metric(study_plan, metric)
    folder = Path(output) if output is not None else Path(plan).with_suffix("")
    if not quiet:
        for line in studies.plan_lines(study_plan):
            say(line, "dim")
    results = study_plan.run(folder, n_jobs=jobs, verbose=not quiet and is_error_terminal())
    studies.show_results(results, metric=metric, rule=rule, curves=curves, json=json, quiet=quiet)
    if not quiet:
        say(f"the results are in {folder}; 'featly study show {folder}' shows them again")


@study.command(name="show")
@make_command()
def show(
    folder: Annotated[str, typer.Argument(help="Folder of a study.", metavar="FOLDER")],
    metric: Metric = None,
    rule: Rule = "within-interval",
    curves: Curves = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the results of a study again, also by another metric or another rule."""
    from featly.cli.studies import show_results
    from featly.study import Results

    results = Results.open(folder)
    show_results(results, metric=metric, rule=rule, curves=curves, json=json, quiet=quiet)
