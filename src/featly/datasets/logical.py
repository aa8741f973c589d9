r"""Problems whose class is a logical rule of a few symbols.

.. math::

    \text{CorrAL: } (f_1 \wedge f_2) \vee (f_3 \wedge f_4), \qquad
    \text{XOR: } f_1 \oplus f_2, \qquad
    \text{parity: } f_1 \oplus f_2 \oplus f_3

Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, Springer, appendix A.2.2.
"""

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.params import Number, OneOf, Whole
from featly.basics.typing import IntArray
from featly.datasets.synthetic import (
    Synthetic,
    generators,
    names,
    share,
    table,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["make_corral", "make_corral_100", "make_led", "make_monk", "make_parity", "make_xor_100"]

AGREEING_ROWS = 24  # of 32: what "correlated to the class by 75%" means
LED_SEGMENTS = "abefgcd"  # columns 1 to 7; the first five are enough to tell the digits
LED_DIGITS = [
    "abcdef",
    "bc",
    "abdeg",
    "abcdg",
    "bcfg",
    "acdfg",
    "acdefg",
    "abc",
    "abcdefg",
    "abcdfg",
]
MONK_LEVELS = (3, 3, 2, 3, 4, 2)  # the six attributes of a robot
MONK_RELEVANT = {1: (1, 2, 5), 2: (1, 2, 3, 4, 5, 6), 3: (2, 4, 5)}
MONK_RULES = {
    1: "f1 = f2 or f5 = 1",
    2: "exactly two of f1 to f6 are 1",
    3: "(f5 = 3 and f4 = 1) or (f5 is not 4 and f2 is not 3)",
}
MONK_TRAINING_ROWS = {1: 124, 2: 169, 3: 122}
MONK_WRONG_LABELS = {1: 0, 2: 0, 3: 6}  # 5% of 122


def make_corral(*, coding: str = "number", random_state: int = 0) -> Synthetic:
    r"""Make CorrAL: four columns that matter, and one that looks better than each of them.

    .. math:: y = (f_1 \wedge f_2) \vee (f_3 \wedge f_4)

    The 32 rows are all combinations of f1 to f5, in random order. f5 is irrelevant. f6 agrees
    with the class in exactly 24 rows: it is redundant once f1 to f4 are known, and a classifier
    that uses it instead of them errs in every fourth row.

    Parameters
    ----------
    coding : {"number", "category"}, default="number"
        Whether columns hold the numbers 0 and 1, or the same as text, which is read as categories.
    random_state : int, default=0
        Seed of the random numbers.
        They draw the 8 rows in which f6 is wrong, and the order of rows.

    Returns
    -------
    Synthetic
        With 32 rows and 6 columns; y is 0 or 1.

    Notes
    -----
    The book takes all combinations of f1 to f4 and f6 instead. Then f6 would be independent of
    the class.

    References
    ----------
    John, G. H., Kohavi, R. and Pfleger, K. (1994), Irrelevant features and the subset selection
    problem, *Proc. 11th Int. Conf. on Machine Learning*, 121-129.

    Examples
    --------
    >>> from featly.datasets import make_corral
    >>> corral = make_corral()
    >>> corral
    Synthetic(corral: 32 rows, 2 classes, 6 columns: 4 relevant, 1 redundant, 1 irrelevant)
    >>> int((corral.X["f6"].to_numpy() == corral.y).sum())
    24
    """
    return _corral("corral", 0, coding, random_state)


def make_corral_100(
    *, n_irrelevant: int = 93, coding: str = "number", random_state: int = 0
) -> Synthetic:
    """Make CorrAL-100: CorrAL and 93 columns of coin flips, three times as many as it has rows.

    Parameters
    ----------
    n_irrelevant : int, default=93
        Columns added to the six of CorrAL, at least 1.
    coding : {"number", "category"}, default="number"
        Whether columns hold the numbers 0 and 1, or the same as text, which is read as categories.
    random_state : int, default=0
        Seed of the random numbers.
        The first six columns are those of :func:`make_corral` with the same seed.

    Returns
    -------
    Synthetic
        With 32 rows and 6 + `n_irrelevant` columns; y is 0 or 1.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section A.2.2.1.

    Examples
    --------
    >>> from featly.datasets import make_corral_100
    >>> make_corral_100()
    Synthetic(corral-100: 32 rows, 2 classes, 99 columns: 4 relevant, 1 redundant, 94 irrelevant)
    """
    Whole(at_least=1).check("n_irrelevant", n_irrelevant)
    return _corral("corral-100", n_irrelevant, coding, random_state)


def _corral(name: str, n_irrelevant: int, coding: str, random_state: int) -> Synthetic:
    rows, mistakes, coins = generators(random_state, 3)
    f = np.array(list(product((0, 1), repeat=5)))[rows.permutation(32)].T
    y = (f[0] & f[1]) | (f[2] & f[3])
    wrong = np.arange(32) >= AGREEING_ROWS
    correlated = y ^ mistakes.permutation(wrong)
    added = f", and {n_irrelevant} random columns" if n_irrelevant else ""
    return Synthetic(
        name=name,
        X=_symbols(coding, f, correlated[None], _coins(coins, n_irrelevant, 32)),
        y=y,
        relevant=tuple((column,) for column in names(1, 4)),
        redundant={"correlated": ("f6",)},
        description="class = (f1 and f2) or (f3 and f4); f6 agrees with the class in "
        f"{AGREEING_ROWS} of 32 rows{added}",
    )


def make_xor_100(
    *,
    n_irrelevant: int = 97,
    n_rows: int = 50,
    coding: str = "number",
    random_state: int = 0,
) -> Synthetic:
    r"""Make XOR-100: two columns that say nothing alone and everything together.

    .. math:: y = f_1 \oplus f_2

    The four combinations of f1 and f2 share the rows as evenly as possible: of 50 rows, 25 are of
    each class. All other columns are coin flips. Rows are in random order.

    Parameters
    ----------
    n_irrelevant : int, default=97
        Columns of coin flips.
    n_rows : int, default=50
        Rows, at least 4.
    coding : {"number", "category"}, default="number"
        Whether columns hold the numbers 0 and 1, or the same as text, which is read as categories.
    random_state : int, default=0
        Seed of the random numbers.
        They draw the coin flips and the order of rows.

    Returns
    -------
    Synthetic
        With `n_rows` rows and 2 + `n_irrelevant` columns; y is 0 or 1.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section A.2.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.datasets import make_xor_100
    >>> xor = make_xor_100()
    >>> xor
    Synthetic(xor-100: 50 rows, 2 classes, 99 columns: 2 relevant, 0 redundant, 97 irrelevant)
    >>> bool(np.all((xor.X["f1"] ^ xor.X["f2"]).to_numpy() == xor.y))
    True
    """
    Whole(at_least=0).check("n_irrelevant", n_irrelevant)
    Whole(at_least=4).check("n_rows", n_rows)
    rows, coins = generators(random_state, 2)
    f = _combinations(2, n_rows, rows)
    return Synthetic(
        name="xor-100",
        X=_symbols(coding, f, _coins(coins, n_irrelevant, n_rows)),
        y=f[0] ^ f[1],
        relevant=(("f1",), ("f2",)),
        redundant={},
        description=f"class = f1 xor f2; {n_irrelevant} random columns",
    )


def make_parity(
    *, n_irrelevant: int = 6, n_rows: int = 64, coding: str = "number", random_state: int = 0
) -> Synthetic:
    r"""Make Parity3+3: the class is whether an odd number of three bits is set.

    .. math:: y = f_1 \oplus f_2 \oplus f_3

    f4, f5 and f6 repeat f1, f2 and f3; f7 to f12 are coin flips. The eight combinations of the
    bits share the rows as evenly as possible: eight each of 64. Rows are in random order.

    Parameters
    ----------
    n_irrelevant : int, default=6
        Columns of coin flips.
    n_rows : int, default=64
        Rows, at least 8.
    coding : {"number", "category"}, default="number"
        Whether columns hold the numbers 0 and 1, or the same as text, which is read as categories.
    random_state : int, default=0
        Seed of the random numbers.
        They draw the coin flips and the order of rows.

    Returns
    -------
    Synthetic
        With `n_rows` rows and 6 + `n_irrelevant` columns; y is 0 or 1. The redundant group is
        "repeats".

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section A.2.2.3.

    Examples
    --------
    >>> from featly.datasets import make_parity
    >>> parity = make_parity()
    >>> parity
    Synthetic(parity3+3: 64 rows, 2 classes, 12 columns: 3 relevant, 3 redundant, 6 irrelevant)
    >>> bool((parity.X["f1"] == parity.X["f4"]).all())
    True
    """
    Whole(at_least=0).check("n_irrelevant", n_irrelevant)
    Whole(at_least=8).check("n_rows", n_rows)
    rows, coins = generators(random_state, 2)
    f = _combinations(3, n_rows, rows)
    return Synthetic(
        name="parity3+3",
        X=_symbols(coding, f, f, _coins(coins, n_irrelevant, n_rows)),
        y=f[0] ^ f[1] ^ f[2],
        relevant=(("f1",), ("f2",), ("f3",)),
        redundant={"repeats": ("f4", "f5", "f6")},
        description="class = f1 xor f2 xor f3; f4, f5, f6 repeat f1, f2, f3; "
        f"{n_irrelevant} random columns",
    )


def make_led(
    *,
    n_irrelevant: int = 17,
    noise: float = 0.0,
    spare: str = "relevant",
    n_rows: int = 50,
    coding: str = "number",
    random_state: int = 0,
) -> Synthetic:
    """Make Led-25 or Led-100: the digit that a seven-segment display shows.

    Columns f1 to f7 are the segments a, b, e, f, g, c, d (a on top, then clockwise to f, g in the
    middle): 1 is lit. Noise sets segments wrong; the other columns are coin flips. Without noise f1
    to f5 are enough to tell the digits, and each of them is needed: f6 and f7 are weakly relevant
    and redundant. The book counts all seven as relevant at every level of noise, so at 0% its index
    of success punishes the subset that it calls optimal in section 2.1; `spare` says how to count.
    The ten digits share the rows as evenly as possible. Rows are in random order.

    Parameters
    ----------
    n_irrelevant : int, default=17
        Columns of coin flips: 17 for Led-25, 92 for Led-100 (names count the class as a column).
    noise : float, default=0.0
        Fraction of the cells of f1 to f7 that are wrong: exactly that many, rounded, of all
        7 x `n_rows`, anywhere. The book has 0, 0.02, 0.06, 0.1, 0.15 and 0.2.
    spare : {"relevant", "redundant"}, default="relevant"
        What f6 and f7 count as. "redundant" is for `noise` = 0 alone, where they are: with noise
        every segment helps to tell the digit.
    n_rows : int, default=50
        Rows, at least 10.
    coding : {"number", "category"}, default="number"
        Whether columns hold the numbers 0 and 1, or the same as text, which is read as categories.
    random_state : int, default=0
        Seed of the random numbers.
        With the same seed, more noise alters the same cells and others, and a larger
        `n_irrelevant` only adds columns.

    Returns
    -------
    Synthetic
        With `n_rows` rows and 7 + `n_irrelevant` columns; y is the digit.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984), *Classification and
    Regression Trees*, Wadsworth.

    Examples
    --------
    >>> from featly.datasets import make_led
    >>> make_led(n_irrelevant=92, noise=0.02)
    Synthetic(led-100: 50 rows, 10 classes, 99 columns: 7 relevant, 0 redundant, 92 irrelevant)

    A one lights two segments, b and c: the second column and the sixth.

    >>> led = make_led()
    >>> led.X.select("f1", "f2", "f3", "f4", "f5", "f6", "f7").row(list(led.y).index(1))
    (0, 1, 0, 0, 0, 1, 0)
    """
    Whole(at_least=0).check("n_irrelevant", n_irrelevant)
    Whole(at_least=10).check("n_rows", n_rows)
    Number(at_least=0, at_most=1).check("noise", noise)
    rows, mistakes, coins = generators(random_state, 3)
    digits = rows.permutation(np.arange(n_rows) % 10)
    shapes = np.array([[int(s in lit) for s in LED_SEGMENTS] for lit in LED_DIGITS])
    segments = shapes[digits].T
    OneOf("relevant", "redundant").check("spare", spare)
    if spare == "redundant" and noise > 0:
        raise ParameterError(
            f"spare='redundant', noise={noise}: with noise all seven segments are relevant, so "
            "leave spare out"
        )
    n_needed = 7 if spare == "relevant" else 5
    wrong = mistakes.permutation(segments.size).reshape(segments.shape)
    segments = segments ^ (wrong < share(noise, segments.size))
    return Synthetic(
        name=f"led-{n_irrelevant + 8}",
        X=_symbols(coding, segments, _coins(coins, n_irrelevant, n_rows)),
        y=digits,
        relevant=tuple((column,) for column in names(1, n_needed)),
        redundant={} if n_needed == 7 else {"spare": names(6, 7)},
        description="class = the digit that segments f1 to f7 (a, b, e, f, g, c, d) show; "
        f"{100 * noise:g}% of their cells are wrong; {n_irrelevant} random columns",
    )


def make_monk(
    problem: int, *, part: str = "train", coding: str = "category", random_state: int = 0
) -> Synthetic:
    r"""Make Monk's problem 1, 2 or 3: logical rules on six attributes of robots.

    Robots have six attributes of 3, 3, 2, 3, 4 and 2 levels, f1 to f6 (head shape, body shape,
    smiling, holding, jacket colour, tie), and are of class 1 if

    1. :math:`f_1 = f_2` or :math:`f_5 = 1`;
    2. exactly two of the six attributes are 1;
    3. :math:`f_5 = 3` and :math:`f_4 = 1`, or :math:`f_5 \ne 4` and :math:`f_2 \ne 3`.

    Parameters
    ----------
    problem : 1, 2 or 3
        Which rule.
    part : "train" or "all", default="train"
        "train" draws 124, 169 or 122 different robots, as many as the training part of the public
        files has; of problem 3, six of them (5%) have the wrong class. "all" is all 432 robots in
        counting order, the test part of the public files: nothing is drawn.
    coding : {"number", "category"}, default="category"
        Whether levels are the texts "1", "2" and so on, since they have no order, or the numbers.
        The figures of Bolón-Canedo et al. (2015) are those of numbers.
    random_state : int, default=0
        Seed of the random numbers.
        They draw the training part.

    Returns
    -------
    Synthetic
        With 6 columns; y is 0 or 1. Relevant are f1, f2, f5; or all; or f2, f4, f5.

    References
    ----------
    Thrun, S. B. and others (1991), *The MONK's Problems: A Performance Comparison of Different
    Learning Algorithms*, report CMU-CS-91-197, Carnegie Mellon University.

    Examples
    --------
    >>> from featly.datasets import make_monk
    >>> make_monk(3)
    Synthetic(monk3: 122 rows, 2 classes, 6 columns: 3 relevant, 0 redundant, 3 irrelevant)
    >>> make_monk(3, part="all").X.row(-1)
    ('3', '3', '2', '3', '4', '2')
    """
    OneOf(1, 2, 3).check("problem", problem)
    OneOf("train", "all").check("part", part)
    rows, mistakes = generators(random_state, 2)
    f = np.array(list(product(*(range(1, n + 1) for n in MONK_LEVELS)))).T
    if part == "train":
        f = f[:, rows.permutation(f.shape[1])[: MONK_TRAINING_ROWS[problem]]]
    f1, f2, _, f4, f5, _ = f
    is_class_1 = {
        1: (f1 == f2) | (f5 == 1),
        2: (f == 1).sum(axis=0) == 2,
        3: ((f5 == 3) & (f4 == 1)) | ((f5 != 4) & (f2 != 3)),
    }[problem]
    n_wrong = MONK_WRONG_LABELS[problem] if part == "train" else 0
    wrong = mistakes.permutation(f.shape[1]) < n_wrong
    noise = f"; {n_wrong} labels are wrong" if n_wrong else ""
    return Synthetic(
        name=f"monk{problem}",
        X=_symbols(coding, f),
        y=(is_class_1 ^ wrong).astype(int),
        relevant=tuple((f"f{number}",) for number in MONK_RELEVANT[problem]),
        redundant={},
        description=f"class 1 where {MONK_RULES[problem]}{noise}",
    )


def _combinations(n_bits: int, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return all combinations of bits, each equally often or once more, in random order."""
    combinations: IntArray = np.array(list(product((0, 1), repeat=n_bits)))
    rows: IntArray = combinations[rng.permutation(np.arange(n_rows) % len(combinations))]
    return rows.T


def _coins(rng: np.random.Generator, n_columns: int, n_rows: int) -> np.ndarray:
    """Return columns of coin flips; more columns begin with the same ones."""
    return rng.integers(2, size=(n_columns, n_rows))


def _symbols(coding: str, *blocks: np.ndarray) -> "pl.DataFrame":
    """Return columns of whole numbers, or of the same as text."""
    import polars as pl

    OneOf("number", "category").check("coding", coding)
    numbers = table(*blocks)
    return numbers.cast(pl.String) if coding == "category" else numbers
