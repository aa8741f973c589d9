r"""Artificial-1, -2, -3: many Gaussian classes, and which columns matter for which.

.. math::

    x_{ij} \sim N(\mu_{y_i j},\, 0.5^2) \text{ for relevant } j, \qquad
    x_{ij} \sim N(0, 1) \text{ for the others}

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216, section 3.2.
"""

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.params import OneOf, Whole
from featly.datasets.synthetic import (
    Synthetic,
    generators,
    names,
    table,
)

__all__ = ["artificial_means", "make_artificial"]

DEVIATION = 0.5  # of relevant columns within a class
SHIFT = 0.75  # Artificial-1 and -2: of a class in one of its own columns
RANGE = 0.85  # Artificial-3: from the lowest class mean of a column to the highest
COLUMNS_PER_CLASS = 5
DESCRIPTIONS = {
    1: "each class is shifted in five columns of its own",
    2: "f1 to f5 are for classes 1 to 3, f6 to f10 for 4 and 5, and five each for 6, 7 and 8",
    3: "every relevant column tells all classes apart",
}


def artificial_means(problem: int, n_classes: int = 8) -> np.ndarray:
    r"""Return the class means of the relevant columns of Artificial-1, -2 and -3.

    Parameters
    ----------
    problem : 1, 2 or 3
        Which of the three.

        1. Class c has mean 0.75 in columns 5c - 4 to 5c, all others have 0.
        2. In columns 1 to 5, classes 1, 2, 3 have means 0.75, -0.75, 1.5; in columns 6 to 10,
           classes 4, 5 have 0.75, -0.75; in columns 11 to 15, 16 to 20, 21 to 25, class 6, 7, 8
           has 0.75. All other means are 0.
        3. In every column the classes lie evenly spaced from -0.425 to 0.425. Class c comes
           in place (c + j) mod n_classes in column j, so that every column tells every two
           classes apart, and is worth as much as any other.
    n_classes : int, default=8
        Classes, at least 2; of problem 2 always 8.

    Returns
    -------
    float array of shape (n_classes, n_relevant)
        `n_relevant` is 5 `n_classes`; of problem 2 it is 25.

    Examples
    --------
    >>> from featly.datasets import artificial_means
    >>> artificial_means(2)[:, [0, 5, 10, 15, 20]].T
    array([[ 0.75, -0.75,  1.5 ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  0.75, -0.75,  0.  ,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.75,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.75,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.75]])
    """
    OneOf(1, 2, 3).check("problem", problem)
    Whole(at_least=2).check("n_classes", n_classes)
    if problem == 1:
        return np.repeat(SHIFT * np.eye(n_classes), COLUMNS_PER_CLASS, axis=1)
    if problem == 2:
        if n_classes != 8:
            raise ParameterError(f"n_classes={n_classes!r}: problem 2 has 8 classes, leave it out")
        groups = np.zeros((8, 5))
        groups[[0, 1, 2], 0] = SHIFT, -SHIFT, 2 * SHIFT
        groups[[3, 4], 1] = SHIFT, -SHIFT
        groups[[5, 6, 7], [2, 3, 4]] = SHIFT
        return np.repeat(groups, COLUMNS_PER_CLASS, axis=1)
    column = np.arange(1, n_classes * COLUMNS_PER_CLASS + 1)
    slot = (np.arange(1, n_classes + 1)[:, None] + column) % n_classes
    return RANGE * (slot / (n_classes - 1) - 0.5)


def make_artificial(
    problem: int,
    *,
    n_classes: int = 8,
    n_rows: int = 3000,
    n_noise: int = 500,
    random_state: int = 0,
) -> Synthetic:
    r"""Make Artificial-1, -2 or -3: columns for one class, for a few, or for all.

    Relevant columns are Gaussian with standard deviation 0.5 around the means of
    :func:`artificial_means`, independent within a class; the others are N(0, 1).

    1. Five columns for each class shift that class alone.
    2. Eight classes, 25 columns: f1 to f5 tell classes 1, 2, 3 apart from each other and from the
       rest; f6 to f10 classes 4 and 5; f11 to f25 one class each, five by five. The more classes,
       the more a column is worth: `tiers` are "1 to 5", "6 to 10", "11 to 25" and "irrelevant".
    3. Five columns for each class, and every one of them tells all classes apart.

    Parameters
    ----------
    problem : 1, 2 or 3
        Which of the three.
    n_classes : int, default=8
        Classes, at least 2; of problem 2 always 8. The paper has 3, 4, 5, 8 and 16 for problem 1
        and 3, 8 and 16 for problem 3.
    n_rows : int, default=3000
        Rows, at least `n_classes`. The classes share them as evenly as possible, in random order.
    n_noise : int, default=500
        Irrelevant columns.
    random_state : int, default=0
        Seed of the random numbers.
        Irrelevant columns have a stream of their own.

    Returns
    -------
    Synthetic
        The classes are 1 to `n_classes`.

    Notes
    -----
    The shifts were never printed; these are ours. The Bayes error, that of the best rule, is

    ==========  ===  ===  ===  ===  ===
    classes       3    4    5    8   16
    ==========  ===  ===  ===  ===  ===
    problem 1   1.7  2.4  3.0  4.6  7.8
    problem 2                  4.6
    problem 3   1.8            4.6  5.3
    ==========  ===  ===  ===  ===  ===

    percent. What the paper means by columns that are relevant for several classes is not printed
    either: here these classes differ from each other in them, since otherwise nothing could tell
    classes 1 to 3 of problem 2 apart.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216, section 3.2.

    Examples
    --------
    >>> from featly.datasets import make_artificial
    >>> artificial = make_artificial(2, n_rows=400, n_noise=9)
    >>> artificial
    Synthetic(artificial-2: 400 rows, 8 classes, 34 columns: 25 relevant, 0 redundant, 9 irrelevant)
    >>> {name: len(columns) for name, columns in artificial.tiers.items()}
    {'1 to 5': 5, '6 to 10': 5, '11 to 25': 15, 'irrelevant': 9}
    """
    means = artificial_means(problem, n_classes)
    Whole(at_least=n_classes).check("n_rows", n_rows)
    Whole(at_least=0).check("n_noise", n_noise)
    rows, values, noise = generators(random_state, 3)
    y = rows.permutation(np.arange(n_rows) % n_classes)
    n_relevant = means.shape[1]
    tiers = {"1 to 5": names(1, 5), "6 to 10": names(6, 10), "11 to 25": names(11, 25)}
    return Synthetic(
        name=f"artificial-{problem}",
        X=table(
            means[y].T + DEVIATION * values.normal(size=(n_relevant, n_rows)),
            noise.normal(size=(n_noise, n_rows)),
        ),
        y=y + 1,
        relevant=tuple((column,) for column in names(1, n_relevant)),
        redundant={},
        description=f"{n_classes} Gaussian classes: {DESCRIPTIONS[problem]}; {n_noise} random "
        "columns",
        relevant_tiers=tiers if problem == 2 else {},
    )
