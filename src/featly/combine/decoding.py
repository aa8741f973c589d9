r"""A classifier of many classes made of classifiers of two classes, by a code matrix.

.. math::

    \hat y(x) = \arg\min_y d(M_y, h(x))

:math:`h_s(x)` is the answer of problem s of the code matrix M and d a distance: Allwein, E. L.,
Schapire, R. E. and Singer, Y. (2000), Reducing multiclass to binary: a unifying approach for margin
classifiers, *JMLR* 1, 113-141. The distances are in :mod:`featly.combine.coding`.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from featly.basics.errors import DataError, ParameterError
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Function, Number, OneOf, Rule, check_parameters, field
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.combine.coding import (
    DECODINGS,
    LOSSES,
    Loss,
    check_rule,
    code_matrix,
    decode,
    needs_margins,
)
from featly.core.runtime.parallel import n_threads, single_threaded_blas
from featly.problem.parameters import Threaded
from featly.problem.target import read_classes
from featly.table.frames import is_frame, library_of, refuse_shapes

__all__ = ["DECODINGS", "DecodedClassifier", "code_matrix", "decode"]


class Classifier(Rule):
    """A classifier with the interface of scikit-learn."""

    words: Sequence[str] = ("a classifier, such as LinearSVM()",)

    def accepts(self, value: Any) -> bool:
        """Return whether a value looks like a classifier."""
        has_methods = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        if isinstance(value, type) or not has_methods:
            return False
        return not (hasattr(value, "__sklearn_tags__") and is_regressor(value))


class Matrix(Rule):
    """Rows of numbers."""

    words: Sequence[str] = ("a matrix of +1, -1 and 0",)

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a list of rows, or an array of two dimensions."""
        is_array = isinstance(value, np.ndarray)
        return value.ndim == 2 if is_array else isinstance(value, list | tuple) and bool(value)


class DecodedClassifier(Threaded, ClassifierMixin, BaseEstimator):
    r"""A classifier of many classes made of classifiers of two classes, by a code matrix.

    A copy of `estimator` learns every problem of the matrix: the classes with +1 against those
    with -1, without the rows of classes with 0. The answers :math:`h_s(x)` of all problems to a
    row are then decoded. See :func:`decode` for the formulas.

    - "hamming": the class whose column of the matrix disagrees with the fewest signs. With
      ``code="ovo"`` this is the vote of the pairs.
    - "loss": the class with the smallest total loss, if the row were of that class.
    - "sum", "sum-threshold", "probability-sum": the class with the largest sum of probabilities of
      its side: of all; of those above the threshold; of those above it in problems that tell the
      class alone from others, which is meant for one class against the rest.

    Totals that are equal up to rounding tie; then the class that is sorted first wins.

    Parameters
    ----------
    estimator : classifier
        Any with the interface of scikit-learn, for two classes. It gets the table as it is, so
        data frames if it takes them.
    code : {"ovo", "ova"} or int array of shape (n_problems, n_classes), default="ovo"
        Every pair of classes, every class against the rest, or a matrix of +1, -1 and 0 with
        columns in the order of the sorted classes. See :func:`code_matrix`.
    decoding : str, default="hamming"
        "hamming", "loss", "sum", "sum-threshold" or "probability-sum".
    loss : {"hinge", "exponential", "logistic"}, callable or None, default=None
        For "loss" only: the loss of a margin, None is "hinge". A callable gets and returns an
        array.
    threshold : float or None, default=None
        For "sum-threshold" and "probability-sum", from 0 to below 1; None is 0.5. With "hamming",
        from 0.5: a side counts as the answer if its probability is above the threshold, else the
        problem has no answer; None takes the sign of the margin.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Problems run side by side.

    Attributes
    ----------
    classes_ : array
    code_ : int array of shape (n_problems, n_classes)
        The code matrix.
    problems_ : list of str
        The sides of each problem: "a vs b", "a vs rest", "a, b vs c".
    estimators_ : list of classifiers
        One for each problem, with the classes 1 (the positive side) and 0.
    n_features_in_ : int
    feature_names_in_ : array
        Only if X has names.

    See Also
    --------
    featly.learners.LinearSVM : Many classes by votes of all pairs, at all sizes at once.

    Notes
    -----
    `decoding`, `loss` and `threshold` may be changed after ``fit``, with ``set_params``: they are
    used when rows are predicted, and the fitted problems do not depend on them. So one fit serves
    five decodings.

    The margin of a problem is that of ``decision_function``. A learner with probabilities only has
    the margin :math:`2p - 1`. The log-odds, for which the exponential and the logistic loss are
    made, would be infinite in every pure leaf of a tree, and several infinite totals cannot be
    compared. With :math:`2p - 1` the hinge loss chooses the same class as "sum", and
    ``loss=lambda z: -np.log((1 + z) / 2)`` multiplies the probabilities if none is 0. "hamming"
    uses the predicted class of a learner that has neither.

    Some learners of scikit-learn share one random generator with all threads of the process
    (LinearSVC and others that use liblinear): their problems are fitted one after the other.

    References
    ----------
    Allwein, E. L., Schapire, R. E. and Singer, Y. (2000), Reducing multiclass to binary: a unifying
    approach for margin classifiers, *JMLR* 1, 113-141.

    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 5.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.combine.decoding import DecodedClassifier
    >>> from featly.learners import MixedNaiveBayes
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [11.0], [12.0]])
    >>> y = ["low", "low", "middle", "middle", "high", "high"]
    >>> model = DecodedClassifier(MixedNaiveBayes(), code="ova", decoding="sum").fit(X, y)
    >>> model.problems_
    ['high vs rest', 'low vs rest', 'middle vs rest']
    >>> model.predict([[0.5], [5.5], [20.0]]).tolist()
    ['low', 'middle', 'high']

    Another decoding of the same problems:

    >>> model.set_params(decoding="loss").predict([[0.5], [5.5], [20.0]]).tolist()
    ['low', 'middle', 'high']

    Columns cut and chosen for each pair of classes by itself:

    >>> from sklearn.pipeline import make_pipeline
    >>> from featly import CFS
    >>> from featly.preprocessing import MDLP
    >>> pairs = DecodedClassifier(make_pipeline(MDLP(), CFS(discretizer=None), MixedNaiveBayes()))
    >>> pairs.fit(X, y).problems_
    ['high vs low', 'high vs middle', 'low vs middle']
    """

    estimator: Annotated[Any, Classifier()] = field(kw_only=False)
    code: Annotated[str | npt.ArrayLike, OneOf("ovo", "ova"), Matrix()] = "ovo"
    decoding: Annotated[str, OneOf(*DECODINGS)] = "hamming"
    loss: Annotated[str | Loss | None, OneOf(*LOSSES), Function("a function of an array")] = None
    threshold: Annotated[float | None, Number(at_least=0, below=1)] = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            for name in ("allow_nan", "categorical", "string", "sparse", "positive_only"):
                setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn every problem of the code matrix.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        X = self._table(X, reset=True)
        codes, classes = read_classes(y, X.shape[0], type(self).__name__)
        code = code_matrix(self.code, len(classes), classes)
        check_rule(self.decoding, self.loss, self.threshold, code, classes)
        self.classes_: AnyArray = classes
        self.code_: IntArray = code
        self.problems_: list[str] = [_label(row, classes) for row in code]

        def learn(s: int) -> Any:
            side = code[s, codes]
            rows = np.flatnonzero(side)
            part = X if len(rows) == len(side) else _take_rows(X, rows)
            try:
                return clone(self.estimator).fit(part, (side[rows] > 0).astype(np.int64))
            except DataError as error:
                raise DataError(f"in the rows of {self.problems_[s]}: {error}") from None

        self.estimators_: list[Any] = self._map_problems(learn)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return a score of every class for every row: larger is better.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        scores : float array of shape (n_rows, n_classes) or, for two classes, (n_rows,)
            Those of :func:`decode`; for two classes the second less the first.
        """
        check_is_fitted(self)
        self._check_decoding()  # it may have changed since fit
        check_rule(self.decoding, self.loss, self.threshold, self.code_, self.classes_)
        X = self._table(X, reset=False)
        margins = needs_margins(self.decoding, self.threshold)
        outputs = self._map_problems(lambda s: _learner_outputs(self.estimators_[s], X, margins))
        scores = decode(
            np.column_stack(outputs),
            self.code_,
            decoding=self.decoding,
            loss=self.loss,
            threshold=self.threshold,
        )
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Predict the class of every row; of tied ones, the class that is sorted first.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    # ---- parts ------------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        self._check_decoding()

    def _check_decoding(self) -> None:
        """Refuse an unknown rule, and one that needs outputs that the learner does not have."""
        check_rule(self.decoding, self.loss, self.threshold)
        learner = self.estimator
        steps = getattr(learner, "steps", [("", learner)])  # the last one of a pipeline predicts
        name = type(steps[-1][1]).__name__
        if self.decoding == "loss":
            if not (hasattr(learner, "decision_function") or hasattr(learner, "predict_proba")):
                raise ParameterError(
                    f"{name} gives neither margins (decision_function) nor probabilities "
                    "(predict_proba), of which decoding='loss' takes the loss: use "
                    "decoding='hamming', or another learner"
                )
        elif not (
            needs_margins(self.decoding, self.threshold) or hasattr(learner, "predict_proba")
        ):
            condition, remedy = "", "use decoding='hamming' or 'loss'"
            if self.decoding == "hamming":
                condition, remedy = f" with threshold={self.threshold!r}", "leave out the threshold"
            raise ParameterError(
                f"{name} gives no probabilities (predict_proba), which "
                f"decoding={self.decoding!r}{condition} needs: wrap it in scikit-learn's "
                f"CalibratedClassifierCV, or {remedy}"
            )

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Check X as far as rows are taken from it; the learner checks its cells."""
        refuse_shapes(X)
        if not is_frame(X):
            if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "OUS":
                X = np.array(X, dtype=object)  # numpy would turn numbers beside text into text
            sparse = "csr" if get_tags(self).input_tags.sparse else False
            X = check_array(
                X,
                accept_sparse=sparse,
                dtype=None,
                ensure_all_finite=False,
                estimator=self,
                input_name="X",
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _map_problems(self, work: Callable[[int], Any]) -> list[Any]:
        """Work on every problem in threads.

        They are not those of ``run_blocks``: a learner that waits for a thread of the same pool
        would wait for ever. In those of joblib, ``n_jobs=None`` of the learner means one thread.
        """
        count = len(self.code_)
        threads = 1 if _has_shared_generator(self.estimator) else min(n_threads(self.n_jobs), count)
        with single_threaded_blas():
            jobs = (delayed(work)(s) for s in range(count))
            return list(Parallel(n_jobs=threads, require="sharedmem")(jobs))


def _learner_outputs(learner: Any, X: Any, margins: bool) -> FloatArray:
    """Return the margin or the probability that a learner of one problem gives every row."""
    if margins and hasattr(learner, "decision_function"):
        decisions = np.asarray(learner.decision_function(X), dtype=np.float64)
        if decisions.size != len(decisions):
            raise DataError(
                f"decision_function of {type(learner).__name__} gave shape {decisions.shape} for "
                "two classes: one value a row is expected"
            )
        return decisions.ravel()
    if hasattr(learner, "predict_proba"):
        p = np.asarray(learner.predict_proba(X), dtype=np.float64)[:, 1]
        return 2 * p - 1 if margins else p
    return 2.0 * np.asarray(learner.predict(X)) - 1


def _take_rows(X: Any, rows: IntArray) -> Any:
    """Take some rows of a table, as a table of the same kind."""
    library = library_of(X)
    if library == "pandas":
        return X.iloc[rows]
    if library == "pyarrow":
        return X.take(rows)
    if library == "other":
        import narwhals as nw

        return nw.from_native(X, eager_only=True)[rows].to_native()
    return X[rows]


def _label(row: IntArray, classes: AnyArray) -> str:
    sides = [classes[row == side].tolist() for side in (1, -1)]
    names = [", ".join(str(label) for label in side) for side in sides]
    if len(classes) > 2 and row.all():
        for k in (0, 1):
            if len(sides[1 - k]) == 1:
                names[k] = "rest"
    return " vs ".join(names)


def _has_shared_generator(estimator: Any) -> bool:
    """Return whether a learner draws from a generator that all threads of the process share."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if not type(part).__module__.startswith("sklearn."):
            continue
        if type(part).__name__ == "LinearSVC" or getattr(part, "solver", None) == "liblinear":
            return True
        if type(part).__name__ in ("SVC", "NuSVC") and getattr(part, "probability", False) is True:
            return True
    return False
