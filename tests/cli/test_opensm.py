#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""--sm opensm: which manager the fabric has, and that OpenSM starts and ends with it."""

import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from cli_case import SOFTIB, CliCase, wait_until
import softib_test

TREE = ("--topology", "fat-tree", "--hosts", "4", "--radix", "4")
os.environ["PATH"] += ":/usr/sbin"
softib_test.need_programs("opensm", "sminfo")


class OpenSm(CliCase):
    def managers(self):
        """Returns the pids of this test's opensm."""
        def is_opensm(pid):
            try:
                return pathlib.Path(f"/proc/{pid}/comm").read_text() == "opensm\n"
            except OSError:
                return False
        return [pid for pid in self.processes() if is_opensm(pid)]

    def test_fabric_is_up_when_its_ports_are_active(self):
        self.ok("up", *TREE, "--sm", "opensm", "--sm-args", "-R ftree -p 3")
        [pid] = self.managers()
        status = self.json("sm", "status")
        self.assertEqual(status["master"], f"opensm (pid {pid}) on h0/mlx5_0, LID 1")
        self.assertEqual(status["verified"], "yes, with service level 0")
        self.ok("routes", "check")
        self.assertIn("priority 3 state 3 SMINFO_MASTER", self.ok("exec", "h3", "--", "sminfo"))
        files = os.listdir(f"{self.dir}/default/sm")
        self.assertIn("opensm.log", files)
        self.assertIn("guid2lid", files)
        self.assertIn("without our subnet manager", self.refused("sm", "resweep"))
        self.ok("down")
        self.assertEqual(self.managers(), [])

    def test_it_repairs_the_fabric(self):
        self.ok("up", *TREE, "--sm", "opensm")
        self.ok("link", "down", "leaf0", "3")
        self.assertTrue(wait_until(lambda: self.softib("routes", "check").returncode == 0, 30))
        self.assertEqual(self.json("routes", "check")["links"], 6)

    def test_it_ends_with_the_daemon(self):
        self.ok("up", *TREE, "--sm", "opensm")
        self.assertEqual(len(self.managers()), 1)
        os.kill(self.daemon_pid(), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.managers()))

    def test_it_is_restarted_and_the_fabric_says_so(self):
        self.ok("up", *TREE, "--sm", "opensm")
        self.assertEqual(self.json("status")["health"]["text"], "ok")
        [pid] = self.managers()
        os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.managers() not in ([], [pid])))
        [again] = self.managers()
        self.assertTrue(wait_until(
            lambda: f"opensm (pid {again})" in self.json("sm", "status")["master"], 30))
        health = self.json("status")["health"]
        self.assertTrue(health["ok"])
        self.assertRegex(health["text"],
                         r"^opensm restarted 1 time, last \d\d:\d\d:\d\d \(signal 9\)$")
        self.assertIn(f"health: {health['text']}\n", self.ok("status"))
        self.assertIn(f"the opensm (pid {pid}) has ended: signal 9", self.ok("log"))

    def test_it_is_not_taken_for_dead_while_it_is_stopped(self):
        self.ok("up", *TREE, "--sm", "opensm")
        [pid] = self.managers()
        os.kill(pid, signal.SIGSTOP)
        self.assertTrue(wait_until(lambda: not self.json("status")["health"]["ok"]))
        self.assertIn(f"opensm (pid {pid}) does not answer: it is stopped; kill -CONT {pid}",
                      self.json("status")["health"]["text"])
        os.kill(pid, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: self.json("status")["health"]["text"] == "ok"))
        self.assertEqual(self.managers(), [pid])

    def test_private_fabric(self):
        text = self.ok("run", *TREE, "--sm", "opensm", "--", "softib", "sm")
        self.assertRegex(text, r"master +opensm \(pid \d+\) on h0/mlx5_0, LID 1")
        self.assertEqual(self.managers(), [])

    def test_one_that_does_not_start_shows_why(self):
        for command in (("up",), ("run",)):
            words = [*command, *TREE, "--sm", "opensm", "--sm-args", "--nonsense"]
            text = self.refused(*words, *(("--", "true") if command == ("run",) else ()))
            self.assertIn(
                "softib: OpenSM ended before the fabric was up; the end of its opensm.out:", text)
            self.assertIn("Display this usage info then exit.", text)
        self.assertEqual(self.json("list"), [])

    def test_arguments_are_checked(self):
        self.assertEqual(self.refused("up", "--sm-args", "-R ftree", status=2),
                         "softib: --sm-args is for --sm opensm")
        self.assertIn("leave out -B",
                      self.refused("up", "--sm", "opensm", "--sm-args", "-R ftree -B", status=2))
        self.assertEqual(self.refused("up", "--sm", "opensm", "--sm-args", "-f 'a b", status=2),
                         "softib: --sm-args: a ' is not closed")
        self.assertIn("--sm must be softib, opensm or none",
                      self.refused("up", "--sm", "opensn", status=2))

    @unittest.skipIf(shutil.which("unshare") is None, "no unshare")
    def test_not_installed(self):
        places = [place for place in ("/usr/sbin", "/usr/local/sbin")
                  if os.path.exists(f"{place}/opensm")]
        hide = " && ".join(f"mount -t tmpfs none {place}" for place in places) or "true"
        env = {**self.env, "PATH": "/usr/bin"}
        result = subprocess.run(
            ["unshare", "-rm", "sh", "-c", f"{hide} && exec {SOFTIB} up --sm opensm"], env=env,
            capture_output=True, text=True, timeout=60)
        if "unshare" in result.stderr or "mount:" in result.stderr:
            self.skipTest("no namespaces here")
        self.assertEqual((result.returncode, result.stderr.strip()),
                         (1, "softib: opensm is not installed; get it with: apt install opensm"))


if __name__ == "__main__":
    unittest.main()
