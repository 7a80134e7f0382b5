#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib up --am none: the aggregation manager is a program on a host's port, and programs of
all hosts get their trees from it."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

from cli_case import SOFTIB
from sharp_case import EXAMPLE, LONG_S, SharpCase

OPENSM = shutil.which("opensm", path=f"{os.environ['PATH']}:/usr/sbin")
HOSTS = ["h0", "h1", "h2", "h3"]


class SharpAm(SharpCase):
    def up(self, *words):
        self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4", "--am", "none",
                *words)

    def start_manager(self, host, *words):
        """Starts the manager. Returns it when it knows the nodes."""
        manager = subprocess.Popen([SOFTIB, "am", host, *words], env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(manager.communicate)
        self.addCleanup(manager.kill)
        self.assertIn("softib-am on mlx5_0 port 1", manager.stdout.readline())
        self.assertEqual(manager.stdout.readline(), "READY: 4 aggregation nodes\n")
        return manager

    def test_jobs_have_their_trees_from_it(self):
        self.up()
        for out, err, status in self.finish(self.start(HOSTS, "1")):
            self.assertEqual(status, 1)
            self.assertIn("(-8)", err, "there is none")
        manager = self.start_manager("h1")
        self.works(HOSTS, "1")
        ranks = self.starts(HOSTS)
        job, = self.json("sharp", "trees")
        self.assertEqual([job["state"], job["kind"], job["members"], job["depth"]],
                         ["active", "SAT", 4, 2])
        below = [member["hca"] for sw in job["switches"] for member in sw["members"]]
        self.assertEqual(sorted(below), [f"{host}/mlx5_0" for host in HOSTS])
        ranks[2].send_signal(signal.SIGKILL)
        for rank, (out, err, status) in enumerate(self.finish(ranks)):
            if rank != 2:
                self.assertEqual(status, 3, out + err)
        self.all_is_free()
        manager.send_signal(signal.SIGTERM)
        out = manager.communicate(timeout=LONG_S)[0]
        self.assertIn("SAT tree 0, 3 switches, 4 members", out)
        self.assertEqual(manager.returncode, 0)

    def test_a_quota_is_a_quota(self):
        for path in ("direct", "packet"):
            self.up("--data-path", path)
            manager = self.start_manager("h1")
            for name, value in (("OSTS", "100000"), ("PAYLOAD_PER_OST", "2048"),
                                ("MAX_GROUPS", "65")):
                env = {f"SHARP_COLL_JOB_QUOTA_{name}": value}
                for out, err, status in self.finish(self.start(HOSTS, "1", env=env)):
                    self.assertEqual(status, 1, out + err)
                    self.assertIn("SHARP quota exceeded (-7)", err)
            self.works(HOSTS, "time", "1024", "3")
            manager.send_signal(signal.SIGTERM)
            manager.communicate(timeout=LONG_S)
            self.ok("down")

    def test_a_lost_cable_ends_a_job_and_a_lost_manager_too(self):
        self.up()
        manager = self.start_manager("h0")
        ranks = self.starts(HOSTS)
        job, = self.json("sharp", "trees")
        leaf = next(sw for sw in job["switches"] if sw["parent"])
        self.ok("link", "down", leaf["name"], str(leaf["port_to_parent"]))
        for out, err, status in self.finish(ranks):
            self.assertEqual(status, 3, out + err)
        self.works(HOSTS, "time", "1024", "3")
        ranks = self.starts(HOSTS)
        manager.kill()
        for out, err, status in self.finish(ranks):
            self.assertEqual(status, 3, out + err)
        self.start_manager("h3")
        self.all_is_free()  # The next manager cleans up.
        self.works(HOSTS, "time", "1024", "3")

    @unittest.skipUnless(OPENSM, "opensm is not installed")
    def test_beside_opensm_and_by_packets(self):
        self.up("--sm", "opensm", "--data-path", "packet")
        self.start_manager("h2", "--am-key", "0x77")
        self.works(HOSTS, "time", "4096", "3")
        self.all_is_free()


if __name__ == "__main__":
    if not os.path.exists(EXAMPLE):
        sys.exit(77)
    unittest.main()
