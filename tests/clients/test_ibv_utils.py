#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The programs of Debian's ibverbs-utils, unmodified, across one and across three switches."""

import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import (Fabric, Failure, ONE_HOP, Report, THREE_HOPS, free_port, listening,
                         need_programs)

ITERATIONS = 300

# What each pingpong is run with; "-c" makes the server check one byte a page. Not -t with -e:
# ibv_rc_pingpong then takes an event whose completion it has already polled for an error.
COMMON = ["", "-c", "-e", "-c -e", "-g 0", "-c -s 1", "-c -s 1024 -m 256", "-r 16", "-l 0", "-i 1"]
CONNECTED = ["-c -s 65536", "-c -s 1048576 -n 20", "-m 512", "-m 2048", "-c -m 4096"]
VARIANTS = {
    "ibv_rc_pingpong": COMMON + CONNECTED + [
        "-o", "-c -o", "-o -P", "-c -O", "-t", "-c -t", "-N", "-c -N -e", "-j", "-c -j", "-j -N",
        "-c -g 0 -N -t"],
    "ibv_uc_pingpong": COMMON + CONNECTED,
    "ibv_ud_pingpong": [v for v in COMMON if "-m" not in v] + ["-c -s 2048", "-c -e -g 0"],
    "ibv_srq_pingpong": COMMON + CONNECTED + ["-q 1", "-c -q 64", "-q 8 -e", "-o", "-c -o"],
    # Here -c is the number of clients, and -r does not exist.
    "ibv_xsrq_pingpong": ["", "-e", "-o", "-g 0", "-s 1", "-s 65536", "-m 256", "-m 4096", "-n 300",
                          "-l 0", "-e -g 0"],
}
DEFAULT_BYTES = {"ibv_ud_pingpong": 1024}


def option(args, name, default):
    return int(args[args.index(name) + 1]) if name in args else default


def pingpong(fabric, server, client, program, variant):
    args = variant.split()
    if program != "ibv_xsrq_pingpong" and "-n" not in args:
        args += ["-n", str(ITERATIONS)]
    results = fabric.pair(server, client,
                          lambda port: [program, "-d", "mlx5_0", "-p", str(port)] + args)
    for result in results:
        check_pingpong(program, args, result)
    return "\n".join(map(str, results))


def check_pingpong(program, args, result):
    if program == "ibv_xsrq_pingpong":
        expected = ["success"]
    else:
        iterations = option(args, "-n", ITERATIONS)
        size = option(args, "-s", DEFAULT_BYTES.get(program, 4096))
        expected = [f"{iterations} iters in ", f"{2 * iterations * size} bytes in "]
    for text in expected:
        if not re.search("^" + re.escape(text), result.output, re.MULTILINE):
            raise Failure(f"expected a line that begins with '{text}'\n{result}")
    if "invalid data" in result.output:
        raise Failure(str(result))


def xsrq_many_clients(fabric, server, client):
    """One server and three clients on one XRC shared receive queue."""
    port = free_port()
    command = ["ibv_xsrq_pingpong", "-d", "mlx5_0", "-p", str(port), "-n", "50"]
    programs = [fabric.start(server, command + ["-c", "3"])]
    programs[0].wait_until(lambda: listening(port), "listening")
    programs += [fabric.start(client, command + ["localhost"]) for _ in range(3)]
    for result in [program.wait() for program in programs]:
        check_pingpong("ibv_xsrq_pingpong", [], result.check())


def show(fabric, host, command, *patterns):
    result = fabric.run(host, command.split()).check()
    for pattern in patterns:
        if not re.search(pattern, result.output, re.MULTILINE):
            raise Failure(f"expected /{pattern}/\n{result}")
    return result


def one_device_only(fabric):
    """A host sees only its own HCA."""
    result = show(fabric, "h0", "ibv_devinfo -l", r"^1 HCA found:", r"^\s+mlx5_0$")
    guids = [re.search(r"node_guid:\s+(\S+)", fabric.run(host, ["ibv_devinfo"]).check().output)
             for host in ("h0", "h1")]
    if None in guids or guids[0][1] == guids[1][1]:
        raise Failure("h0 and h1 do not have GUIDs of their own")
    return result


def unknown_device(fabric):
    result = fabric.run("h0", ["ibv_devinfo", "-d", "mlx5_7"])
    if result.status == 0 or "wasn't found" not in result.output:
        raise Failure(str(result))


def asyncwatch(fabric):
    """ibv_asyncwatch reports a port that goes down and comes back."""
    watch = fabric.start("h0", ["ibv_asyncwatch", "-d", "mlx5_0"])
    watch.wait_until(lambda: "async event FD" in watch.output(), "the first line")
    for state, number in (("down", 10), ("up", 9)):  # IBV_EVENT_PORT_ERR, _PORT_ACTIVE
        fabric.command("link", "-f", fabric.name, state, "h0/mlx5_0").check()
        watch.wait_until(lambda: re.search(rf"\({number}\), port 1$", watch.output(), re.MULTILINE),
                         f"the event of 'softib link ... {state}'")
    watch.signal(signal.SIGINT)
    result = watch.wait()
    if result.timed_out or result.status != -signal.SIGINT:
        raise Failure(str(result))
    return result


def information(report, fabric):
    """The programs that only read."""
    def case(title, action):
        report.case("ibverbs-utils", title, action)

    case("ibv_devices", lambda: show(fabric, "h0", "ibv_devices", r"^\s+mlx5_0\s+[0-9a-f]{16}$"))
    case("ibv_devinfo", lambda: show(
        fabric, "h0", "ibv_devinfo", r"^hca_id:\s+mlx5_0", r"transport:\s+InfiniBand",
        r"phys_port_cnt:\s+1", r"state:\s+PORT_ACTIVE \(4\)", r"active_mtu:\s+4096",
        r"port_lid:\s+[1-9]", r"sm_lid:\s+[1-9]", r"link_layer:\s+InfiniBand"))
    case("ibv_devinfo -v", lambda: show(
        fabric, "h1", "ibv_devinfo -v", r"max_qp:\s+[1-9]", r"max_mr_size:\s+0x",
        r"atomic_cap:\s+ATOMIC_(HCA|GLOB)", r"phys_state:\s+LINK_UP \(5\)", r"GID\[ *0\]:\s+fe80:",
        r"active_width:\s+4X", r"active_speed:\s+\S",
        r"rc_odp_caps:", r"SUPPORT_SEND", r"max_srq:\s+[1-9]"))
    case("ibv_devinfo -v -i 1", lambda: show(fabric, "h1", "ibv_devinfo -v -i 1", r"^\s+port:\s+1"))
    case("ibv_devinfo -d mlx5_0",
         lambda: show(fabric, "h1", "ibv_devinfo -d mlx5_0", r"^hca_id:\s+mlx5_0"))
    case("ibv_devinfo -d of an unknown device", lambda: unknown_device(fabric))
    case("ibv_devinfo -l", lambda: one_device_only(fabric))


def main():
    report = Report("ibv_utils")
    need_programs("ibv_devices", "ibv_devinfo", "ibv_asyncwatch", *VARIANTS)
    with Fabric("--hosts", "2") as fabric:
        information(report, fabric)
        report.case("ibverbs-utils", "ibv_asyncwatch", lambda: asyncwatch(fabric))
    for hops, flags, server, client in (ONE_HOP, THREE_HOPS):
        with Fabric(*flags) as fabric:
            for program, variants in VARIANTS.items():
                for variant in variants:
                    report.case(hops, f"{program} {variant}".strip(),
                                lambda: pingpong(fabric, server, client, program, variant))
            report.case(hops, "ibv_xsrq_pingpong -c 3",
                        lambda: xsrq_many_clients(fabric, server, client))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
