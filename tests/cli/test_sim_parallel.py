# SPDX-License-Identifier: BSD-2-Clause
"""softib sim on several threads and processes: the report of one thread to the last bit."""

import json
import os
import shutil
import subprocess
import unittest

from cli_case import SOFTIB, CliCase

TREE = ("--topology", "fat-tree", "--hosts", "64", "--radix", "8", "--levels", "3",
        "--engine", "ftree")
# Name, flags.
CASES = {
    "permutation": (*TREE, "--size", "200kB"),
    "adaptive": (*TREE, "--size", "100kB", "--adaptive"),
    "closed loop": (*TREE, "--traffic", "random,repetitions=20,outstanding=4", "--size", "20kB"),
    "open loop": (*TREE, "--traffic", "hotspot,rate=60%,repetitions=20", "--size", "10kB"),
    "all-to-all, late": (*TREE, "--traffic", "all-to-all,start=3us", "--size", "5kB"),
    "several": (*TREE, "--traffic", "incast,target=h9,sources=20,size=100kB", "--traffic",
                "shift,shift=9,repetitions=3", "--size", "50kB", "--buffer", "16KiB"),
    "congestion control": (*TREE, "--traffic", "incast,target=h9", "--traffic", "shift,shift=5",
                           "--size", "100kB", "--congestion-control"),
    "contexts": (*TREE, "--traffic", "random,repetitions=20,connections=50", "--size", "5kB",
                 "--contexts", "16", "--window", "4", "--message-rate", "5M"),
    "bus": (*TREE, "--traffic", "bisection,outstanding=2,repetitions=4", "--size", "50kB",
            "--pcie-rate", "256Gb/s", "--injection-rate", "200Gb/s", "--mtu", "1024"),
    "until": (*TREE, "--traffic", "all-to-all", "--size", "100kB", "--until", "40us"),
    "torus": ("--topology", "torus", "--dimensions", "4x4", "--hosts", "32", "--engine", "dor",
              "--traffic", "bisection,repetitions=3", "--size", "50kB"),
    "damaged": (*TREE[:-2], "--engine", "updn", "--fail-random", "4", "--size", "100kB"),
}


class Parallel(CliCase):
    def report(self, words, mpi=0):
        if mpi:
            words = [self.mpirun, "-n", str(mpi), "--oversubscribe", "--mca", "btl", "self,vader",
                     "--mca", "pml", "ob1", SOFTIB, "sim", *words, "--json"]
            if os.geteuid() == 0:
                words.insert(1, "--allow-run-as-root")
        else:
            words = [SOFTIB, "sim", *words, "--json"]
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        # What the run cost; everything else is what it showed.
        del said["cpu_seconds"], said["events"]
        return said

    def test_threads_give_the_report_of_one(self):
        for name, flags in CASES.items():
            with self.subTest(name):
                one = self.report(flags)
                self.assertGreater(one["packets"]["hops"], 0)
                for threads in ("2", "4"):
                    self.assertEqual(self.report((*flags, "--threads", threads)), one)

    def test_processes_give_the_report_of_one(self):
        self.mpirun = shutil.which("mpirun.openmpi")
        if self.mpirun is None:
            self.skipTest("no mpirun.openmpi")
        for name in ("adaptive", "several", "until"):
            with self.subTest(name):
                one = self.report(CASES[name])
                for processes in (2, 4):
                    self.assertEqual(self.report(CASES[name], mpi=processes), one)

    def test_all_messages_and_links_are_those_of_one_thread(self):
        flags = ("sim", *CASES["closed loop"])
        for table in ("--csv", "--csv-links"):
            self.assertEqual(self.ok(*flags, table, "-", "--threads", "3"),
                             self.ok(*flags, table, "-"))

    def test_more_threads_than_switches(self):
        one = self.report(("--hosts", "4", "--size", "10kB"))
        self.assertEqual(self.report(("--hosts", "4", "--size", "10kB", "--threads", "3")), one)

    def test_what_cannot_be_parallel_says_why(self):
        self.assertIn("where something fails during the run; leave --threads and mpirun out",
                      self.refused("sim", *TREE, "--fail-link", "leaf0:5@1us", "--threads", "2"))
        self.assertIn("the flow model runs on one thread",
                      self.refused("sim", *TREE, "--model", "flow", "--threads", "2"))
        self.assertIn("with cables that take no time",
                      self.refused("sim", *TREE, "--cable", "0ns", "--threads", "2"))


if __name__ == "__main__":
    unittest.main()
