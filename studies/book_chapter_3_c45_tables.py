"""Figures of tables 3.1 to 3.11 of Bolón-Canedo et al. (2015) for C4.5 and its wrapper.

Accuracies in percent; None where the print has lost one. Names of methods are those of the studies.
"""

from studies.book_tables import SUBSETS

__all__ = ["C45", "LED_C45", "LED_WRAPPER", "SD_C45", "WRAPPER",
           "WRAPPER_SVM"]  # fmt: skip

# family -> method -> accuracy of C4.5
C45: dict[str, dict[str, float]] = {
    "corral": {
        **dict.fromkeys(SUBSETS, 75.00),
        **dict.fromkeys(("relieff", "mrmr", "md-0", "md-1", "svm-rfe"), 62.50),
        **dict.fromkeys(("svm-rfe-g", "fs-p"), 81.25),
    },
    "corral-100": {
        **dict.fromkeys(SUBSETS, 75.00),
        **dict.fromkeys(("relieff", "mrmr", "fs-p"), 53.13),
        "md-0": 65.63,
        "md-1": 59.38,
        "svm-rfe": 62.50,
        "svm-rfe-g": 68.75,
    },
    "xor-100": {
        **dict.fromkeys(("relieff", "svm-rfe-g"), 100.00),
        "mrmr": 52.00,
        "md-0": 54.00,
        "md-1": 58.00,
        "svm-rfe": 48.00,
        "fs-p": 62.00,
    },
    "parity3+3": {
        **dict.fromkeys(("relieff", "svm-rfe-g"), 90.63),
        "mrmr": 60.94,
        "md-0": 53.13,
        **dict.fromkeys(("md-1", "svm-rfe"), 54.69),
        "fs-p": 51.56,
    },
    "monk3 real": {
        **dict.fromkeys(
            (*SUBSETS, "relieff", "md-0", "md-1", "svm-rfe", "svm-rfe-g", "fs-p"), 93.44
        ),
        "mrmr": 92.62,
    },
    "madelon": {
        "cfs": 80.92,
        **dict.fromkeys(SUBSETS[1:], 83.54),
        "relieff": 84.21,
        "mrmr": 64.92,
        **dict.fromkeys(("md-0", "md-1"), 83.23),
        "svm-rfe": 86.42,
        "fs-p": 70.50,
    },
}

# accuracy of C4.5 by noise 0, 2, 6, 10, 15, 20%, on Led-25 and on Led-100
LED_C45: dict[str, tuple[tuple[float | None, ...], tuple[float | None, ...]]] = {
    **dict.fromkeys(SUBSETS[:3], ((92, 90, 70, 60, 28, 28), (92, 90, 72, 60, 28, 28))),
    "information-gain": ((92, 90, 70, 60, 28, 28), (None, 90, 72, 60, 28, 28)),
    "relieff": ((92, 86, 64, 56, 48, 24), (92, 90, 60, 74, 54, 30)),
    "mrmr": ((92, 84, 64, 56, 48, 24), (92, 88, 60, 66, 54, 34)),
    "md-0": ((90, 84, 62, 58, 48, 36), (86, 84, 58, 68, 54, 32)),
    "md-1": ((90, 84, 62, 56, 44, 36), (86, 84, 58, 74, 58, 38)),
    "svm-rfe": ((92, 86, 62, 44, 26, 16), (46, 68, 52, 44, 30, 8)),
    "svm-rfe-g": ((92, 88, 60, 58, 34, 38), (92, 90, 70, 26, 16, 32)),
    "fs-p": ((92, 90, 64, 60, 48, 34), (92, 90, 72, 60, 30, 18)),
}

# SD1, SD2, SD3: accuracy of C4.5; of rankers with the optimal number of columns, and with 20
SD_C45: dict[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = {
    "cfs": ((57.33,), (64.00,), (64.00,)),
    "consistency": ((54.67,), (54.67,), (58.67,)),
    "interact": ((60.00,), (70.67,), (61.33,)),
    "information-gain": ((58.67,), (61.33,), (62.67,)),
    "relieff": ((40.00, 60.00), (48.00, 54.67), (50.67, 56.00)),
    "mrmr": ((41.33, 54.67), (54.67, 60.00), (62.67, 50.67)),
    "svm-rfe": ((56.00, 46.67), (46.67, 57.33), (56.00, 49.33)),
    "fs-p": ((37.33, 53.33), (42.67, 52.00), (36.00, 38.67)),
    "md-0": ((41.33, 56.00), (56.00, 54.67), (52.00, 45.33)),
    "md-1": ((48.00, 54.67), (46.67, 52.00), (52.00, 54.67)),
}

# the wrapper around the linear SVM: accuracy of C4.5
WRAPPER_SVM = {
    "corral": 75.00,
    "corral-100": 75.00,
    "xor-100": 66.00,
    "parity3+3": 64.06,
    "monk3 real": 93.44,
}

# the wrapper around C4.5: success, then accuracies of C4.5, naive Bayes, 1-NN, linear SVM
WRAPPER = {
    "corral": (-25, 75.00, 75.00, 59.38, 75.00),
    "corral-100": (-0.13, 84.38, 75.00, 75.00, 75.00),  # printed as -13
    "xor-100": (99, 100.00, 70.00, 96.00, 50.00),
    "parity3+3": (-4, 64.06, 64.06, 57.81, 64.06),
    "monk3 real": (67, 93.44, 88.52, 89.34, 79.51),
    "sd1": (0, 77.33, 38.67, 40.00, 38.67),
    "sd2": (25, 72.00, 46.67, 34.67, 42.67),
    "sd3": (17, 68.00, 50.67, 37.33, 48.00),
    "madelon": (99, 87.04, 70.00, 75.42, 66.33),
}
# accuracy of C4.5 by noise, on Led-25 and on Led-100
LED_WRAPPER: dict[str, tuple[float | None, ...]] = {
    "led-25": (92, 90, None, 68, 58, 48),
    "led-100": (None, 90, 76, 76, 58, 44),
}
