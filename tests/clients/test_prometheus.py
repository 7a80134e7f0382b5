#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prometheus scrapes softib serve. Its own lint finds nothing, rate() is what perftest reports at
every hop, the alertmanager hears of a pulled cable, and the queries of the exporters' public
dashboards find data: SOFTIB_DASHBOARDS is a folder with their JSON files and rules
(treydock/infiniband_exporter, examples)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from serving import Server, fetch, free_port, start_judge, until
from softib_test import THREE_HOPS, Fabric, Report, need_programs
from subnet import expect

BYTES, MESSAGES = 65536, 60_000
GBITS = "8"  # Slower than possible, so that it takes four seconds or more.
TOLERANCE = 0.05
SENT = "infiniband_{}_port_transmit_data_bytes_total"
RECEIVED = "infiniband_{}_port_receive_data_bytes_total"
ALERT = """groups:
- name: cables
  rules:
  - alert: CablePulled
    expr: increase(infiniband_switch_port_link_downed_total[15s]) > 0
"""
# Metrics of parts that our nodes do not have.
FOREIGN = re.compile(r"power_supply|fan_status|temperature|node_infiniband")


class Prometheus:
    def __init__(self, fabric, folder, target):
        self.folder = pathlib.Path(folder)
        (self.folder / "alert.rules").write_text(ALERT)
        rules = ["alert.rules"]
        self.dashboards = os.environ.get("SOFTIB_DASHBOARDS", "")
        if self.dashboards:
            rules += [str(path) for path in pathlib.Path(self.dashboards).glob("*.rules")]
        self.alerts = free_port()
        (self.folder /
         "alertmanager.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        (self.folder / "prometheus.yml").write_text(
            json.dumps({
                "global": {
                    "scrape_interval": "1s",
                    "scrape_timeout": "1s",
                    "evaluation_interval": "1s"
                },
                "rule_files":
                rules,
                "alerting": {
                    "alertmanagers": [{
                        "static_configs": [{
                            "targets": [f"127.0.0.1:{self.alerts}"]
                        }]
                    }]
                },
                "scrape_configs": [{
                    "job_name": "softib",
                    "static_configs": [{
                        "targets": [target]
                    }]
                }]
            }))
        start_judge(fabric, [
            "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml",
            f"--storage.path={folder}/alerts", "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{self.alerts}"
        ], self.alerts)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        start_judge(fabric, [
            "prometheus", f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", "--log.level=warn",
            f"--web.listen-address=127.0.0.1:{port}"
        ], port)
        until("a scrape", lambda: self.query("up == 1"))

    def query(self, expression, at=None):
        words = {"query": expression, **({"time": at} if at else {})}
        answer = json.loads(fetch(f"{self.url}/api/v1/query?{urllib.parse.urlencode(words)}"))
        return answer["data"]["result"]

    def fired(self, name):
        alerts = json.loads(fetch(f"http://127.0.0.1:{self.alerts}/api/v2/alerts"))
        return [alert["labels"] for alert in alerts if alert["labels"]["alertname"] == name]


def lint(server, dialect):
    text = fetch(f"{server.url}/metrics?exporter={dialect}&counters=all")
    found = subprocess.run(["promtool", "check", "metrics"],
                           input=text,
                           text=True,
                           capture_output=True)
    expect((found.returncode, found.stdout + found.stderr) == (0, ""), found.stdout + found.stderr)


def write_bandwidth(fabric, client, server):
    """Returns bytes per second as ib_write_bw reports them."""
    _, result = fabric.pair(
        server, client, lambda port: [
            "ib_write_bw", "-d", "mlx5_0", "-p", str(port), "-F", "-N", "-s", str(BYTES),
            "-n", str(MESSAGES), "--report_gbits", "--rate_limit", GBITS, "--rate_units", "g",
            "--rate_limit_type", "SW"])
    line = re.search(rf"^ *{BYTES} +{MESSAGES} +[\d.]+ +([\d.]+)", result.output, re.MULTILINE)
    expect(line, f"no result\n{result}")
    return float(line[1]) * 1e9 / 8


def scraped_since(prometheus, moment):
    """Returns whether Prometheus has read all counters after a moment."""
    return prometheus.query(f"min(timestamp({SENT.format('switch')})) > {moment:.3f}")


def busy_series(prometheus, name):
    """Returns the series that grew most, with the last sample before they did and the first one
    after."""
    series = [(one["metric"], [(float(at), float(value)) for at, value in one["values"]])
              for one in prometheus.query(f"{name}[5m]")]
    most = max(values[-1][1] - values[0][1] for _, values in series)
    for labels, values in series:
        if most > 0 and values[-1][1] - values[0][1] > most / 2:
            before = max(at for at, value in values if value < values[0][1] + most / 10_000)
            after = min(at for at, value in values if value > values[-1][1] - most / 10_000)
            yield labels, before, after


def rates_are_perftests(fabric, prometheus):
    """Client's HCA, leaf, spine, leaf: four ports send; the other ends of their cables receive.
    rate() is asked for from the last scrape before ib_write_bw to the first one after it. What it
    says of this time, and of the shorter time that ib_write_bw took by its own words, is the same
    number of bytes, however unsteady the machine is and however late a scrape comes."""
    until("a scrape before", lambda: scraped_since(prometheus, 0))
    reported = write_bandwidth(fabric, "h3", "h0")
    moment = time.time()
    until("a scrape after", lambda: scraped_since(prometheus, moment))
    shown, ratios, hops = [], [], {}
    for name, kind, ports in [(SENT, "hca", 1), (SENT, "switch", 3), (RECEIVED, "hca", 1),
                              (RECEIVED, "switch", 3)]:
        metric = name.format(kind)
        found = list(busy_series(prometheus, metric))
        hops[metric] = (len(found), ports)
        for labels, before, after in found:
            where = f'{metric}{{guid="{labels["guid"]}",port="{labels["port"]}"}}'
            window = after - before + 0.001  # Prometheus 3 leaves the beginning itself out.
            seen = prometheus.query(f"rate({where}[{window * 1000:.0f}ms])", f"{after:.3f}")
            sending = BYTES * MESSAGES / reported
            ratios.append(float(seen[0]["value"][1]) * window / sending / reported)
            shown.append(f"{where}: {ratios[-1]:.4f} of {reported / 1e9:.2f} GB/s, "
                         f"{window:.1f} s for {sending:.1f} s")
    expect(all(have == want for have, want in hops.values()), f"{hops}\n" + "\n".join(shown))
    expect(all(abs(ratio - 1) < TOLERANCE for ratio in ratios), "\n".join(shown))
    return "\n".join(shown)


def a_pulled_cable_fires(fabric, server, prometheus):
    expect(not prometheus.fired("CablePulled"), "an alert before anything happened")
    fabric.command("link", "down", "-f", fabric.name, "h1").check()
    labels = until("the alert", lambda: prometheus.fired("CablePulled"))
    peer = next(port for port in server.get("/ufmRest/resources/ports")
                if port["system_name"] == "h1")
    expect([labels[0]["guid"],
            labels[0]["port"]] == ["0x" + peer["peer_node_guid"], peer["peer"].split("_")[1]],
           f"{labels} is not the other end of h1's cable, {peer['peer']}")
    fabric.command("link", "up", "-f", fabric.name, "h1").check()


def expressions(path):
    """Returns every query in a dashboard."""

    def walk(item):
        if isinstance(item, dict):
            yield from ([item["expr"]] if isinstance(item.get("expr"), str) else [])
            for value in item.values():
                yield from walk(value)
        elif isinstance(item, list):
            for value in item:
                yield from walk(value)

    return list(walk(json.loads(path.read_text())))


def dashboards_find_data(prometheus):
    """Their queries without the limits at which they begin to show something."""
    asked = []
    for path in sorted(pathlib.Path(prometheus.dashboards).glob("*.json")):
        for expression in expressions(path):
            open_ended = re.sub(r"\s*(>|<|==)\s*[\d*^]+", "", expression)
            if not FOREIGN.search(expression):
                asked.append(open_ended)
                until(f"data for {open_ended}", lambda: prometheus.query(open_ended))
    expect(asked, f"no dashboard in {prometheus.dashboards}")
    return "\n".join(asked)


def main():
    need_programs("prometheus", "promtool", "prometheus-alertmanager", "ib_write_bw")
    report = Report("prometheus")
    with tempfile.TemporaryDirectory() as folder, Fabric(*THREE_HOPS[1]) as fabric:
        server = Server(fabric, "--exporter", "both")
        for dialect in ("node", "cable", "both"):
            report.case("promtool", f"check metrics, exporter={dialect}",
                        lambda: lint(server, dialect))
        prometheus = Prometheus(fabric, folder, server.address)
        report.case("prometheus", "rate() is what ib_write_bw reports, at each hop",
                    lambda: rates_are_perftests(fabric, prometheus))
        report.case("alertmanager", "a pulled cable fires",
                    lambda: a_pulled_cable_fires(fabric, server, prometheus))
        if prometheus.dashboards:
            report.case("dashboards", "every query finds data",
                        lambda: dashboards_find_data(prometheus))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
