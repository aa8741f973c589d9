"""Figures of tables 4.6 to 4.16 of Bolón-Canedo et al. (2015), as printed.

Only the sets that are here, Brain as a substitute. The book does not say which class is "positive";
of Brain, CNS and Colon it follows from the accuracy, the average of sensitivity and specificity by
class sizes. Of Breast the sensitivities are sevenths. Of DLBCL (23 and 24 rows) it is unknown: the
smaller class is taken, as in the ratio of imbalance of table 4.6. Which of two rows of a ranker is
#10 and which #50 is taken from their order. Figures of the holdout are cut off, not rounded (6/7 is
printed as .85).
"""

__all__ = [
    "AVERAGES",
    "BREAST",
    "BREAST_F1",
    "BREAST_GENES",
    "F1",
    "GENES",
    "IMBALANCE",
    "ROWS",
    "SETS",
    "SHOWN",
    "TABLES",
    "TIES_KEPT",
    "read_printed",
    "read_printed_breast",
]

SETS = ("Brain", "CNS", "Colon", "DLBCL")
RANKERS = ("information-gain", "relieff", "svm-rfe", "mrmr")
SUBSETS = ("cfs", "fcbf", "interact")
ROWS = ("none", *SUBSETS, *(f"{ranker} {size}" for ranker in RANKERS for size in (10, 50)))
LEARNERS = ("C4.5", "naive Bayes", "SVM")
# what the rows of INTERACT seem to be of; see microarray_ties
TIES_KEPT = "fcbf, ties kept"
SHOWN = tuple(r for row in ROWS for r in ((row, TIES_KEPT) if row == "interact" else (row,)))

# table -> learner and way to validate
TABLES = {
    "4.11": ("C4.5", "CV"),
    "4.12": ("C4.5", "DOB-SCV"),
    "4.13": ("naive Bayes", "CV"),
    "4.14": ("naive Bayes", "DOB-SCV"),
    "4.15": ("SVM", "CV"),
    "4.16": ("SVM", "DOB-SCV"),
}

# table 4.6
IMBALANCE = {"Brain": 2.00, "CNS": 1.86, "Colon": 1.82, "DLBCL": 1.04}
F1 = {"Brain": 0.89, "CNS": 0.45, "Colon": 1.08, "DLBCL": 2.91}
BREAST_F1 = 0.68  # of the training part; the cells of table 4.5 are lost, section 4.4.2 has it

# table 4.7: five folds, five DOB-SCV folds
GENES = {
    "cfs": {"Brain": (36, 49), "CNS": (44, 44), "Colon": (24, 25), "DLBCL": (61, 65)},
    "fcbf": {"Brain": (1, 1), "CNS": (33, 35), "Colon": (14, 15), "DLBCL": (35, 37)},
    "interact": {"Brain": (36, 49), "CNS": (33, 34), "Colon": (14, 16), "DLBCL": (45, 51)},
}
GENES[TIES_KEPT] = GENES["interact"]
BREAST_GENES = {"cfs": 130, "fcbf": 99, "interact": 102, TIES_KEPT: 102}

# accuracy over all seven sets of the book, in the order of ROWS; None where the print has lost it
AVERAGES = {
    "4.11": (0.77, 0.79, 0.75, 0.77, 0.74, 0.78, 0.75, 0.73, 0.73, 0.76, 0.77, 0.77),
    "4.12": (0.74, 0.76, 0.73, 0.76, 0.76, 0.76, 0.73, 0.74, 0.73, 0.75, 0.78, 0.78),
    "4.13": (0.73, 0.81, 0.79, 0.81, 0.81, 0.80, 0.73, 0.74, 0.78, 0.80, 0.80, 0.78),
    "4.14": (0.76, 0.84, 0.80, 0.84, 0.82, 0.84, 0.74, 0.74, 0.79, 0.80, 0.83, 0.82),
    "4.15": (0.82, 0.78, 0.79, 0.78, 0.77, 0.81, 0.78, 0.78, 0.79, 0.77, 0.78, 0.79),
    "4.16": (0.82, 0.83, 0.79, 0.81, 0.79, 0.81, 0.76, None, 0.79, 0.80, 0.78, 0.80),
}

# accuracy, sensitivity, specificity on Brain, CNS, Colon, DLBCL; lines in the order of ROWS
FOLDS = {
    "4.11": """
    1.00 1.00 1.00   .58 .64 .48   .74 .60 .82   .70 .69 .70
    1.00 1.00 1.00   .62 .64 .58   .79 .68 .85   .75 .78 .71
    .86 .80 .86   .48 .49 .50   .79 .64 .87   .73 .74 .70
    1.00 1.00 1.00   .55 .54 .58   .79 .72 .82   .70 .74 .66
    .71 .70 .70   .62 .69 .48   .72 .78 .70   .75 .79 .71
    .81 .70 .87   .63 .67 .58   .84 .83 .85   .73 .69 .74
    .72 .20 1.00   .47 .59 .25   .72 .50 .85   .85 .83 .87
    .62 .20 .86   .53 .60 .44   .82 .68 .90   .73 .74 .70
    .57 .00 .87   .65 .74 .48   .71 .60 .77   .81 .82 .79
    .70 1.00 .56   .57 .61 .49   .80 .77 .82   .82 .84 .79
    .86 .90 .87   .55 .72 .23   .82 .68 .90   .75 .79 .70
    .86 .90 .87   .58 .70 .39   .82 .77 .85   .73 .69 .74
    """,
    "4.12": """
    .92 .80 1.00   .52 .58 .39   .72 .55 .80   .72 .70 .74
    .92 .80 1.00   .52 .53 .48   .79 .65 .87   .80 .82 .78
    .72 .70 .76   .52 .56 .44   .81 .69 .87   .72 .70 .74
    .92 .80 1.00   .53 .51 .56   .81 .69 .87   .74 .65 .84
    .72 .80 .73   .60 .67 .49   .79 .59 .90   .78 .74 .83
    .77 .80 .80   .54 .59 .44   .84 .74 .90   .80 .82 .79
    .48 .10 .63   .55 .76 .15   .77 .69 .82   .84 .82 .87
    .53 .60 .50   .56 .69 .34   .76 .63 .82   .80 .82 .79
    .59 .40 .70   .56 .66 .37   .76 .64 .82   .82 .73 .92
    .70 .70 .73   .62 .65 .56   .78 .56 .90   .78 .69 .88
    .80 .80 .83   .60 .71 .38   .79 .65 .87   .78 .78 .80
    .84 .90 .83   .60 .66 .47   .82 .69 .90   .76 .78 .74
    """,
    "4.13": """
    .67 .00 1.00   .60 .64 .52   .55 .69 .47   .92 .96 .88
    .81 .50 1.00   .67 .75 .54   .85 .76 .90   .90 .96 .84
    .61 1.00 .40   .70 .77 .58   .80 .76 .82   .90 .96 .84
    .81 .50 1.00   .70 .77 .58   .77 .76 .77   .90 .96 .83
    .86 .70 .93   .63 .67 .58   .79 .72 .82   .94 .96 .92
    .81 .50 1.00   .63 .75 .42   .77 .76 .77   .92 .96 .88
    .20 .20 .20   .63 .72 .48   .82 .72 .87   .94 .96 .92
    .19 .50 .07   .67 .72 .58   .84 .77 .87   .92 .96 .88
    .62 .30 .76   .68 .77 .54   .73 .61 .80   .92 .91 .92
    .67 .20 .90   .70 .82 .49   .76 .69 .80   .92 .91 .92
    .73 .60 .86   .63 .79 .33   .80 .78 .82   .92 .96 .88
    .63 .20 .86   .62 .75 .38   .80 .86 .77   .94 .96 .92
    """,
    "4.14": """
    .67 .00 1.00   .63 .69 .54   .58 .72 .50   .98 1.00 .96
    .92 .80 1.00   .67 .76 .50   .82 .77 .85   .93 1.00 .87
    .71 .80 .70   .58 .69 .40   .79 .77 .80   .96 1.00 .92
    .92 .80 1.00   .62 .69 .50   .84 .86 .82   .93 1.00 .87
    .92 .80 1.00   .60 .59 .64   .77 .72 .80   .91 .96 .87
    .92 .80 1.00   .65 .72 .54   .79 .82 .77   .96 .96 .96
    .26 .30 .20   .65 .69 .57   .84 .72 .90   .93 .96 .91
    .21 .30 .13   .67 .71 .58   .84 .72 .90   .96 .96 .96
    .58 .20 .73   .72 .76 .63   .76 .64 .82   .94 .91 .96
    .71 .10 1.00   .69 .77 .54   .76 .69 .80   .92 1.00 .84
    .75 .80 .73   .68 .74 .58   .82 .77 .85   .98 1.00 .96
    .77 .40 1.00   .67 .71 .59   .79 .82 .77   .98 .96 1.00
    """,
    "4.15": """
    .68 .20 .93   .67 .82 .38   .77 .60 .87   .96 .96 .96
    .61 .60 .66   .62 .70 .49   .81 .69 .87   .88 .86 .88
    .67 .00 1.00   .65 .80 .39   .84 .73 .90   .81 .82 .79
    .61 .60 .66   .62 .75 .39   .81 .64 .90   .88 .91 .83
    .48 .00 .70   .63 .82 .30   .81 .59 .92   .94 .96 .92
    .66 .80 .66   .67 .77 .48   .85 .81 .87   .94 .96 .92
    .50 .00 .73   .68 .87 .34   .81 .60 .92   .94 .96 .92
    .35 .00 .53   .73 .82 .58   .85 .72 .92   .92 1.00 .84
    .62 .20 .86   .73 .84 .53   .73 .56 .82   .87 .87 .88
    .48 .20 .63   .72 .82 .53   .71 .57 .80   .88 .91 .84
    .53 .60 .56   .65 .95 .10   .77 .56 .90   .92 .96 .87
    .49 .20 .63   .70 .77 .57   .84 .77 .87   .96 1.00 .92
    """,
    "4.16": """
    .67 .30 .86   .65 .77 .44   .84 .82 .85   .93 .95 .92
    .80 .70 .87   .66 .74 .54   .82 .78 .85   .94 1.00 .88
    .67 .00 1.00   .58 .71 .35   .79 .68 .85   .92 1.00 .84
    .80 .70 .87   .60 .66 .49   .77 .63 .85   .91 .95 .88
    .62 .00 .93   .65 .81 .34   .79 .58 .90   .91 .96 .87
    .66 .80 .63   .67 .74 .54   .85 .82 .87   .98 1.00 .96
    .45 .10 .60   .63 .84 .25   .82 .58 .95   .95 1.00 .91
    .64 .30 .80   .63 .74 .43   .84 .81 .85   .94 1.00 .88
    .62 .10 .86   .67 .71 .58   .76 .60 .85   .94 1.00 .88
    .67 .30 .86   .65 .72 .54   .81 .78 .82   .91 .95 .88
    .45 .20 .60   .65 .87 .24   .82 .72 .87   .98 1.00 .96
    .58 .10 .80   .70 .74 .63   .84 .78 .87   .93 .95 .92
    """,
}

# accuracy, sensitivity, specificity after C4.5, naive Bayes, SVM (tables 4.8 to 4.10)
BREAST = """
    .74 1.0 .58   .37 1.0 .00   .58 .85 .41
    .68 .71 .66   .37 1.0 .00   .68 .85 .58
    .58 .28 .75   .37 1.0 .00   .58 .28 .75
    .79 .71 .83   .37 1.0 .00   .74 .71 .75
    .47 .28 .58   .32 .85 .00   .58 .71 .50
    .53 .42 .58   .37 1.0 .00   .79 .57 .91
    .58 .28 .75   .74 .71 .75   .84 1.0 .75
    .42 .71 .25   .89 .85 .91   .84 .85 .83
    .58 1.0 .33   .68 .85 .58   .68 1.0 .50
    .58 1.0 .33   .63 1.0 .41   .68 1.0 .50
    .58 .71 .50   .37 1.0 .00   .63 .71 .58
    .74 .42 .91   .37 1.0 .00   .68 .71 .66
"""

Figures = tuple[float, float, float]  # accuracy, sensitivity, specificity


def read_printed(table: str) -> dict[tuple[str, str], Figures]:
    """Return figures of tables 4.11 to 4.16, by set and row; INTERACT's for TIES_KEPT, too."""
    by_row = dict(zip(ROWS, _lines(FOLDS[table]), strict=True))
    by_row[TIES_KEPT] = by_row["interact"]
    return {
        (name, row): figures
        for row in SHOWN
        for name, figures in zip(SETS, by_row[row], strict=True)
    }


def read_printed_breast(learner: str) -> dict[str, Figures]:
    """Return figures of tables 4.8 to 4.10, by row; INTERACT's for TIES_KEPT, too."""
    at = LEARNERS.index(learner)
    by_row = {row: line[at] for row, line in zip(ROWS, _lines(BREAST), strict=True)}
    return {row: by_row["interact" if row == TIES_KEPT else row] for row in SHOWN}


def _lines(text: str) -> list[list[Figures]]:
    """Figures of a block, three by three."""
    lines = []
    for line in text.strip().splitlines():
        figures = [float(figure) for figure in line.split()]
        lines.append(
            [(figures[at], figures[at + 1], figures[at + 2]) for at in range(0, len(figures), 3)]
        )
    return lines
