# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of subnet managers and diagnostics share."""

import pathlib
import re
import tempfile
import time

from softib_test import Failure


def expect(condition, text):
    if not condition:
        raise Failure(text)


def pingpong(fabric, server, client):
    fabric.pair(server, client,
                lambda port: ["ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port), "-n", "50", "-c"])


def state_of(fabric, host):
    return re.search(r"State: (\w+)", fabric.run(host, ["ibstat"]).check().output)[1]


def wait_state(fabric, host, state):
    end = time.monotonic() + 10
    while state_of(fabric, host) != state:
        expect(time.monotonic() < end, f"{host} never gets {state}")
        time.sleep(0.05)


def raw_mad(fabric, host, *words):
    program = pathlib.Path(__file__).with_name("raw_mad.py")
    return fabric.run(host, ["/usr/bin/python3", str(program), *words]).check()


def opensm(fabric, engine, *options):
    """A sweep of OpenSM brings every port up and leaves no error in its log."""
    with tempfile.TemporaryDirectory() as scratch:
        log = pathlib.Path(scratch, "opensm.log")
        result = fabric.run(
            "h0", ["env", f"OSM_CACHE_DIR={scratch}", f"OSM_TMP_DIR={scratch}", "opensm", "-o",
                   "-R", f"{engine},no_fallback", *options, "-f", str(log), "-e", "-D", "0x03"],
            timeout_s=60).check()
        text = log.read_text(errors="replace")
    expect("SUBNET UP" in text, f"the subnet is not up\n{text[-3000:]}\n{result}")
    errors = [line for line in text.splitlines() if " ERR " in line]
    expect(not errors, "\n".join(errors[:20]))
    expect(state_of(fabric, "h3") == "Active", "a port is not active")
    pingpong(fabric, "h0", "h3")
    return text[-1000:]
