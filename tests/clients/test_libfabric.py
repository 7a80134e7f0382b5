#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libfabric, unmodified: its verbs provider finds the host's device, and fi_pingpong runs between
two hosts over connections and datagrams of it, and over what libfabric builds on these. With
--fabtests, its own tests, from the folder that SOFTIB_FABTESTS names."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import (Fabric, Failure, ONE_HOP, Report, THREE_HOPS, free_port, listening,
                         need_programs, skip)
from subnet import expect
from test_rdmacm import address, finish, listens

# Provider, endpoint, and what fi_info calls the protocol.
KINDS = [("verbs", "msg", "FI_EP_MSG", "FI_PROTO_RDMA_CM_IB_RC"),
         ("verbs", "dgram", "FI_EP_DGRAM", "FI_PROTO_IB_UD"),
         ("verbs;ofi_rxm", "rdm", "FI_EP_RDM", "FI_PROTO_RXM"),
         ("verbs;ofi_rxd", "rdm", "FI_EP_RDM", "FI_PROTO_RXD")]

# Endpoints on top of connections take a connection down as soon as they see that the other side has
# ended it, and drop what came before and was not read. They look for that at this interval, in
# microseconds: longer than a process may wait for a core.
PATIENCE = {"FI_OFI_RXM_CM_PROGRESS_INTERVAL": "1000000"}

# libfabric's own tests that the two providers can do, by their command lines.
FABTESTS_PAIRS = {
    "verbs": [
        "fi_cm_data", "fi_cq_data -e msg", "fi_msg", "fi_msg_epoll", "fi_msg_sockets",
        "fi_shared_ctx -e msg --no-tx-shared-ctx", "fi_multi_ep -e msg -v",
        "fi_msg_inject -A inject -v", "fi_msg_inject -N -A inject -v", "fi_bw -e msg -v -T 1",
        "fi_msg_pingpong -I 5", "fi_msg_pingpong -I 5 -v", "fi_msg_bw -I 5", "fi_msg_bw -I 5 -v",
        "fi_rma_bw -e msg -o write -I 5", "fi_rma_bw -e msg -o read -I 5",
        "fi_rma_bw -e msg -o writedata -I 5"],
    "verbs;ofi_rxm": [
        "fi_av_xfer -e rdm", "fi_cq_data -e rdm", "fi_poll -t queue", "fi_poll -t counter",
        "fi_rdm", "fi_rdm -U", "fi_rdm_tagged_peek", "fi_multi_ep -e rdm -v",
        "fi_recv_cancel -e rdm -V", "fi_unexpected_msg -e rdm -I 10",
        "fi_bw -e rdm -v -T 1", "fi_rdm_multi_client -C 10 -I 5",
        "fi_rma_bw -e rdm -o write -I 5", "fi_rma_bw -e rdm -o read -I 5",
        "fi_rma_bw -e rdm -o writedata -I 5", "fi_rdm_cntr_pingpong -I 5",
        "fi_multi_recv -e rdm -I 5", "fi_rdm_pingpong -I 5", "fi_rdm_pingpong -I 5 -v",
        "fi_rdm_tagged_pingpong -I 5", "fi_rdm_tagged_pingpong -I 5 -v",
        "fi_rdm_tagged_bw -I 5", "fi_rdm_tagged_bw -I 5 -v"]}
FABTESTS_ALONE = {
    "verbs": ["fi_eq_test", "fi_cq_test", "fi_mr_test", "fi_dom_test -n 2", "fi_getinfo_test"],
    "verbs;ofi_rxm": [
        "fi_eq_test", "fi_cq_test", "fi_mr_test", "fi_cntr_test", "fi_dom_test -n 2"]}


def info(fabric):
    """Every kind of endpoint is there, on the host's device."""
    output = fabric.run("h0", ["fi_info"]).check().output
    for provider, _, endpoint, protocol in KINDS:
        pattern = (rf"provider: {re.escape(provider)}\n +fabric: IB-0x\w+\n +domain: mlx5_0\S*\n"
                   rf" +version: \S+\n +type: {endpoint}\n +protocol: {protocol}\n")
        expect(re.search(pattern, output), f"no {provider} with {protocol}\n{output}")
    return output


def pingpong(fabric, server, client, provider, endpoint):
    """fi_pingpong with its check of the data. Names of endpoints are exchanged over TCP, as between
    machines."""
    port = free_port()
    command = ["fi_pingpong", "-p", provider, "-e", endpoint, "-I", "10", "-c"]
    running = fabric.start(server, [*command, "-B", str(port)], PATIENCE)
    running.wait_until(lambda: listening(port), f"listening on port {port}")
    shown = finish(
        fabric, running,
        fabric.start(client, [*command, "-P", str(port), address(fabric, server)], PATIENCE))
    expect(re.search(r"^64 +10 +=10 ", shown, re.MULTILINE), f"no results\n{shown}")
    return shown


def crosses_the_fabric(fabric, server, client):
    counter = "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"
    before = int(fabric.run(server, ["cat", counter]).check().output)
    shown = pingpong(fabric, server, client, "verbs", "msg")
    words = int(fabric.run(server, ["cat", counter]).check().output) - before
    expect(4 * words >= 10 << 20, f"{4 * words} bytes came")  # Ten times 1 MiB, and more.
    return shown


def fabtest(fabric, server, client, folder, provider, line):
    """A test that cannot be done with the provider says so by its status: that is a failure
    here."""
    program, *arguments = line.split()
    port = free_port()
    command = [str(folder / program), *arguments, "-p", provider]
    there, here = address(fabric, server), address(fabric, client)
    if program in ("fi_multi_ep", "fi_av_xfer", "fi_unexpected_msg", "fi_multi_recv"):
        # They agree over TCP first.
        command.append(f"-E={port}")
        running = fabric.start(server, [*command, "-s", there], PATIENCE)
        running.wait_until(lambda: listening(port), f"listening on port {port}")
        return finish(fabric, running,
                      fabric.start(client, [*command, "-s", here, there], PATIENCE))
    running = fabric.start(server, [*command, "-B", str(port), "-s", there], PATIENCE)
    running.wait_until(lambda: listens(fabric, server, port), f"listening on port {port}")
    return finish(fabric, running,
                  fabric.start(client, [*command, "-P", str(port), "-s", here, there], PATIENCE))


def fabtests(report, folder):
    hops, flags, server, client = THREE_HOPS
    with Fabric(*flags) as fabric:
        for provider in FABTESTS_PAIRS:
            for line in FABTESTS_ALONE[provider]:
                report.case(hops, f"{provider}: {line}", lambda: fabric.run(
                    server,
                    [str(folder / line.split()[0]), *line.split()[1:], "-p", provider]).check())
            for line in FABTESTS_PAIRS[provider]:
                report.case(hops, f"{provider}: {line}",
                            lambda: fabtest(fabric, server, client, folder, provider, line))


def main():
    report = Report("libfabric", fabtests="run libfabric's own tests, from SOFTIB_FABTESTS")
    if report.args.fabtests:
        if "SOFTIB_FABTESTS" not in os.environ:
            skip("SOFTIB_FABTESTS names no folder with fi_msg and the like")
        report.name = "fabtests"
        fabtests(report, pathlib.Path(os.environ["SOFTIB_FABTESTS"]))
        return report.finish()
    need_programs("fi_info", "fi_pingpong")
    for hops, flags, server, client in (ONE_HOP, THREE_HOPS):
        with Fabric(*flags) as fabric:
            report.case(hops, "fi_info", lambda: info(fabric))
            for provider, endpoint, _, _ in KINDS:
                report.case(hops, f"fi_pingpong -p {provider} -e {endpoint}",
                            lambda: pingpong(fabric, server, client, provider, endpoint))
            report.case(hops, "what fi_pingpong sends crosses the fabric",
                        lambda: crosses_the_fabric(fabric, server, client))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
