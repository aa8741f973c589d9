"""PDF and pictures of pages, by a browser on this machine."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from featly.basics.errors import ParameterError

__all__ = ["find_browser", "no_browser_error", "pdf", "run_browser"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
            "microsoft-edge", "msedge")  # fmt: skip
PATIENCE = 120  # seconds after which the browser is stopped


def find_browser() -> str | None:
    """Return the command of a Chromium or a relative; FEATLY_BROWSER names another."""
    named = os.environ.get("FEATLY_BROWSER")
    if named:
        return shutil.which(named)
    return next((command for name in BROWSERS if (command := shutil.which(name))), None)


def no_browser_error() -> ParameterError:
    """Return the error for a machine without a browser."""
    return ParameterError(
        "a PDF needs a browser, and neither Chromium nor Chrome is on this machine: install one, "
        "name it in FEATLY_BROWSER, or save .html and print it from a browser"
    )


def run_browser(arguments: Sequence[str]) -> bytes:
    """Run a headless browser with a profile of its own, and return what it prints."""
    browser = find_browser()
    if browser is None:
        raise no_browser_error()
    with tempfile.TemporaryDirectory(prefix="featly-browser-") as profile:
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--hide-scrollbars", f"--user-data-dir={profile}", *arguments,
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to run as root with it
        try:
            process = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise ParameterError(
                f"{browser} did not answer within {PATIENCE} seconds: save .html instead"
            ) from None
    if process.returncode:
        last_line = process.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise ParameterError(f"{browser} failed ({last_line}): save .html instead")
    return process.stdout


def pdf(html: str) -> bytes:
    """Print a page as PDF, A4."""
    with tempfile.TemporaryDirectory(prefix="featly-pdf-") as folder:
        page, out = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, "utf-8")
        run_browser(["--no-pdf-header-footer", f"--print-to-pdf={out}", page.as_uri()])
        if not out.is_file():
            raise ParameterError("the browser wrote no PDF: save .html and print it from a browser")
        return out.read_bytes()
