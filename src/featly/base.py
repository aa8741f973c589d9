"""Base classes of all methods: scikit-learn selectors that rank, or that choose a subset."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from featly.basics.caller import warn_user
from featly.basics.errors import (
    Column,
    ConvergenceWarning,
    DataError,
    NoEvidenceWarning,
    ParameterError,
    SchemaError,
    SchemaWarning,
    Setting,
)
from featly.basics.estimators import BaseEstimator, SelectorMixin
from featly.basics.kinds import KINDS
from featly.basics.params import Number, OneOf, Parameters, Whole, check_parameters, parameters_of
from featly.basics.resources import Resources, read_resources
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.combine.class_pairs import DECOMPOSITION, rank_by_classes
from featly.core.ranking.ordering import keep_first
from featly.core.ranking.preference import Preference
from featly.core.runtime.device_cuda import ensure_on_host, is_device_array, take_device_columns
from featly.core.runtime.parallel import single_threaded_blas
from featly.core.runtime.question import DISK, GPU, places_of
from featly.core.sources.questions import single_columns
from featly.measures.sizes import choose_size
from featly.problem.ingest import as_stored_table, ingest_stored, load_columns, read
from featly.problem.outcome import Ranking, Selection, StoppedError, rank_by_merit, stop_with
from featly.problem.parameters import InSchema, Threaded
from featly.problem.place import Questions, read_device, run_where_best
from featly.problem.problem import Problem
from featly.problem.target import KIND_NAMES, Classes, Target, read_target
from featly.problem.weights import read_weights, weigh_rows
from featly.registry import methods_that, suggest
from featly.table.frames import (
    DefaultNames,
    frame_of,
    is_frame,
    library_of,
    open_table,
    refuse_shapes,
    take_columns,
)
from featly.table.schema import Columns, Schema

__all__ = [
    "Multiclass",
    "Prepared",
    "Problem",
    "Questions",
    "Ranker",
    "Ranking",
    "Selection",
    "SubsetSelector",
    "Weighted",
    "keep_first",
    "rank_by_merit",
    "stop_with",
]

# they need nothing but a ranking, and "fdr" its q-values
RULES = ("rule-of-thumb", "largest-gap", "two-variances", "fdr")
READ_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "_library")  # they are set by reading


@dataclass(frozen=True)
class Prepared:
    """A table that was read for a method, whatever the target of its rows.

    Attributes
    ----------
    problem : Problem
    attributes : dict
        What reading told the method: names and number of columns, and their library.
    """

    problem: Problem
    attributes: dict[str, Any]


class Multiclass(Parameters):
    """Rankers for two classes that can turn many into problems of two."""

    multiclass: Annotated[str | None, DECOMPOSITION] = None


class _Selector(SelectorMixin, BaseEstimator):
    """Input, checks and output that rankers and subset selectors share."""

    _kinds: ClassVar[tuple[str, ...]] = ("continuous", "ordinal")
    _targets: ClassVar[tuple[str, ...]] = ("classes",)
    _uses: ClassVar[tuple[str, ...]] = ("keep",)
    _most_prior: ClassVar[float] = 1e12  # beyond it the prior alone decides; `keep` says it better
    _missing: ClassVar[bool] = False
    _sparse: ClassVar[bool] = True
    _many_classes: ClassVar[bool] = True
    _takes_bytes: ClassVar[bool] = False  # takes whole numbers of one byte without conversion
    _weighs_targets: ClassVar[tuple[str, ...]] = ()  # with which weights of rows are taken
    _scores_one_by_one: ClassVar[bool] = False  # a score depends on its own column alone
    _rough: ClassVar[dict[str, float]] = {}  # parameters of a less exact solution, for tests
    _by_neighbours: ClassVar[bool] = False  # ranks by near rows, so neighbours judge it, too

    schema: Schema | dict[str, Any] | None
    n_jobs: int | None
    classes_: AnyArray
    target_kind_: str
    evidence_: BoolArray
    _columns: Columns
    _library: str | None
    _extra: list[str]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Tell type checkers of what a method adds when it is fitted, such as `p_value_`."""

    @property
    def _reads_missing(self) -> bool:
        """Return whether what is missing may say something by itself."""
        return False

    def _takes_many_classes(self) -> bool:
        """Return whether more than two classes are taken, directly or as problems of two."""
        return self._many_classes or self._decomposition() is not None

    def _is_scale_dependent(self) -> bool:
        """Return whether multiplying a column by a constant may change the outcome."""
        return False

    def _is_greedy(self) -> bool:
        """Return whether a column's score depends on the columns chosen before it."""
        return False

    def _decomposition(self) -> str | None:
        """Return the rule that turns many classes into problems of two, or None."""
        return getattr(self, "multiclass", None)

    def _takes_integers(self) -> bool:
        """Return whether the computation takes whole numbers without conversion to floats."""
        return False

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self._missing
        tags.input_tags.sparse = self._sparse
        tags.input_tags.categorical = "categorical" in self._kinds
        tags.input_tags.string = "categorical" in self._kinds
        if not self._takes_many_classes():
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    # ---- fitting ----------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, **unknown: Any) -> Self:
        """Learn from a table and its target what the columns are worth.

        Parameters
        ----------
        X : data frame, array, sparse matrix or table on disk of shape (n_rows, n_features)
            A pandas, polars or pyarrow frame, anything that NumPy turns into a two-dimensional
            array, a SciPy sparse matrix, what :func:`featly.scan` opens, or a CuPy array or
            PyTorch tensor on a GPU.
        y : sequence of shape (n_rows,), or structured array
            The class of every row; or its number, or its time and event, for methods that take
            such a target.
        **unknown
            Refused: here only methods that take `sample_weight` have another argument.

        Returns
        -------
        self
        """
        for name in unknown:
            also = _methods_with_weights() if name == "sample_weight" else ""
            raise ParameterError(
                f"fit of {type(self).__name__} takes no {name}: leave it out{also}"
            )
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        check_parameters(self)
        self._forget()
        return self._fit_problem(self._read(X, y, sample_weight))

    def _fit_problem(self, problem: Problem) -> Self:
        with single_threaded_blas():
            self._learn(problem)
        self._warn_of_filler()
        return self

    def _prepare(self, X: Any, y: Any) -> "Prepared":
        """Read a table for many targets of its rows: what does not depend on these is done once.

        Parameters
        ----------
        X, y
            As for ``fit``.

        Returns
        -------
        Prepared
            For ``_fit_prepared``, of this estimator or of one with the same parameters.
        """
        check_parameters(self)
        self._forget()
        problem = self._read(X, y)
        read = {name: value for name, value in vars(self).items() if name in READ_ATTRIBUTES}
        return Prepared(replace(problem, kept={}), read)

    def _fit_prepared(self, prepared: "Prepared", y: Any) -> Self:
        """Learn from a table that is read already, with a target of its rows.

        The outcome is that of ``fit`` to the table and this target.

        Parameters
        ----------
        prepared : Prepared
            Of ``_prepare``.
        y : sequence of shape (n_rows,), or structured array
            As for ``fit``, of the same kind as there.

        Returns
        -------
        self
        """
        check_parameters(self)
        self._forget()
        vars(self).update(prepared.attributes)
        problem = prepared.problem
        target = read_target(
            ensure_on_host(y),
            problem.source.n_rows,
            type(self).__name__,
            targets=self._targets,
            many_classes=self._takes_many_classes(),
            kind=problem.target.kind,
            batch=False,
        )
        return self._fit_problem(replace(problem, target=target))

    def _forget(self) -> None:
        """Delete the attributes of an earlier fit: this one may be stopped half way."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "order_")

    @abstractmethod
    def _learn(self, problem: Problem) -> None:
        """Compute the outcome and set the fitted attributes."""

    def _asks(self, target: str = "classes") -> Questions:
        """Return the questions that a fit asks of its table: where all are answered, it runs.

        `target` is the kind of target. A method that says nothing reads a table in memory.
        """
        return (single_columns,)

    def _facts(self) -> dict[str, Any]:
        """Return what the registry says of the method, see :class:`featly.registry.Method`."""
        places = places_of(self._asks())
        return {
            "kinds": self._kinds,
            "missing": self._missing,
            "sparse": self._sparse,
            "many_classes": self._many_classes,
            "uses": self._uses,
            "targets": self._targets,
            "weights": "classes" in self._weighs_targets,
            "adds": hasattr(self, "partial_fit"),
            "streams": DISK in places,
            "on_device": GPU in places and self._resources().device != "cpu",
        }

    def _run(
        self, questions: Questions, problem: Problem, compute: Callable[[Problem], Any]
    ) -> Any:
        """Run a computation where its questions are answered, and return its outcome."""
        return run_where_best(
            questions,
            problem,
            compute,
            name=type(self).__name__,
            operations=self._operations,
            integers=self._takes_integers(),
        )

    def _check_parameters(self) -> None:
        """Raise ParameterError for parameters that do not go together, before the data is read."""

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        batch: bool = False,
        schema: Schema | None = None,
    ) -> Problem:
        """Check and read the arguments of ``fit``, or one batch of a table.

        A batch may have one class only, and the names of its levels are kept. `schema` is what the
        batches before it say about the columns.
        """
        name = type(self).__name__
        resources, y = self._resources(), ensure_on_host(y)
        refuse_shapes(X)
        stored = as_stored_table(X, mapped=resources.memory is not None)
        if stored is not None or is_device_array(X):
            table: Any = X if stored is None else stored
        elif is_frame(X):
            table = open_table(X)
        else:
            X, table = self._read_array(X)
        for count, unit in ((X.shape[1], "feature"), (X.shape[0], "sample")):
            if count == 0:
                raise DataError(f"X has 0 {unit}(s): a minimum of 1 is required")
        is_later, integers = schema is not None, self._takes_integers()
        if is_later and stored is not None:
            self._check_stored(stored)
        else:
            validate_data(self, X, y, skip_check_array=True, reset=not is_later)
        if stored is not None and isinstance(stored.names, list):
            self.feature_names_in_: AnyArray = np.array(stored.names, dtype=object)
        schema = Schema.of(self.schema) if schema is None else schema
        weights = read_weights(sample_weight, X.shape[0])
        target = read_target(
            y,
            X.shape[0],
            name,
            targets=self._targets,
            many_classes=self._takes_many_classes(),
            kind=schema.target_kind,
            batch=batch,
        )
        if weights is not None and target.kind not in self._weighs_targets:
            raise DataError(
                f"y holds {KIND_NAMES[target.kind]}, where {self._display_name()} takes no "
                "sample_weight: leave it out"
                + ("" if self._weighs_targets else _methods_with_weights())
            )
        itemsize = getattr(getattr(X, "dtype", None), "itemsize", 0)
        integers = integers or (self._takes_bytes and itemsize == 1)
        if stored is not None:
            memory_budget = resources.memory_budget
            ingested = ingest_stored(stored, schema, memory_budget, self.n_jobs, integers=integers)
        elif is_device_array(X):
            ingested = read_device(
                X, schema, self.n_jobs, integers=integers, host_memory=resources.memory
            )
        else:
            ingested = read(table, schema, self.n_jobs, integers=integers, texts=batch)
        if not is_later:
            self._check_schema(ingested.columns, target.kind)
        self._library = library_of(X)
        problem = Problem(
            ingested.source,
            ingested.columns,
            target,
            self._preference(ingested.columns),
            resources=resources,
            stored=ingested.stored,
        )
        return weigh_rows(problem, weights, self.n_jobs, batch=batch)

    def _preference(self, columns: Columns) -> Preference:
        """Return what the schema wants of the columns, as far as the method uses it."""
        prior = columns.prior if "prior" in self._uses else None
        weighs_costs = "costs" in self._uses and columns.costs is not None
        preference = Preference(
            keep=columns.keep,
            cost=columns.costs if weighs_costs else None,
            trade_off=columns.trade_off if weighs_costs else 0.0,
        )
        if prior is None or prior.max() == prior.min():
            return preference
        relative = prior / prior.min()
        if relative.max() > self._most_prior:
            j = int(relative.argmax())
            raise SchemaError(
                f"prior of {columns.names[j]!r} is {prior[j]:g}, {relative[j]:g} times that of "
                f"other columns: {self._display_name()} takes up to {self._most_prior:g}, beyond "
                "which all others are lost in rounding. Give less, or `keep` the column to have it "
                "for certain"
            )
        return replace(preference, prior=relative)

    def _resources(self) -> Resources:
        """Return the device, memory and cache folder that a fit may use."""
        return read_resources(self)

    def _operations(self, n_rows: int, n_features: int) -> float:
        """Return the number of operations, by which a GPU is worth it or not."""
        return float(n_rows) * n_features

    def _read_array(self, X: Any) -> tuple[Any, Any]:
        """Check an array, list or sparse matrix; return it, and a table or array to read from."""
        if scipy.sparse.issparse(X) and not self._sparse:
            raise DataError(f"{type(self).__name__} does not take sparse tables: pass X.toarray()")
        if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "OUS":
            X = np.array(X, dtype=object)  # text beside numbers must not make text of the numbers
        textual = getattr(X, "dtype", np.dtype(float)).kind in "OUST"
        X = check_array(
            X,
            accept_sparse="csc",
            dtype=None if textual else "numeric",
            ensure_all_finite=False,
            estimator=self,
            input_name="X",
        )
        if X.dtype.kind == "O" and not any(isinstance(v, str) for v in X.flat):
            return X, np.where(np.equal(X, np.array(None)), np.nan, X).astype(np.float64)
        return X, open_table(X) if textual else X

    def _display_name(self) -> str:
        """Return the name of the method in errors about columns and parts of a schema."""
        return type(self).__name__

    def _check_schema(self, columns: Columns, target: str) -> None:
        name = self._display_name()
        idle = () if columns.trade_off else ("costs",)
        unused = [p for p in columns.stated_parts() if p not in self._uses or p in idle]
        if unused:
            message = f"{name} does not use {' and '.join(unused)} of the schema"
            if "costs" in unused and "costs" in self._uses:
                message += ": its trade_off, the score that one unit of cost is worth, is 0"
            warn_user(message, SchemaWarning)
        elif columns.prior is not None and 1 < columns.prior.min() == columns.prior.max():
            message = f"prior is {columns.prior[0]:g} for every column, so it favours none"
            warn_user(message, SchemaWarning)
        for code, kind in enumerate(KINDS):
            if kind in self._kinds or not (columns.kinds == code).any():
                continue
            column = columns.names[int(np.flatnonzero(columns.kinds == code)[0])]
            suggestions = suggest(methods_that(kind=kind, target=target))
            raise DataError(
                "column ",
                Column(column),
                f" is {kind}, {name} takes {' and '.join(self._kinds)} columns: "
                "leave it out, declare it continuous or ordinal in the schema if its values have "
                f"an order, or use a method that takes it: {suggestions}",
            )

    # ---- evidence ---------------------------------------------------------------------------
    def _claims_evidence(self) -> bool:
        """Return whether to select a column is to say that it tells about the target."""
        return True

    def _filler(self) -> BoolArray:
        """Return a mask of the columns without evidence that the user did not want kept."""
        filler = ~self.evidence_
        filler[self._columns.keep] = False
        return filler

    def _warn_of_filler(self) -> None:
        """Warn of selected columns for which there is no evidence."""
        support, filler = self._get_support_mask(), self._filler()
        n_filler, n_selected = int((support & filler).sum()), int(support.sum())
        if n_filler == 0 or not self._claims_evidence():
            return
        name, one = self._display_name(), n_filler == 1
        if n_filler == len(filler) or not self.evidence_.any():
            count, verb = ("one", "is") if one else (n_filler, "are")
            message = (
                f"no column has any evidence: the {count} that {name} selected {verb} filler; "
                "select none, or try another method"
            )
        else:
            message = (
                f"{n_filler} of the {n_selected} selected columns {'is' if one else 'are'} filler: "
                f"{name} has no evidence that {'it tells' if one else 'they tell'} anything about "
                f"the target; {self._filler_remedy()}"
            )
        warn_user(message, NoEvidenceWarning)

    def _filler_remedy(self) -> str:
        """Return what to do about filler, as the end of a warning."""
        return "leave them out: table() marks them"

    # ---- output -----------------------------------------------------------------------------
    def transform(self, X: Any) -> Any:
        """Return only the selected columns of X.

        Parameters
        ----------
        X : data frame, array, sparse matrix or table on disk with the columns seen in ``fit``
            Values do not matter for a frame; an array must be finite where the method needs
            complete columns, which is scikit-learn's rule.

        Returns
        -------
        X_selected
            A frame of the same library with dtypes kept, or an array or sparse matrix; an array on
            a GPU stays there, and of a table on disk the columns are read.
        """
        check_is_fitted(self)
        stored = as_stored_table(X, mapped=False)
        if stored is not None:
            self._check_stored(stored)
            return load_columns(stored, self.get_support(indices=True))
        if is_device_array(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return take_device_columns(X, self.get_support(indices=True))
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            selected = take_columns(X, self.get_support(indices=True))
            return self._for_container(selected)
        X = validate_data(
            self,
            X,
            reset=False,
            dtype=None,
            accept_sparse=True,
            ensure_all_finite=not self._missing,
        )
        if scipy.sparse.issparse(X):
            X = X.tocsc() if X.format not in ("csr", "csc") else X
        return X[:, self.get_support(indices=True)]

    def _check_stored(self, table: Any) -> None:
        """Raise DataError unless a table on disk has the columns seen in ``fit``."""
        if table.n_features != self.n_features_in_:
            raise DataError(
                f"X has {table.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        names = getattr(self, "feature_names_in_", None)
        if names is None or not isinstance(table.names, list):
            return
        for k, (name, name_in_fit) in enumerate(zip(table.names, names.tolist(), strict=True)):
            if name != name_in_fit:
                raise DataError(
                    f"column {k} of X is {name!r}, where it was {name_in_fit!r} in fit: give the "
                    "columns of fit, in their order"
                )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of all columns; those seen in ``fit`` by default.

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        names = self._columns.names
        seen = hasattr(self, "feature_names_in_") or isinstance(names, DefaultNames)
        if input_features is None and not seen:  # the names are in a file
            selected = [names[int(k)] for k in self.get_support(indices=True)]
            return np.array(selected, dtype=object)
        return super().get_feature_names_out(input_features)

    def _for_container(self, frame: Any) -> Any:
        """Hand scikit-learn's ``set_output`` a frame of the library that it will return."""
        from sklearn.utils._set_output import _get_output_config

        wanted_library = _get_output_config("transform", self)["dense"]
        own_library = library_of(frame)
        if wanted_library == "pandas" and own_library != "pandas":
            return frame.to_pandas()
        if wanted_library == "polars" and own_library != "polars":
            import polars as pl

            return pl.from_pandas(frame) if own_library == "pandas" else pl.from_arrow(frame)
        return frame

    def _store_target(self, target: Target) -> None:
        self.target_kind_ = target.kind
        if isinstance(target, Classes):
            self.classes_ = target.labels

    def _names(self) -> list[str]:
        return list(self._columns.names)

    @property
    def kinds_(self) -> list[str]:
        """Kind of every column, in words."""
        check_is_fitted(self)
        return [KINDS[kind] for kind in self._columns.kinds]

    def table(self) -> Any:
        """Return the outcome as a frame, one row a feature, best first.

        Returns
        -------
        frame
            Of the library of the table that was fitted; polars for arrays.
        """
        check_is_fitted(self)
        return frame_of(self._table_columns(), self._library)

    @abstractmethod
    def _table_columns(self) -> dict[str, Any]:
        """Columns of ``table()``."""


class _RankerState(_Selector):
    """Attributes of a fitted ranker."""

    keys_: list[Any]  # after problems of two classes: their keys, labels, ...
    problems_: list[str]
    positions_: IntArray  # ... the position of every column in each, ...
    n_first_: int  # ... and how many columns count as the first


class Ranker(Threaded, InSchema, _RankerState):
    """Base of the methods that order all columns from best to worst.

    A subclass adds its parameters as fields to `n_features_to_select`, `schema` and `n_jobs`, which
    all have, declares what it takes in the class attributes `_kinds`, `_missing`, `_sparse`,
    `_many_classes` and `_uses`, and implements ``_rank(problem) -> Ranking``. CONTRIBUTING
    describes how to add one.

    Attributes
    ----------
    order_ : int array of shape (n_features,)
        Columns from best to worst. It does not depend on `n_features_to_select`, which is a
        count, a fraction, None for half or up to the first filler, or a rule on the ranking:
        "rule-of-thumb", "largest-gap", "two-variances", "fdr" (see
        :func:`featly.measures.sizes.choose_size`); "fdr" is for methods with q-values.
    ranking_ : int array of shape (n_features,)
        Rank of every column, 1 is best.
    scores_ : float array of shape (n_features,)
        They fall along ``order_``, but for the columns that the user wants kept (schema `keep`),
        which come first.
    support_ : bool array of shape (n_features,)
        Mask of the first `n_features_to_select` columns of ``order_``. It follows that parameter
        without another fit.
    evidence_ : bool array of shape (n_features,)
        Whether the method has any evidence that the column tells something about the target. The
        others are filler: they have a rank because every column has one.
    kinds_ : list of str
        Kind of every column.
    classes_ : array
        The labels of the target; for classes only.
    target_kind_ : {"classes", "numbers", "survival"}
        What the target was read as.
    """

    _has_q_values: ClassVar[bool] = False  # `extra` of its ranking has "q_value"

    n_features_to_select: Annotated[
        int | float | str | None,
        Whole(at_least=1),
        Number(above=0, at_most=1),
        OneOf(*RULES),
    ] = None

    def _learn(self, problem: Problem) -> None:
        if self.n_features_to_select == "fdr" and not self._has_q_values:
            self._refuse_fdr()
        if self.n_features_to_select not in RULES:
            _resolve_n_features(
                self.n_features_to_select, self.n_features_in_, len(problem.preference.keep)
            )
        try:
            questions = self._asks(problem.target.kind)
            ranking = self._run(questions, problem, self._rank_classes)
        except StoppedError as stopped:
            self._store(problem, stopped.outcome)
            raise KeyboardInterrupt from None
        self._store(problem, ranking)

    def _rank_classes(self, problem: Problem) -> Ranking:
        """Rank the columns; with `multiclass`, combine the rankings of problems of two classes."""
        decomposition = self._decomposition()
        if decomposition is None or problem.classes.count == 2:
            return self._rank(problem)
        return rank_by_classes(
            self,
            problem,
            decomposition,
            n_jobs=self.n_jobs,
            verbose=getattr(self, "verbose", False),
        )

    @abstractmethod
    def _rank(self, problem: Problem) -> Ranking:
        """Order the columns."""

    def _store(self, problem: Problem, ranking: Ranking) -> None:
        if ranking.warning is not None:
            warn_user(ranking.warning, ConvergenceWarning)
        self._columns = problem.columns
        self._store_target(problem.target)
        self.order_: IntArray = ranking.order
        ranks = ranks_from_order(ranking.order) if ranking.ranks is None else ranking.ranks
        self.ranking_: IntArray = ranks
        self.scores_: FloatArray = ranking.scores
        self.evidence_: BoolArray = ranking.evidence
        self._extra = list(ranking.extra)
        for name, value in {**ranking.extra, **ranking.attributes}.items():
            setattr(self, f"{name}_", value)

    @property
    def support_(self) -> np.ndarray:
        """Mask of the selected columns: the first `n_features_to_select` of ``order_``.

        It follows the parameter: after ``set_params(n_features_to_select=5)`` no refit is needed.
        """
        check_is_fitted(self)
        wanted = self.n_features_to_select
        if wanted in RULES:
            wanted = self._size_by_rule(str(wanted))
        count = _resolve_n_features(wanted, len(self.order_), len(self._columns.keep))
        if wanted is None:
            count = max(1, min(count, self._n_before_filler()), len(self._columns.keep))
        mask = np.zeros(len(self.order_), bool)
        mask[self.order_[:count]] = True
        return mask

    def _size_by_rule(self, rule: str) -> int:
        """Return the number of columns that a rule on the ranking selects."""
        keep, n_features = self._columns.keep, len(self.order_)
        if rule == "fdr":
            q = self._check_q_values()
            if len(keep):  # they come first, whatever their q-values
                q = np.append(np.delete(q, keep), np.zeros(len(keep)))
            return choose_size(None, rule, q_values=q)
        scores = self.scores_[self.order_]
        return max(choose_size(None, rule, scores=scores, n_features=n_features), len(keep))

    def _check_q_values(self) -> FloatArray:
        """Return the q-values; ParameterError if there are none, or a column has none."""
        if not self._has_q_values:
            self._refuse_fdr()
        q: FloatArray = self.q_value_
        if np.isnan(q).any():
            name = self._names()[int(np.isnan(q).argmax())]
            raise ParameterError(
                Setting("n_features_to_select", "fdr"),
                f": {type(self).__name__} has no q-value for column {name!r}, which was cut where "
                "the classes change; give a number, or use UnivariateTest",
            )
        return q

    def _refuse_fdr(self) -> NoReturn:
        raise ParameterError(
            Setting("n_features_to_select", "fdr"),
            f": {type(self).__name__} has no q-values; give a number or another rule, or use a "
            "method that has them, such as UnivariateTest",
        )

    def _n_before_filler(self) -> int:
        """Return how many columns come before the first filler."""
        filler = self._filler()[self.order_]
        return int(filler.argmax()) if filler.any() else len(filler)

    def _filler_remedy(self) -> str:
        return f"select at most {self._n_before_filler()}"

    @property
    def rankings_(self) -> dict[Any, np.ndarray]:
        """Positions of the columns in each ranking, if many classes were ranked as problems of two.

        The key is a pair of classes, or the one class that was ranked against all others.
        """
        if not hasattr(self, "positions_"):
            raise AttributeError(
                f"{type(self).__name__} has no rankings_: it was not fitted to problems of two "
                "classes"
            )
        return dict(zip(self.keys_, self.positions_.T, strict=True))

    def _get_support_mask(self) -> np.ndarray:
        return self.support_

    def _table_columns(self) -> dict[str, Any]:
        order, names, kinds = self.order_, self._names(), self.kinds_
        columns = {
            "feature": [names[f] for f in order],
            "kind": [kinds[f] for f in order],
            "rank": self.ranking_[order],
            "score": self.scores_[order],
            "selected": self.support_[order],
            "evidence": self.evidence_[order],
        }
        columns |= {name: getattr(self, f"{name}_")[order] for name in self._extra}
        return columns | self._list_columns()

    def _list_columns(self) -> dict[str, Any]:
        """Return the positions of every column in the rankings of the problems of two classes.

        The best one, its problem, the number of rankings that have the column among the first,
        then the position in each ranking.
        """
        if not hasattr(self, "positions_"):
            return {}
        positions = self.positions_[self.order_]
        labels = np.array(self.problems_, dtype=object)
        return {
            "best_position": positions.min(axis=1),
            "best_in": labels[positions.argmin(axis=1)],
            "among_first": (positions <= self.n_first_ + len(self._columns.keep)).sum(axis=1),
            **dict(zip(self.problems_, positions.T, strict=True)),
        }


class Weighted(_Selector):
    """Base of the methods that take weights of rows."""

    _weighs_targets: ClassVar[tuple[str, ...]] = ("classes",)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from a table and its target what the columns are worth.

        Parameters
        ----------
        X : data frame, array, sparse matrix or table on disk of shape (n_rows, n_features)
            A pandas, polars or pyarrow frame, anything that NumPy turns into a two-dimensional
            array, a SciPy sparse matrix, what :func:`featly.scan` opens, or a CuPy array or
            PyTorch tensor on a GPU.
        y : sequence of shape (n_rows,), or structured array
            The class of every row; or its number, or its time and event, for methods that take
            such a target.
        sample_weight : sequence of shape (n_rows,), optional
            How many equal rows each row counts as: 2 is as if it were there twice, 0 as if it were
            not there. It may be a fraction.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)


class SubsetSelector(Threaded, InSchema, _Selector):
    """Base of the methods that choose a subset of at least one column.

    A subclass adds its parameters as fields to `schema` and `n_jobs`, which all have. It has the
    class attributes of :class:`Ranker`, and ``_select(problem)``: the chosen columns in the order
    in which they were chosen, those of ``problem.columns.keep`` first; a `Selection` if there are
    further results.

    Attributes
    ----------
    order_ : int array
        The chosen columns, in the order of their choice.
    support_ : bool array of shape (n_features,)
        Mask of the chosen columns.
    evidence_ : bool array of shape (n_features,)
        Whether the method has any evidence that the column tells something about the target. A
        chosen column without it is filler: a selection has at least one column.
    kinds_ : list of str
        Kind of every column.
    classes_ : array
        The labels of the target; for classes only.
    target_kind_ : {"classes", "numbers", "survival"}
        What the target was read as.
    """

    def _learn(self, problem: Problem) -> None:
        try:
            selection = self._run(self._asks(problem.target.kind), problem, self._select)
        except StoppedError as stopped:
            self._store(problem, stopped.outcome)
            raise KeyboardInterrupt from None
        if not isinstance(selection, Selection):
            selection = Selection(selection)
        self._store(problem, selection)

    def _store(self, problem: Problem, selection: Selection) -> None:
        self._columns = problem.columns
        self._store_target(problem.target)
        self.order_: IntArray = np.asarray(selection.order, dtype=np.int64)
        self.support_: BoolArray = np.zeros(problem.source.n_features, bool)
        self.support_[self.order_] = True
        if selection.evidence is None:  # the method chose what it has evidence for
            self.evidence_: BoolArray = self.support_.copy()
            self.evidence_[problem.columns.keep] = False
        else:
            self.evidence_ = selection.evidence
        self._extra = list(selection.extra)
        for name, value in {**selection.extra, **selection.attributes}.items():
            setattr(self, f"{name}_", value)

    @abstractmethod
    def _select(self, problem: Problem) -> Selection | npt.ArrayLike:
        """Choose columns, at least one."""

    def _get_support_mask(self) -> np.ndarray:
        return self.support_

    def _table_columns(self) -> dict[str, Any]:
        names, kinds = self._names(), self.kinds_
        unselected = np.flatnonzero(~self.support_)
        order = np.concatenate([self.order_, unselected])
        columns = {
            "feature": [names[f] for f in order],
            "kind": [kinds[f] for f in order],
            "selected": self.support_[order],
            "evidence": self.evidence_[order],
        }
        return columns | {name: getattr(self, f"{name}_")[order] for name in self._extra}


def _methods_with_weights() -> str:
    """Return the end of a sentence that names methods that take weights of rows."""
    return f", or use a method that takes it: {', '.join(methods_that(weights=True))}"


def ranks_from_order(order: np.ndarray) -> np.ndarray:
    """Return the rank of every column, from 1."""
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def _resolve_n_features(wanted: Any, n_features: int, n_keep: int) -> int:
    """Return the number of columns that `n_features_to_select` stands for."""
    parameters_of(Ranker)["n_features_to_select"].check(wanted)
    if wanted is None:
        count = max(1, n_features // 2, n_keep)
    elif isinstance(wanted, int | np.integer):
        count = int(wanted)
    else:
        count = max(1, int(np.floor(wanted * n_features + 0.5)))
    if count > n_features:
        raise ParameterError(
            f"n_features_to_select={wanted!r}, but the table has {n_features} columns"
        )
    if count < n_keep:
        raise ParameterError(
            f"n_features_to_select={wanted!r} is fewer than the {n_keep} columns that the schema "
            "keeps: select more, or keep fewer"
        )
    return count
