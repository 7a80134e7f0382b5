#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SHARP on the packet path: what ports count, what a capture shows, and what ends a job."""

import os
import signal
import struct
import subprocess
import sys
import unittest

from cli_case import SOFTIB, wait_until
from sharp_case import EXAMPLE, LONG_S, SharpCase

TREE = ["--topology", "fat-tree", "--hosts", "4", "--radix", "4", "--data-path", "packet"]
HOSTS = [f"h{i}" for i in range(4)]
BYTES = 65536


def packets_of(path):
    """Returns the packets of a bare capture."""
    with open(path, "rb") as file:
        data = file.read()
    at, packets = 24, []
    while at + 16 <= len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        packets.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return packets


class SharpPackets(SharpCase):
    def test_all_operations_go_through_the_switches(self):
        self.ok("up", *TREE)
        self.works(HOSTS, "1")
        self.all_is_free()

    def test_a_host_sends_and_receives_the_vector_once_and_a_ring_does_not(self):
        self.ok("up", *TREE)
        for ranks in (2, 4):
            self.moves_the_vector_once(HOSTS[:ranks])

    def test_a_capture_shows_one_packet_up_and_one_down(self):
        self.ok("up", *TREE)
        path = os.path.join(self.folder.name, "sharp.pcap")
        capture = subprocess.Popen([SOFTIB, "capture", "--bare", "-w", path, "leaf0:1"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.assertIn("capturing", capture.stderr.readline())
        self.works(HOSTS, "time", "8", "10")
        capture.send_signal(signal.SIGINT)
        capture.communicate(timeout=LONG_S)
        kinds = []
        for packet in packets_of(path):
            # LRH 8, BTH 12: a SEND Only on RC, then the header of docs/sharp-packets.md.
            if len(packet) >= 52 and packet[8] == 0x04 and packet[20] >> 4 == 1:
                kinds.append(packet[20] & 0xF)
        self.assertEqual(kinds.count(1), 12, "up")
        self.assertEqual(kinds.count(2), 12, "down")

    def test_cables_that_lose_packets_cost_time_and_no_element(self):
        self.ok("up", *TREE)
        for port in ("leaf0:1", "leaf0:3", "spine0:1"):
            self.ok("fault", port, "--drop", "0.5%")
        self.works(HOSTS, "1")

    def test_a_killed_member_ends_the_job_and_the_next_one_works(self):
        self.ok("up", *TREE)
        ranks = self.starts(HOSTS)
        ranks[1].send_signal(signal.SIGKILL)
        ranks.pop(1).communicate()
        self.ends_with(ranks, -1)
        self.works(HOSTS, "time", "1024", "5")

    def test_a_pulled_cable_of_a_member_ends_the_job_and_others_go_on(self):
        self.ok("up", *TREE)
        ranks = self.starts(HOSTS)
        self.ok("link", "down", "h3")
        self.ends_with(ranks, -5)
        self.works(HOSTS[:3], "time", "1024", "5")

    def test_a_pulled_cable_between_switches_ends_the_job_and_the_next_gets_another_tree(self):
        self.ok("up", *TREE)
        self.loses_a_cable(HOSTS)

    def test_a_switch_without_power_ends_the_job_and_the_next_gets_another_tree(self):
        self.ok("up", *TREE)
        self.loses_a_switch(HOSTS)

    def test_a_cable_that_loses_everything_ends_the_job_and_no_member_waits(self):
        """A bad cable that no manager sees: the connections of the switches give up."""
        self.ok("up", *TREE)
        ranks = self.starts(HOSTS)
        job, = self.json("sharp", "trees")
        child = next(sw for sw in job["switches"] if sw["parent"])
        cable = f"{child['name']}:{child['port_to_parent']}"
        self.ok("fault", cable, "--drop", "100%")
        self.ends_with(ranks, -5)
        self.ok("fault", cable, "--clear")  # MADs were lost as well.
        self.all_is_free()
        self.works(HOSTS, "time", "1024", "5")

    def test_a_killed_carrier_ends_the_job_and_the_next_one_works(self):
        self.ok("up", *TREE)
        ranks = self.starts(HOSTS)
        carrier, = self.json("status")["health"]["helpers"]
        os.kill(carrier["pid"], signal.SIGKILL)
        self.ends_with(ranks, -1)
        self.assertTrue(wait_until(lambda: all(
            host["hcas"][0]["state"] == "Active" for host in self.json("status")["hosts"]), LONG_S))
        self.works(HOSTS, "time", "1024", "5")

    def test_two_jobs_at_once_and_pictures_of_their_trees(self):
        self.ok("up", *TREE)
        ranks = self.starts(HOSTS, env={"SHARP_COLL_ENABLE_SAT": "1"})
        self.works(HOSTS, "time", str(BYTES), "3")
        svg = self.ok("sharp", "trees", "--svg", "-")
        self.assertIn("<svg", svg)
        for name in ("leaf0", "leaf1", "h3/mlx5_0"):
            self.assertIn(name, svg)
        self.assertIn("leaf0", self.ok("sharp", "trees", "--dot", "-"))
        self.assertIn("sharp trees", self.refused("sharp", "jobs", "--svg", "-", status=2))
        ranks[0].send_signal(signal.SIGKILL)
        ranks.pop(0).communicate()
        self.ends_with(ranks, -1)
        self.assertIn("no SHARP job", self.refused("sharp", "trees", "--svg", "-"))


if __name__ == "__main__":
    if not os.path.exists(EXAMPLE):
        sys.exit(77)
    unittest.main()
