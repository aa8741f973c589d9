"""The public names with their types, for type checkers: ``python -m tests.repo.public_names``."""

from pathlib import Path

import featly

HEAD = '''"""Names of featly for type checkers: at run time each is imported when it is used.

Nothing is written here by hand: ``python -m tests.repo.public_names`` writes it anew.
"""

'''
FILE = Path(featly.__file__).with_suffix(".pyi")


def derive() -> str:
    """Return the text of the stub: one import for every public name."""
    lines = sorted(f"from {module} import {name} as {name}" for name, module in modules().items())
    imports = "\n".join(lines)
    listed = "\n".join(f'    "{name}",' for name in featly.__all__)
    return f"{HEAD}{imports}\n\n__version__: str\n\n__all__ = [\n{listed}\n]\n"


def modules() -> dict[str, str]:
    """Return the module of every public name."""
    return {name: featly._MODULES[name] for name in featly.__all__}


if __name__ == "__main__":
    FILE.write_text(derive(), encoding="utf-8")
