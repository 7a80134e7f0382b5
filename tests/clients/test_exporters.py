#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Other exporters read the same numbers: node_exporter from the directory that softib serve writes,
and guilbaults/infiniband-exporter (SOFTIB_IB_EXPORTER: its infiniband-exporter.py; needs
python3-prometheus-client) from the performance agents, as it does on real fabrics."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from serving import Server, fetch, free_port, parse_metrics, start_judge, until
from softib_test import THREE_HOPS, Fabric, Report, listening, need_programs
from subnet import expect, pingpong

# Metric of node_exporter: our counter, and the factor between them.
NODE_METRICS = {
    "node_infiniband_port_data_transmitted_bytes_total": ("xmit_words", 4),
    "node_infiniband_port_data_received_bytes_total": ("rcv_words", 4),
    "node_infiniband_port_packets_transmitted_total": ("xmit_packets", 1),
    "node_infiniband_port_packets_received_total": ("rcv_packets", 1),
    "node_infiniband_link_downed_total": ("link_downed", 1),
    "node_infiniband_port_errors_received_total": ("rcv_errors", 1),
}


def status_counters(fabric, host):
    said = json.loads(fabric.command("status", "-f", fabric.name, "--json").check().output)
    return next(h["hcas"][0]["counters"] for h in said["hosts"] if h["name"] == host)


def node_exporter_reads(fabric, folder):
    port = free_port()
    start_judge(fabric, [
        "prometheus-node-exporter", f"--path.sysfs={folder}", "--collector.disable-defaults",
        "--collector.infiniband", f"--web.listen-address=127.0.0.1:{port}"
    ], port)
    pingpong(fabric, "h0", "h3")

    def differences():
        shown = parse_metrics(fetch(f"http://127.0.0.1:{port}/metrics"))
        found = []
        for host in ("h0", "h3"):
            counters = status_counters(fabric, host)
            labels = (("device", f"{host}_mlx5_0"), ("port", "1"))
            for name, (counter, unit) in NODE_METRICS.items():
                want = counters[counter] * unit
                if shown.get((name, labels)) != want:
                    found.append(f"{host} {name}: {shown.get((name, labels))}, not {want}")
        sent = status_counters(fabric, "h3")["xmit_words"]
        return found if sent else ["nothing was sent"]

    # The files are written every five seconds.
    until("the same numbers", lambda: not differences())
    shown = parse_metrics(fetch(f"http://127.0.0.1:{port}/metrics"))
    active = [key for key in shown if key[0] == "node_infiniband_state_id" and shown[key] == 4]
    expect(
        len(active) == 16, f"{len(active)} ports are active, not 16: 4 hosts, 2 leaves, 2 spines")
    expect(
        shown["node_infiniband_rate_bytes_per_second",
              (("device", "h0_mlx5_0"), ("port", "1"))] == 50e9, "NDR has 400 Gbit/s")


def field_exporter_agrees(fabric, server, script):
    """What it prints lies between what we print before and after it has asked. ibqueryerrors, which
    it runs, tells of ports that have counted an error: those whose cable was down once."""
    for host in ("h1", "h2", "h3"):
        fabric.command("link", "down", "-f", fabric.name, host).check()
        fabric.command("link", "up", "-f", fabric.name, host).check()
    pingpong(fabric, "h1", "h3")
    port = free_port()
    program = fabric.start("h0", ["/usr/bin/python3", script, "--port", str(port)])
    program.wait_until(lambda: listening(port), "listening")
    before = server.metrics("?exporter=cable")
    theirs = parse_metrics(fetch(f"http://127.0.0.1:{port}/metrics"))
    time.sleep(0.2)  # Numbers that are read at the same time are the same numbers.
    after = server.metrics("?exporter=cable")
    expect(theirs["infiniband_scrape_ok", ()] == 1, "it says that its scrape failed")
    downed = [
        labels for (name, labels), value in before.items()
        if name == "infiniband_linkdownedcounter_total" and value > 0
    ]
    expect(len(downed) >= 6, f"{len(downed)} ports were down, not both ends of three cables")
    for name in ("infiniband_portxmitdata_total", "infiniband_portrcvpkts_total",
                 "infiniband_linkdownedcounter_total"):
        for labels in downed:
            key = name, labels
            if before[key] == 0:
                continue
            expect(key in theirs, f"{key} is not told of")
            expect(before[key] <= theirs[key] <= after[key],
                   f"{key}: {theirs[key]} is not between {before[key]} and {after[key]}")
    speeds = {value for (name, _), value in theirs.items() if name == "infiniband_speed"}
    expect(speeds == {value for (name, _), value in before.items() if name == "infiniband_speed"},
           f"{speeds}")
    return f"{len(downed)} ports"


def main():
    need_programs("prometheus-node-exporter")
    report = Report("exporters")
    with tempfile.TemporaryDirectory() as folder, Fabric(*THREE_HOPS[1]) as fabric:
        server = Server(fabric, "--exporter", "cable", "--sysfs", folder)
        report.case("node_exporter", "reads our directory",
                    lambda: node_exporter_reads(fabric, folder))
        script = os.environ.get("SOFTIB_IB_EXPORTER", "")
        if script:
            subprocess.run(["/usr/bin/python3", "-c", "import prometheus_client"], check=True)
            report.case("infiniband-exporter", "prints our numbers by softib exec",
                        lambda: field_exporter_agrees(fabric, server, script))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
