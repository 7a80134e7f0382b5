# SPDX-License-Identifier: BSD-2-Clause
"""softib plan expect: logs as the tools print them beside what a cluster should give, what is off
and why, and errors with the line."""

import json
import pathlib
import subprocess
import sys
import unittest

from cli_case import SOFTIB, CliCase

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests" / "docs"))
import documented  # noqa: E402

STUDY = TREE / "examples" / "plan" / "is-my-log-all-right"
GOOD, SLOW = str(STUDY / "all-right.log"), str(STUDY / "slow.log")
ON = ("--cluster", "hgx-h100")
OSU = """# OSU MPI Allreduce Latency Test v7.3
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
{rows}"""
WRITE = """                    RDMA_Write BW Test
 Mtu             : 4096[B]
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             {0:.2f}             {0:.2f}             0.75
 8388608    5000             {0:.2f}             {0:.2f}             0.0058
"""


class PlanExpect(CliCase):
    def log(self, text, name="own.log"):
        path = pathlib.Path(self.scratch, name)
        path.write_text(text)
        return str(path)

    def judged(self, *words, status):
        done = self.softib("plan", "expect", *words, "--json")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_published_times_are_not_off(self):
        said = self.judged(GOOD, *ON, "--algorithm", "tree", status=0)
        self.assertEqual((said["rows"], said["off"], said["causes"]), (5, 0, []))
        table = said["tables"][0]
        self.assertEqual((table["benchmark"], table["nodes"], table["ranks_per_node"]),
                         ("all_reduce_perf", 2, 1))
        self.assertTrue(all(row["interval"] == "validated" for row in table["rows"]))

    def test_the_fault_of_the_study_is_named_first_with_and_without_nccls_words(self):
        said = self.judged(SLOW, *ON, status=1)
        self.assertEqual(said["causes"][0]["name"], "no-gpudirect")
        self.assertTrue(said["causes"][0]["speaks_for"])
        quiet = "".join(line for line in pathlib.Path(SLOW).read_text().splitlines(True)
                        if "NCCL INFO" not in line)
        said = self.judged(self.log(quiet), *ON, status=1)
        self.assertEqual(said["causes"][0]["name"], "no-gpudirect")
        self.assertEqual(said["causes"][0]["speaks_for"], [])
        text = self.softib("plan", "expect", SLOW, *ON)
        self.assertEqual(text.returncode, 1)
        self.assertIn("Off: 9 of 13 rows.", text.stdout)
        self.assertIn("1. no GPUDirect RDMA", text.stdout)
        self.assertIn("nvidia_peermem", text.stdout)
        self.assertNotIn("\x1b", text.stdout)

    def test_the_commands_of_the_study_run(self):
        blocks = documented.blocks((STUDY / "README.md").read_text())
        commands = [each for block in blocks for each in block.statements]
        self.assertEqual(len(commands), 4)
        env = {**self.env, "PATH": f"{pathlib.Path(SOFTIB).parent}:{self.env['PATH']}"}
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=TREE, env=env, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, command + done.stdout + done.stderr)
            self.assertIn("rows", done.stdout)
        self.assertIn("all-right.log --cluster hgx-h100 ||", commands[1])
        self.assertIn("1. NCCL takes tree for all sizes",
                      self.softib("plan", "expect", GOOD, *ON).stdout)

    def test_several_logs_are_one_diagnosis(self):
        expected = self.judged(*ON, "--benchmark", "ib_write_bw", "--sizes", "8M", status=0)
        self.assertNotIn("causes", expected)
        gbits = expected["tables"][0]["rows"][0]["expected_gbs"] * 8
        good = self.log(WRITE.format(0.99 * gbits), "good.log")
        self.assertEqual(self.judged(good, *ON, status=0)["off"], 0)
        half = self.log(WRITE.format(0.5 * gbits), "half.log")
        said = self.judged(half, *ON, status=1)
        self.assertEqual(said["causes"][0]["name"], "slow-link")
        both = self.judged(SLOW, half, *ON, status=1)
        self.assertEqual([table["benchmark"] for table in both["tables"]],
                         ["all_reduce_perf", "ib_write_bw"])

    def test_a_log_may_come_from_standard_input(self):
        with open(GOOD) as log:
            done = self.softib("plan", "expect", "-", *ON, "--algorithm", "tree", stdin=log)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("standard input:", done.stdout)
        self.assertIn("standard input is empty", self.refused("plan", "expect", "-", *ON, status=2))

    def test_an_mpi_needs_its_nodes_told(self):
        rows = self.judged(*ON, "--benchmark", "osu_allreduce", "--sizes", "8,1M", "--nodes", "16",
                           status=0)["tables"][0]["rows"]
        log = self.log(OSU.format(rows="".join(
            f"{row['bytes']}  {1.1 * row['expected_us']:.2f} 1.0 2.0 100\n" for row in rows)))
        said = self.judged(log, *ON, "--nodes", "16", status=0)
        self.assertEqual((said["tables"][0]["nodes"], said["off"]), (16, 0))

    def test_wrong_values_are_off(self):
        text = pathlib.Path(GOOD).read_text().replace("41.31      0", "41.31      7", 1)
        said = self.judged(self.log(text), *ON, "--algorithm", "tree", status=1)
        self.assertEqual(said["tables"][0]["rows"][4]["verdict"], "wrong")
        self.assertTrue(any("wrong values: 1" in note for note in said["notes"]))

    def test_without_a_log_all_that_is_expected_is_printed(self):
        text = self.ok("plan", "expect", "--cluster", "hgx-h100:2", "--sizes", "1M")
        for name in ("all_reduce_perf", "hypercube_perf", "ib_read_lat", "osu_bibw"):
            self.assertIn(f"{name}: 2 nodes", text)
        self.assertNotIn("VERDICT", text)
        alone = self.ok("plan", "expect", "--cluster", "hgx-h100:1", "--sizes", "1M",
                        "--benchmark", "all-reduce,all-to-all")
        self.assertEqual(alone.count("1 node,"), 2)

    def test_errors_name_the_line_and_say_what_to_do(self):
        def refused(*words):
            return self.refused("plan", "expect", *words, status=2)
        self.assertIn("own.log:1: no table of nccl-tests", refused(self.log("hello\n"), *ON))
        broken = pathlib.Path(GOOD).read_text().replace("   154.4   27.17   27.17      0", "", 1)
        self.assertIn("own.log:12: this row has", refused(self.log(broken), *ON))
        self.assertIn("cannot read /nowhere/x.log", refused("/nowhere/x.log", *ON))
        self.assertIn("say which cluster", refused(GOOD))
        self.assertIn("only 2 nodes in hgx-h100:2", refused(SLOW, "--cluster", "hgx-h100:2"))
        self.assertIn("8 ranks a node", refused(SLOW, "--cluster", "nvl72-xdr"))
        nameless = pathlib.Path(GOOD).read_text().replace("all_reduce_perf", "it")
        nameless = nameless.replace(" sum", "none")
        nameless = nameless.replace("41.31   41.31", "41.31   20.66")
        self.assertIn("say it, as --benchmark", refused(self.log(nameless), *ON))
        self.assertIn("did you mean 'osu_latency'",
                      refused("--benchmark", "osu_latancy", *ON))

    def test_an_option_that_does_nothing_is_refused(self):
        for words, needs in ((("--sizes", "8"), "no log"),
                             (("--benchmark", "osu"), "does not name its benchmark"),
                             (("--nodes", "2"), "does not name them"),
                             (("--per-node", "1"), "does not name its ranks")):
            said = self.refused("plan", "expect", GOOD, *ON, *words, status=2)
            self.assertIn(f"{words[0]} changes nothing here: it needs", said)
            self.assertIn(needs, said)
        for option in (("--algorithm", "tree"), ("--protocol", "LL"), ("--collnet",),
                       ("--channels", "4")):
            said = self.refused("plan", "expect", *ON, "--benchmark", "osu_bw", *option, status=2)
            self.assertIn(f"{option[0]} changes nothing here: it needs a table of nccl-tests", said)


if __name__ == "__main__":
    unittest.main()
