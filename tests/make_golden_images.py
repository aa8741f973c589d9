"""Draw the pictures anew that tests compare with: ``python -m tests.make_golden_images``.

Then look at every one of ``tests/golden_images``, and commit what is meant to have changed.
"""

import matplotlib

from tests.plots.golden import FOLDER, PICTURES, draw_png


def main():
    """Draw all of them, and print their sizes."""
    matplotlib.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        file = FOLDER / f"{name}.png"
        draw_png(draw()).save(file, optimize=True)
        print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
