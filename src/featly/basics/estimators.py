"""The base classes of scikit-learn, with the types that scikit-learn does not declare.

At run time they are scikit-learn's own. scikit-learn has no type information, so without this
file a type checker would know nothing of what methods inherit.
"""

from typing import TYPE_CHECKING, Any, Literal, Self

from featly.basics.typing import AnyArray, BoolArray

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "OneToOneFeatureMixin",
    "SelectorMixin",
    "TransformerMixin",
]

if TYPE_CHECKING:

    class BaseEstimator:
        """Estimator with named parameters."""

        n_features_in_: int
        feature_names_in_: AnyArray

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            ...

        def set_params(self, **params: Any) -> Self:
            """Set parameters by name."""
            ...

        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin:
        """Classifier."""

        classes_: AnyArray

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Return the accuracy of the predictions for a table."""
            ...

    class TransformerMixin:
        """Transformer of tables."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            """Fit to a table and transform it."""
            ...

        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self:
            """Set the library of the tables that ``transform`` returns."""
            ...

    class OneToOneFeatureMixin:
        """Transformer whose columns keep their names."""

        def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
            """Return the names of the transformed columns."""
            ...

    class SelectorMixin(TransformerMixin):
        """Transformer that selects columns."""

        def get_support(self, indices: bool = False) -> AnyArray:
            """Return the mask of the selected columns, or their positions."""
            ...

        def _get_support_mask(self) -> BoolArray: ...

        def transform(self, X: Any) -> Any:
            """Return the selected columns of a table."""
            ...

        def inverse_transform(self, X: Any) -> Any:
            """Return a table with zeros for the columns that are not selected."""
            ...

        def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
            """Return the names of the selected columns."""
            ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
    )
    from sklearn.feature_selection import SelectorMixin
