"""The wrapper around the linear SVM on the small problems of Bolón-Canedo et al. (2015), chapter 3.

As Weka's WrapperSubsetEval: accuracy in five folds of the training rows, best-first search; the
protocol is that of the study of the whole chapter. The Led, SD and Madelon problems were not run: a
step there trains thousands of machines. C4.5 judges beside the learners of that study.
"""

from featly import Wrapper
from featly.study import Claim, Dataset, KFold, Study
from studies import book_chapter_3
from studies.book_chapter_3_c45 import accuracy
from studies.book_chapter_3_c45_tables import WRAPPER_SVM
from studies.book_tables import LEARNERS, WHERE

DRAWS = {"corral": 19, "parity3+3": 19, "corral-100": 5, "xor-100": 5}


def datasets() -> dict[str, Dataset]:
    """Some draws of four problems, and Monk3."""
    return {
        name: data
        for name, data in book_chapter_3.datasets(DRAWS, ()).items()
        if name.partition("/")[0] in (*DRAWS, "monk3 real")
    }


def claims() -> list[Claim]:
    """The printed rows of the wrapper."""
    shown_tables = ("3.1", "3.2", "3.3", "3.4", "3.7")
    rows = book_chapter_3.printed_rows(["wrapper-svm"])
    return [claim for claim in rows if claim.where.removeprefix("table ") in shown_tables] + [
        accuracy(f"T{WHERE[family][6:]} wrapper-svm c4.5", f"wrapper-svm on {family}: accuracy of "
                 "C4.5 (selected on all rows)", percent, WHERE[family], dataset=family,
                 method="wrapper-svm")
        for family, percent in WRAPPER_SVM.items()
    ]  # fmt: skip


def study() -> Study:
    """The plan."""
    return Study(
        {"wrapper-svm": Wrapper(estimator="linear-svm", search="best-first")},
        datasets(),
        KFold(10),
        sizes=book_chapter_3.sizes,
        learner=[*LEARNERS, "c4.5"],
        balanced=False,
        metrics=("success", "relevant", "redundant", "irrelevant", "accuracy"),
        selection="outside",
        claims=claims(),
        title="book, chapter 3: the wrapper around the linear SVM",
    )
