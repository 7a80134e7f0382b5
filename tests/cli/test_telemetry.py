#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib telemetry, serve and health, as users, Prometheus, UFM's clients and browsers see them."""

import base64
import json
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

from cli_case import SOFTIB, wait_until
from serve_case import ServeCase


class Telemetry(ServeCase):
    def test_metrics_are_what_promtool_and_the_fabric_say(self):
        self.ok("up", "--hosts", "4", "--topology", "fat-tree", "--radix", "4")
        self.serve("--exporter", "both")
        status, text = self.ask("/metrics")
        self.assertEqual(status, 200)
        self.assertIn("softib_telemetry_up 1", text)
        ports = len(self.get("/ufmRest/resources/ports"))
        self.assertEqual(len(re.findall(r"^infiniband_portxmitdata_total\{", text, re.M)), ports)
        if shutil.which("promtool"):
            lint = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  capture_output=True)
            self.assertEqual((lint.returncode, lint.stderr), (0, ""))

    def test_json_tells_where_it_is_when_it_is_ready(self):
        self.ok("up", "--hosts", "2")
        folder = f"{self.dir}/default"
        for flags, with_token in (((), False), (("--allow-control",), True)):
            self.start([SOFTIB, "serve", "--port", "0", "--json", *flags])
            ready = json.loads(self.said)
            self.assertEqual((ready["pid"], ready["dir"], ready["umad"], ready["recording"]),
                             (self.server.pid, folder, None, None))
            self.assertEqual(ready["history"], f"{folder}/telemetry/history.db")
            self.assertEqual(ready["url"], f"http://localhost:{ready['port']}/")
            self.assertEqual(ready["token"] is not None, with_token)
            down = self.ask("/api/v1/links/h1/mlx5_0:1", "POST", {"up": True},
                            Authorization=f"Bearer {ready['token']}")[0]
            self.assertEqual(down, 200 if with_token else 403)
            self.end()
        with subprocess.Popen([SOFTIB, "telemetry", "--json"], env=self.env, text=True,
                              stdout=subprocess.PIPE) as sampler:
            ready = json.loads(sampler.stdout.readline())
            self.assertEqual((ready["pid"], ready["dir"]), (sampler.pid, folder))
            self.assertNotIn("url", ready)
            sampler.terminate()

    def test_a_pulled_cable_is_an_alarm_on_the_page_and_in_health(self):
        self.ok("up", "--hosts", "2")
        self.ok("health")
        self.serve()
        self.ok("link", "down", "h1")
        self.assertTrue(wait_until(lambda: any(
            alarm["kind"] == "link_down" for alarm in self.get("/api/v1/alarms")["alarms"])))
        self.assertFalse(self.get("/api/v1/health")["ok"])
        report = self.softib("health", "--json")
        self.assertEqual(report.returncode, 1)
        wrong = [check["name"] for check in json.loads(report.stdout)["checks"] if not check["ok"]]
        self.assertIn("links", wrong)
        self.ok("link", "up", "h1")
        self.assertTrue(wait_until(lambda: not self.get("/api/v1/alarms")["alarms"]))

    def test_status_health_server_and_metrics_say_the_same_of_a_pulled_cable(self):
        self.ok("up", "--hosts", "2")
        self.serve()
        self.assertEqual(self.json("status")["health"]["text"], "ok")
        self.ok("link", "down", "h1")
        report = json.loads(self.softib("health", "--json").stdout)
        by_name = {check["name"]: check for check in report["checks"]}
        self.assertEqual(by_name["links"]["text"], "1 of 2 cables is down")
        self.assertEqual(by_name["alarms"]["objects"], [
            "h1/mlx5_0:1: the cable to sw0:2 is down; h1/mlx5_0 has no other; to do: reseat the "
            "cable at both ends, or replace it; a port may be disabled, too"])
        self.assertEqual(by_name["nodes"]["text"],
                         "1 of 3 nodes has no cable that is up")
        self.assertTrue(wait_until(lambda: len(self.get("/api/v1/alarms")["alarms"]) == 1))
        served = {check["name"]: check for check in self.get("/api/v1/health")["checks"]}
        health = self.json("status")["health"]
        shown = {check["name"]: check for check in health["checks"]}
        for name in ("links", "alarms", "nodes", "lids"):
            self.assertEqual(by_name[name], served[name])
            self.assertEqual(by_name[name], shown[name])
        self.assertFalse(health["ok"])
        self.assertIn("health: 1 of 3 nodes has no cable that is up; 1 of 2 cables is down",
                      self.ok("status"))
        self.assertIn("2 with a cable are down", self.ok("routes", "check"))
        self.assertIn('softib_health_objects{check="links"} 1', self.ask("/metrics")[1])
        self.end()
        self.serve()  # One that did not see the cable being pulled.
        self.assertEqual(len(self.get("/api/v1/alarms")["alarms"]), 1)
        self.ok("link", "up", "h1")
        self.assertTrue(wait_until(lambda: not self.get("/api/v1/alarms")["alarms"]))
        self.assertEqual(self.json("status")["health"]["text"], "ok")

    def test_other_sites_and_strangers_change_nothing(self):
        self.ok("up", "--hosts", "2")
        self.serve("--allow-control")
        path, down, key = "/api/v1/links/h1/mlx5_0:1", {"up": False}, f"Bearer {self.token}"
        self.assertEqual(self.ask("/metrics", Host="evil.example")[0], 421)
        self.assertEqual(self.ask(path, "POST", down)[0], 401)
        self.assertEqual(403, self.ask(path, "POST", down, Authorization=key,
                                       Origin="http://evil.example")[0])
        self.assertEqual(415, self.ask(path, "POST", down, Authorization=key,
                                       Content_Type="text/plain")[0])
        self.assertEqual(self.get("/api/v1/health")["ok"], True)
        self.assertEqual(self.ask(path, "POST", down, Authorization=key)[0], 200)
        self.assertTrue(wait_until(lambda: not self.get("/api/v1/health")["ok"]))

    def test_limits_hold_and_a_stream_that_nobody_reads_hurts_nobody(self):
        self.ok("up", "--hosts", "2")
        self.serve("--allow-control")
        port = int(self.url.rsplit(":", 1)[1])
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for stream in silent:
            stream.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(self.ask("/" + "a" * 4000)[0], 414)
        with socket.create_connection(("127.0.0.1", port), timeout=5) as endless:
            try:  # Headers without end.
                for _ in range(160):
                    endless.sendall(b"GET / HTTP/1.1\r\n" + b"X-A: " + b"b" * 8000 + b"\r\n")
                while endless.recv(65536):
                    pass
            except (ConnectionError, TimeoutError):
                pass
        before = self.get("/api/v1/fabric")["number"]
        self.assertTrue(wait_until(lambda: self.get("/api/v1/fabric")["number"] > before + 1))
        for stream in silent:
            stream.close()

    def test_partitions_changed_over_http_are_in_the_ports(self):
        self.ok("up", "--hosts", "2")
        self.serve("--allow-control")
        key = f"Basic {self.token}"
        status, text = self.ask("/ufmRest/resources/pkeys/hosts", "POST",
                                {"pkey": "0x5", "hosts_names": "h1", "membership": "full"},
                                Authorization=key)
        self.assertEqual(status, 200, text)
        lids = {host["name"]: host["hcas"][0]["lid"] for host in self.json("status")["hosts"]}
        def keys(host):
            return self.ok("exec", "h0", "--", "smpquery", "pkeys", str(lids[host]))
        if shutil.which("smpquery"):
            self.assertIn("0x8005", keys("h1"))
            self.assertNotIn("0x8005", keys("h0"))
        status, text = self.ask("/ufmRest/resources/pkeys/0x5", "DELETE", Authorization=key)
        self.assertEqual(status, 200, text)
        if shutil.which("smpquery"):
            self.assertNotIn("0x8005", keys("h1"))

    def test_the_qos_of_a_partition_is_that_of_its_group_in_the_fabric(self):
        if not shutil.which("saquery"):
            self.skipTest("no saquery")
        self.ok("up", "--hosts", "2")
        self.serve("--allow-control")

        def put(qos, status=200):
            got, text = self.ask("/ufmRest/resources/pkeys/qos_conf", "PUT", {"pkey": "0x5"} | qos,
                                 Authorization=f"Bearer {self.token}")
            self.assertEqual(got, status, text)

        def group():
            said = self.ok("exec", "h1", "--", "saquery", "-g")
            one = next(part for part in said.split("MCMemberRecord group dump:")
                       if ":8005:" in part)
            return {key: int(re.search(rf"{key}\.*(0x[0-9A-Fa-f]+)", one)[1], 16) & 0x3F
                    for key in ("Mtu", "Rate", "SL")}

        self.assertEqual(200, self.ask("/ufmRest/resources/pkeys/hosts", "POST",
                                       {"pkey": "0x5", "hosts_names": "h1", "ip_over_ib": True},
                                       Authorization=f"Bearer {self.token}")[0])
        put({"mtu_limit": 4, "rate_limit": 100, "service_level": 0})
        self.assertEqual(group(), {"Mtu": 5, "Rate": 16, "SL": 0})
        put({"mtu_limit": 2, "rate_limit": 2.5})
        self.assertEqual(group(), {"Mtu": 4, "Rate": 2, "SL": 0})
        self.assertEqual(self.get("/ufmRest/resources/pkeys/0x5?qos_conf=true")["qos_conf"],
                         {"mtu_limit": 2, "rate_limit": 2.5, "service_level": 0})
        put({"mtu_limit": 3}, 400)

    def test_a_ufm_client_logs_in_for_a_token_and_lets_the_manager_sweep(self):
        self.ok("up", "--hosts", "2")
        self.serve("--allow-control")
        tokens, sweep = "/ufmRestV3/app/tokens", {"action": "fabric_discovery"}
        for password, status in (("wrong", 401), (self.token, 200)):
            login = base64.b64encode(f"admin:{password}".encode()).decode()
            got, text = self.ask(tokens, "POST", {}, Authorization=f"Basic {login}")
            self.assertEqual(got, status, text)
        key = f"Bearer {json.loads(text)['access_token']}"
        before = self.json("sm", "status")["full_sweeps"]
        self.assertEqual(401, self.ask("/ufmRest/actions", "POST", sweep)[0])
        self.assertEqual(200, self.ask("/ufmRest/actions", "POST", sweep, Authorization=key)[0])
        self.assertTrue(wait_until(lambda: self.json("sm", "status")["full_sweeps"] > before))
        self.assertEqual(404, self.ask("/ufmRest/actions", "POST", {"action": "dance"},
                                       Authorization=key)[0])

    def test_lost_switches_are_the_same_alarms_by_the_fabric_and_by_mads(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "16", "--radix", "8")
        well = pathlib.Path(self.scratch, "well.txt")
        self.ok("topo", "--ibnetdiscover", str(well))
        for name in ("spine1", "leaf1"):
            self.ok("switch", "kill", name)

        def alarms(*words):
            checks = {each["name"]: each for each in
                      json.loads(self.softib(*words, "--json").stdout)["checks"]}
            return sorted(checks["alarms"]["objects"]), checks["nodes"]["text"]
        seen, nodes = alarms("health")
        self.assertEqual([text.split(";")[0] for text in seen],
                         [f"{name}: none of its 8 cables is up" for name in ("leaf1", "spine1")])
        self.assertIn("4 hosts are lost with it", seen[0])
        by_mads = ("exec", "h0", SOFTIB, "health", "--umad", "mlx5_0")
        self.assertEqual(alarms(*by_mads, "--compare", str(well)), (seen, nodes))
        self.assertIn("--compare FILE tells which are missing", alarms(*by_mads)[1])

    def test_history_outlives_a_process_that_is_killed(self):
        self.ok("up", "--hosts", "2")
        def seen():
            return self.get("/api/v1/ports/h0/mlx5_0:1/history")["seen"]
        self.serve()
        self.assertTrue(wait_until(lambda: len(seen()) >= 2))
        first = seen()[0]
        self.server.kill()
        self.server.communicate()
        self.serve()
        self.assertTrue(wait_until(lambda: len(seen()) >= 3))
        self.assertEqual(seen()[0], first)

    def test_a_fabric_that_goes_away_and_returns_is_followed(self):
        self.ok("up", "--hosts", "2")
        self.serve()
        self.ok("down")
        self.assertTrue(wait_until(lambda: self.get("/api/v1/fabric")["trouble"]))
        self.ok("up", "--hosts", "2")
        self.assertTrue(wait_until(lambda: not self.get("/api/v1/fabric")["trouble"]))

    def test_up_starts_it_down_ends_it_and_serve_takes_over(self):
        self.ok("up", "--hosts", "2", "--telemetry")
        database = pathlib.Path(self.dir, "default", "telemetry", "history.db")
        self.assertTrue(wait_until(database.exists))
        helpers = self.json("status")["health"]["helpers"]
        self.assertIn("telemetry", [helper["name"] for helper in helpers])
        self.serve()
        self.assertEqual(self.get("/api/v1/fabric")["ports"], 4)

    def test_a_fabric_is_read_by_mads_alone(self):
        self.ok("up", "--hosts", "2")
        self.start([SOFTIB, "exec", "h0", "--", SOFTIB, "serve", "--umad", "mlx5_0", "--port",
                    "0"])
        self.assertEqual(self.get("/api/v1/fabric")["ports"], 4)
        self.assertTrue(self.get("/api/v1/health")["ok"])

    def test_health_compares_with_a_saved_topology(self):
        self.ok("up", "--hosts", "2")
        saved = pathlib.Path(self.dir, "saved.net")
        saved.write_text(self.ok("topo", "--ibnetdiscover", "-"))
        try:
            self.assertIn("topology", self.ok("health", "--compare", str(saved)))
            self.ok("down")
            self.ok("up", "--hosts", "3")
            report = self.softib("health", "--compare", str(saved), "--json")
            self.assertEqual(report.returncode, 1)
            wrong = [check for check in json.loads(report.stdout)["checks"] if not check["ok"]]
            self.assertEqual([check["name"] for check in wrong], ["topology"])
            self.assertIn("h2/mlx5_0", " ".join(wrong[0]["objects"]))
        finally:
            saved.unlink()


if __name__ == "__main__":
    unittest.main()
