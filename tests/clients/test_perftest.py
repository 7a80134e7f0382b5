#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The eight InfiniBand programs of Debian's perftest, unmodified: every transport across three
switches, there also the options that change most in what they ask of the library, each with one of
its programs. With --all, these with all of their programs, and all options across one switch."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, ONE_HOP, Report, THREE_HOPS, need_programs

BANDWIDTH = ["ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw"]
LATENCY = ["ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_lat"]
SEND = ["ib_send_bw", "ib_send_lat"]
PUSH = ["ib_write_bw", "ib_write_lat", *SEND]
SIZED = [*PUSH, "ib_read_bw", "ib_read_lat"]
BANDWIDTH_SIZED = ["ib_write_bw", "ib_read_bw", "ib_send_bw"]
LATENCY_SIZED = ["ib_write_lat", "ib_read_lat", "ib_send_lat"]
ALL = BANDWIDTH + LATENCY

# Which programs run with which options. Those marked False run only with --all.
TABLE = [
    # Transports
    (ALL, "-c RC", True),
    (ALL, "-c XRC", True),
    (PUSH, "-c UC", True),
    (SEND, "-c UD", True),
    # Sizes
    (BANDWIDTH_SIZED, "-a", True),
    (LATENCY_SIZED, "-a", False),
    (PUSH, "-a -c UC", False),
    (SEND, "-a -c UD", False),
    (SIZED, "-a -c XRC", False),
    (SIZED, "-s 1", False),
    (SIZED, "-s 4097", False),
    (SIZED, "-s 1048576", True),
    (SEND, "-c UD -s 4096", False),
    # Completion events
    (["ib_send_bw", "ib_send_lat", "ib_read_bw", "ib_read_lat", "ib_atomic_bw", "ib_atomic_lat"],
     "-e", True),
    (SEND, "-e -c UC", False),
    (SEND, "-e -c UD", True),
    (SEND, "-e -c XRC", False),
    (SEND, "-e --use-srq", False),
    # Both directions, several queue pairs
    (BANDWIDTH, "-b", True),
    (["ib_write_bw", "ib_send_bw"], "-b -c UC", False),
    (["ib_send_bw"], "-b -c UD", False),
    (["ib_send_bw"], "-b -e", False),
    (BANDWIDTH, "-b -c XRC", False),
    (BANDWIDTH_SIZED, "-b --report-both", False),
    (BANDWIDTH, "-q 8", True),
    (["ib_send_bw"], "-q 8 -c UD", False),
    (["ib_write_bw", "ib_send_bw"], "-q 8 -c UC", False),
    (BANDWIDTH, "-q 8 -c XRC", False),
    (BANDWIDTH, "-q 8 -b", False),
    (BANDWIDTH, "-q 8 --mr_per_qp", False),
    # Shared receive queues
    (SEND, "--use-srq", True),
    (["ib_send_bw"], "--use-srq -q 8", False),
    (["ib_send_bw"], "--use-srq -b", False),
    (SEND, "--use-srq -c UD", False),
    (SEND, "--use-srq -r 64", False),
    # Inline data
    (PUSH, "--inline_size 64 -s 64", True),
    (PUSH, "-I 0 -s 8", False),
    (["ib_write_bw", "ib_write_lat"], "-I 32 -s 32 -c UC", False),
    (SEND, "-I 32 -s 32 -c UD", False),
    # Addressing and path
    (ALL, "-x 0", True),
    (SEND, "-x 0 -c UD", True),
    (["ib_write_bw", "ib_send_bw"], "-x 0 -c UC", False),
    (BANDWIDTH, "-x 0 -c XRC", False),
    (SIZED, "-m 256", False),
    (SIZED, "-m 4096", False),
    (ALL, "-S 1", False),
    (["ib_write_bw", "ib_read_lat"], "--pkey_index 0 -u 10", False),
    (["ib_send_bw"], "-x 0 --tclass 8", False),
    # Queues and posting
    (BANDWIDTH, "-t 1", False),
    (BANDWIDTH, "-t 512 -n 1000", False),
    (BANDWIDTH, "-l 10", False),
    (["ib_send_bw"], "-l 10 --recv_post_list 10", False),
    (["ib_send_bw"], "-l 10 -c UD", False),
    (BANDWIDTH, "-Q 1", False),
    (BANDWIDTH, "-Q 50", False),
    (BANDWIDTH, "-N", False),
    (SEND, "-r 32", False),
    (["ib_read_bw", "ib_read_lat", "ib_atomic_bw", "ib_atomic_lat"], "-o 1", False),
    (ALL, "--use_old_post_send", False),
    (["ib_atomic_bw", "ib_atomic_lat"], "-A CMP_AND_SWAP", True),
    (["ib_atomic_bw", "ib_atomic_lat"], "-A FETCH_AND_ADD", False),
    # Memory
    (SIZED, "--odp", False),
    (["ib_write_bw", "ib_read_bw", "ib_send_bw"], "--mmap={file}", False),
    (["ib_write_bw", "ib_read_bw"], "--disable_pcie_relaxed", False),
    # Measuring
    (ALL, "-D 1 -f 0", False),
    (["ib_send_bw"], "-D 1 -f 0 -c UD", False),
    (["ib_write_bw"], "-D 1 -f 0 --cpu_util", False),
    (["ib_write_bw", "ib_read_bw"], "--perform_warm_up", False),
    (BANDWIDTH, "--report_gbits", False),
    (["ib_write_bw"], "--reversed", False),
    (["ib_write_bw"], "--rate_limit 1 --rate_limit_type SW", False),
    (LATENCY, "-C", False),
    (["ib_write_lat"], "-U", False),
    (["ib_write_bw", "ib_send_lat"], "-W counters/port_xmit_data,counters/port_rcv_packets", False),
]

SIZES_ALL = [2 ** n for n in range(1, 24)]
MTU = 4096
MMAP_BYTES = 32 << 20


def iterations(program, args):
    if "-D" in args:
        return []
    if "-n" in args:
        return []
    return ["-n", "20" if "-a" in args else "200"]


def expected_sizes(program, args):
    if "atomic" in program:
        return [8]
    if "-a" in args:
        return [size for size in SIZES_ALL if "UD" not in args or size <= MTU]
    if "-s" in args:
        return [int(args[args.index("-s") + 1])]
    if program.endswith("_lat"):
        return [2]
    return [MTU if "UD" in args else 65536]


def table(output):
    """Returns the sizes in the first column below the head line, once each."""
    _, _, below = output.partition("#bytes")
    sizes = re.findall(r"^ ?(\d+) +\t?\d+(?: |\t)", below, re.MULTILINE)
    return sorted(set(map(int, sizes)))


def perftest(fabric, server, client, program, options):
    mmap_file = pathlib.Path(fabric.dir) / "mmap"
    if "{file}" in options:
        with mmap_file.open("wb") as file:
            file.truncate(MMAP_BYTES)
    args = options.format(file=mmap_file).split()
    args += iterations(program, args)
    try:
        results = fabric.pair(server, client,
                              lambda port: [program, "-d", "mlx5_0", "-F", "-p", str(port), *args])
    finally:
        mmap_file.unlink(missing_ok=True)
    # Some servers print a table too, some do not: the client's table counts, for --reversed the
    # server's.
    shown = results["--reversed" not in args]
    wanted = expected_sizes(program, args)
    if table(shown.output) != wanted:
        raise Failure(f"sizes in the table: {table(shown.output)}, expected {wanted}\n{shown}")
    return shown


def is_transport(options):
    return re.fullmatch(r"-c \w+", options)


def main():
    report = Report("perftest", all="also the rarer options, across one switch")
    need_programs(*ALL)
    every = report.args.all
    for hops, flags, server, client in (ONE_HOP, THREE_HOPS) if every else (THREE_HOPS,):
        with Fabric(*flags) as fabric:
            for programs, options, always in TABLE:
                if hops == THREE_HOPS[0] and not always:
                    continue
                for program in programs if every or is_transport(options) else programs[:1]:
                    report.case(hops, f"{program} {options}",
                                lambda: perftest(fabric, server, client, program, options))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
