#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""UCX, unmodified: it finds the devices of a host by itself, and every test of ucx_perftest runs
between two hosts over reliable connections and over datagrams. With --all, also with other sizes
and ways of handing data over, across three switches."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, ONE_HOP, Report, THREE_HOPS, need_programs
from subnet import expect

# Transports as a user selects them: rc_v brings the datagrams that it makes its connections with.
SELECTED = {"rc_verbs": "rc_v,self", "ud_verbs": "ud_v,self"}

# The protocol layer emulates what a transport lacks, so all of these run on both.
UCP = ["tag_lat", "tag_bw", "tag_sync_lat", "tag_sync_bw", "ucp_put_lat", "ucp_put_bw", "ucp_get",
       "ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap", "stream_lat", "stream_bw",
       "ucp_am_lat", "ucp_am_bw"]
ATOMIC = {"ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap"}

# The transport layer does what the queue pair does. InfiniBand has no swap, UCX no atomics of 64
# bits but these.
UCT = [("rc_verbs", ["am_lat", "am_bw", "put_lat", "put_bw", "add_lat", "add_mr", "fadd", "cswap"],
        "short"),
       ("rc_verbs", ["am_lat", "am_bw", "put_lat", "put_bw", "get"], "bcopy"),
       ("ud_verbs", ["am_lat", "am_bw"], "short"),
       ("ud_verbs", ["am_lat", "am_bw"], "bcopy")]
UCT_ZCOPY = [("rc_verbs", ["am_lat", "am_bw", "put_lat", "put_bw", "get"], "zcopy"),
             ("ud_verbs", ["am_lat", "am_bw"], "zcopy")]

SIZES = (1, 4096, 65536, 1 << 20)
COUNTERS = "/sys/class/infiniband/mlx5_0/ports/1/counters/"


def devices(fabric):
    """Both transports, on the device of the host; nothing complains."""
    output = fabric.run("h0", ["ucx_info", "-d"]).check().output
    found = re.findall(r"Transport: (\w+)\n#\s+Device: (\S+)", output)
    for transport in SELECTED:
        expect((transport, "mlx5_0:1") in found, f"no {transport} among {found}")
    expect("UCX  ERROR" not in output and "UCX  WARN" not in output, output)
    return output


def perftest(fabric, server, client, environment, arguments, iterations=500):
    """The client's table has the line of results, and there is no warning."""
    results = fabric.pair(server, client, lambda port: [
        "env", *environment, "ucx_perftest", "-f", "-n", str(iterations), "-w", "50", "-p",
        str(port), *arguments])
    for result in results:
        if "UCX  ERROR" in result.output or "UCX  WARN" in result.output:
            raise Failure(str(result))
    # A machine with other work makes a clock tick of nothing: the rate of a report is then "inf".
    if not re.search(rf"^ +{iterations}( +([\d.]+|inf)){{3,7}} *$", results[1].output,
                     re.MULTILINE):
        raise Failure(f"no results\n{results[1]}")
    return results[1]


def ucp(fabric, server, client, transport, test, *arguments):
    return perftest(fabric, server, client, [f"UCX_TLS={SELECTED[transport]}"],
                    ["-t", test, *arguments])


def uct(fabric, server, client, transport, test, layout, *arguments):
    return perftest(fabric, server, client, [],
                    ["-d", "mlx5_0:1", "-x", transport, "-t", test, "-D", layout, *arguments])


def counter(fabric, host, name):
    return int(fabric.run(host, ["cat", COUNTERS + name]).check().output)


def crosses_the_fabric(fabric, server, client, transport):
    """As many bytes as were sent left one port and arrived at the other; counters are in words."""
    size, iterations = 65536, 200
    sent, received = (counter(fabric, client, "port_xmit_data"),
                      counter(fabric, server, "port_rcv_data"))
    perftest(fabric, server, client, [f"UCX_TLS={SELECTED[transport]}", "UCX_RNDV_THRESH=inf"],
             ["-t", "tag_bw", "-s", str(size)], iterations)
    sent = 4 * (counter(fabric, client, "port_xmit_data") - sent)
    received = 4 * (counter(fabric, server, "port_rcv_data") - received)
    expect(sent >= size * iterations and received >= size * iterations,
           f"{sent} sent, {received} received")
    return f"{sent} bytes"


def short_form(report, fabric, hops, server, client):
    report.case(hops, "ucx_info -d", lambda: devices(fabric))
    for transport in SELECTED:
        report.case(hops, f"{transport} counters",
                    lambda: crosses_the_fabric(fabric, server, client, transport))
        for test in UCP:
            report.case(hops, f"{transport} {test}",
                        lambda: ucp(fabric, server, client, transport, test))
        # This test arms its queues and sleeps, and does not poll in between.
        report.case(hops, f"{transport} tag_lat -E sleep",
                    lambda: ucp(fabric, server, client, transport, "tag_lat", "-E", "sleep"))
    for transport, tests, layout in UCT:
        for test in tests:
            report.case(hops, f"{transport} {test} {layout}",
                        lambda: uct(fabric, server, client, transport, test, layout))


def long_form(report, fabric, hops, server, client):
    for transport in SELECTED:
        for test in UCP:
            for size in (4, 8) if test in ATOMIC else SIZES:
                report.case(hops, f"{transport} {test} -s {size}",
                            lambda: ucp(fabric, server, client, transport, test, "-s", str(size)))
        report.case(hops, f"{transport} tag_bw from four threads", lambda: ucp(
            fabric, server, client, transport, "tag_bw", "-T", "4", "-M", "multi", "-s", "1024"))
        report.case(hops, f"{transport} tag_lat in pieces", lambda: ucp(
            fabric, server, client, transport, "tag_lat", "-D", "iov", "-s", "16,48,8192,14"))
    for transport, tests, layout in UCT_ZCOPY:
        for test in tests:
            report.case(hops, f"{transport} {test} {layout}",
                        lambda: uct(fabric, server, client, transport, test, layout, "-s", "2048"))


def main():
    report = Report("ucx", all="also other sizes and layouts, across three switches")
    need_programs("ucx_info", "ucx_perftest")
    hops, flags, server, client = ONE_HOP
    with Fabric(*flags) as fabric:
        short_form(report, fabric, hops, server, client)
    if report.args.all:
        hops, flags, server, client = THREE_HOPS
        with Fabric(*flags) as fabric:
            long_form(report, fabric, hops, server, client)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
