"""Table and floor of every method: what it is measured on, and the least time possible.

A floor is the larger of two times: bytes that have to move over the bandwidth that was measured in
the same run, and operations that have to be done over the rate that was measured. It leaves out
whatever another algorithm might avoid, so it is a bound from below; it is that of memory, so a
table that fits into a cache may be below it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from featly.registry import METHODS, Method

STEPS = 50  # columns that a greedy filter chooses
FEW_STEPS = 20  # where a step costs n² p
TREES = 200
DROPPED = 0.2  # of the columns, in a round of an elimination
BYTES = {"numbers": 4, "levels": 1}  # of a value: float32, or three levels as uint8
PLANES = 2  # of three levels: the last follows from the margins


@dataclass(frozen=True)
class Family:
    """Methods that are measured alike.

    Attributes
    ----------
    title : str
    table : {"numbers", "levels"}
        Normal float32, or three levels of uint8.
    n, p : int
        The rows while columns grow, and the columns while rows grow.
    first_n, first_p : int
        Where a grid begins; it doubles.
    bytes, operations : callable
        Of (n, p): what has to move, and what has to be done.
    rate : {"products", "coarse", "additions", "popcounts"} or None
        What operations are divided by.
    floor : str
        The same in words.
    n_classes : int
    """

    title: str
    table: str
    n: int
    p: int
    first_n: int
    first_p: int
    bytes: Callable[[int, int], float]
    operations: Callable[[int, int], float]
    rate: str | None
    floor: str
    n_classes: int = 2

    def floor_seconds(self, n: int, p: int, rates: dict[str, float]) -> float:
        """Return the least time in seconds at the rates that the machine reaches."""
        seconds = self.bytes(n, p) / rates["bandwidth"]
        if self.rate is not None and rates.get(self.rate):
            seconds = max(seconds, self.operations(n, p) / rates[self.rate])
        return seconds


def _read_once(size: int) -> Callable[[int, int], float]:
    return lambda n, p: float(size * n * p)


def _nothing(n: int, p: int) -> float:
    return 0.0


def _greedy_bytes(n: int, p: int) -> float:
    """Return bytes moved: the table once, then planes and criterion at every further step."""
    return n * p + (STEPS - 1) * p * (PLANES * n / 8 + 16)


def _greedy_words(n: int, p: int) -> float:
    return (STEPS - 1) * p * PLANES * PLANES * n / 64


FAMILIES: dict[str, Family] = {
    "moments": Family(
        "Means and variances",
        "numbers",
        200,
        1000,
        100,
        1000,
        _read_once(4),
        _nothing,
        None,
        "the table is read once",
    ),
    "counts": Family(
        "Counts of levels",
        "levels",
        1000,
        1000,
        125,
        1000,
        _read_once(1),
        _nothing,
        None,
        "the table is read once",
    ),
    "greedy": Family(
        f"Greedy search by mutual information, {STEPS} steps",
        "levels",
        1000,
        1000,
        125,
        1000,
        _greedy_bytes,
        _greedy_words,
        "popcounts",
        "the table is read once; at each further step the two bit-planes of every column (n / 4 "
        "bytes), a criterion read and one written; or n / 16 words of 64 bits a column and step, "
        "joined and counted",
    ),
    "relief": Family(
        "Neighbours",
        "numbers",
        200,
        1000,
        50,
        250,
        _read_once(4),
        lambda n, p: float(n * n * p),
        "additions",
        "for each of n² / 2 pairs of rows and each column a difference and a sum in float64",
    ),
    "subsets": Family(
        "Subset filters",
        "levels",
        500,
        1000,
        125,
        250,
        _read_once(1),
        _nothing,
        None,
        "the table is read once; every chosen column costs another pass, which is not in the floor",
    ),
    "pairs": Family(
        "All pairs of columns",
        "numbers",
        200,
        1000,
        50,
        250,
        _read_once(4),
        lambda n, p: float(n * p * p),
        "coarse",
        "p² / 2 pairs of columns, a product and a sum for each row, in the precision that pairs "
        "are looked through by: float32, on a device float16",
    ),
    "dependence": Family(
        f"Monotone dependence, {FEW_STEPS} steps",
        "numbers",
        100,
        250,
        50,
        50,
        _read_once(4),
        lambda n, p: float((FEW_STEPS - 1) * n * n * p),
        "additions",
        "n² cells of an empirical copula for each column and further step, an addition each",
    ),
    "machines": Family(
        "Linear machines",
        "numbers",
        100,
        1000,
        50,
        1000,
        _read_once(4),
        lambda n, p: float(n * p * min(n, p)),
        "products",
        "the Gram matrix of the rows or of the columns, whichever is smaller, once, in float64: "
        "n p min(n, p) operations, as it is symmetric",
    ),
    "classes": Family(
        "Machines for three classes",
        "numbers",
        100,
        500,
        60,
        250,
        _read_once(4),
        lambda n, p: float(n * p * min(n, p)),
        "products",
        "one Gram matrix, n p min(n, p) operations in float64",
        n_classes=3,
    ),
    "kernels": Family(
        "Multiple kernels",
        "numbers",
        60,
        200,
        30,
        100,
        _read_once(4),
        lambda n, p: n * n * p / DROPPED,
        "additions",
        "a sum of the columns' kernels in each round: n² / 2 pairs of rows, two additions each, for"
        " the columns that are left, 5 p over all rounds",
    ),
    "forest": Family(
        f"Forest of {TREES} trees",
        "numbers",
        200,
        500,
        50,
        250,
        _read_once(4),
        lambda n, p: TREES * n * math.sqrt(p) * max(1.0, math.log2(n)),
        "additions",
        "in every tree, at each of log2 n levels, each row is compared in √p columns",
    ),
    "wrappers": Family(
        "Wrappers",
        "numbers",
        100,
        50,
        50,
        25,
        _read_once(4),
        _nothing,
        None,
        "the table is read once; p trainings a step and fold are not in the floor",
    ),
    "others": Family(
        "Others",
        "numbers",
        200,
        500,
        50,
        250,
        _read_once(4),
        _nothing,
        None,
        "the table is read once",
    ),
}

COUNTED: dict[str, Any] = {"discretizer": None}
SEARCHED: dict[str, Any] = {"discretizer": None, "max_steps": STEPS}


@dataclass(frozen=True)
class Measurement:
    """Family of a method, and the parameters it is measured with; others as they are."""

    family: str
    parameters: dict[str, Any] = field(default_factory=dict)


MEASUREMENTS: dict[str, Measurement] = {
    **{name: Measurement("moments") for name in ("f-test", "univariate-test", "signal-to-noise")},
    **{
        name: Measurement("counts", COUNTED)
        for name in (
            "chi-squared",
            "gini-index",
            "information-gain",
            "gain-ratio",
            "symmetric-uncertainty",
            "mim",
        )
    },
    **{
        name: Measurement("greedy", SEARCHED)
        for name in (
            "mifs",
            "mrmr",
            "jmi",
            "jmim",
            "cmi",
            "cmim",
            "icap",
            "disr",
            "information-criterion",
        )
    },
    "monotone-dependence": Measurement("dependence", {"max_steps": FEW_STEPS}),
    **{name: Measurement("relief") for name in ("relief", "relieff", "multisurf")},
    **{
        name: Measurement("subsets", COUNTED) for name in ("cfs", "fcbf", "interact", "consistency")
    },
    "redundancy-filter": Measurement("pairs"),
    **{name: Measurement("machines") for name in ("svm-rfe", "arom", "perceptron", "ridge")},
    **{name: Measurement("classes") for name in ("multiclass-svm-rfe", "pairwise")},
    "mkl-rfe": Measurement("kernels"),
    "forest": Measurement("forest", {"n_trees": TREES}),
    **{name: Measurement("wrappers") for name in ("hybrid-forward", "wrapper")},
}


def measurement_of(name: str) -> Measurement:
    """Return how a method is measured; in the family of the others by default."""
    return MEASUREMENTS.get(name, Measurement("others"))


def family_of(name: str) -> Family:
    """Return the family of a method, by the method's name."""
    return FAMILIES[measurement_of(name).family]


def why_not(method: Method, device: str) -> str | None:
    """Return why a method is not measured on a device; None where it is."""
    return "computed on the CPU only" if device == "cuda" and not method.on_device else None


def all_methods() -> list[str]:
    """Return every method of the registry, family by family."""
    order = list(FAMILIES)
    return sorted(METHODS, key=lambda name: order.index(measurement_of(name).family))


def sizes(family: Family, axis: str, device: str = "cpu", quick: bool = False) -> list[dict]:
    """Return the grid over columns ("p") or rows ("n"): doubling, as far as a table may grow."""
    wide = 16 if device == "cuda" and family in map(FAMILIES.get, LARGE_ON_DEVICE) else 1
    size, factor, most = BYTES[family.table], 2, MOST_BYTES[device]
    first = {"p": family.first_p * wide, "n": family.first_n * (2 if wide > 1 else 1)}[axis]
    fixed = {"p": family.n, "n": family.p * wide}[axis]
    if quick:
        first, factor, most = max(20, first // wide // 2), 2, 8 * size * first // wide * fixed
        fixed = max(20, fixed // wide // 2)
    grid = []
    while size * first * fixed <= most and len(grid) < (3 if quick else 100):
        grid.append({"p": first, "n": fixed} if axis == "p" else {"n": first, "p": fixed})
        first *= factor
    return grid


MOST_BYTES = {"cpu": 1.1e9, "cuda": 1.1e10}  # of a table
LARGE_ON_DEVICE = ("moments", "counts", "greedy", "relief", "pairs", "machines")
