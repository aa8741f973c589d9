"""Figures of tables 3.1 to 3.14 of Bolón-Canedo et al. (2015), as printed.

Of every table the index of success and the accuracies of naive Bayes, 1-NN and the linear SVM, in
percent; those on Led and SD are in book_led_sd_tables, those of C4.5 in book_chapter_3_c45_tables.
Names of methods are those of the study.
"""

__all__ = [
    "DOTS",
    "LEARNERS",
    "PROBLEMS",
    "PUT_RIGHT",
    "ROWS",
    "SUBSETS",
    "SUCCESS",
    "WHERE",
]

LEARNERS = ("naive-bayes", "1-nn", "linear-svm")
SUBSETS = ("cfs", "consistency", "interact", "information-gain")

WHERE = {
    "corral": "table 3.1",
    "corral-100": "table 3.2",
    "xor-100": "table 3.3",
    "parity3+3": "table 3.4",
    "led-25": "table 3.5",
    "led-100": "table 3.6",
    "monk3 real": "table 3.7",
    "sd1": "table 3.8",
    "sd2": "table 3.9",
    "sd3": "table 3.10",
    "madelon": "table 3.11",
}

# family -> method -> success, then an accuracy for each learner
ROWS = {
    "corral": {
        **dict.fromkeys((*SUBSETS, "wrapper-svm"), (-25, 75.00, 59.38, 75.00)),
        **dict.fromkeys(("relieff", "mrmr", "md-0", "md-1", "svm-rfe"), (75, 81.25, 96.88, 87.50)),
        "svm-rfe-g": (75, 78.13, 81.25, 71.86),
        "fs-p": (100, 78.13, 100.00, 81.25),
    },
    "corral-100": {
        # printed as -2 and -44: a hundred times eq. 3.1
        **dict.fromkeys((*SUBSETS, "wrapper-svm"), (-0.04, 75.00, 59.38, 75.00)),
        "relieff": (75, 84.38, 87.50, 81.25),
        "mrmr": (99, 81.25, 90.63, 90.63),
        "md-0": (99, 81.25, 87.50, 81.25),
        "md-1": (99, 84.38, 81.25, 87.50),
        "svm-rfe": (25, 87.50, 68.75, 96.88),
        "svm-rfe-g": (-0.44, 68.75, 62.50, 75.00),
        "fs-p": (75, 87.50, 84.38, 87.50),
    },
    "xor-100": {
        "relieff": (100, 64.00, 100.00, 70.00),
        "mrmr": (50, 74.00, 64.00, 72.00),
        "md-0": (50, 74.00, 58.00, 70.00),
        "md-1": (50, 70.00, 62.00, 62.00),
        "svm-rfe": (-0.21, 68.00, 56.00, 78.00),  # printed as -21
        "svm-rfe-g": (100, 64.00, 100.00, 70.00),
        "fs-p": (50, 76.00, 62.00, 74.00),
        "wrapper-svm": (-0.02, 66.00, 60.00, 66.00),  # printed as -2
    },
    "parity3+3": {
        "relieff": (93, 29.69, 100.00, 37.50),
        "mrmr": (56, 59.38, 59.38, 59.38),
        "md-0": (-19, 57.81, 50.00, 59.38),
        "svm-rfe": (19, 59.38, 46.88, 57.81),
    },
    "monk3 real": {
        **dict.fromkeys(SUBSETS, (67, 88.52, 89.34, 79.51)),
        "relieff": (100, 88.52, 90.98, 80.33),
        "mrmr": (17, 88.52, 80.33, 78.69),
        **dict.fromkeys(("md-0", "md-1"), (67, 88.52, 84.43, 81.97)),
        **dict.fromkeys(("svm-rfe", "svm-rfe-g", "fs-p"), (67, 88.52, 84.43, 84.43)),
        "wrapper-svm": (83, 89.34, 82.79, 79.51),
    },
    "madelon": {
        "cfs": (20, 69.58, 86.83, 66.08),
        **dict.fromkeys(SUBSETS[1:], (40, 69.67, 90.83, 66.83)),
        "relieff": (80, 69.83, 89.88, 66.46),
        "mrmr": (0, 62.25, 53.13, 57.08),
        **dict.fromkeys(("md-0", "md-1"), (40, 70.21, 85.29, 66.42)),
        "svm-rfe": (80, 66.88, 81.25, 67.42),
        "fs-p": (40, 66.17, 62.54, 66.96),
        "wrapper-svm": (20, 66.04, 54.08, 67.54),
    },
}

# table 3.12: CorrAL, CorrAL-100, XOR, Parity, Led-25, Led-100, Monk3, SD, Madelon, average
PROBLEMS = ("CorrAL", "CorrAL-100", "XOR-100", "Parity3+3", "Led-25", "Led-100", "Monk3", "SD",
            "Madelon")  # fmt: skip
SUCCESS = {
    "cfs": (-25, -2, 0, 0, 55, 55, 67, 89, 20, 29),
    "consistency": (-25, -2, 0, 0, 52, 52, 67, 83, 40, 30),
    "interact": (-25, -2, 0, 0, 55, 55, 67, 81, 40, 30),
    "information-gain": (-25, -2, 0, 0, 62, 62, 67, 89, 40, 33),
    "relieff": (75, 75, 100, 93, 90, 80, 100, 47, 80, 82),
    "mrmr": (75, 99, 50, 56, 90, 76, 17, 31, 0, 55),
    "md-0": (75, 99, 50, -19, 76, 73, 67, 83, 40, 60),
    "md-1": (75, 99, 50, -19, 76, 76, 67, 47, 40, 57),
    "svm-rfe": (75, 25, -21, 19, 48, 47, 67, 89, 80, 48),
    "fs-p": (100, 75, -19, -19, 93, 85, 67, 22, 40, 49),
    "wrapper-svm": (-25, -2, -4, -4, 54, 57, 83, 31, 20, 23),
    "wrapper C4.5": (-25, -13, -4, -4, 60, 55, 67, 22, 99, 29),
}
# the values of tables 3.3 and 3.8 to 3.10 instead, and eq. 3.1 instead of a hundred times that
PUT_RIGHT = {
    "cfs": {"CorrAL-100": -0.04},
    "consistency": {"CorrAL-100": -0.04},
    "interact": {"CorrAL-100": -0.04},
    "information-gain": {"CorrAL-100": -0.04},
    "svm-rfe": {"XOR-100": -0.21},
    "fs-p": {"XOR-100": 50},
    "wrapper-svm": {"CorrAL-100": -0.04, "XOR-100": -0.02},
    "wrapper C4.5": {"CorrAL-100": -0.13, "XOR-100": 99, "SD": 14},
}

# dots of table 3.14, 1 to 5; None where the print has lost them
DOTS = {
    "cfs": (1, 1, 1, None, None),
    "consistency": (1, 1, 1, 3, 2),
    "interact": (1, 1, 1, 3, 3),
    "information-gain": (1, 1, 1, 3, 3),
    "relieff": (4, 5, 5, 5, 2),
    "mrmr": (4, 3, 5, 2, 1),
    "md-0": (4, 2, 3, 3, 3),
    "md-1": (4, 2, 3, 3, 3),
    "svm-rfe": (4, 1, 1, 4, 5),
    "svm-rfe-g": (4, 5, 3, 4, None),
    "fs-p": (5, 2, 4, 4, 1),
    "wrapper-svm": (1, 1, 3, 4, 2),
}
