#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""NCCL's plug-in (libnccl-net-softib.so) on several hosts, as NCCL uses it but without a GPU:
messages, grouped receives, and collectives in switches, every element compared
(tests/live/nccl_rank.cc). With --all also with more ranks, and with the plug-in of
nccl-rdma-sharp-plugins that SOFTIB_NCCL_SHARP_PLUGIN names (its libnccl-net.so, built with our
headers and libsharp_coll)."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

from cli_case import BUILD, SOFTIB, CliCase, wait_until

RANK = str(BUILD / "tests" / "nccl_rank")
ALL = "--all" in sys.argv
VENDORS = os.environ.get("SOFTIB_NCCL_SHARP_PLUGIN")
PLUGIN = "libnccl-net-softib.so"  # By name, as NCCL asks for it.


class Nccl(CliCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="softib-nccl-")
        self.addCleanup(self.folder.cleanup)
        self.worlds = 0

    def start(self, ranks, version, *words, plugin=PLUGIN):
        self.worlds += 1
        self.meeting = os.path.join(self.folder.name, str(self.worlds))
        os.mkdir(self.meeting)
        return [subprocess.Popen(
            [SOFTIB, "exec", f"h{rank}", "--", RANK, plugin, version, self.meeting, str(rank),
             str(ranks), *words],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank in range(ranks)]

    def works(self, ranks, version, *words, plugin=PLUGIN):
        for process in self.start(ranks, version, *words, plugin=plugin):
            out, err = process.communicate(timeout=100)
            self.assertEqual((out, process.returncode), ("ok\n", 0), err[-2000:])

    def test_every_version_of_the_tables(self):
        self.ok("up", "--hosts", "2")
        for version in ("8", "10", "11"):
            self.works(2, version)

    @unittest.skipUnless(ALL, "without --all")
    def test_four_and_eight_ranks_over_two_levels_of_switches(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        for ranks in (4, 8):
            self.works(ranks, "11")
        self.assertEqual(self.json("sharp", "jobs"), [], "a closed communicator leaves no job")

    def test_a_lost_rank_is_an_error_and_no_hang(self):
        self.ok("up", "--hosts", "3")
        ranks = self.start(3, "11", "wait")
        self.assertTrue(wait_until(lambda: all(
            os.path.exists(f"{self.meeting}/runs-{rank}") for rank in range(3)), 30))
        ranks[1].send_signal(signal.SIGKILL)
        for rank, process in enumerate(ranks):
            out, err = process.communicate(timeout=30)
            if rank != 1:
                self.assertEqual((out, process.returncode), ("error 6\n", 3), err)
                self.assertIn("SHARP job has ended (-1)", err)

    @unittest.skipUnless(ALL and VENDORS, "SOFTIB_NCCL_SHARP_PLUGIN names no plug-in")
    def test_the_plugin_of_nccl_rdma_sharp_plugins(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        self.env["NCCL_SOCKET_IFNAME"] = "lo"
        for ranks, version in ((2, "10"), (4, "11"), (8, "11")):
            self.works(ranks, version, plugin=VENDORS)

    def test_memory_of_a_gpu_is_reduced(self):
        self.ok("up", "--hosts", "2")
        self.env["LD_LIBRARY_PATH"] = str(BUILD / "tests" / "fake-cuda")
        self.works(2, "11", "gpu")

    def test_messages_as_packets(self):
        self.ok("up", "--hosts", "2", "--data-path", "packet")
        self.works(2, "11", "messages")

    def test_a_refused_job_is_an_error_that_says_why(self):
        self.ok("up", "--hosts", "2")
        self.env["SHARP_COLL_JOB_QUOTA_OSTS"] = "100000"
        for process in self.start(2, "11"):
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn("no SHARP job: SHARP quota exceeded (-7)", err)
            self.assertIn("connect all: error 2", err)


if __name__ == "__main__":
    if not os.path.exists(RANK):
        sys.exit(77)
    unittest.main(argv=[word for word in sys.argv if word != "--all"])
