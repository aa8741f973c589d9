"""Section 5.2 and table 5.19 of Bolón-Canedo et al. (2015): arithmetic on printed tables.

The images of the tear film (VOPTICAL_I1 and VOPTICAL_Is) are not here, so accuracies, robustness
and times cannot be measured again. What follows from them can be computed: the values of TOPSIS
(tables 5.15 and 5.16) from tables 5.12 to 5.14, and which points are dominated by others.

The 48 values come out by TOPSIS on errors instead of rates (100 less the percentage), with squared
distances and the vector norm; a value counts as met if it rounds to what is printed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from featly.basics.typing import FloatArray
from featly.measures.multi_criteria import pareto_front, topsis
from featly.study import Claim, Finding
from featly.study.verdicts import Verdicts, judge

__all__ = ["FRONT", "TABLE_5_15", "TABLE_5_16", "TEXTURES", "study"]

TEXTURE_NAMES = ("Butterworth", "wavelet", "co-occurrence", "Markov field", "Gabor", "all")
FILTERS = ("none", "CFS", "Cons", "INT")
ROWS = tuple(f"{texture} {name}" for texture in TEXTURE_NAMES for name in FILTERS)

# tables 5.12 to 5.14: accuracy, robustness (%), seconds; rows as ROWS
TEXTURES = np.array(
    [
        [91.42, 88.18, 0.22], [93.33, 84.98, 0.15], [83.81, 71.92, 0.04], [86.67, 79.56, 0.07],
        [88.57, 82.27, 0.03], [91.43, 88.18, 0.01], [94.29, 86.21, 0.01], [96.19, 86.70, 0.01],
        [95.24, 92.17, 102.18], [94.29, 92.36, 27.01], [86.67, 85.22, 0.05], [93.33, 89.16, 9.86],
        [84.76, 83.99, 13.83], [85.71, 76.35, 0.50], [83.81, 70.94, 0.27], [75.24, 70.69, 0.31],
        [95.24, 89.90, 0.42], [91.43, 85.22, 0.18], [86.67, 69.46, 0.06], [86.67, 82.51, 0.11],
        [97.14, 92.61, 116.68], [96.19, 93.84, 37.04], [87.62, 77.59, 0.05], [93.33, 91.87, 9.96],
    ]
)  # fmt: skip
TABLE_5_15 = np.array(
    [
        0.9774, 0.9773, 0.8159, 0.9008, 0.9344, 0.9775, 0.9848, 0.9900, 0.3431, 0.9416, 0.9281,
        0.9812, 0.8670, 0.8691, 0.8081, 0.6923, 0.9954, 0.9686, 0.8295, 0.9164, 0.3066, 0.8986,
        0.8988, 0.9853,
    ]
)  # fmt: skip
TABLE_5_16 = np.array(
    [
        0.8983, 0.9017, 0.1694, 0.4722, 0.6567, 0.8986, 0.9377, 0.9629, 0.9923, 0.9846, 0.6233,
        0.9539, 0.4777, 0.3361, 0.1601, 0.0009, 0.9829, 0.8526, 0.2717, 0.5526, 0.9991, 0.9987,
        0.4769, 0.9706,
    ]
)  # fmt: skip
# table 5.19: number of columns -> lambda, error in %, milliseconds
FRONT = {
    25: [(0.75, 10.36, 208.68), (2, 10.55, 206.46), (5, 14.36, 197.22), (30, 15.18, 174.35)],
    35: [(1, 7.55, 306.53), (2, 11.36, 328.24), (5, 13.18, 273.11), (25, 16.09, 249.92)],
    50: [(0, 6.64, 1377.04), (1, 9.36, 397.70), (2, 9.36, 412.14), (25, 14.27, 364.45),
         (30, 14.36, 364.45)],
}  # fmt: skip


@dataclass(frozen=True)
class PrintedTables:
    """Claims that follow from printed tables; for ``python -m studies`` it is what a Study is."""

    title: str
    claims: Sequence[Claim]
    metrics: tuple[str, ...] = ()
    learners: dict[str, None] = field(default_factory=dict)

    def run(self, folder: Path | None = None, **options: Any) -> "PrintedResults":
        """Return the results, for which nothing has to be fitted."""
        return PrintedResults(self.title, self.claims)


@dataclass(frozen=True)
class PrintedResults:
    """Verdicts on claims that need no fit."""

    title: str
    claims: Sequence[Claim]
    biased: bool = False

    @property
    def about(self) -> dict[str, Any]:
        """Return the plan: there are no methods and no data."""
        nothing = "none: arithmetic on printed tables"
        return {"title": self.title, "methods": {}, "learners": {}, "splits": nothing,
                "fill": False, "null": 0, "versions": {"numpy": np.__version__},
                "datasets": {}}  # fmt: skip

    @property
    def rankings(self) -> pl.DataFrame:
        """Return no fits."""
        return pl.DataFrame({"fit": []})

    @property
    def failures(self) -> pl.DataFrame:
        """Return no failures."""
        return pl.DataFrame({"failure": []})

    def verdicts(self) -> Verdicts:
        """Return a verdict on every claim."""
        return judge(self.claims, self)  # type: ignore[arg-type]


def topsis_values(weights: Sequence[float]) -> FloatArray:
    """Return the TOPSIS value of every row, as the book computed it."""
    errors = np.column_stack([100 - TEXTURES[:, :2], TEXTURES[:, 2]])
    return topsis(errors, weights, benefit=False, distance="squared").closeness


def _meets(weights: Sequence[float], printed: FloatArray) -> Callable[[Any], Finding]:
    def check(results: Any) -> Finding:
        apart = np.abs(topsis_values(weights) - printed)
        n_met = int((apart <= 5e-5 + 1e-12).sum())
        why = f"{n_met} of {len(printed)} round to what is printed; at most {apart.max():.1e} apart"
        return Finding(n_met == len(printed), why, float(n_met))

    return check


def _first(weights: Sequence[float], names: Sequence[str]) -> Callable[[Any], Finding]:
    def check(results: Any) -> Finding:
        order = np.argsort(-topsis_values(weights))[: len(names)]
        ours = [ROWS[row] for row in order]
        return Finding(ours == list(names), f"ours: {', '.join(ours)}")

    return check


def _front(results: Any) -> Finding:
    on_front = pareto_front(TEXTURES[:, :2], benefit=True)
    ours = [name for name, is_on in zip(ROWS, on_front, strict=True) if is_on]
    return Finding(ours == ["all none", "all CFS"], f"ours: {', '.join(ours)}")


def _cost_front(results: Any) -> Finding:
    dominated = [
        f"{size} columns, lambda {points[at][0]:g}"
        for size, points in FRONT.items()
        for at in np.flatnonzero(~pareto_front(np.array(points)[:, 1:], benefit=False))
    ]
    n = sum(len(points) for points in FRONT.values())
    why = f"{len(dominated)} of {n} are dominated by another of as many columns: "
    return Finding(not dominated, why + "; ".join(dominated), float(n - len(dominated)))


def claims() -> list[Claim]:
    """Return F15 to F17 and G1."""
    equal, without_time = (1 / 3, 1 / 3, 1 / 3), (1 / 2, 1 / 2, 0)
    return [
        Claim("F15", "TOPSIS, equal weights: best are Gabor without a filter, wavelets with "
              "INTERACT, all with INTERACT",
              _first(equal, ("Gabor none", "wavelet INT", "all INT")), "0.9954, 0.9900, 0.9853",
              "table 5.15"),
        Claim("F15 values", "TOPSIS, equal weights: all 24 values", _meets(equal, TABLE_5_15), 24,
              "table 5.15"),
        Claim("F16", "TOPSIS without time: best are all without a filter, all with CFS",
              _first(without_time, ("all none", "all CFS")), "0.9991, 0.9987", "table 5.16"),
        Claim("F16 values", "TOPSIS without time: all 24 values", _meets(without_time, TABLE_5_16),
              24, "table 5.16"),
        Claim("F17", "the Pareto front of accuracy and robustness is all without a filter and all "
              "with CFS", _front, None, "figure 5.4"),
        Claim("G1", "the 13 points of table 5.19 are on the Pareto fronts of error and time",
              _cost_front, 13, "table 5.19"),
        *(
            Claim.untestable(f"T{table}", f"{what} of the tear film, by texture and filter",
                             "the images are not here", where=f"table {table}")
            for table, what in (("5.12", "accuracy"), ("5.13", "robustness"), ("5.14", "time"))
        ),
        Claim.untestable("F18", "error and time along the path of costs",
                         "the images are not here", published="6.64, 1377.04 / 9.36, 397.70; "
                         "7.55, 306.53", where="table 5.19"),
    ]  # fmt: skip


def study() -> PrintedTables:
    """Return the plan."""
    return PrintedTables("book, chapter 5: tear film, arithmetic on printed tables", claims())
