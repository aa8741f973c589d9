"""Rules of advice: the first rule of a list that holds decides.

Each rule rests on a published guideline or on a study of this package. Where the two disagree, the
study counts, and the reason says so. No rule tries methods on the table itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from featly.registry import METHODS, Method
from featly.study.advise.facts import Facts
from featly.study.splits import KFold, Splitter, Subsampling

__all__ = [
    "RULES",
    "Choice",
    "Protocol",
    "Reason",
    "Rule",
    "first_rule",
    "is_applicable",
    "protocol_for",
]

MANY_ROWS = 5000  # with more, methods that grow with rows x rows take much longer than a filter
MOSTLY_ZEROS = 0.9  # share of the cells
NONLINEAR_MARGIN = 0.05  # nearest neighbours err at least so much less than a straight line
FEW_TO_TEST = 10  # of a class of fewer rows a tenth is less than one row
FEW_ROWS = 1000  # with no more, 200 splits are quick
FEW_COLUMNS = 32  # with no more, every number of columns is tried


@dataclass(frozen=True)
class Reason:
    """A sentence with a fact and its consequence, and their origin."""

    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.text} ({self.source})"


@dataclass(frozen=True)
class Choice:
    """A method with its parameters, and when to prefer it."""

    method: str
    when: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A method to advise, and the condition on a table under which to advise it.

    Attributes
    ----------
    name : str
    holds : callable
        Takes the facts, returns whether the rule holds.
    explain : callable
        Takes the facts, returns a sentence: when the rule holds, and why this method.
    source : str
    method, parameters, learner
        The advice.
    alternatives : tuple of Choice
        Those that cannot rank the table are left out.
    learner_reason : Reason
    reads_labels : bool
        Whether the condition rests on more of the labels than the counts of classes. Such a rule
        is left out where the advice may be judged on the rows that it is for.
    """

    name: str
    holds: Callable[[Facts], bool]
    explain: Callable[[Facts], str]
    source: str
    method: str
    learner: str
    learner_reason: Reason
    alternatives: tuple[Choice, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reads_labels: bool = False


# ---- sources and learners ------------------------------------------------------------------------
BOOK = "Bolón-Canedo et al. 2015"
PAUL = "Paul, D'Ambrosio and Dupont 2015"
LINEAR = Reason(
    "a linear support vector machine needs no tuning and is quick over many sizes; with it and "
    "with naive Bayes rates are higher than with a tree",
    f"our study microarray, E6d; {BOOK}, 4.5",
)
CLINICAL = Reason(
    "a support vector machine with the clinical kernel takes mixed columns with missing values; a "
    "forest is level with it, naive Bayes and neighbours are 2 to 3 points below",
    "our study heterogeneous-learners, A14",
)
EITHER = Reason(
    "ReliefF ranks by neighbours, which see what columns say together; so the list is judged by "
    "neighbours or a straight boundary, whichever is better inside each training part",
    f"our guide to learners; {BOOK}, 3.5.2",
)
TREE = Reason(
    "C4.5 learns half a million rows in a second",
    f"our study intrusion; {BOOK}, 5.1",
)
STABLE = Choice(
    "signal-to-noise",
    "the same columns must come out again on other rows: it predicts as well as machines do and "
    "is the most stable (our study prior, B9, B12, B15)",
)
SUBSET = Choice(
    "cfs", "you want a subset, and no question how many (Bolón-Canedo et al. 2015, 3.5.1)"
)
MACHINE = Choice(
    "svm-rfe",
    "you keep some fifty columns or more for a linear machine (our studies microarray and prior)",
)
FOREST = Choice(
    "forest",
    "you can wait: it takes ten to seventeen times as long (our study heterogeneous, A12, A13)",
)
JOINT = Choice("jmi", "columns repeat each other and the list should not (Brown et al. 2012)")
TESTS = Choice("univariate-test", "you need p-values and q-values, column by column")


# ---- the list ------------------------------------------------------------------------------------
def _is_numeric(facts: Facts) -> bool:
    return facts.categorical == 0


def _is_nonlinear(facts: Facts) -> bool:
    known = facts.linear_error is not None
    return known and facts.neighbour_error <= facts.linear_error - NONLINEAR_MARGIN  # type: ignore[operator]


def _is_fillable(facts: Facts) -> bool:
    return not facts.sparse and facts.columns == facts.continuous


def _describe_kinds(facts: Facts) -> str:
    numbers = facts.continuous + facts.ordinal
    return f"{numbers:,} columns of numbers and {facts.categorical:,} of categories"


RULES = (
    Rule(
        name="prior on numbers",
        holds=lambda facts: facts.prior and _is_numeric(facts),
        explain=lambda facts: (
            "some columns are favoured: signal-to-noise multiplies their score by the prior. "
            "Helleputte and Dupont's own method, AROM, becomes more stable by a prior, but stays "
            "below plain signal-to-noise in stability and no better in prediction"
        ),
        source="our study prior, B6, B9, B12, B15, against Helleputte and Dupont 2009",
        method="signal-to-noise",
        learner="linear-svm",
        learner_reason=LINEAR,
        alternatives=(
            Choice("arom", "you want few columns that do their work together, two classes only "
                   "(Helleputte and Dupont 2009)"),
            Choice("svm-rfe", "prediction counts more than stability (our study prior, B9a)"),
            Choice("relieff", "columns may matter only together"),
        ),
    ),
    Rule(
        name="many rows",
        holds=lambda facts: facts.rows > MANY_ROWS,
        explain=lambda facts: (
            f"{facts.rows:,} rows: machines, neighbours and forests grow faster than the rows, "
            "JMI counts in one pass a column, and takes numbers, categories and missing values"
        ),
        source=f"{BOOK}, 5.1 and 6; our study intrusion, where filters that count keep the rates",
        method="jmi",
        learner="c4.5",
        learner_reason=TREE,
        alternatives=(SUBSET, TESTS, Choice("mrmr", "you want redundancy to weigh more")),
    ),
    Rule(
        name="prior on mixed columns",
        holds=lambda facts: facts.prior,
        explain=lambda facts: (
            f"some columns are favoured, among {_describe_kinds(facts)}: ReliefF takes all kinds "
            "and multiplies the weight by the prior; in MKL-RFE a prior of 10 puts a useless "
            "column first"
        ),
        source="our guide to priors",
        method="relieff",
        learner="clinical-or-neighbours",
        learner_reason=EITHER,
        alternatives=(JOINT, Choice("svm-rfe", "the favoured columns should act within a machine")),
    ),
    Rule(
        name="columns that tell only together",
        holds=_is_nonlinear,
        explain=lambda facts: (
            f"nearest neighbours err in {facts.neighbour_error:.0%} of rows, the best straight "
            f"line in {facts.linear_error:.0%}: columns tell more together than alone, which "
            "ReliefF sees"
        ),
        source=f"{BOOK}, 3.5.1 and table 3.14; our study book-chapter-3, D22, where the Gaussian "
        "SVM-RFE is level",
        method="relieff",
        reads_labels=True,
        learner="linear-or-neighbours",
        learner_reason=EITHER,
        alternatives=(
            Choice("svm-rfe", "there are two classes and you can wait: the Gaussian kernel takes "
                   "some seven times as long (our study book-chapter-3, D20)", {"kernel": "rbf"}),
            FOREST,
            Choice("multisurf", "the number of neighbours should follow from the table"),
        ),
    ),
    Rule(
        name="many more categories than rows",
        holds=lambda facts: facts.categorical == facts.columns and facts.is_wide,
        explain=lambda facts: (
            f"{facts.columns:,} columns, all categories, for {facts.rows:,} rows: JMI counts "
            "levels as they are, and leaves out what neighbouring columns repeat"
        ),
        source="Brown et al. 2012; no study of ours tests it",
        method="jmi",
        learner="linear-svm",
        learner_reason=LINEAR,
        alternatives=(TESTS, Choice("multisurf", "columns may matter only together"), SUBSET),
    ),
    Rule(
        name="categories",
        holds=lambda facts: facts.categorical == facts.columns,
        explain=lambda facts: (
            f"{facts.columns:,} columns, all categories: ReliefF found exactly the relevant ones "
            "of Monk3, whose labels are noisy"
        ),
        source=f"{BOOK}, tables 3.7 and 3.12; our study book-chapter-3, D12",
        method="relieff",
        learner="clinical-or-neighbours",
        learner_reason=EITHER,
        alternatives=(FOREST, JOINT, SUBSET),
    ),
    Rule(
        name="mixed columns, two classes",
        holds=lambda facts: facts.categorical > 0 and facts.classes == 2,
        explain=lambda facts: (
            f"{_describe_kinds(facts)}: MKL-RFE learns a weight for the kernel of each column, "
            "whatever its kind and missing values, and ranked best on six clinical tables"
        ),
        source=f"{PAUL}; our study heterogeneous, A1 to A3",
        method="mkl-rfe",
        learner="clinical-svm",
        learner_reason=CLINICAL,
        alternatives=(FOREST, Choice("relieff", "columns may matter only together"), TESTS),
    ),
    Rule(
        name="mixed columns, many classes",
        holds=lambda facts: facts.categorical > 0,
        explain=lambda facts: (
            f"{_describe_kinds(facts)}, {facts.classes} classes: a forest takes all kinds, "
            "missing values and classes at once, and is level with MKL-RFE, which is for two "
            "classes"
        ),
        source=f"{PAUL}; our study heterogeneous, A3; with many classes no study of ours tests it",
        method="forest",
        learner="clinical-svm",
        learner_reason=CLINICAL,
        alternatives=(JOINT, Choice("relieff", "the forest takes too long"), TESTS),
    ),
    Rule(
        name="many classes",
        holds=lambda facts: (
            facts.classes > 2 and (not facts.columns_with_gaps or _is_fillable(facts))
        ),
        explain=lambda facts: (
            f"{facts.classes} classes and numbers only: one elimination for all classes, by "
            "machines for each pair that share their columns, beat all eight others on the UCI "
            "tables and all rules for combining lists on gene tables"
        ),
        source="our study multiclass-real, T8, against Izetta et al. 2017, who prefer k-first",
        method="multiclass-svm-rfe",
        parameters={"formulation": "ovo"},
        learner="linear-svm",
        learner_reason=LINEAR,
        alternatives=(
            Choice("pairwise", "you want to know which pair of classes each column is for "
                   "(our study multiclass: class-specific columns)", {"combine": "best"}),
            Choice("relieff", "columns may matter only together"),
            JOINT,
        ),
    ),
    Rule(
        name="mostly zeros",
        holds=lambda facts: facts.is_wide and facts.zeros >= MOSTLY_ZEROS,
        explain=lambda facts: (
            f"{facts.zeros:.0%} of the cells are 0: distances between such rows say little, "
            "counts do"
        ),
        source="Brown et al. 2012, who find JMI the best compromise, text and drug tables of the "
        "NIPS challenge included; no study of ours tests it",
        method="jmi",
        learner="linear-svm",
        learner_reason=LINEAR,
        alternatives=(
            MACHINE,
            Choice("chi-squared", "one number a column, quickly"),
            SUBSET,
        ),
    ),
    Rule(
        name="more columns than rows",
        holds=lambda facts: facts.is_wide,
        explain=lambda facts: (
            f"{facts.columns:,} columns of numbers for {facts.rows:,} rows: ReliefF has the "
            "highest mean rate of seven methods on gene tables, though hardly more than chance "
            "tells them apart; the book's table 3.14 prefers SVM-RFE, which came out level"
        ),
        source=f"our study microarray, E6, and {BOOK}, 3.5.1",
        method="relieff",
        learner="linear-or-neighbours",
        learner_reason=EITHER,
        alternatives=(STABLE, MACHINE, SUBSET),
    ),
    Rule(
        name="nothing special",
        holds=lambda facts: True,
        explain=lambda facts: (
            f"{facts.rows:,} rows, {facts.columns:,} columns of numbers: where nothing else is "
            "known, ReliefF finds the relevant columns most often, noise and combined effects "
            "included"
        ),
        source=f"{BOOK}, 3.5.1 and table 3.12; our study book-chapter-3, D21: 79, the next has 62",
        method="relieff",
        learner="linear-or-neighbours",
        learner_reason=EITHER,
        alternatives=(FOREST, JOINT, SUBSET),
    ),
)  # fmt: skip


def first_rule(facts: Facts, *, training_rows_only: bool) -> Rule:
    """Return the first rule that holds, of all or of those that read no labels."""
    return next(
        rule
        for rule in RULES
        if (training_rows_only or not rule.reads_labels) and rule.holds(facts)
    )


def is_applicable(
    method: Method, facts: Facts, parameters: Mapping[str, Any], *, fill: bool
) -> bool:
    """Return whether a method can rank a table, its missing values filled or not."""
    kinds = {
        "continuous": facts.continuous,
        "ordinal": facts.ordinal,
        "categorical": facts.categorical,
    }
    return (
        all(kind in method.kinds for kind, count in kinds.items() if count)
        and (method.missing or fill or not facts.columns_with_gaps)
        and (method.many_classes or facts.classes == 2)
        and (method.sparse or not facts.sparse)
        # a machine that must separate the classes
        and (method is not METHODS["arom"] or facts.is_wide)
        and not (parameters.get("kernel") == "rbf" and (facts.categorical or facts.sparse))
    )


# ---- splits and sizes ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Protocol:
    """Splits, sizes and the rule that chooses one, with reasons."""

    splits: Splitter
    sizes: str
    rule: str
    reasons: tuple[Reason, ...]


def protocol_for(facts: Facts, random_state: int) -> Protocol:
    """Return the splits and sizes to evaluate a selection on such a table with."""
    splits, split_reason = _splits(facts, random_state)
    is_small = facts.columns <= FEW_COLUMNS
    size_reason = Reason(
        f"{facts.columns} columns: every number of them is tried"
        if is_small
        else f"{facts.columns:,} columns: 1, 2, 4, ... up to 512 of them are tried",
        PAUL if is_small else "Helleputte and Dupont 2009",
    )
    rule = "one-standard-error" if isinstance(splits, KFold) else "within-interval"
    rule_reason = Reason(
        "few folds: the smallest size within one standard error of the best"
        if rule == "one-standard-error"
        else "the smallest size whose mean lies in the 95% interval of the best: fewer columns, "
        "and no worse as far as the splits can tell",
        "Breiman et al. 1984" if rule == "one-standard-error" else f"{PAUL}, section 4.1",
    )
    return Protocol(
        splits, "all" if is_small else "powers", rule, (split_reason, size_reason, rule_reason)
    )


def _splits(facts: Facts, random_state: int) -> tuple[Splitter, Reason]:
    units = facts.row_groups or facts.rows
    words = f"{facts.row_groups:,} groups of rows" if facts.row_groups else f"{facts.rows:,} rows"
    together = "; rows of a group stay together" if facts.row_groups else ""
    if units < FEW_TO_TEST:
        return KFold(max(2, min(5, units)), random_state=random_state), Reason(
            f"{words}: every one is tested once{together}", f"{BOOK}, 4.4.1"
        )
    if facts.rows > MANY_ROWS:
        return KFold(5, random_state=random_state), Reason(
            f"{words} are enough for five folds{together}", f"{BOOK}, appendix A.3"
        )
    if facts.smallest_class < FEW_TO_TEST:
        return Subsampling(100, test_size=0.25, random_state=random_state), Reason(
            f"the smallest class has {facts.smallest_class} rows: a quarter of the rows is tested, "
            f"so that it is tested often enough, 100 times{together}",
            "Izetta et al. 2017",
        )
    count = 200 if facts.rows <= FEW_ROWS else 50
    return Subsampling(count, test_size=0.1, random_state=random_state), Reason(
        f"{words}: {count} random splits, a tenth of the rows tested{together}",
        f"{PAUL}, section 4.1",
    )
