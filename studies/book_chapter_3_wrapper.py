"""The wrapper around the linear SVM on the problems of Bolón-Canedo et al. (2015), chapter 3.

As Weka's WrapperSubsetEval: accuracy in five folds of the training rows, best-first search; the
protocol is that of the study of the whole chapter. On the Led problems a machine is 45 machines,
one a pair of digits, so they are drawn few times. SD1 to SD3 and Madelon were not run: a step there
trains tens of thousands of machines. C4.5 judges beside the learners of that study.
"""

from featly import Wrapper
from featly.study import Claim, Dataset, KFold, Study
from studies import book_chapter_3, book_chapter_3_rows
from studies.book_chapter_3_c45 import accuracy
from studies.book_chapter_3_c45_tables import WRAPPER_SVM
from studies.book_tables import LEARNERS, WHERE

DRAWS = {"corral": 19, "parity3+3": 19, "corral-100": 5, "xor-100": 5}
LED_DRAWS = {"led-25": 3, "led-100": 1}


def datasets() -> dict[str, Dataset]:
    """Some draws of every problem but SD1 to SD3 and Madelon, and Monk3."""
    return {
        name: data
        for name, data in book_chapter_3.datasets(DRAWS).items()
        if not name.startswith("led")
        or int(name.rpartition("/")[2]) < LED_DRAWS[name.partition(" ")[0]]
    }


def claims() -> list[Claim]:
    """The printed rows of the wrapper."""
    known = ["wrapper-svm"]
    rows = book_chapter_3_rows.printed_rows(known)
    all_claims = [claim for claim in rows if claim.where != WHERE["madelon"]]
    all_claims += book_chapter_3_rows.led_rows(known)
    why = "a step of the search trains tens of thousands of machines: not run"
    all_claims += [
        Claim.untestable(f"T{WHERE[family][6:]} wrapper-svm", f"wrapper-svm on {family}: success "
                         "and accuracies", why, where=WHERE[family])
        for family in ("sd1", "sd2", "sd3", "madelon")
    ]  # fmt: skip
    return all_claims + [
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
