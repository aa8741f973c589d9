"""Tables 3.5, 3.6, 3.8 to 3.10 and 3.13 of Bolón-Canedo et al. (2015), as printed, but for C4.5.

Accuracies are those of naive Bayes, 1-NN and the linear SVM, in percent. A "-" is lost in the
print. The table calls the Gaussian SVM-RFE "SVM-RFE n-l" at first; what table 3.13 gives to it on
SD is of the linear one, since the Gaussian one was not run there.
"""

from studies.book_tables import LEARNERS

__all__ = ["BEST", "LED_ROWS", "SD_ROWS"]

Row = tuple[float | None, ...]


def _rows(text: str) -> dict[str, Row]:
    """Return the figures after the name of each line."""
    rows = {}
    for line in text.strip().splitlines():
        name, *figures = line.split()
        rows[name] = tuple(None if figure == "-" else float(figure) for figure in figures)
    return rows


def _sized_rows(text: str) -> dict[tuple[str, int], Row]:
    """Return the figures after the name and the number of columns of each line."""
    rows = {}
    for line in text.strip().splitlines():
        name, size, *figures = line.split()
        rows[name, int(size)] = tuple(float(figure) for figure in figures)
    return rows


# family -> method -> success, then an accuracy for each learner
LED_ROWS = {
    "led-25 0%": _rows("""
        cfs 86 100 100 96
        consistency 71 100 100 96
        interact 86 100 100 96
        information-gain 100 100 100 96
        relieff 93 96 84 96
        mrmr 93 98 90 98
        md-0 76 92 82 98
        md-1 76 92 82 96
        svm-rfe 93 98 80 96
        svm-rfe-g 100 100 100 96
        fs-p 100 100 100 96
        wrapper-svm 67 90 82 100
        wrapper-c4.5 71 90 82 96
    """),
    "led-25 2%": _rows("""
        cfs 71 98 96 94
        consistency 71 98 96 94
        interact 71 98 96 94
        information-gain 100 96 94 94
        relieff 93 88 82 88
        mrmr 93 88 82 88
        md-0 76 84 76 94
        md-1 76 84 78 88
        svm-rfe 93 88 86 94
        svm-rfe-g 93 92 80 86
        fs-p 100 96 94 94
        wrapper-svm 67 88 80 96
        wrapper-c4.5 71 98 96 94
    """),
    "led-25 6%": _rows("""
        cfs 71 76 66 68
        consistency 71 76 66 68
        interact 71 76 66 68
        information-gain 71 76 66 68
        relieff 93 62 66 64
        mrmr 93 62 66 64
        md-0 76 62 60 68
        md-1 76 64 60 66
        svm-rfe 59 62 58 68
        svm-rfe-g 59 62 58 64
        fs-p 76 56 56 62
        wrapper-svm 50 66 58 70
        wrapper-c4.5 69 68 58 66
    """),
    "led-25 10%": _rows("""
        cfs 57 50 58 46
        consistency 57 50 58 46
        interact 57 50 58 46
        information-gain 57 - 58 46
        relieff 76 - 52 54
        mrmr 76 50 52 54
        md-0 76 - 52 60
        md-1 76 50 52 54
        svm-rfe 26 40 42 50
        svm-rfe-g 59 48 46 56
        fs-p 93 48 58 52
        wrapper-svm 67 54 52 68
        wrapper-c4.5 57 64 58 62
    """),
    "led-25 15%": _rows("""
        cfs 29 28 32 36
        consistency 29 28 32 36
        interact 29 28 32 36
        information-gain 29 28 32 36
        relieff 93 38 46 52
        mrmr 93 38 46 52
        md-0 76 42 44 52
        md-1 76 36 46 48
        svm-rfe 9 34 28 36
        svm-rfe-g 43 30 26 38
        fs-p 93 40 48 54
        wrapper-svm 21 48 40 56
        wrapper-c4.5 57 44 40 54
    """),
    "led-25 20%": _rows("""
        cfs 14 20 28 28
        consistency 14 20 28 28
        interact 14 20 28 28
        information-gain 14 20 28 28
        relieff 93 30 40 42
        mrmr 93 30 40 42
        md-0 76 36 34 44
        md-1 76 32 38 44
        svm-rfe 9 24 18 20
        svm-rfe-g 43 36 20 34
        fs-p 93 34 36 40
        wrapper-svm 50 38 38 56
        wrapper-c4.5 36 40 34 42
    """),
    "led-100 0%": _rows("""
        cfs 86 100 100 96
        consistency 71 100 100 96
        interact 86 100 100 96
        information-gain 100 100 100 96
        relieff 99 94 96 100
        mrmr 85 94 88 96
        md-0 85 92 76 92
        md-1 85 92 90 96
        svm-rfe 71 54 48 48
        svm-rfe-g 85 92 80 94
        fs-p 99 92 86 96
        wrapper-svm 71 90 82 100
        wrapper-c4.5 71 100 100 96
    """),
    "led-100 2%": _rows("""
        cfs 71 98 96 94
        consistency 71 98 96 94
        interact 71 98 96 94
        information-gain 100 96 94 94
        relieff 99 90 84 92
        mrmr 85 86 80 86
        md-0 85 86 76 84
        md-1 85 86 76 84
        svm-rfe 71 70 54 70
        svm-rfe-g 85 90 74 88
        fs-p 99 86 82 90
        wrapper-svm 71 88 80 96
        wrapper-c4.5 71 98 96 94
    """),
    "led-100 6%": _rows("""
        cfs 71 78 72 70
        consistency 71 78 72 70
        interact 71 78 72 70
        information-gain 71 78 72 70
        relieff 85 66 68 72
        mrmr 85 66 68 72
        md-0 71 56 56 62
        md-1 85 64 66 64
        svm-rfe 42 50 34 52
        svm-rfe-g 85 72 50 72
        fs-p 85 56 62 70
        wrapper-svm 99 54 58 84
        wrapper-c4.5 57 72 66 72
    """),
    "led-100 10%": _rows("""
        cfs 57 50 58 46
        consistency 57 50 58 46
        interact 57 50 58 46
        information-gain 57 50 58 46
        relieff 71 54 66 64
        mrmr 71 60 66 66
        md-0 71 58 72 60
        md-1 71 56 62 66
        svm-rfe 57 36 38 42
        svm-rfe-g 42 34 30 40
        fs-p 85 46 48 58
        wrapper-svm 42 56 56 78
        wrapper-c4.5 43 58 56 66
    """),
    "led-100 15%": _rows("""
        cfs 29 28 32 36
        consistency 29 28 32 36
        interact 29 28 32 36
        information-gain 29 28 32 36
        relieff 71 50 54 64
        mrmr 71 50 54 64
        md-0 71 50 54 64
        md-1 71 50 52 56
        svm-rfe 42 20 16 26
        svm-rfe-g 28 24 12 16
        fs-p 71 28 22 26
        wrapper-svm 42 50 42 64
        wrapper-c4.5 57 50 46 52
    """),
    "led-100 20%": _rows("""
        cfs 14 20 28 28
        consistency 14 20 28 28
        interact 14 20 28 28
        information-gain 14 20 28 28
        relieff 57 38 44 44
        mrmr 57 38 42 48
        md-0 57 38 38 32
        md-1 57 32 28 34
        svm-rfe -1 26 20 20
        svm-rfe-g 57 32 14 26
        fs-p 71 24 24 20
        wrapper-svm 14 38 28 44
        wrapper-c4.5 28 32 28 32
    """),
}  # fmt: skip

# family -> method and number of columns -> relevant groups, then an accuracy for each learner
SD_ROWS = {
    "sd1": _sized_rows("""
        cfs 28 2 82.67 69.33 77.33
        consistency 8 2 76.00 60.00 66.67
        interact 23 2 81.33 66.67 80.00
        information-gain 42 2 72.00 70.67 78.67
        relieff 2 1 45.33 44.00 46.67
        relieff 20 2 61.33 70.67 73.33
        mrmr 2 1 49.33 34.67 50.67
        mrmr 20 1 82.67 68.00 78.67
        svm-rfe 2 2 60.00 52.00 57.33
        svm-rfe 20 2 88.00 76.00 92.00
        fs-p 2 0 49.33 41.33 50.67
        fs-p 20 1 76.00 65.33 73.33
        md-0 2 1 48.00 32.00 44.00
        md-0 20 2 62.67 46.67 66.67
        md-1 2 1 61.33 58.67 57.33
        md-1 20 2 62.67 46.67 66.67
        wrapper-svm 19 1 74.67 58.67 94.67
    """),
    "sd2": _sized_rows("""
        cfs 21 4 84.00 72.00 81.33
        consistency 9 4 70.67 60.00 72.00
        interact 20 3 80.00 74.67 81.33
        information-gain 40 4 69.33 61.33 76.00
        relieff 4 0 64.00 50.67 52.00
        relieff 20 1 60.00 61.33 70.67
        mrmr 4 1 64.00 60.00 57.33
        mrmr 20 1 70.67 44.00 68.00
        svm-rfe 4 3 62.67 54.67 65.33
        svm-rfe 20 4 82.67 69.33 84.00
        fs-p 4 0 54.67 40.00 57.33
        fs-p 20 0 68.00 42.67 61.33
        md-0 4 2 56.00 26.67 50.67
        md-0 20 4 64.00 49.33 68.00
        md-1 4 1 69.33 56.00 69.33
        md-1 20 1 62.67 60.00 74.67
        wrapper-svm 13 1 60.00 45.33 77.33
    """),
    "sd3": _sized_rows("""
        cfs 23 4 80.00 73.33 70.67
        consistency 9 3 76.00 62.67 76.00
        interact 19 4 82.67 70.67 66.67
        information-gain 49 4 65.33 65.33 73.33
        relieff 6 1 57.33 45.33 53.33
        relieff 20 1 69.33 61.33 68.00
        mrmr 6 1 62.67 66.67 65.33
        mrmr 20 1 77.33 52.00 66.67
        svm-rfe 6 3 70.67 61.33 65.33
        svm-rfe 20 4 85.33 70.67 82.67
        fs-p 6 0 54.67 34.67 46.67
        fs-p 20 1 61.33 45.33 56.00
        md-0 6 1 58.67 40.00 54.67
        md-0 20 3 57.33 50.67 54.67
        md-1 6 1 58.67 42.67 53.33
        md-1 20 1 66.67 60.00 70.67
        wrapper-svm 10 1 61.33 61.33 81.33
    """),
}  # fmt: skip

# table 3.13: family -> for each learner the methods that have the best accuracy
BEST = {
    family: dict(zip(LEARNERS, methods, strict=True))
    for family, methods in {
        "corral": (("relieff", "mrmr", "md-0", "md-1", "svm-rfe"), ("fs-p",),
                   ("relieff", "mrmr", "md-0", "md-1", "svm-rfe")),
        "corral-100": (("fs-p", "svm-rfe"), ("mrmr",), ("svm-rfe",)),
        "xor-100": (("fs-p",), ("relieff", "svm-rfe-g"), ("svm-rfe",)),
        "parity3+3": (("wrapper-svm", "wrapper-c4.5"), ("svm-rfe-g", "relieff"),
                      ("wrapper-svm", "wrapper-c4.5")),
        "led-25 0%": (("information-gain", "svm-rfe-g", "fs-p", "cfs", "interact", "consistency"),
                      ("information-gain", "svm-rfe-g", "fs-p", "cfs", "interact", "consistency"),
                      ("wrapper-svm",)),
        "led-25 20%": (("wrapper-c4.5",), ("relieff", "mrmr"), ("wrapper-svm",)),
        "led-100 0%": (("information-gain", "cfs", "interact", "consistency", "wrapper-c4.5"),
                       ("information-gain", "cfs", "interact", "consistency", "wrapper-c4.5"),
                       ("relieff", "wrapper-svm")),
        "led-100 20%": (("relieff", "mrmr", "md-0", "wrapper-svm"), ("relieff",), ("mrmr",)),
        "monk3 real": (("wrapper-svm",), ("relieff",), ("svm-rfe", "svm-rfe-g", "fs-p")),
        "sd1": (("svm-rfe",), ("svm-rfe",), ("wrapper-svm",)),
        "sd2": (("cfs",), ("interact",), ("svm-rfe",)),
        "sd3": (("svm-rfe",), ("cfs",), ("svm-rfe",)),
        "madelon": (("md-0", "md-1"), ("consistency", "interact", "information-gain"),
                    ("wrapper-svm",)),
    }.items()
}  # fmt: skip
