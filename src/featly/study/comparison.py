"""Tests of whether methods differ by more than chance: over blocks, by pairs, and by wins."""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.typing import FloatArray
from featly.measures.multi_criteria import Wins, wins
from featly.measures.statistics import (
    Friedman,
    Nemenyi,
    TTest,
    corrected_resampled_t,
    friedman,
    holm,
    holm_levels,
    nemenyi,
)
from featly.study.curves import rows_at_chosen_size
from featly.study.split_values import at_own_size, own_sizes, split_values

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = ["Comparison", "compare", "describe_difference"]

DECIMALS = 12  # values are ranked at so many decimals: a smaller difference is rounding


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A comparison of methods, as :meth:`Results.compare` returns it.

    Attributes
    ----------
    metric : str
    blocks : polars.DataFrame
        One row a block (a dataset, or a dataset at a size, with a learner), one column a method.
    friedman : Friedman or None
        None with fewer than two blocks or methods.
    nemenyi : Nemenyi or None
        Mean ranks, the critical difference, and the groups of methods that do not differ.
    pairs : polars.DataFrame
        dataset, learner, method_a, method_b, sizes, difference with its corrected interval, p and
        p adjusted by Holm within the dataset. The interval has the level at which Holm decides, so
        that it lies beside 0 where the adjusted p is at most `alpha`; null where no split differs
        from another.
    wins : Wins or None
        How often each method beats each other, over all splits; None where splits cannot be
        paired.
    biased : bool
        Whether columns were selected on all rows, test rows included.
    """

    metric: str
    blocks: "pl.DataFrame"
    friedman: Friedman | None
    nemenyi: Nemenyi | None
    pairs: "pl.DataFrame"
    wins: Wins | None
    biased: bool = False

    def summary(self) -> str:
        """Return the tests as text."""
        parts = []
        if self.biased:
            parts.append("BIASED: columns were selected on all rows, test rows included")
        if self.friedman is not None and self.nemenyi is not None:
            parts += [self.friedman.summary(), self.nemenyi.summary()]
        several = self.pairs["learner"].n_unique() > 1
        for row in self.pairs.rows(named=True):
            where = f"{row['dataset']}, {row['learner']}" if several else row["dataset"]
            parts.append(
                f"{where}: {row['method_a']} - {row['method_b']} "
                f"{describe_difference(row)}, p = {row['p_adjusted']:.2g}"
            )
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"Comparison of {self.metric}\n{self.summary()}"


def describe_difference(row: dict[str, Any]) -> str:
    """Return a difference with its interval, where it has one."""
    if row["lower"] is None:
        return f"{row['difference']:+.3f} in every split"
    return f"{row['difference']:+.3f} ({row['lower']:+.3f} to {row['upper']:+.3f})"


def compare(
    results: "Results", metric: str, size: int | str | None, alpha: float, rule: str | int
) -> Comparison:
    """See :meth:`Results.compare`."""
    if size is not None and size != "chosen" and not isinstance(size, int | np.integer):
        raise ParameterError(f"size={size!r}: give a number, 'chosen', or None for all sizes")
    from featly.study.results import GREATER

    is_stability = metric == "kuncheva"
    if not is_stability and metric not in GREATER:
        raise ParameterError(
            f"there is no metric {metric!r}: there are kuncheva, {', '.join(GREATER)}"
        )
    greater = True if is_stability else GREATER[metric]
    methods = list(results.about["methods"])
    blocks = _blocks(results, metric, size, rule, methods)
    table = np.column_stack([blocks.get_column(name).to_numpy() for name in methods])
    enough = len(methods) > 1 and len(table) > 1 and (~np.isnan(table).any(axis=1)).sum() > 1
    if is_stability:
        pairs, win_counts = _empty_pairs(), None
    else:
        pairs, win_counts = _test_pairs(
            results,
            metric,
            rule if size is None or size == "chosen" else size,
            methods,
            greater,
            alpha,
        )
    return Comparison(
        metric=metric,
        blocks=blocks,
        friedman=friedman(table, methods, greater) if enough else None,
        nemenyi=nemenyi(table, methods, alpha, greater) if enough else None,
        pairs=pairs,
        wins=win_counts,
        biased=results.biased,
    )


def _blocks(
    results: "Results", metric: str, size: int | str | None, rule: str | int, methods: list[str]
) -> "pl.DataFrame":
    """Return blocks x methods; a method that chooses its own size has a value in every block."""
    import polars as pl

    # for the stability, sizes are chosen by the balanced rate
    metric, value = ("bcr", "kuncheva") if metric == "kuncheva" else (metric, "mean")
    curves = results.curves(metric)
    if size == "chosen":
        picked = rows_at_chosen_size(results, curves, metric, rule)
        long = picked.with_columns(pl.lit(0, pl.Int64).alias("size"))
    else:
        own, join_keys = own_sizes(results), ["dataset", "method"]
        single = curves.join(own, on=join_keys, how="semi")
        several = curves.join(own, on=join_keys, how="anti")
        if size is not None:
            several = several.filter(pl.col("size") == size)
        grid = several.select("dataset", "learner", "size").unique()
        if grid.is_empty():
            grid = single.select("dataset", "learner", pl.lit(0, pl.Int64).alias("size")).unique()
        spread = single.drop("size").join(grid, on=["dataset", "learner"])
        columns = ["dataset", "learner", "size", "method", value]
        long = pl.concat([several.select(columns), spread.select(columns)])
    # equal means may differ in their last bits, by the order in which splits were summed
    long = long.with_columns(pl.col(value).round(DECIMALS))
    wide = long.sort("dataset", "learner", "size").pivot(
        "method", index=["dataset", "learner", "size"], values=value, aggregate_function="first"
    )
    all_null = pl.Series([None] * wide.height, dtype=pl.Float64)
    keys = [wide.get_column(key) for key in ("dataset", "learner", "size")]
    # get_column, since select would take names such as '*' for patterns
    values = [wide.get_column(m) if m in wide.columns else all_null.alias(m) for m in methods]
    return pl.DataFrame([*keys, *values])


def _empty_pairs() -> "pl.DataFrame":
    import polars as pl

    texts = dict.fromkeys(("dataset", "learner", "method_a", "method_b"), pl.String)
    integers = dict.fromkeys(("size_a", "size_b"), pl.Int64)
    numbers = ("difference", "lower", "upper", "p_value", "p_adjusted")
    return pl.DataFrame(schema={**texts, **integers, **dict.fromkeys(numbers, pl.Float64)})


def _test_pairs(
    results: "Results",
    metric: str,
    rule: Any,
    methods: list[str],
    greater: bool,
    alpha: float,
) -> tuple["pl.DataFrame", Wins | None]:
    """Test every pair on every dataset by the corrected t-test, at the size that a rule chooses."""
    import polars as pl

    picked = rows_at_chosen_size(results, results.curves(metric), metric, rule)
    sizes = {
        (d, lr, m): s
        for d, lr, m, s in picked.select("dataset", "learner", "method", "size").rows()
    }
    rows = at_own_size(split_values(results, metric, draws=False), own_sizes(results))
    values: dict[tuple[Any, ...], dict[int, float]] = {}
    for (dataset, learner, method), part in rows.group_by("dataset", "learner", "method"):
        at = part.filter(pl.col("size") == sizes.get((dataset, learner, method)))
        values[dataset, learner, method] = dict(at.select("split", "value").rows())
    lines, stacked = [], []
    for dataset in results.about["datasets"]:
        train, test = results._parts(dataset)
        for learner in results.about["learners"]:
            known_methods = [m for m in methods if (dataset, learner, m) in sizes]
            tests, labels, differences = [], [], []
            for a, b in combinations(known_methods, 2):
                first, second = values[dataset, learner, a], values[dataset, learner, b]
                difference = _differences(first, second)
                if len(difference) < 2:
                    continue
                tests.append(corrected_resampled_t(difference, train, test))
                labels.append((a, b))
                differences.append(difference)
            if len(known_methods) == len(methods):
                stacked.append(_stack_common([values[dataset, learner, m] for m in known_methods]))
            p_values = [t.p_value for t in tests]
            adjusted = holm(p_values).tolist() if tests else []
            ends = [
                _ends(corrected_resampled_t(difference, train, test, level))
                for difference, level in zip(differences, holm_levels(p_values, alpha), strict=True)
            ]
            lines += [
                (
                    dataset, learner, a, b, sizes[dataset, learner, a], sizes[dataset, learner, b],
                    t.mean, *end, t.p_value, p,
                )
                for (a, b), t, end, p in zip(labels, tests, ends, adjusted, strict=True)
            ]  # fmt: skip
    pairs = pl.DataFrame(lines, orient="row", schema=_empty_pairs().schema)
    runs = np.concatenate(stacked) if stacked else np.empty((0, len(methods)))
    win_counts = (
        wins(runs.round(DECIMALS), methods, greater) if len(methods) > 1 and len(runs) else None
    )
    return pairs, win_counts


def _ends(test: TTest) -> tuple[float | None, float | None]:
    """Return the ends of an interval; none where it has no width."""
    return (test.lower, test.upper) if test.upper > test.lower else (None, None)


def _differences(first: dict[int, float], second: dict[int, float]) -> FloatArray:
    shared = [k for k in first if k in second and first[k] is not None and second[k] is not None]
    return np.array([first[k] - second[k] for k in shared])


def _stack_common(columns: list[dict[int, float]]) -> FloatArray:
    """Return splits x methods, where all methods have a value."""
    shared = [k for k in columns[0] if all(k in c and c[k] is not None for c in columns)]
    return np.array([[c[k] for c in columns] for k in shared]).reshape(len(shared), len(columns))
