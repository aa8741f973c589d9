"""Resources of a computation: memory, a device, a cache folder."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featly.basics.errors import ParameterError
from featly.basics.params import InstanceOf, Number, OneOf, Rule, check_value

__all__ = [
    "DEVICE",
    "DEVICES",
    "FOLDER",
    "MEMORY",
    "Resources",
    "format_bytes",
    "free_memory",
    "parse_bytes",
    "read_resources",
]

DEVICES = ("auto", "cpu", "cuda")
DEVICE = OneOf(*DEVICES)
FOLDER = InstanceOf(str, os.PathLike, words="the path of a folder")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 1 << 10 * power for power, unit in enumerate("kmgt", 1)}
LEAST_MEMORY = 10**6
DEFAULT_SHARE = 4  # without a limit, a table on disk may take a quarter of the free memory


@dataclass(frozen=True)
class Resources:
    """Device, memory and cache folder of one ``fit``.

    Attributes
    ----------
    device : {"auto", "cpu", "cuda"}
    memory : int or None
        Memory limit for the table, in bytes; None without a limit.
    cache : Path or None
        A folder for packed columns and unfinished searches.
    """

    device: str = "auto"
    memory: int | None = None
    cache: Path | None = None

    @property
    def memory_budget(self) -> int:
        """Bytes that a table on disk may take in memory."""
        return self.memory if self.memory is not None else free_memory() // DEFAULT_SHARE


def read_resources(method: Any) -> Resources:
    """Read the resources from a method's parameters, or raise ParameterError.

    Examples
    --------
    >>> from featly import FTest
    >>> from featly.basics.resources import read_resources
    >>> read_resources(FTest(memory_limit="2GB", device="cpu"))
    Resources(device='cpu', memory=2000000000, cache=None)
    """
    device = getattr(method, "device", "cpu")
    DEVICE.check("device", device)
    limit, cache = getattr(method, "memory_limit", None), getattr(method, "cache", None)
    check_value("cache", cache, FOLDER, optional=True)
    if cache is not None:
        cache = Path(cache)
        if cache.exists() and not cache.is_dir():
            raise ParameterError(f"cache={str(cache)!r} is a file: give the path of a folder")
    return Resources(device, None if limit is None else parse_bytes(limit), cache)


def parse_bytes(limit: Any) -> int:
    """Return the number of bytes of a number, or of a text such as "512MB" or "2 GiB".

    Examples
    --------
    >>> from featly.basics.resources import parse_bytes
    >>> parse_bytes("512MB"), parse_bytes("1.5 GiB"), parse_bytes(10_000_000)
    (512000000, 1610612736, 10000000)
    """
    MEMORY.check("memory_limit", limit)
    n_bytes = _count_bytes(limit)
    assert n_bytes is not None
    return n_bytes


def _count_bytes(limit: Any) -> int | None:
    """Return the number of bytes that a number or a text stands for; None if it is neither."""
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", limit.lower())
        return int(float(match[1]) * UNITS[match[2] or ""]) if match else None
    return int(max(0, min(limit, 2.0**62))) if Number(finite=False).accepts(limit) else None


class Memory(Rule):
    """Memory, as a number of bytes or a text with a unit."""

    words: Sequence[str] = (
        "1 MB or more, as a number of bytes or a text such as '512MB' or '2GB'",
    )
    outside: Sequence[Any] = (LEAST_MEMORY - 1, "1kB", "2 apples")

    def accepts(self, value: Any) -> bool:
        """Return whether a value is enough memory for anything."""
        n_bytes = _count_bytes(value)
        return n_bytes is not None and n_bytes >= LEAST_MEMORY


MEMORY = Memory()


def free_memory() -> int:
    """Return the bytes that this process may still take, within the limits of its container."""
    free = _read_number("/proc/meminfo", r"MemAvailable:\s+(\d+) kB", 1024)
    if free is None:
        try:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, ValueError, OSError):
            free = 4 << 30  # the system does not say: as much as a laptop has left
    group = "/sys/fs/cgroup"
    most = _read_number(f"{group}/memory.max", r"(\d+)", 1)
    used = _read_number(f"{group}/memory.current", r"(\d+)", 1)
    if most is not None and used is not None:
        # the file cache counts as used, but is freed as soon as memory is needed
        for kind in ("active", "inactive"):
            used -= _read_number(f"{group}/memory.stat", rf"(?m)^{kind}_file (\d+)", 1) or 0
        free = min(free, max(most - used, LEAST_MEMORY))
    return free


def format_bytes(count: float) -> str:
    """Format a number of bytes with a unit, in three digits.

    Examples
    --------
    >>> from featly.basics.resources import format_bytes
    >>> format_bytes(512), format_bytes(2_500_000), format_bytes(31e9)
    ('512 bytes', '2.5 MB', '31 GB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def _read_number(path: str, pattern: str, unit: int) -> int | None:
    try:
        with open(path) as file:
            match = re.search(pattern, file.read())
    except OSError:
        return None
    return int(match[1]) * unit if match else None
