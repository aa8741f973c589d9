"""Results of a study: performance, stability, sizes, differences, and tests by shuffled labels."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.errors import DataError, ParameterError, StudyError
from featly.basics.typing import AnyArray, IntArray
from featly.measures.classification import METRICS
from featly.measures.multi_criteria import merge_selections
from featly.measures.recovery import Roles, position_statistics
from featly.measures.scores import SCORE_METRICS
from featly.measures.sizes import Curve, choose_size
from featly.study.comparison import Comparison, compare
from featly.study.curves import curve_frame, family_frame, null_frame, summary_frame
from featly.study.kept import KeptPredictions
from featly.study.predicted_rows import (
    Calibration,
    calibrate,
    one_class_remarks,
    pool_metric,
    predicted_frame,
    threshold_frame,
    weight_remarks,
)
from featly.study.score_values import GatheredPredictions, gather, score_values
from featly.study.selection_metrics import SELECTION_METRICS, selection_values
from featly.study.split_values import at_own_size, own_sizes, split_values
from featly.study.store import ALL_ROWS, JOURNAL, Journal, read_compacted
from featly.study.verdicts import Claim, Verdicts, judge

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SELECTION_METRICS", "Results", "restrict_to_plan"]

# rules that need several splits
INTERVAL_RULES = ("within-interval", "within-corrected-interval", "one-standard-error")
GREATER = (
    {name: metric.greater_is_better for name, metric in METRICS.items()}
    | {name: metric.greater_is_better for name, metric in SCORE_METRICS.items()}
    | SELECTION_METRICS
)


class Results:
    """Results of a study, as :meth:`featly.study.Study.run` returns them.

    Attributes
    ----------
    rows : polars.DataFrame
        One row a fit at a size: dataset, method, split, null_draw, learner, size, the metrics of
        the plan, confusion (row by row), seconds, failure (why there is no value).
    rankings : polars.DataFrame
        One row a fit: dataset, method, split, null_draw, order (columns, best first),
        select_seconds, failure, notes.
    about : dict
        The plan: methods, data hashes, splits, seeds, versions.
    metric : str
        The metric of the tables, unless they are given another.
    predictions : KeptPredictions or None
        The predictions of the test rows, if they were kept; see :meth:`predicted_rows`.
    claims : sequence of Claim
        Published claims.

    See Also
    --------
    featly.study.Study : The plan behind them.
    """

    def __init__(
        self,
        rows: "pl.DataFrame",
        rankings: "pl.DataFrame",
        about: Mapping[str, Any],
        predictions: KeptPredictions | None = None,
    ) -> None:
        self.about: dict[str, Any] = dict(about)
        self.metric: str = self.about.get("metric", "bcr")
        self.predictions = predictions
        self.rankings: pl.DataFrame = rankings
        self.rows: pl.DataFrame = rows
        self.claims: Sequence[Claim] = ()
        self._curves: dict[tuple[str, float], pl.DataFrame] = {}  # many claims use the same
        self._scores: dict[tuple[str, bool], pl.Series] = {}
        for metric in self.about["metrics"]:
            if metric not in rows.columns:
                self.rows = self.rows.with_columns(self.values(metric))

    @classmethod
    def open(cls, directory: str | Path) -> "Results":
        """Read the results of a study from its folder, finished or not.

        Parameters
        ----------
        directory : path

        Returns
        -------
        Results
        """
        folder = Path(directory)
        finished = read_compacted(folder)
        predictions = KeptPredictions.in_folder(folder)
        if finished is not None:
            return restrict_to_plan(*finished, predictions)
        if (folder / JOURNAL).is_file():
            with Journal(folder) as journal:
                about = journal.about()
                if about:
                    return cls(*journal.frames(), about, predictions)
        raise StudyError(f"{str(folder)!r} holds no study: run one there first")

    def __repr__(self) -> str:
        about = self.about
        biased = ", BIASED: selected on all rows" if self.biased else ""
        return (
            f"Results({len(about['methods'])} methods, {len(about['datasets'])} datasets, "
            f"{self.rankings.height:,} fits, {self.rows.height:,} rows{biased})"
        )

    @property
    def biased(self) -> bool:
        """Return whether columns were selected on all rows, test rows included."""
        return bool(self.about["selection"] == "outside")

    @property
    def failures(self) -> "pl.DataFrame":
        """Fits that failed, with the error; where a learner failed, its name and the size too."""
        import polars as pl

        columns = ["dataset", "method", "split", "null_draw", "learner", "size", "failure"]
        no_learner = [
            pl.lit(None, pl.String).alias("learner"),
            pl.lit(None, pl.Int64).alias("size"),
        ]
        failed = self.rankings.filter(pl.col("failure").is_not_null()).with_columns(no_learner)
        learner_failed = self.rows.filter(pl.col("failure").is_not_null())
        return pl.concat([failed.select(columns), learner_failed.select(columns)])

    @cached_property
    def notes(self) -> list[str]:
        """Different warnings of methods and learners."""
        texts = self.rankings["notes"].drop_nulls().unique(maintain_order=True).to_list()
        return list(dict.fromkeys(note for text in texts for note in json.loads(text)))

    # ---- values -----------------------------------------------------------------------------
    def values(self, metric: str, *, draws: bool = True) -> "pl.Series":
        """Return a metric for every row of `rows`, whether it is in the plan or not.

        Parameters
        ----------
        metric : str
            "bcr", "accuracy", "error", "sensitivity", "specificity", "ppv", "npv", "f1"; where
            predictions were kept "auc", "pr_auc", and of learners with probabilities "brier" and
            "log_loss"; "categorical"; where the relevant columns are known also "success",
            "relevant", "redundant", "irrelevant".
        draws : bool, default=True
            False need not compute those of fits to shuffled labels, which may then be null.

        Returns
        -------
        polars.Series
            null where a row has no value, such as the AUC of test rows of one class, or a loss of
            probabilities of a learner that gives none.
        """
        import polars as pl

        if metric in self.rows.columns:
            return self.rows[metric]
        if metric in SELECTION_METRICS:
            return pl.Series(metric, selection_values(self, metric)).fill_nan(None)
        if metric in SCORE_METRICS:
            if (metric, draws) not in self._scores:
                self._scores[metric, draws] = score_values(self, metric, draws=draws)
            return self._scores[metric, draws]
        if metric not in METRICS:
            raise ParameterError(f"there is no metric {metric!r}: there are {', '.join(GREATER)}")
        values = np.full(self.rows.height, np.nan)
        for where, confusion in self._confusions():
            values[where] = METRICS[metric].function(confusion)
        return pl.Series(metric, values).fill_nan(None)

    def _confusions(self) -> Iterator[tuple[AnyArray, IntArray]]:
        """Yield rows and their stacked confusion matrices, for each number of classes."""
        sizes = self.rows["confusion"].list.len().to_numpy()
        for size in np.unique(sizes[np.isfinite(sizes)]).astype(int):
            where = np.flatnonzero(sizes == size)
            flat = self.rows["confusion"].gather(where).explode(empty_as_null=False).to_numpy()
            side = round(size**0.5)
            yield where, flat.reshape(-1, side, side)

    def roles(self, dataset: str) -> Roles | None:
        """Return the roles of a dataset's columns, or None if they are not known."""
        about = self.about["datasets"][dataset]
        if "roles" not in about:
            return None
        relevant = tuple(tuple(group) for group in about["roles"]["relevant"])
        redundant = {name: tuple(c) for name, c in about["roles"]["redundant"].items()}
        return Roles(about["columns"], relevant, redundant)

    # ---- curves and sizes -------------------------------------------------------------------
    def curves(self, metric: str | None = None, *, level: float = 0.95) -> "pl.DataFrame":
        """Return a metric and the stability at every size.

        Parameters
        ----------
        metric : str or None, default=None
            None is the metric of the plan; so it is elsewhere.
        level : float, default=0.95
            Of the intervals. Those of the mean are corrected for splits that overlap (Nadeau and
            Bengio, 2003); those of the stability are Nogueira's (2018).

        Returns
        -------
        polars.DataFrame
            dataset, method, learner, size, mean, sd, lower, upper, n (splits), kuncheva,
            nogueira, nogueira_lower, nogueira_upper, categorical (mean number selected), biased.
            For a method that chooses the number itself, size is the mean of its numbers.
        """
        metric = metric or self.metric
        if (metric, level) not in self._curves:
            self._curves[metric, level] = curve_frame(self, metric, level)
        return self._curves[metric, level]

    def curve(
        self, metric: str | None = None, *, dataset: str | None = None, method: str | None = None,
        learner: str | None = None,
    ) -> Curve:  # fmt: skip
        """Return one method's metric, split by split, as ``choose_size`` takes it.

        Parameters
        ----------
        metric : str or None, default=None
        dataset, method, learner : str
            May be left out where there is one only.

        Returns
        -------
        Curve
        """
        import polars as pl

        metric = metric or self.metric
        chosen = {
            "dataset": self._require_name("datasets", dataset),
            "method": self._require_name("methods", method),
            "learner": self._require_name("learners", learner),
        }
        rows = split_values(self, metric, draws=False).filter(
            pl.all_horizontal(pl.col(part) == name for part, name in chosen.items())
        )
        if rows.is_empty():
            raise DataError(
                f"method {chosen['method']!r} has no results on {chosen['dataset']!r}: see failures"
            )
        rows = at_own_size(rows, own_sizes(self))
        splits, at = np.unique(rows["split"].to_numpy(), return_inverse=True)
        sizes, where = np.unique(rows["size"].to_numpy(), return_inverse=True)
        values = np.full((len(splits), len(sizes)), np.nan)
        values[at, where] = rows["value"].fill_null(np.nan).to_numpy()
        n_train, n_test = self._parts(chosen["dataset"])
        return Curve(
            sizes.astype(np.int64),
            values,
            greater_is_better=GREATER[metric],
            n_train=n_train,
            n_test=n_test,
        )

    def _parts(self, dataset: str) -> tuple[float, float]:
        """Return mean numbers of training and test rows."""
        import polars as pl

        fits = self.rankings.filter(
            (pl.col("dataset") == dataset) & (pl.col("split") != ALL_ROWS) & (pl.col("n_train") > 0)
        )
        if fits.is_empty():
            return 1.0, 1.0
        return float(fits["n_train"].mean()), float(fits["n_test"].mean())  # type: ignore[arg-type]

    def _require_name(self, part: str, name: str | None) -> str:
        known = list(self.about[part])
        if name is None:
            if len(known) > 1:
                raise ParameterError(f"say which of the {part}: {', '.join(known)}")
            return str(known[0])
        if name not in known:
            raise ParameterError(f"{name!r} is none of the {part}: {', '.join(known)}")
        return name

    def choose_size(
        self, rule: str | int = "within-interval", *, metric: str | None = None, **which: Any
    ) -> int:
        """Choose how many columns one method should select; another rule needs no other fit.

        Parameters
        ----------
        rule : str or int, default="within-interval"
            See :data:`featly.measures.sizes.SIZE_RULES`.
        metric : str or None, default=None
        **which
            dataset, method, learner, where there is more than one.

        Returns
        -------
        int
        """
        dataset = self._require_name("datasets", which.get("dataset"))
        n_features = self.about["datasets"][dataset]["columns"]
        curve = self.curve(metric, **which)
        if rule in INTERVAL_RULES and curve.n.max() < 2:
            rule = "best"  # the interval of a single split has no width
        return choose_size(curve, rule, n_features=n_features)

    # ---- tables -----------------------------------------------------------------------------
    def summary(
        self, metric: str | None = None, *, rule: str | int = "within-interval", level: float = 0.95
    ) -> "pl.DataFrame":
        """Return the performance of every method at a chosen size, per dataset and learner.

        Parameters
        ----------
        metric : str or None, default=None
        rule : str or int, default="within-interval"
            How the size is chosen, for each method separately; a number is that size for all.
        level : float, default=0.95

        Returns
        -------
        polars.DataFrame
            dataset, method, size, the metric, lower, upper, kuncheva, geometric_mean of the metric
            and Kuncheva's index, learner, seconds (a fit), n_failed (splits without a value,
            because the method or the learner failed), biased. A method that always failed has a
            row without values. For two classes, beside "bcr" the AUC ("auc") at the same size,
            where decision values were kept, and beside "auc" the "bcr".
        """
        return summary_frame(self, metric or self.metric, rule, level)

    def families(self, metric: str | None = None) -> "pl.DataFrame":
        """Return means over the draws of made datasets, such as ``led-25/0``, ``led-25/1``, ...

        Parameters
        ----------
        metric : str or None, default=None

        Returns
        -------
        polars.DataFrame
            family, method, learner, size, mean, sd (over draws), n_draws, biased. A dataset that is
            no draw is a family of its own.
        """
        return family_frame(self, metric or self.metric)

    def compare(
        self,
        metric: str | None = None,
        *,
        size: int | str | None = None,
        alpha: float = 0.05,
        rule: str | int = "within-interval",
    ) -> Comparison:
        """Test whether the differences between methods are more than chance.

        Parameters
        ----------
        metric : str or None, default=None
            Or "kuncheva" for the stability.
        size : int, "chosen", or None
            None takes every dataset at every size as a block, as Paul and others (2015) did; a
            number takes that size; "chosen" takes for every method the size that `rule` chooses.
        alpha : float, default=0.05
        rule : str or int, default="within-interval"
            How sizes are chosen: for "chosen", and for the pairs where `size` is None.

        Returns
        -------
        Comparison
            Friedman's test and Nemenyi's critical difference over blocks; the corrected resampled
            t-test of every pair on every dataset; how often each method beats each other.
        """
        return compare(self, metric or self.metric, size, alpha, rule)

    def null_test(self, metric: str | None = None) -> "pl.DataFrame":
        """Compare with the same protocol on shuffled labels, selection included.

        Parameters
        ----------
        metric : str or None, default=None

        Returns
        -------
        polars.DataFrame
            dataset, method, learner, observed, null_mean, null_best, n_null, p_value; for the mean
            over splits at the best size, of the true labels and of every shuffle. So the p-value
            allows for the choice of the size.
        """
        return null_frame(self, metric or self.metric)

    # ---- selections -------------------------------------------------------------------------
    def orders(self, dataset: str | None = None, method: str | None = None) -> list[Any]:
        """Return the rankings of one method, one a split: columns by position, best first."""
        import polars as pl

        fits = self.rankings.filter(
            (pl.col("dataset") == self._require_name("datasets", dataset))
            & (pl.col("method") == self._require_name("methods", method))
            & (pl.col("null_draw") == 0)
            & (pl.col("split") != ALL_ROWS)
            & pl.col("order").is_not_null()
        )
        return [order.to_numpy() for order in fits["order"]]

    def selection(
        self,
        size: int | None = None,
        *,
        dataset: str | None = None,
        method: str | None = None,
        learner: str | None = None,
        rule: str = "union",
        metric: str | None = None,
    ) -> list[str]:
        """Merge the selections of all splits into one.

        Parameters
        ----------
        size : int or None
            Number of columns of each ranking; None takes that of :meth:`choose_size`. Of a method
            that chooses the number itself, all selected columns are taken.
        dataset, method, learner : str
        rule : {"union", "intersection", "best"}, default="union"
            "best" is the selection of the split with the best metric.
        metric : str or None, default=None

        Returns
        -------
        list of str
            Names of columns, in the order of the table.
        """
        row_key: dict[str, Any] = {"dataset": dataset, "method": method, "learner": learner}
        name, method_name = (
            self._require_name("datasets", dataset),
            self._require_name("methods", method),
        )
        if size is None:
            size = self.choose_size(metric=metric, **row_key)
        own = own_sizes(self).select("dataset", "method").rows()
        orders = self.orders(dataset, method)
        orders = orders if (name, method_name) in own else [order[:size] for order in orders]
        scores = None
        if rule == "best":
            curve = self.curve(metric, **row_key)
            if size not in curve.sizes:
                raise ParameterError(f"size={size}: rankings were evaluated at {curve.sizes}")
            scores = curve.values[:, list(curve.sizes).index(size)]
            scores = scores if GREATER[metric or self.metric] else -scores
        about = self.about["datasets"][name]
        names = about.get("names") or [f"x{column}" for column in range(about["columns"])]
        return [names[column] for column in merge_selections(orders, rule, scores)]

    def positions(
        self, groups: Mapping[str, Sequence[int]], *, dataset: str | None = None,
        method: str | None = None,
    ) -> Any:  # fmt: skip
        """Return the positions of groups of columns in a method's rankings: best to worst.

        Parameters
        ----------
        groups : mapping of name to positions of columns
        dataset, method : str

        Returns
        -------
        dict of name to PositionStatistics
        """
        return position_statistics(np.array(self.orders(dataset, method)), groups)

    # ---- predictions ------------------------------------------------------------------------
    def predicted_rows(self, size: int | None = None, **which: str) -> "pl.DataFrame":
        """Return the prediction of every test row of every split, as it was kept.

        Parameters
        ----------
        size : int or None
            Number of columns; None takes that of :meth:`choose_size`, or the method's own.
        **which
            dataset, method, learner, where there is more than one.

        Returns
        -------
        polars.DataFrame
            split, row (position in the table), truth, predicted; and for two classes `probability`
            of the one that is sorted last, or its decision value `decision`; for more classes a
            column for each, such as `probability_ill`.
        """
        return predicted_frame(self, self._gather(size, which), self._dataset(which))

    def pooled_metric(
        self, metric: str | None = None, size: int | None = None, **which: str
    ) -> float:
        """Return a metric of the test rows of all splits together.

        Parameters
        ----------
        metric : str or None, default=None
        size : int or None
            Number of columns; None takes that of :meth:`choose_size`, or the method's own.
        **which
            dataset, method, learner, where there is more than one.

        Returns
        -------
        float
            nan where it has no value.
        """
        return pool_metric(self, metric or self.metric, self._gather(size, which))

    def at_thresholds(
        self, thresholds: Sequence[float] | None = None, size: int | None = None, **which: str
    ) -> "pl.DataFrame":
        """Return the rates of two classes if another threshold divides them.

        Parameters
        ----------
        thresholds : sequence of float, optional
            A row is predicted as the class that is sorted last if its probability, or its decision
            value, is above. By default 0.1, 0.2, ... 0.9, or the deciles of the decision values.
        size : int or None
            Number of columns; None takes that of :meth:`choose_size`, or the method's own.
        **which
            dataset, method, learner, where there is more than one.

        Returns
        -------
        polars.DataFrame
            threshold, bcr, sensitivity, specificity, ppv, npv, f1, accuracy: of the test rows of
            all splits together. A threshold that is chosen by this table is judged by the rows that
            chose it, which flatters it.
        """
        return threshold_frame(self._gather(size, which), thresholds)

    def calibration(self, size: int | None = None, *, bins: int = 10, **which: str) -> Calibration:
        """Compare the probabilities of two classes with what happened, over all test rows.

        Parameters
        ----------
        size : int or None
            Number of columns; None takes that of :meth:`choose_size`, or the method's own.
        bins : int, default=10
            How many bins, at most.
        **which
            dataset, method, learner, where there is more than one.

        Returns
        -------
        Calibration
            A curve, slope and intercept. Learners that were trained with classes of equal weight
            tell probabilities of a population of such classes: for those of the table take
            ``Study(balanced=False)``.
        """
        return calibrate(self._gather(size, which), bins, self._learner_name(which))

    def remarks(self, metric: str | None = None) -> list[str]:
        """Return what is odd in the predictions, in sentences.

        That is a learner that predicts one class only; and for a metric of probabilities that they
        are not those of the table, because classes had equal weight.

        Parameters
        ----------
        metric : str or None, default=None

        Returns
        -------
        list of str
        """
        return [*one_class_remarks(self), *weight_remarks(self, metric or self.metric)]

    def _gather(self, size: int | None, which: Mapping[str, str]) -> GatheredPredictions:
        for part in which:
            if part not in ("dataset", "method", "learner"):
                raise ParameterError(f"there is no {part!r}: give dataset, method, learner")
        dataset, learner = self._dataset(which), self._learner_name(which)
        method = self._require_name("methods", which.get("method"))
        if (dataset, method) in own_sizes(self).select("dataset", "method").rows():
            size = None
        elif size is None:
            size = self.choose_size(dataset=dataset, method=method, learner=learner)
        return gather(self, dataset, method, learner, size)

    def _dataset(self, which: Mapping[str, str]) -> str:
        return self._require_name("datasets", which.get("dataset"))

    def _learner_name(self, which: Mapping[str, str]) -> str:
        return self._require_name("learners", which.get("learner"))

    # ---- claims -----------------------------------------------------------------------------
    def verdicts(self) -> Verdicts:
        """Return a verdict on every claim: the published figure, ours, and whether the claim holds.

        Returns
        -------
        Verdicts
        """
        return judge(self.claims, self)


def restrict_to_plan(
    rows: "pl.DataFrame",
    rankings: "pl.DataFrame",
    about: Mapping[str, Any],
    predictions: KeptPredictions | None = None,
) -> Results:
    """Return the results of a plan; the folder may hold those of other plans, too."""
    import polars as pl

    wanted = (
        pl.col("dataset").is_in(list(about["datasets"]))
        & pl.col("method").is_in(list(about["methods"]))
        & (pl.col("null_draw") <= about["null"])
    )
    return Results(rows.filter(wanted), rankings.filter(wanted), about, predictions)
