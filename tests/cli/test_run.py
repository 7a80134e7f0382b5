# SPDX-License-Identifier: BSD-2-Clause
"""softib run: the exit status is the command's, and nothing is left behind. That nothing is left,
processes and files, is checked at the end of every test by CliCase."""

import json
import os
import signal
import subprocess
import time
import unittest

from cli_case import SOFTIB, CliCase, wait_until


class Run(CliCase):
    def start(self, *words):
        return subprocess.Popen([SOFTIB, *words], env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def assert_nothing_left(self):
        self.assertTrue(wait_until(lambda: not self.processes()), self.processes())
        self.assertTrue(wait_until(lambda: set(os.listdir(self.dir)) <= {".lock"}))

    def status_of(self, *words):
        status = self.softib("run", *words).returncode
        self.assert_nothing_left()
        return status

    def test_exit_status(self):
        for status in (0, 1, 42):
            self.assertEqual(self.status_of("--", "sh", "-c", f"exit {status}"), status)
        self.assertEqual(self.status_of("--", "no-such-program"), 127)

    def test_command_killed_by_a_signal(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT):
            self.assertEqual(self.status_of("--", "sh", "-c", f"kill -{number.value} $$"),
                             128 + number)

    def test_json_tells_how_it_went_behind_what_the_command_said(self):
        for ending, status in (("exit 3", 3), ("kill -9 $$", 137)):
            script = f"echo out; echo err >&2; {ending}"
            done = self.softib("run", "--json", "--hosts", "4", "--", "sh", "-c", script)
            self.assertEqual((done.returncode, done.stdout), (status, "out\n"))
            own, report = done.stderr.splitlines()
            report = json.loads(report)
            self.assertEqual(
                (own, report["status"], report["host"], report["hosts"], report["command"]),
                ("err", status, "h0", 4, ["sh", "-c", script]))
            self.assertRegex(report["fabric"], "^run-")
            self.assertGreater(report["seconds"], 0)

    def test_command_runs_on_the_first_host_and_reaches_the_others(self):
        said = self.ok("run", "--hosts", "3", "--", "sh", "-c",
                       "printenv SOFTIB_HOST; softib exec h2 -- printenv SOFTIB_HOST; "
                       "softib status | head -1")
        self.assertRegex(said, r"^h0\nh2\nfabric run-\S+ is up: 3 hosts")

    def test_runs_side_by_side(self):
        runs = [self.start("run", "--", "sh", "-c", f"sleep 0.2; exit {i}") for i in range(5)]
        for i, run in enumerate(runs):
            run.communicate()
            self.assertEqual(run.returncode, i)

    def test_signals_are_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            run = self.start("run", "--", "sh", "-c",
                             f"trap 'exit 9' {number.value}; echo ready; "
                             "while :; do sleep 0.01; done")
            self.assertEqual(run.stdout.readline(), "ready\n")
            run.send_signal(number)
            run.communicate()
            self.assertEqual(run.returncode, 9)
            self.assert_nothing_left()

    def test_background_programs_end_with_the_command(self):
        self.assertEqual(
            self.status_of("--", "sh", "-c", "sleep 600 & softib exec h1 -- sleep 600 &"), 0)

    def test_stubborn_background_programs_end_too(self):
        self.assertEqual(
            self.status_of("--", "sh", "-c", "(trap '' TERM; while :; do sleep 0.1; done) &"), 0)

    def test_killed_run_leaves_nothing(self):
        run = self.start("run", "--", "sh", "-c", "sleep 600 & echo ready; sleep 600")
        self.assertEqual(run.stdout.readline(), "ready\n")
        run.kill()
        run.wait()
        run.stdout.close()
        self.assert_nothing_left()

    def test_killed_daemon_does_not_stop_the_command(self):
        script = "sleep 600 & kill -9 $(cat $SOFTIB_DIR/softibd.pid); sleep 0.1; exit 3"
        self.assertEqual(self.status_of("--", "sh", "-c", script), 3)

    def test_run_within_a_run(self):
        said = self.ok("run", "--hosts", "1", "--", "softib", "run", "--hosts", "5", "--", "softib",
                       "status")
        self.assertIn("5 hosts", said)

    def test_starting_and_ending_takes_little_time(self):
        start = time.monotonic()
        self.ok("run", "--", "true")
        self.assertLess(time.monotonic() - start, 2)


if __name__ == "__main__":
    unittest.main()
