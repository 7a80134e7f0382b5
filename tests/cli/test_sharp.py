#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SHARP as a program uses it: the example on several hosts, and what a killed member leaves."""

import os
import shutil
import signal
import sys
import unittest

from sharp_case import EXAMPLE, SharpCase

OPENSM = shutil.which("opensm", path=f"{os.environ['PATH']}:/usr/sbin")


class Sharp(SharpCase):
    def test_all_operations_over_two_levels(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4")
        self.works(["h0", "h1", "h2", "h3"], "1")

    @unittest.skipUnless(OPENSM, "opensm is not installed")
    def test_trees_on_the_routes_of_opensm(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4", "--sm", "opensm")
        self.works(["h0", "h1", "h2", "h3"], "time", "1024", "3")

    def test_a_killed_member_ends_the_job_and_the_next_one_works(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        hosts = [f"h{i}" for i in range(4)]
        ranks = self.starts(hosts)
        job, = self.json("sharp", "trees")
        self.assertEqual([job["state"], job["members"], job["depth"]], ["active", 4, 2])
        self.assertEqual([job["kind"], job["streams"]], ["SAT", False])
        self.assertEqual({node["sat_trees"] - node["trees"] for node
                          in self.json("sharp", "status")["nodes"]}, {0})
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
        self.all_is_free()

    def test_a_pulled_cable_ends_the_job_and_the_next_one_gets_another_tree(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        self.loses_a_cable([f"h{i}" for i in range(4)])

    def test_a_switch_without_power_ends_the_job_and_the_next_one_gets_another_tree(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        self.loses_a_switch([f"h{i}" for i in range(4)])

    def test_a_host_sends_and_receives_the_vector_once_and_a_ring_does_not(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        for ranks in (2, 4):
            self.moves_the_vector_once([f"h{i}" for i in range(ranks)])

    def test_who_does_not_stream_gets_a_low_latency_tree(self):
        self.ok("up", "--hosts", "2")
        ranks = self.starts(["h0", "h1"], env={"SHARP_COLL_ENABLE_SAT": "0"})
        self.assertEqual(self.json("sharp", "trees")[0]["kind"], "LLT")
        self.assertIn("LLT tree 0 of job 1, 1 level deep", self.ok("sharp", "trees"))
        node, = (node for node in self.json("sharp", "status")["nodes"] if node["trees"])
        self.assertEqual([node["llt_trees"], node["sat_trees"], node["locks"]], [1, 0, 0])
        for rank in ranks:
            rank.kill()
        self.finish(ranks)

    def test_a_quota_is_a_quota(self):
        self.ok("up", "--hosts", "2")
        env = {"SHARP_COLL_JOB_QUOTA_OSTS": "100000"}
        for out, err, status in self.finish(self.start(["h0", "h1"], "1", env=env)):
            self.assertEqual(status, 1)
            self.assertIn("SHARP quota exceeded (-7)", err)
        self.works(["h0", "h1"], "1")

    def test_members_killed_at_any_step(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4")
        self.kills(4, seed=3)

    def test_jobs_that_come_and_die_leave_the_daemon_alone(self):
        self.soak(seconds=2, seed=1)


if __name__ == "__main__":
    if not os.path.exists(EXAMPLE):
        sys.exit(77)
    unittest.main()
