"""Tables of the generated pages, as Markdown."""

import re


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def safe(text):
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_|<$\[\]])", r"\\\1", str(text))
