#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib telemetry, serve and health, as users, Prometheus, UFM's clients and browsers see them."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from cli_case import SOFTIB, CliCase, wait_until


class Telemetry(CliCase):
    def setUp(self):
        super().setUp()
        self.server = None

    def tearDown(self):
        if self.server:
            self.server.terminate()
            self.server.communicate(timeout=20)
        super().tearDown()

    def start(self, words):
        self.server = subprocess.Popen(words, env=self.env, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
        self.url = re.search(r"(http://\S+)/", self.server.stdout.readline()).group(1)

    def serve(self, *flags):
        """Starts a server on a port that is free; the next calls ask it."""
        self.start([SOFTIB, "serve", "--port", "0", *flags])
        if "--allow-control" in flags:
            self.token = self.server.stdout.readline().split()[1]

    def ask(self, path, method="GET", body=None, **headers):
        """Returns the status and the text of an answer."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def get(self, path):
        status, text = self.ask(path)
        self.assertEqual(status, 200, text)
        return json.loads(text)

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
        finally:
            saved.unlink()


if __name__ == "__main__":
    unittest.main()
