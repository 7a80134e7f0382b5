#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SHARP as a program uses it: the example on several hosts, and what a killed member leaves."""

import os
import signal
import sys
import unittest

from cli_case import wait_until
from sharp_case import EXAMPLE, SharpCase


class Sharp(SharpCase):
    def test_all_operations_over_two_levels(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4")
        self.works(["h0", "h1", "h2", "h3"], "1")

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

    def test_jobs_that_come_and_die_leave_the_daemon_alone(self):
        self.soak(seconds=2, seed=1)


if __name__ == "__main__":
    if not os.path.exists(EXAMPLE):
        sys.exit(77)
    unittest.main()
