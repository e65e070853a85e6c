"""The console's page in a headless Chromium: every view on real data, on none, on much, and on hostile data.

    python3 tests/browser/run.py target/debug/pillion [--pictures DIRECTORY] [--only NAME]

Needs chromium and python3-websockets; `pillion dev` in it needs PostgreSQL's programs and psql.
"""

import argparse
import asyncio
import inspect
import pathlib
import sys

sys.dont_write_bytecode = True
import checks
from chromium import Chromium


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="keep a picture of each view there")
    parser.add_argument("--only", default="", help="only checks whose name holds this")
    asked = parser.parse_args()
    if asked.pictures:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    found = [(name, check) for name, check in inspect.getmembers(checks, inspect.iscoroutinefunction) if name.startswith("check_") and asked.only in name]
    assert found, f"no check is called {asked.only}"
    failed = []
    for name, check in found:
        try:
            async with Chromium() as browser:
                await check(browser, asked.program.resolve(), asked.pictures)
                assert browser.errors == [], browser.errors
            print(f"ok      {name}", flush=True)
        except Exception as error:
            failed.append(name)
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
    sys.exit(f"{len(failed)} of {len(found)} checks failed" if failed else 0)


asyncio.run(main())
