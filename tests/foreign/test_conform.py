"""pypjrt-conform, someone else's conformance checks, reports no failure on our plugin: test_conform.py PLUGIN.so."""

import pathlib
import re
import subprocess
import sys

MOST_UNSUPPORTED = 3  # functions newer than our API version; a new one must be looked at, not waved through


def main():
    tool = pathlib.Path(sys.executable).with_name("pypjrt-conform")
    run = subprocess.run([tool, sys.argv[1]], stdout=subprocess.PIPE, text=True, timeout=300)
    print(run.stdout)
    total = re.search(r"(\d+) pass · (\d+) unsupported · (\d+) skip · (\d+) FAIL", run.stdout)
    if not total:
        sys.exit(f"pypjrt-conform printed no total; it left with {run.returncode}")
    passed, unsupported, _, failed = map(int, total.groups())
    if failed or run.returncode:
        sys.exit(f"{failed} FAIL, exit status {run.returncode}")
    if passed < 50 or unsupported > MOST_UNSUPPORTED:
        sys.exit(f"only {passed} pass, {unsupported} unsupported (expected at least 50, at most {MOST_UNSUPPORTED})")


main()
