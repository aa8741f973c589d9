"""A browser on this machine, for PDF and pictures of pages; none is needed for the page itself."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from featly.basics.errors import ParameterError

__all__ = ["find_browser", "no_browser", "pdf", "run_browser"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
            "microsoft-edge", "msedge")  # fmt: skip
PATIENCE = 120  # seconds


def find_browser() -> str | None:
    """The command of a Chromium or one of its relatives; FEATLY_BROWSER names another."""
    own = os.environ.get("FEATLY_BROWSER")
    if own:
        return shutil.which(own)
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def no_browser() -> ParameterError:
    """What is said where there is none."""
    return ParameterError(
        "a PDF needs a browser, and neither Chromium nor Chrome is on this machine: install one, "
        "name it in FEATLY_BROWSER, or save .html and print it from a browser"
    )


def run_browser(arguments: Sequence[str]) -> bytes:
    """What a headless browser prints, with a profile of its own that is thrown away."""
    browser = find_browser()
    if browser is None:
        raise no_browser()
    with tempfile.TemporaryDirectory(prefix="featly-browser-") as profile:
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--hide-scrollbars", f"--user-data-dir={profile}", *arguments,
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to run as root with it
        try:
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise ParameterError(
                f"{browser} did not answer within {PATIENCE} seconds: save .html instead"
            ) from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise ParameterError(f"{browser} failed ({last}): save .html instead")
    return done.stdout


def pdf(html: str) -> bytes:
    """A page as PDF, A4."""
    with tempfile.TemporaryDirectory(prefix="featly-pdf-") as folder:
        page, out = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, "utf-8")
        run_browser(["--no-pdf-header-footer", f"--print-to-pdf={out}", page.as_uri()])
        if not out.is_file():
            raise ParameterError("the browser wrote no PDF: save .html and print it from a browser")
        return out.read_bytes()
