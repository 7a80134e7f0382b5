#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Linux's own Soft-RoCE as the peer of our HCA on Ethernet: a kernel in an emulated machine, on a
TAP device in a network namespace of the test's own. Programs on both sides are unmodified."""

import ipaddress
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, free_port, listening, need_programs, skip
from soft_roce_guest import PROGRAMS, Guest, root_with_kernel

HOST, GUEST = "10.77.0.1", "10.77.0.2"
HOST6, GUEST6 = "fd77::1", "fd77::2"
TAP = "softib0"
INSIDE = "SOFTIB_TEST_INSIDE"
PATIENT = ["-u", "19"]  # perftest: 2 s until a retry; the guest is slow.

PINGPONGS = ["ibv_rc_pingpong -c -n 200", "ibv_rc_pingpong -c -n 20 -s 65536",
             "ibv_uc_pingpong -c -n 20 -s 512", "ibv_ud_pingpong -c -n 100 -s 1024"]
# Our HCA has room for 16 READs at a time; Soft-RoCE offers more.
PERFTEST = ["ib_send_bw -n 100 -s 65536", "ib_write_bw -n 100 -s 65536",
            "ib_read_bw -n 100 -s 65536 -o 16", "ib_send_bw -n 100 -s 64"]


def enter_namespace():
    """Runs the test again in a namespace where it may make a network device. Needs no rights."""
    if os.environ.get(INSIDE):
        return
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode != 0:
        skip("user and network namespaces are not allowed here")
    os.execvpe("unshare", ["unshare", "-Urn", sys.executable, *sys.argv],
               {**os.environ, INSIDE: "1"})


def make_network():
    for command in (f"tuntap add {TAP} mode tap", f"address add {HOST}/24 dev {TAP}",
                    f"address add {HOST6}/64 dev {TAP} nodad", f"link set {TAP} up",
                    "link set lo up"):
        result = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
        if result.returncode != 0:
            skip(f"ip {command}: {result.stderr.strip()}")


def check(command, ours, theirs):
    status, output = theirs
    both = f"{ours}\nguest: status {status}\n{output}"
    if ours.timed_out or ours.status != 0 or status != 0 or "invalid data" in both:
        raise Failure(both)
    wanted = r"^\d+ iters in " if "pingpong" in command else r"^ *\d+ +\d+ +[\d.]+ +[\d.]+"
    if not re.search(wanted, ours.output, re.MULTILINE):
        raise Failure(both)
    return both


def commands(command, port, their_gid):
    """Runs the same program on our side and on the guest's."""
    program, *args = command.split()
    gid = "-g" if "pingpong" in program else "-x"
    more = [] if "pingpong" in program else ["-F", *PATIENT]
    return ([program, "-d", "mlx5_0", gid, "0", "-p", str(port), *args, *more],
            " ".join([program, "-d rxe0", gid, str(their_gid), "-p", str(port), *args, *more]))


def we_serve(fabric, guest, host, their_gid, command):
    port = free_port()
    ours, theirs = commands(command, port, their_gid)
    server = fabric.start(host, ours)
    server.wait_until(lambda: listening(port), "listening")
    answer = guest.run(f"{theirs} {HOST}")
    return check(command, server.wait(), answer)


def they_serve(fabric, guest, host, their_gid, command):
    port = free_port()
    ours, theirs = commands(command, port, their_gid)
    guest.start(f"{theirs} & while ! netstat -ltn | grep -q :{port}; do sleep 0.1; done; "
                f"echo ready {port}; wait $!")
    guest.wait_for(f"ready {port}")
    result = fabric.run(host, [*ours, GUEST], timeout_s=120)
    return check(command, result, guest.answer())


def gid_index(guest, address):
    """Returns the index at which the guest has the GID of this address."""
    groups = ipaddress.ip_address(address if ":" in address else f"::ffff:{address}").exploded
    status, output = guest.run(f"grep -l {groups} /sys/class/infiniband/rxe0/ports/1/gids/*")
    if status != 0:
        raise Failure(f"the guest has no GID {groups}\n{output}")
    return int(re.search(r"gids/(\d+)", output)[1])


def main():
    need_programs("qemu-system-x86_64", "busybox", "cpio", "unshare", *PROGRAMS)
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        skip("no /dev/net/tun")
    if shutil.which("modprobe", path="/sbin:/usr/sbin") is None:
        skip("not installed: kmod; run 'make deps'")
    if root_with_kernel() is None:
        skip("no kernel with rdma_rxe: install linux-image-amd64, or unpack the package "
             "somewhere and set SOFTIB_GUEST_ROOT")
    enter_namespace()
    make_network()
    report = Report("soft_roce")
    with (Guest(TAP, GUEST, GUEST6) as guest,
          Fabric("--hosts", "2", "--link-layer", "ethernet", "--roce-addresses",
                 f"{HOST}=h0,{HOST6}=h1") as fabric):
        for family, host, address, commands_of in (
                ("IPv4", "h0", GUEST, PINGPONGS + PERFTEST),
                ("IPv6", "h1", GUEST6, PINGPONGS + PERFTEST[:2])):
            gid = gid_index(guest, address)
            for command in commands_of:
                report.case(f"{family}, Soft-RoCE is the client", command,
                            lambda: we_serve(fabric, guest, host, gid, command))
                report.case(f"{family}, Soft-RoCE is the server", command,
                            lambda: they_serve(fabric, guest, host, gid, command))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
