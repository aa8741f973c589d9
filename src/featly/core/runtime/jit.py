"""Decorators for compiled code, with a cache that notices every edit.

numba caches a compiled kernel beside a stamp of its own file. It does not notice an edited helper
in another file. So the kernels of a module are cached in a folder that is named after a hash of
the module and of everything in ``core`` that it imports, directly or not. An edit recompiles the
kernels that can depend on it, and no others. Where no folder can be written, kernels compile in
memory.

The environment variable ``FEATLY_CACHE_DIR`` names another folder for the cache.
"""

import functools
import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numba
import numba.core.event
from numba import config

__all__ = [
    "Compilation",
    "cache_folder",
    "import_closure",
    "intrinsic",
    "kernel",
    "lane_kernel",
]

_CORE = Path(__file__).parents[1]
_PREFIX = "featly.core"
_COMPILING = "numba:compile"  # numba tells of it when a loop is not in the cache
# a statement "from featly.core.x import a, b", with its names in parentheses or on one line, or
# "import featly.core.x"; text in a docstring that looks like one adds a file and does no harm
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_PREFIX}[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)"
    rf"|import[ \t]+({_PREFIX}[\w.]*))",
    re.MULTILINE,
)


def cache_folder(module: Path) -> str | None:
    """Return the folder of the kernels compiled from a module, or None if none can be written."""
    root = _cache_root()
    return str(root / _folder_name(module)) if _is_writable(root) else None


class Compilation(numba.core.event.Listener):
    """Loops that this process compiles as long as the context is open; those of the cache are none.

    Parameters
    ----------
    at_first : callable or None, default=None
        Called when the first of them begins.

    Attributes
    ----------
    n_loops : int
        Loops that were compiled, each for its types.
    seconds : float
        Time in which at least one of them was being compiled.
    """

    def __init__(self, at_first: Callable[[], None] | None = None) -> None:
        self.n_loops: int = 0
        self.seconds: float = 0.0
        self._at_first, self._open, self._begin = at_first, 0, 0.0
        self._lock = threading.RLock()  # a loop may compile others that it calls

    def __enter__(self) -> Self:
        numba.core.event.register(_COMPILING, self)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *_: object) -> None:
        numba.core.event.unregister(_COMPILING, self)  # type: ignore[no-untyped-call]

    def on_start(self, event: Any) -> None:
        """Count a loop; numba calls this, by this name."""
        with self._lock:
            if self.n_loops == 0 and self._at_first is not None:
                self._at_first()
            self.n_loops += 1
            if self._open == 0:
                self._begin = time.perf_counter()
            self._open += 1

    def on_end(self, event: Any) -> None:
        """Add the time of a loop; numba calls this, by this name."""
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self.seconds += time.perf_counter() - self._begin


@functools.cache
def import_closure(module: Path) -> tuple[Path, ...]:
    """Return a file and all files of ``core`` that it imports, directly or not, sorted."""
    closure = {module}
    pending = [module]
    while pending:
        for imported in _imported_files(pending.pop()):
            if imported not in closure:
                closure.add(imported)
                pending.append(imported)
    return tuple(sorted(closure))


@functools.cache
def _imported_files(module: Path) -> tuple[Path, ...]:
    """Return the files of ``core`` that one file names in its import statements."""
    text = module.read_text(encoding="utf-8")
    return tuple(file for match in _IMPORT.finditer(text) for file in _named_files(*match.groups()))


def _named_files(package: str | None, names: str | None, module: str | None) -> Iterator[Path]:
    """Yield the files that the parts of one import statement may mean."""
    dotted = [package or module or ""]
    dotted += [f"{package}.{name}" for name in re.findall(r"\w+", names or "")]
    for name in dotted:
        path = _CORE.joinpath(*name.removeprefix(_PREFIX).split("."))
        candidates = (path.with_suffix(".py"), path / "__init__.py")
        yield from (file for file in candidates if file.is_file())


@functools.cache
def _folder_name(module: Path) -> str:
    digest = hashlib.sha256()
    for file in import_closure(module):
        digest.update(_relative_name(file).encode())
        digest.update(_content_hash(file))
    return f"{module.stem}-{digest.hexdigest()[:16]}"


def _relative_name(file: Path) -> str:
    return file.relative_to(_CORE).as_posix() if file.is_relative_to(_CORE) else file.name


@functools.cache
def _content_hash(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


@functools.cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _cache_root() -> Path:
    if folder := os.environ.get("FEATLY_CACHE_DIR"):
        return Path(folder)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(base).expanduser() / "featly" / "kernels"


def kernel(function: Callable[..., Any], *, lanes: bool = False) -> Callable[..., Any]:
    """Compile a loop over arrays: no GIL, cached on disk, IEEE arithmetic.

    Never ``parallel`` (see :mod:`featly.core.runtime.parallel`) and never ``fastmath``: with
    either, two equal columns could get two different sums. The one exception is
    :func:`lane_kernel`.
    """
    module = Path(function.__code__.co_filename)
    folder = cache_folder(module) if module.is_file() else None
    # numba chooses the folder of a cache when the function is decorated, from a global setting
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = folder or ""  # type: ignore[attr-defined]
    try:
        return numba.njit(
            nogil=True,
            cache=folder is not None,
            error_model="numpy",
            fastmath={"reassoc"} if lanes else False,
        )(function)
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]


def lane_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel whose sums over contiguous memory the compiler may split into lanes.

    Three times faster than a sum in strict order. The split depends on the length alone, so equal
    columns still get equal bits, which a test asserts.
    """
    return kernel(function, lanes=True)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that kernels call and that writes its own LLVM code.

    It is numba's decorator, typed as callers use it: without the first argument, the typing
    context.
    """
    decorated: Callable[..., Any] = numba.extending.intrinsic(function)
    return decorated
