#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tests of the web page: playwright-core drives Chromium, axe-core looks for barriers.

Both come from npm into the build folder, by the lock file beside this; without a network, npm or
Chromium the tests are skipped, and say so.

    test_page.py NAME.test.mjs
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import softib_test  # noqa: E402

NODE_MIN = 18


def install(build):
    """Installs the packages of the lock file into the build folder, once."""
    folder = build / "page_tests"
    folder.mkdir(exist_ok=True)
    # Tests run side by side; the lock is released when this process ends.
    guard = open(folder / "lock", "w")
    fcntl.flock(guard, fcntl.LOCK_EX)
    lock = (HERE / "package-lock.json").read_text()
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == lock:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode != 0:
        softib_test.skip(f"npm cannot install playwright-core and axe-core: {done.stderr[-300:]}")
    stamp.write_text(lock)


def main():
    softib_test.need_programs("node")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if int(version.lstrip("v").split(".")[0]) < NODE_MIN:
        softib_test.skip(f"node is {version.strip()}; {NODE_MIN} or newer is needed")
    build = softib_test.find_build()
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if sys.argv[1] != "filter.test.mjs":
        softib_test.need_programs("npm")
        if not browser:
            softib_test.skip("there is neither chromium-headless-shell nor chromium")
        install(build)
    env = {**os.environ, "SOFTIB_BUILD": str(build), "SOFTIB_CHROMIUM": browser or ""}
    os.execvpe("node", ["node", "--test", str(HERE / sys.argv[1])], env)


if __name__ == "__main__":
    main()
