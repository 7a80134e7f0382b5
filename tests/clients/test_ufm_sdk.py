#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The scripts of UFM's SDK (Mellanox/ufm_sdk_3.0) against softib serve: what they list is in the
fabric, and what they change is changed there. SOFTIB_UFM_SDK is the folder of the SDK; its scripts
need python3-requests, python3-jsonschema and python3-tabulate."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from serving import Server, until
from softib_test import THREE_HOPS, Fabric, Failure, Report, need_programs, skip
from subnet import expect

PORTS = 4 + 2 * 4 + 2 * 2  # Of four hosts, two leaves and two spines.


class Sdk:
    def __init__(self, folder, server):
        self.folder, self.server = pathlib.Path(folder), server
        self.scratch = tempfile.TemporaryDirectory()
        pathlib.Path(self.scratch.name, "api_results").mkdir()

    def run(self, script, *words):
        """Returns the output of a script. The password is the token, with any user name."""
        argv = [
            "/usr/bin/python3",
            str(self.folder / "scripts" / script), "--ufm_host", self.server.address,
            "--ufm_protocol", "http", "--ufm_username", "admin", "--ufm_password",
            self.server.token, *words
        ]
        ended = subprocess.run(argv,
                               cwd=self.scratch.name,
                               capture_output=True,
                               text=True,
                               timeout=60,
                               env={
                                   **os.environ, "PYTHONPATH": str(self.folder)
                               })
        if ended.returncode != 0 or "Traceback" in ended.stderr:
            raise Failure(f"$ {' '.join(argv)}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def listed(self, script, *words):
        """Returns the list that a script prints, as a Python value."""
        said = self.run(script, *words)
        return ast.literal_eval(said[said.index("["):said.rindex("]") + 1])

    def result(self, pattern):
        found = sorted(pathlib.Path(self.scratch.name).rglob(pattern))
        expect(found, f"no file {pattern}")
        return found[-1].read_text()


def lists_are_the_fabric(fabric, sdk):
    topology = json.loads(fabric.command("topo", "-f", fabric.name, "--json").check().output)
    ports = sdk.listed("ufm_ports/load_ports.py")
    expect(
        len(ports) == PORTS and all(port["logical_state"] == "Active" for port in ports),
        f"{len(ports)} ports")
    links = sdk.listed("ufm_links/load_links.py")
    ours = {
        frozenset([f"{c['a']}:{c['a_port']}", f"{c['b']}:{c['b_port']}"])
        for c in topology["cables"]
    }
    theirs = {
        frozenset([
            f"{link['source_port_node_description']}:{link['source_port']}",
            f"{link['destination_port_node_description']}:{link['destination_port']}"
        ])
        for link in links
    }
    expect(theirs == ours, f"{theirs ^ ours}")
    systems = sdk.listed("ufm_devices/load_devices.py")
    expect({system["description"]
            for system in systems} == {node["name"]
                                       for node in topology["nodes"]}, systems)
    switches = sdk.listed("ufm_devices/load_devices.py", "--type", "switch")
    expect(len(switches) == 4, f"{len(switches)} switches")
    fabric.command("link", "down", "-f", fabric.name, "h2").check()
    active = sdk.listed("ufm_ports/load_ports.py", "--active", "true")
    fabric.command("link", "up", "-f", fabric.name, "h2").check()
    return f"{len(ports)} ports, {len(links)} links, {len(active)} active with a cable down"


def pkeys_of(fabric, host):
    status = json.loads(fabric.command("status", "-f", fabric.name, "--json").check().output)
    lid = next(h["hcas"][0]["lid"] for h in status["hosts"] if h["name"] == host)
    return fabric.run("h0", ["smpquery", "pkeys", str(lid)]).check().output


def send_by_pkey(fabric, index):
    fabric.pair(
        "h0",
        "h1",
        lambda port:
        ["ib_send_bw", "-d", "mlx5_0", "-p",
         str(port), "-n", "100", "--pkey_index",
         str(index)],
        timeout_s=20)


def a_pkey_is_made_and_removed(fabric, sdk):
    ports = sdk.listed("ufm_ports/load_ports.py")
    guids = [
        next(port["guid"] for port in ports if port["system_name"] == host) for host in ("h0", "h1")
    ]
    sdk.run("ufm_pkeys/ufm_pkeys.py", "--set_pkey", "--pkey", "0x5", "--guids", ",".join(guids))
    for host, member in (("h0", True), ("h1", True), ("h2", False)):
        expect(("0x8005" in pkeys_of(fabric, host)) == member, f"{host}\n{pkeys_of(fabric, host)}")
    send_by_pkey(fabric, 1)
    said = sdk.run("ufm_pkeys/ufm_pkeys.py", "--get_pkey", "0x5")
    expect(all(guid in said for guid in guids), said)
    sdk.run("ufm_pkeys/ufm_pkeys.py", "--delete_pkey", "0x5")
    expect("0x8005" not in pkeys_of(fabric, "h1"), "it is still there")
    try:
        send_by_pkey(fabric, 1)
    except Failure:
        return said
    raise Failure("a partition that is gone carries traffic")


def reports_tell_the_truth(fabric, sdk):
    said = sdk.run("ufm_fabric_health/run_fabric_health_report.py")
    expect("'ok': True" in said, said)
    said = sdk.run("ufm_validation_test/run_validation_test.py", "--run_test", "CheckLinks")
    expect("completed successfully" in said, said)
    fabric.command("link", "down", "-f", fabric.name, "h2").check()
    try:
        # It is sampled once a second.
        until("a failed test", lambda: "h2/mlx5_0:1" in sdk.run(
            "ufm_validation_test/run_validation_test.py", "--run_test", "CheckLinks"))
        events = sdk.run("ufm_events/ufm_events.py", "--get_events")
        expect("link_down" in events, events)
        alarms = sdk.run("ufm_aggr_topx/ufm_aggr_topx.py", "--object", "servers", "--attr",
                         "alarms")
        expect("h2/mlx5_0" in alarms, alarms)
    finally:
        fabric.command("link", "up", "-f", fabric.name, "h2").check()
    return said


def topologies_are_compared(fabric, sdk):
    folder = sdk.scratch.name
    sdk.run("ufm_topology/ufm_topology.py", "--export_as_topo", "--path_to_export", folder,
            "--topo_file_name", "now.topo", "--export_to_gephi")
    saved = pathlib.Path(folder, "now.topo")
    expect(saved.read_text().count("Switch\t") == 4, saved.read_text())
    expect(sdk.result("*.gexf").count("<node id=") == 8, "nodes of the picture")

    def compare(text):
        saved.write_text(text)
        for old in pathlib.Path(folder).glob("*_compare.json"):
            old.unlink()
        sdk.run("ufm_topology/ufm_topology.py", "--compare_topology_with", str(saved),
                "--path_to_export", folder)
        return json.loads(sdk.result("*_compare.json"))

    text = saved.read_text()
    same = compare(text)
    expect(not any([*same["added"].values(), *same["removed"].values(), same["moved"]]), same)
    guid = re.search(r'"H-(\w{16})"\s+# "h3 mlx5_0"', text)[1]
    other = compare(text.replace(guid.lstrip("0"), guid.lstrip("0")[:-2] + "ff"))
    expect([node["guid"] for node in other["added"]["nodes"]] == [guid]
           and len(other["removed"]["nodes"]) == 1, other)
    return json.dumps(other)


def devices_are_isolated_in_batches(fabric, folder):
    """The script uses only TLS, and asks before each batch."""
    with tempfile.TemporaryDirectory() as scratch:
        cert, key = f"{scratch}/cert.pem", f"{scratch}/key.pem"
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert
        ],
                       check=True,
                       capture_output=True)
        server = Server(fabric, "--allow-control", "--cert", cert, "--key", key)
        topology = json.loads(fabric.command("topo", "-f", fabric.name, "--json").check().output)
        spine = next(node for node in topology["nodes"] if node["name"] == "spine1")
        guid = spine["guid"].removeprefix("0x").zfill(16)
        pathlib.Path(scratch, "batch.csv").write_text(f"{guid},1\n")
        script = pathlib.Path(folder, "scripts/batch_isolate_devices/batch_isolate_devices.py")
        said = subprocess.run([
            "/usr/bin/python3", str(script), "-H", server.address, "-u", "admin", "-p",
            server.token, "--sleep_time", "1", "-f", f"{scratch}/batch.csv"
        ],
                              input="\n",
                              capture_output=True,
                              text=True,
                              timeout=60)
        expect("are healthy" in said.stdout and said.returncode == 0, said.stdout + said.stderr)
        report = json.loads(fabric.command("health", "-f", fabric.name, "--json").output)
        down = next(check for check in report["checks"] if check["name"] == "links")["objects"]
        expect(all("spine1:2" in port for port in down) and down,
               f"{down}, not the other port of spine1")
        return said.stdout


def telemetry_has_all_ports(sdk):
    host, port = sdk.server.address.split(":")
    sdk.run("ufm_telemetry/load_telemetry.py", "--ufm_telemetry_host", host, "--ufm_telemetry_port",
            port, "--ufm_telemetry_url", "labels/csv/metrics")


def main():
    folder = os.environ.get("SOFTIB_UFM_SDK", "")
    if not folder:
        skip("SOFTIB_UFM_SDK is not set: the folder of Mellanox/ufm_sdk_3.0")
    missing = subprocess.run(["/usr/bin/python3", "-c", "import requests, jsonschema, tabulate"],
                             capture_output=True,
                             text=True)
    if missing.returncode != 0:
        skip(missing.stderr.strip().splitlines()[-1])
    need_programs("smpquery", "ib_send_bw")
    report = Report("ufm_sdk")
    with Fabric(*THREE_HOPS[1]) as fabric:
        sdk = Sdk(folder, Server(fabric, "--allow-control"))
        report.case("ufm_sdk", "ports, links and devices are the fabric's",
                    lambda: lists_are_the_fabric(fabric, sdk))
        report.case("ufm_sdk", "a P_Key is made, used and removed",
                    lambda: a_pkey_is_made_and_removed(fabric, sdk))
        report.case("ufm_sdk", "reports, tests, events and ranks tell of a pulled cable",
                    lambda: reports_tell_the_truth(fabric, sdk))
        report.case("ufm_sdk", "topologies are written and compared",
                    lambda: topologies_are_compared(fabric, sdk))
        report.case("ufm_sdk", "telemetry as CSV", lambda: telemetry_has_all_ports(sdk))
    with Fabric(*THREE_HOPS[1]) as fabric:
        report.case("ufm_sdk", "a switch is isolated, and one of its ports comes back",
                    lambda: devices_are_isolated_in_batches(fabric, folder))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
