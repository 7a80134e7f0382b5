#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What softib serve tells the web page about a running fabric, compared with the command line."""

import json
import re
import subprocess
import unittest
import urllib.error
import urllib.request

from cli_case import SOFTIB, CliCase, wait_until

PCAP_NANOSECONDS = b"\x4d\x3c\xb2\xa1"


class Explore(CliCase):
    def setUp(self):
        super().setUp()
        self.server = None

    def tearDown(self):
        if self.server:
            self.server.terminate()
            self.server.communicate(timeout=20)
        super().tearDown()

    def serve(self, *flags):
        self.server = subprocess.Popen([SOFTIB, "serve", "--port", "0", "--allow-control", *flags],
                                       env=self.env, text=True, stdout=subprocess.PIPE)
        self.url = re.search(r"(http://\S+)/", self.server.stdout.readline()).group(1)
        self.token = self.server.stdout.readline().split()[1]

    def ask(self, path, method="GET", body=None):
        """Returns the status, and the bytes of the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, method=method, data=data,
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def get(self, path):
        status, text = self.ask(path)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def test_a_path_follows_the_forwarding_tables_to_its_end_or_to_the_gap(self):
        self.ok("up", "--hosts", "8", "--topology", "fat-tree", "--radix", "4")
        self.serve()
        path = self.get("/api/v1/path?from=h0&to=h7/mlx5_0")
        self.assertEqual(path["trouble"], "")
        nodes = [hop["node"] for hop in path["hops"]]
        self.assertEqual((nodes[0], nodes[1], nodes[-2], nodes[-1]),
                         ("h0/mlx5_0", "leaf0", "leaf3", "h7/mlx5_0"))
        for hop in path["hops"][1:-1]:
            rows = {row["lid"]: row["port"] for row in self.json("route", "show", hop["node"])}
            self.assertEqual(hop["out"], rows[path["lid"]])
            table = {row[0]: row[2] for row in self.get(f"/api/v1/routes/{hop['node']}")["routes"]}
            self.assertEqual(table, rows)
        self.assertEqual(200, self.ask("/api/v1/routes/leaf0", "POST",
                                       {"lid": path["lid"], "port": None})[0])
        broken = self.get("/api/v1/path?from=h0&to=h7")
        self.assertEqual(broken["trouble"], f"leaf0 has no route to LID {path['lid']}")
        for body in ({}, {"lid": "x", "port": 1}, {"lid": 1, "port": 300},
                     {"lid": 70000, "port": 1}):
            self.assertEqual(self.ask("/api/v1/routes/leaf0", "POST", body)[0], 400, body)
        self.assertEqual(self.ask("/api/v1/routes/leaf0", "POST", {"lid": 9999, "port": 1})[0], 409)
        self.assertEqual(self.ask("/api/v1/path?from=h0&to=nobody")[0], 404)

    def test_partitions_and_programs_are_those_of_the_ports_and_hosts(self):
        self.ok("up", "--hosts", "3")
        self.serve()
        self.assertEqual(self.get("/api/v1/pkeys")["pkeys"], [
            {"pkey": "0x7fff", "full": [f"h{i}/mlx5_0" for i in range(3)], "limited": []}])
        program = subprocess.Popen([SOFTIB, "exec", "h1", "--", "ibv_rc_pingpong"], env=self.env,
                                   stdout=subprocess.DEVNULL)
        try:
            self.assertTrue(wait_until(lambda: self.get("/api/v1/jobs")["jobs"]))
            job = self.get("/api/v1/jobs")["jobs"][0]
            self.assertEqual((job["host"], job["id"]), ("h1", program.pid))
        finally:
            program.kill()
            program.wait()

    def test_what_if_names_who_is_cut_off_and_changes_nothing(self):
        self.ok("up", "--hosts", "8", "--topology", "fat-tree", "--radix", "4")
        self.serve()
        before = self.json("route", "show", "leaf0")
        spine = self.get("/api/v1/whatif?down=spine0")
        self.assertEqual((spine["pairs_before"], spine["pairs_after"]), (56, 56))
        routes = {name: (now, then) for name, now, then in spine["ports"]}
        self.assertEqual({then for name, (_, then) in routes.items()
                          if name.startswith("spine0")}, {0})
        leaf = self.get("/api/v1/whatif?down=leaf1")
        self.assertEqual(leaf["pairs_after"], 30)  # Two of eight hosts are gone.
        cable = self.get("/api/v1/whatif?down=h0/mlx5_0:1")
        self.assertEqual(cable["pairs_after"], 42)
        self.assertEqual(self.json("route", "show", "leaf0"), before)
        status, text = self.ask("/api/v1/whatif?down=leaf0:3,leaf99")
        self.assertEqual((status, json.loads(text)["error"]),
                         (409, "no switch 'leaf99' in this fabric"))
        self.assertEqual(self.ask("/api/v1/whatif")[0], 400)

    def test_a_moment_of_the_past_has_what_was_down_then(self):
        self.ok("up", "--hosts", "2")
        self.serve()
        self.ok("link", "down", "h1")
        self.assertTrue(wait_until(lambda: 1 in self.get("/api/v1/snapshot")["ports"]["state"]))
        self.assertTrue(wait_until(lambda: any(
            1 in self.get(f"/api/v1/moment?time={slot}")["ports"]["state"]
            for slot in self.get("/api/v1/slots")["rings"][0]["times"][-2:])))
        down = self.get("/api/v1/slots")["rings"][0]["times"][-1]
        self.ok("link", "up", "h1")
        self.assertTrue(wait_until(
            lambda: set(self.get("/api/v1/snapshot")["ports"]["state"]) == {4}))
        self.assertIn(1, self.get(f"/api/v1/moment?time={down}")["ports"]["state"])
        self.assertEqual(self.ask("/api/v1/moment?time=5")[0], 404)
        self.assertEqual(self.ask("/api/v1/moment?time=x")[0], 400)

    def test_a_capture_is_a_file_of_packets(self):
        self.ok("up", "--hosts", "2", "--data-path", "packet")
        self.serve()
        status, text = self.ask("/api/v1/captures", "POST", {"ports": ["sw0:1"], "packets": 20})
        self.assertEqual(status, 200, text)
        number = json.loads(text)["id"]
        file = f"/api/v1/captures/{number}"
        self.assertTrue(wait_until(lambda: self.ask(file)[0] == 200))
        server = subprocess.Popen([SOFTIB, "exec", "h0", "--", "ibv_rc_pingpong", "-n", "50"],
                                  env=self.env, stdout=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: self.softib(
            "exec", "h1", "--", "ibv_rc_pingpong", "-n", "50", "h0").returncode == 0))
        server.wait(timeout=20)
        self.assertTrue(wait_until(
            lambda: not self.get("/api/v1/captures")["captures"][0]["running"]))
        self.assertEqual(self.get("/api/v1/captures")["captures"][0]["trouble"], "")
        self.assertTrue(self.ask(file)[1].startswith(PCAP_NANOSECONDS))
        self.assertEqual(404, self.ask("/api/v1/captures", "POST", {"ports": ["--help"]})[0])
        self.assertEqual(400, self.ask("/api/v1/captures", "POST", {"packets": 0})[0])
        self.assertEqual(404, self.ask("/api/v1/captures/77", "DELETE", {})[0])


if __name__ == "__main__":
    unittest.main()
