"""Headless Chromium: a page's DOM once its scripts have run, and screenshots.

No driver and no packages: Chromium prints the DOM by itself. Every call has a profile of its own and a time limit.
"""

import os
import shutil
import subprocess
import tempfile

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
PATIENCE_S = 60
# Time as the page sees it: enough for its first requests, and it ends as soon as nothing is left to do.
VIRTUAL_MS = 4000


def find():
    named = os.environ.get("CHROMIUM")
    found = named or next((path for path in map(shutil.which, NAMES) if path), None)
    if not found:
        raise SystemExit("no Chromium found: install it (Debian: apt-get install chromium), or name it in CHROMIUM")
    return found


def _run(*arguments):
    with tempfile.TemporaryDirectory(prefix="browser-") as profile:
        command = [find(), *FLAGS, f"--user-data-dir={profile}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


def dom(url):
    """The page's elements as HTML, after its scripts."""
    return _run(f"--virtual-time-budget={VIRTUAL_MS}", "--dump-dom", url)


def screenshot(url, path, width=1280, height=900, dark=False):
    """A picture of the page as PNG."""
    mode = ["--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]
    _run(*mode, f"--window-size={width},{height}", f"--virtual-time-budget={VIRTUAL_MS}", f"--screenshot={path}", url)
