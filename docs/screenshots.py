"""Pictures of the demo's report for the README and the documentation: ``make screenshots``.

Needs a Chromium. Run ``make demo`` first, or let this make the report.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from featly.reports.pdf import run_browser

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "demo" / "report.html"
# name, theme, width and height of the window, where the picture begins
SHOTS = {
    "report": ("light", 1200, 1180, ""),
    "report-dark": ("dark", 1200, 1180, ""),
    "report-signature": ("light", 1200, 900, "signature"),
}


def main():
    """Make the report if need be, then every picture."""
    if not PAGE.exists():
        table, schema = (str(PAGE.with_name(name)) for name in ("cohort.csv", "schema.toml"))
        if not Path(table).exists():
            subprocess.run(
                [sys.executable, str(ROOT / "examples" / "cohort.py")], cwd=ROOT, check=True
            )
        command = [sys.executable, "-m", "featly", "report", table, "--schema", schema]
        subprocess.run([*command, "--output", str(PAGE)], cwd=ROOT, check=True)
    page = PAGE.read_text("utf-8")
    for name, (theme, width, height, part) in SHOTS.items():
        out = ROOT / "docs" / "_static" / f"{name}.png"
        shoot(page, out, theme, width, height, part)
        print(f"{out.relative_to(ROOT)}: {out.stat().st_size // 1000} kB")


def shoot(page, out, theme, width, height, part):
    """A picture of a page in light or dark, from one of its parts on."""
    page = page.replace('<html lang="en">', f'<html lang="en" data-theme="{theme}">')
    if part:  # what is above stays out
        first, _, rest = page.partition(f'<section id="{part}"')
        page = f'{first[: first.index("<body>")]}<body><main><section id="{part}"{rest}'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, "utf-8")
        run_browser([f"--window-size={width},{height}", f"--screenshot={out}", path.as_uri()])


if __name__ == "__main__":
    main()
