"""Entries of the registry: facts about methods that are known without importing these."""

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, ClassVar, Generic, Literal, TypeVar

from featly.method_facts import FACTS

__all__ = ["Method"]

T = TypeVar("T")


class _Fact(Generic[T]):
    """A fact about the class of a method."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, method: "Method", owner: type | None = None) -> T:
        fact: T = method.facts[self.name]
        return fact


@dataclass(frozen=True)
class Method:
    """A method, known without importing it.

    Parameters
    ----------
    path : str
        ``"module:Class"``.
    family : {"filter", "elimination", "embedded", "ensemble", "wrapper", "other"}
        A filter scores every column once; an elimination drops the worst ones round by round; an
        embedded method takes the scores from one trained model; an ensemble makes one ranking of
        several; a wrapper tries sets of columns with a learner. Those of other packages are other.
    tier : {"stable", "historical", "third-party"}
        Stable: agrees with an independent program or a proof, on real data. Historical: built
        from its description, no independent check exists. Third-party: of another package.
    summary : str
        One line.
    cost : str
        Number of operations, for n rows and p columns.

    Attributes
    ----------
    kinds : tuple of str
        The kinds of column it takes.
    missing, sparse, many_classes : bool
        Whether it takes missing values, sparse tables, more than two classes.
    uses : tuple of str
        The parts of a schema it uses besides the kinds.
    targets : tuple of str
        The kinds of target it takes.
    weights, adds : bool
        Whether it takes `sample_weight`; whether it learns batch by batch, by ``partial_fit``.
    streams, on_device : bool
        Whether it reads a table on disk by blocks of columns; whether it computes on a GPU. They
        follow from the questions that it asks of a table.
    """

    path: str
    family: Literal["filter", "elimination", "embedded", "ensemble", "wrapper", "other"]
    tier: Literal["stable", "historical", "third-party"]
    summary: str
    cost: str

    kinds: ClassVar[_Fact[tuple[str, ...]]] = _Fact()
    missing: ClassVar[_Fact[bool]] = _Fact()
    sparse: ClassVar[_Fact[bool]] = _Fact()
    many_classes: ClassVar[_Fact[bool]] = _Fact()
    uses: ClassVar[_Fact[tuple[str, ...]]] = _Fact()
    targets: ClassVar[_Fact[tuple[str, ...]]] = _Fact()
    weights: ClassVar[_Fact[bool]] = _Fact()
    adds: ClassVar[_Fact[bool]] = _Fact()
    streams: ClassVar[_Fact[bool]] = _Fact()
    on_device: ClassVar[_Fact[bool]] = _Fact()

    @property
    def class_name(self) -> str:
        """Name of the class, in ``featly`` unless another package offers it."""
        return self.path.partition(":")[2]

    @property
    def public_path(self) -> str:
        """Path by which users import the class, such as ``featly.FTest``."""
        own = self.tier != "third-party"
        return f"featly.{self.class_name}" if own else self.path.replace(":", ".")

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the class with its default parameters: written down, or derived from it."""
        if self.class_name in FACTS and self.tier != "third-party":
            return FACTS[self.class_name]
        return self.derive_facts()

    def derive_facts(self) -> dict[str, Any]:
        """Derive the facts from the class, which is imported for that."""
        module, _, name = self.path.partition(":")
        facts: dict[str, Any] = getattr(import_module(module), name)()._facts()
        return facts

    def as_dict(self) -> dict[str, Any]:
        """Return what is written in the registry, and the facts."""
        return asdict(self) | self.facts
