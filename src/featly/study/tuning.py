"""A method whose parameters are chosen by an evaluation within the training part."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from featly.basics.errors import DataError, ParameterError
from featly.basics.estimators import BaseEstimator
from featly.table.schema import Schema

__all__ = ["Tuned"]


class Tuned(BaseEstimator):
    """Choose the parameters of a method by how well its selections predict.

    Every combination of parameters is evaluated by a study on the rows passed to ``fit``. Within
    another study these are the training rows, so test rows do not influence the choice. Then the
    method is fitted to all of these rows with the best combination.

    Parameters
    ----------
    method : estimator
        The method to tune.
    grid : mapping of parameter to values
        The values to try.
    splits : splitter or int, default=5
        Splits of the evaluation; a number is that many folds.
    learner : str or classifier, default="linear-svm"
    sizes : as for Study, default="powers"
    metric : str, default="bcr"
        The combination of best mean over the sizes is chosen, of equal ones the first.
    balanced : bool or "auto", default="auto"
        Whether a learner given by name is trained with classes of equal weight, as for Study.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        They are those of the method. The evaluation runs in this process.

    Attributes
    ----------
    best_params_ : dict
    results_ : list of (dict, float)
        Every combination and its metric.
    method_ : estimator
        Fitted to all rows.
    order_, ranking_, scores_
        Those of `method_`.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import SVMRFE
    >>> from featly.study import Tuned
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 30)), np.repeat([0, 1], 20)
    >>> X[:, 3] += 3 * y
    >>> tuned = Tuned(SVMRFE(), {"C": [0.01, 1.0]}, sizes=[1]).fit(X, y)
    >>> tuned.order_[0].item(), sorted(tuned.best_params_)
    (3, ['C'])
    """

    def __init__(
        self,
        method: Any,
        grid: Mapping[str, Sequence[Any]],
        *,
        splits: Any = 5,
        learner: Any = "linear-svm",
        sizes: Any = "powers",
        metric: str = "bcr",
        balanced: bool | str = "auto",
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.grid = grid
        self.splits = splits
        self.learner = learner
        self.sizes = sizes
        self.metric = metric
        self.balanced = balanced
        self.schema = schema
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the parameters, then fit.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : sequence

        Returns
        -------
        self
        """
        from featly.measures.scores import SCORE_METRICS
        from featly.study.dataset import Dataset
        from featly.study.plan import Study
        from featly.study.results import GREATER

        known = self.method.get_params()
        for parameter in self.grid:
            if parameter not in known:
                raise ParameterError(
                    f"{type(self.method).__name__} has no parameter {parameter!r}: it has "
                    f"{', '.join(known)}"
                )
        if self.metric not in GREATER:
            raise ParameterError(f"metric={self.metric!r}: give one of {', '.join(GREATER)}")
        combinations = list(ParameterGrid(dict(self.grid)))
        data = Dataset.of(X, y, schema=self.schema)
        results = Study(
            {str(k): self._make_method(parameters) for k, parameters in enumerate(combinations)},
            data,
            self.splits,
            sizes=self.sizes,
            learner=self.learner,
            metric=self.metric,
            metrics=(),
            keep_predictions=self.metric in SCORE_METRICS,
            balanced=self.balanced,
        ).run(n_jobs=1)
        sign = 1.0 if GREATER[self.metric] else -1.0
        curves = results.curves(self.metric).drop_nulls("mean").group_by("method")
        means = {
            str(name): sign * float(np.mean(curve["mean"].to_numpy())) for (name,), curve in curves
        }
        if not means:
            raise DataError(f"no combination could be fitted: {results.failures['failure'][0]}")
        values = [means.get(str(k), -np.inf) for k in range(len(combinations))]
        self.best_params_: dict[str, Any] = combinations[int(np.argmax(values))]
        self.results_: list[tuple[Any, float]] = [
            (parameters, sign * value)
            for parameters, value in zip(combinations, values, strict=True)
        ]
        method = self._make_method(self.best_params_)
        if "schema" in method.get_params(deep=False):
            method.set_params(schema=data.declare_classes(method.schema))
        self.method_: Any = method.fit(X, y)
        for attribute in ("order_", "ranking_", "scores_", "support_", "evidence_"):
            if hasattr(self.method_, attribute):
                setattr(self, attribute, getattr(self.method_, attribute))
        return self

    def _make_method(self, parameters: Mapping[str, Any]) -> Any:
        method = clone(self.method)
        known = method.get_params(deep=False)
        if self.schema is not None and "schema" in known and known["schema"] is None:
            method.set_params(schema=self.schema)
        if self.n_jobs is not None and "n_jobs" in known:
            method.set_params(n_jobs=self.n_jobs)
        return method.set_params(**parameters)

    def get_support(self, indices: bool = False) -> Any:
        """Return a mask or positions of the columns that the tuned method selects."""
        return self.method_.get_support(indices=indices)
