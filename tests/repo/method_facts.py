"""Facts about the classes of all methods, written down: ``python -m tests.repo.method_facts``."""

from pathlib import Path

from featly import method_facts
from featly.registry import METHODS

HEAD = '''"""Facts about the class of every method, derived from it by tests/repo/method_facts.py.

Nothing is written here by hand: ``python -m tests.repo.method_facts`` writes it anew.
"""

from typing import Any

__all__ = ["FACTS"]

FACTS: dict[str, dict[str, Any]] = {
'''


def derive():
    """Return the text of the file, from the classes."""
    lines = [HEAD]
    for method in METHODS.values():
        lines.append(f'    "{method.class_name}": {{\n')
        for name, fact in method.derive_facts().items():
            lines.append(f'        "{name}": {_literal(fact)},\n')
        lines.append("    },\n")
    return "".join([*lines, "}\n"])


def _literal(fact):
    if isinstance(fact, tuple):
        return f"({', '.join(map(_literal, fact))}{',' * (len(fact) == 1)})"
    return f'"{fact}"' if isinstance(fact, str) else repr(bool(fact))


if __name__ == "__main__":
    Path(method_facts.__file__).write_text(derive(), encoding="utf-8")
