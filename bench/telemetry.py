#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What telemetry costs: CPU time and memory per second of sampling, and a scrape of all ports.

    bench/telemetry.py [--hosts 10368] [--seconds 15]
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

SOFTIB = pathlib.Path(__file__).resolve().parents[1] / "build" / "bin" / "softib"


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=10368)
    parser.add_argument("--seconds", type=int, default=15)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "SOFTIB_RUNTIME_DIR": folder}
        shape = ["--topology", "fat-tree", "--radix", "36", "--levels", "3"]
        subprocess.run([SOFTIB, "up", "--hosts", str(wanted.hosts), *shape], env=env, check=True)
        try:
            server = subprocess.Popen([SOFTIB, "serve", "--port", "0"], env=env, text=True,
                                      stdout=subprocess.PIPE)
            url = re.search(r"(http://\S+)/", server.stdout.readline()).group(1)
            before = cpu_seconds(server.pid)
            time.sleep(wanted.seconds)
            share = (cpu_seconds(server.pid) - before) / wanted.seconds
            begin = time.monotonic()
            text = urllib.request.urlopen(url + "/metrics").read()
            took = time.monotonic() - begin
            ports = text.count(b"_transmit_packets_total{")
            print(f"{ports} ports: sampling takes {share:.1%} of a core, "
                  f"{memory_mb(server.pid):.0f} MB")
            print(f"a scrape takes {took:.2f} s and has {len(text) / 1e6:.1f} MB")
            server.terminate()
            server.wait()
        finally:
            subprocess.run([SOFTIB, "down"], env=env, check=True)


if __name__ == "__main__":
    main()
