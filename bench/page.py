#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures how quick the page is in Chromium: first paint, time until it can be used, bytes of the
snapshot, time to handle what changes every second, and growth of the heap.

    bench/page.py [--hosts 10368] [--seconds 60] [--against DIR]

Needs what tests/page needs; run that first, since it installs playwright-core."""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOFTIB = ROOT / "build" / "bin" / "softib"
# The least radix of a fat tree of three levels that has room for this many hosts.
RADIX = {10368: 36, 45000: 58}


def snapshot_bytes(url):
    request = urllib.request.Request(url + "/api/v1/snapshot", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        return len(answer.read())


def start(env):
    """Starts `softib serve`. It tries for a minute, since a daemon that routes a large fabric does
    not answer for a while."""
    for _ in range(60):
        server = subprocess.Popen([SOFTIB, "serve", "--port", "0"], env=env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found = re.search(r"(http://\S+)/", server.stdout.readline())
        if found:
            return server, found.group(1)
        server.wait()
        time.sleep(1)
    raise SystemExit("softib serve does not start")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=10368)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--against", default="", metavar="DIR",
                        help="files of another page (src/page of another commit), in turns")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "SOFTIB_RUNTIME_DIR": folder, "SOFTIB_BUILD": str(ROOT / "build")}
        radix = RADIX.get(wanted.hosts) or next(
            k for k in range(4, 256, 2) if k ** 3 // 4 >= wanted.hosts)
        subprocess.run([SOFTIB, "up", "--hosts", str(wanted.hosts), "--topology", "fat-tree",
                        "--radix", str(radix), "--levels", "3"], env=env, check=True)
        server = None
        try:
            server, url = start(env)
            print(f"{wanted.hosts} hosts: the snapshot has {snapshot_bytes(url) / 1e3:.0f} kB")
            subprocess.run(["node", ROOT / "bench" / "page_browser.mjs", url, str(wanted.seconds),
                            wanted.against], env=env, check=True)
        finally:
            if server:
                server.terminate()
                server.wait()
            subprocess.run([SOFTIB, "down"], env=env, check=True)


if __name__ == "__main__":
    main()
