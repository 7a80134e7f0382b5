#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SHARP as a program uses it: the example on several hosts, what ports count, and what a killed
member leaves."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

from cli_case import BUILD, SOFTIB, CliCase, wait_until

EXAMPLE = str(BUILD / "examples" / "sharp_allreduce")


class Sharp(CliCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="softib-sharp-")
        self.addCleanup(self.folder.cleanup)
        self.jobs = 0

    def start(self, hosts, *words, env=None):
        """One rank on each host, in this order."""
        self.jobs += 1
        self.meeting = os.path.join(self.folder.name, str(self.jobs))
        os.mkdir(self.meeting)
        return [subprocess.Popen(
            [SOFTIB, "exec", host, "--", EXAMPLE, self.meeting, str(rank), str(len(hosts)), *words],
            env=self.env | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, host in enumerate(hosts)]

    def finish(self, ranks):
        return [(*rank.communicate(timeout=60), rank.returncode) for rank in ranks]

    def works(self, hosts, *words, env=None):
        for out, err, status in self.finish(self.start(hosts, *words, env=env)):
            self.assertEqual(status, 0, out + err)

    def words_of(self, host):
        """What its port has sent and received, in units of 4 bytes."""
        counters = "/sys/class/infiniband/mlx5_0/ports/1/counters/"
        return [int(self.ok("exec", host, "--", "cat", counters + name))
                for name in ("port_xmit_data", "port_rcv_data")]

    def test_all_operations_over_one_to_three_levels(self):
        for flags in (["--hosts", "3"], ["--topology", "fat-tree", "--hosts", "8", "--radix", "4"],
                      ["--topology", "fat-tree", "--hosts", "16", "--radix", "4", "--levels", "3"]):
            self.ok("up", *flags)
            hosts = [f"h{i}" for i in range(int(flags[flags.index("--hosts") + 1]))]
            self.works(hosts[:8], "1")
            if len(hosts) > 8:  # The two halves of the tree.
                self.works([hosts[0], hosts[5], hosts[10], hosts[15]], "1")
            self.ok("down")

    def test_two_ranks_on_one_host(self):
        self.ok("up", "--hosts", "2")
        self.works(["h0", "h0", "h1", "h1"], "1")

    def test_a_port_sends_and_receives_the_vector_once(self):
        bytes_, rounds = 65536, 20
        seen = []
        for ranks in (2, 4, 8):
            self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
            before = self.words_of("h0")
            self.works([f"h{i}" for i in range(ranks)], "time", str(bytes_), str(rounds))
            sent, received = (b - a for a, b in zip(before, self.words_of("h0")))
            done = rounds + rounds // 10 + 1
            self.assertEqual(sent, received)
            self.assertGreaterEqual(sent * 4, bytes_ * done)
            self.assertLess(sent * 4, bytes_ * done * 1.05, "headers and no more")
            seen.append(sent)
            self.ok("down")
        self.assertEqual(len(set(seen)), 1, "whatever the number of ranks")

    def test_a_killed_member_ends_the_job_and_the_next_one_works(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        hosts = [f"h{i}" for i in range(4)]
        ranks = self.start(hosts, "wait")
        self.assertTrue(wait_until(lambda: all(
            os.path.exists(f"{self.meeting}/runs-{rank}") for rank in range(4)), 30))
        job, = self.json("sharp", "trees")
        self.assertEqual([job["state"], job["members"], job["depth"]], ["active", 4, 2])
        below = [member["hca"] for sw in job["switches"] for member in sw["members"]]
        self.assertEqual(sorted(below), [f"{host}/mlx5_0" for host in hosts])
        self.assertIn("rank 3 (h3/mlx5_0)", self.ok("sharp", "trees"))
        self.assertIn("active", self.ok("sharp", "jobs"))
        ranks[2].send_signal(signal.SIGKILL)
        for rank, (out, err, status) in enumerate(self.finish(ranks)):
            if rank != 2:
                self.assertEqual(status, 3, out + err)
                self.assertIn("error -1: SHARP job has ended", out)
        self.works(hosts, "1")
        free = self.json("sharp", "status")
        self.assertEqual(free["jobs"], [])
        self.assertEqual([node["qps"] + node["trees"] + node["groups"] for node in free["nodes"]],
                         [0] * 6, "resources are back")

    def test_a_pulled_cable_ends_the_job_and_the_next_one_gets_another_tree(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        hosts = [f"h{i}" for i in range(8)]
        ranks = self.start(hosts, "wait")
        self.assertTrue(wait_until(lambda: all(
            os.path.exists(f"{self.meeting}/runs-{rank}") for rank in range(8)), 30))
        for port in (3, 4):  # One of them is in the tree.
            self.ok("link", "down", "leaf0", str(port))
            if wait_until(lambda: all(rank.poll() is not None for rank in ranks), 3):
                break
        for out, err, status in self.finish(ranks):
            self.assertEqual(status, 3, out + err)
            self.assertIn("error -5: No connection to SHARP tree", out)
        if port == 4:
            self.ok("link", "up", "leaf0", "3")
        self.works(hosts, "1")

    def test_a_quota_is_a_quota(self):
        self.ok("up", "--hosts", "2")
        env = {"SHARP_COLL_JOB_QUOTA_OSTS": "100000"}
        for out, err, status in self.finish(self.start(["h0", "h1"], "1", env=env)):
            self.assertEqual(status, 1)
            self.assertIn("SHARP quota exceeded (-7)", err)
        self.works(["h0", "h1"], "1")

    def test_packets_are_not_carried_yet(self):
        self.ok("up", "--hosts", "2", "--data-path", "packet")
        for out, err, status in self.finish(self.start(["h0", "h1"], "1")):
            self.assertEqual(status, 1)
            self.assertIn("(-2)", err)


if __name__ == "__main__":
    if not os.path.exists(EXAMPLE):
        sys.exit(77)
    unittest.main()
