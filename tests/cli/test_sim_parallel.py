# SPDX-License-Identifier: BSD-2-Clause
"""softib sim on several threads and processes: the report of one thread to the last bit."""

import json
import os
import shutil
import subprocess
import unittest

from cli_case import BUILD, SOFTIB, CliCase

TREE = ("--topology", "fat-tree", "--hosts", "64", "--radix", "8", "--levels", "3",
        "--engine", "ftree")
# Name, flags.
CASES = {
    "permutation": (*TREE, "--size", "200kB"),
    "adaptive": (*TREE, "--size", "100kB", "--adaptive"),
    "closed loop": (*TREE, "--traffic", "random,repetitions=20,outstanding=4", "--size", "20kB"),
    "open loop": (*TREE, "--traffic", "hotspot,rate=60%,repetitions=20", "--size", "10kB"),
    "all-to-all, late": (*TREE, "--traffic", "all-to-all,start=3us", "--size", "5kB"),
    "ring": (*TREE, "--traffic", "ring,repetitions=30", "--traffic", "incast,target=h9",
             "--size", "9kB"),
    "long cables": (*TREE, "--traffic", "random,repetitions=8", "--traffic",
                    "ring,repetitions=9,start=5us", "--size", "40kB", "--cable", "300ns",
                    "--buffer", "32KiB"),
    "several": (*TREE, "--traffic", "incast,target=h9,sources=20,size=100kB", "--traffic",
                "shift,shift=9,repetitions=3", "--size", "50kB", "--buffer", "16KiB"),
    "congestion control": (*TREE, "--traffic", "incast,target=h9", "--traffic", "shift,shift=5",
                           "--size", "100kB", "--congestion-control"),
    "quality of service": (*TREE, "--traffic", "shift,shift=5,sl=1", "--traffic",
                           "shift,shift=9,sl=2", "--size", "60kB", "--qos", "--vlarb-high", "2:10",
                           "--vlarb-low", "1:64", "--high-limit", "3"),
    "contexts": (*TREE, "--traffic", "random,repetitions=20,connections=50", "--size", "5kB",
                 "--contexts", "16", "--window", "4", "--message-rate", "5M"),
    "bus": (*TREE, "--traffic", "bisection,outstanding=2,repetitions=4", "--size", "50kB",
            "--pcie-rate", "256Gb/s", "--injection-rate", "200Gb/s", "--mtu", "1024"),
    "until": (*TREE, "--traffic", "all-to-all", "--size", "100kB", "--until", "40us"),
    "torus": ("--topology", "torus", "--dimensions", "4x4", "--hosts", "32", "--engine", "dor",
              "--traffic", "bisection,repetitions=3", "--size", "50kB"),
    # Cables and a spine fail, some of them between two parts; new routes follow.
    "failures": (*TREE, "--traffic", "random,repetitions=20,outstanding=2", "--size", "60kB",
                 "--fail-link", "leaf0:5@10us", "--fail-random", "3@12us", "--fail-switch",
                 "spine1@30us", "--repair-after", "15us", "--timeout", "20us"),
    "failures, adaptive": (*TREE, "--traffic", "all-to-all", "--size", "20kB", "--adaptive",
                           "--cable", "200ns", "--fail-random", "4@20us", "--timeout", "20us",
                           "--repair-after", "40us"),
    "failures, never repaired": (*TREE, "--traffic", "bisection,repetitions=2", "--size", "80kB",
                                 "--fail-random", "6@3us", "--repair-after", "never", "--timeout",
                                 "10us", "--retries", "2"),
    "damaged": (*TREE[:-2], "--engine", "updn", "--fail-random", "4", "--size", "100kB"),
}


class Parallel(CliCase):
    def report(self, words, mpi=0):
        if mpi:
            words = [self.mpirun, "-n", str(mpi), "--oversubscribe", "--mca", "btl", "self,vader",
                     "--mca", "pml", "ob1", "--mca", "mpi_yield_when_idle", "1", SOFTIB, "sim",
                     *words, "--json"]
            if os.geteuid() == 0:
                words.insert(1, "--allow-run-as-root")
        else:
            words = [SOFTIB, "sim", *words, "--json"]
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        # The cost of the run; everything else must be equal.
        del said["cpu_seconds"], said["events"]
        return said

    def test_threads_give_the_report_of_one(self):
        for name, flags in CASES.items():
            with self.subTest(name):
                one = self.report(flags)
                self.assertGreater(one["packets"]["hops"], 0)
                # More threads than cores are slow: one case of each kind has 4.
                four = name in ("adaptive", "closed loop", "all-to-all, late", "bus", "until",
                                "failures")
                for threads in ("2", "4") if four else ("2",):
                    self.assertEqual(self.report((*flags, "--threads", threads)), one)

    def test_processes_give_the_report_of_one(self):
        self.mpirun = shutil.which("mpirun.openmpi")
        if self.mpirun is None or not (BUILD / "lib/softib/libsoftib_mpi.so").exists():
            self.skipTest("no mpirun.openmpi, or a build without MPI")
        for name, counts in (("adaptive", (2, 4)), ("closed loop", (2,)), ("until", (4,)),
                             ("failures", (2,)), ("failures, never repaired", (2,))):
            with self.subTest(name):
                # Processes meet once in the time of a cable. Where another program is busy they
                # lose a time slice each time, because a process of Open MPI waits by yielding.
                flags = (*CASES[name], "--cable", "300ns")
                one = self.report(flags)
                for processes in counts:
                    self.assertEqual(self.report(flags, mpi=processes), one)

    def test_all_messages_and_links_are_those_of_one_thread(self):
        flags = ("sim", *CASES["closed loop"])
        for table in ("--csv", "--csv-links"):
            self.assertEqual(self.ok(*flags, table, "-", "--threads", "3"),
                             self.ok(*flags, table, "-"))

    def test_networks_that_are_compared_have_threads_where_they_can(self):
        flags = ("sim", *TREE, "--size", "9kB", "--compare", "ib,roce,ib+model=flow", "--csv", "-")
        self.assertEqual(self.ok(*flags, "--threads", "2"), self.ok(*flags))

    def test_hosts_that_failures_have_parted_give_up_alike(self):
        flags = ("--topology", "fat-tree", "--hosts", "16", "--radix", "8", "--fail-random", "16",
                 "--size", "100kB")
        one = self.report(flags)
        self.assertGreater(one["traffic"][0]["failed"], 0)
        self.assertEqual(self.report((*flags, "--threads", "2")), one)

    def test_more_threads_than_switches(self):
        one = self.report(("--hosts", "4", "--size", "10kB"))
        self.assertEqual(self.report(("--hosts", "4", "--size", "10kB", "--threads", "3")), one)

    def test_failures_of_parallel_runs_are_seen(self):
        """The cases above lose packets, send them again, and give some messages up."""
        repaired = self.report((*CASES["failures"], "--threads", "2"))["packets"]
        self.assertGreater(repaired["resent"], 0)
        self.assertGreater(repaired["lost"] + repaired["discarded"], 0)
        damaged = self.report((*CASES["failures, never repaired"], "--threads", "2"))
        self.assertLess(sum(each["delivered"] for each in damaged["traffic"]),
                        sum(each["messages"] for each in damaged["traffic"]))

    def test_what_cannot_be_parallel_says_why(self):
        self.assertIn("'threads' is for InfiniBand: leave it out, it runs on one thread",
                      self.refused("sim", *TREE, "--link-layer", "ethernet", "--threads", "2",
                                   status=2))
        self.assertIn("the flow model has none: it runs on one thread",
                      self.refused("sim", *TREE, "--model", "flow", "--threads", "2", status=2))
        self.assertIn("with cables that take no time",
                      self.refused("sim", *TREE, "--cable", "0ns", "--threads", "2"))


if __name__ == "__main__":
    unittest.main()
