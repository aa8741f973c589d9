"""Methods of other packages, which these name as entry points of the group ``featly.methods``.

To find them reads metadata only; a method is imported when it is asked for.
"""

import functools
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["GROUP", "BrokenMethodError", "OfferedMethod", "load_offered", "offered_methods"]

GROUP = "featly.methods"


@dataclass(frozen=True)
class OfferedMethod:
    """A method that a package offers.

    Attributes
    ----------
    name : str
        Its name on the command line.
    path : str
        ``"module:Class"``.
    package : str
        The package, as pip calls it.
    """

    name: str
    path: str
    package: str


class BrokenMethodError(Exception):
    """An offered method cannot be used; the message names the method and its package."""


@functools.cache
def offered_methods() -> dict[str, OfferedMethod]:
    """Return the methods that installed packages offer, by name; the first of a name counts."""
    from importlib.metadata import entry_points  # takes longer than the rest of `import featly`

    methods: dict[str, OfferedMethod] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        package = point.dist.name if point.dist is not None else "an unknown package"
        methods.setdefault(point.name, OfferedMethod(point.name, point.value, package))
    return methods


@functools.cache
def load_offered(name: str) -> Any:
    """Import an offered method and return its class; BrokenMethodError says why it cannot be had.

    It is an estimator that says what it takes, as those that derive from ``featly.base.Ranker`` do.
    """
    offered = offered_methods()[name]
    module, _, attribute = offered.path.partition(":")
    try:
        cls = functools.reduce(getattr, attribute.split("."), import_module(module))
        if not isinstance(cls, type) or not hasattr(cls, "_facts"):
            raise TypeError(
                f"{offered.path} derives from neither featly.base.Ranker nor SubsetSelector"
            )
        cls()._facts()
    except Exception as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise BrokenMethodError(
            f"the method {name!r} of the package {offered.package!r} cannot be used ({reason}): "
            "update or uninstall that package, or tell its authors"
        ) from problem
    return cls
