"""Draw the pictures anew that tests compare with: ``python -m tests.make_golden_images``.

Then look at every one of ``tests/golden_images``, and commit what is meant to have changed.
"""

import matplotlib

from tests.plots.golden import FOLDER, PICTURES, drawn


def main():
    """Draw all of them, and tell their sizes."""
    matplotlib.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        file = FOLDER / f"{name}.png"
        drawn(draw()).save(file, optimize=True)
        print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
