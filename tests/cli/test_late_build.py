#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The softib that make demo leaves builds the commands that it lacks when one is used."""

import pathlib
import subprocess
import tempfile
import unittest

import softib_test
from cli_case import CliCase


class LateBuild(CliCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="softib-late-")
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name, "build")

    def call(self, *words, status=0):
        done = subprocess.run(words, cwd=softib_test.SOURCE, env=self.env, capture_output=True,
                              text=True, timeout=1500)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_a_command_is_built_when_it_is_used_first(self):
        self.call("cmake", "--preset", "demo", "-B", str(self.build))
        self.call("cmake", "--build", str(self.build), "--target", "softib")
        softib = str(self.build / "bin" / "softib")
        self.assertIn("sim, plan and trace are built when you use",
                      self.call(softib, "help").stdout)
        first = self.call(softib, "plan", "models")
        self.assertIn("make demo left out 'plan'; building it now", first.stderr)
        self.assertIn("llama3.1-405b", first.stdout)
        again = self.call(softib, "sim", "--hosts", "2", "--size", "4kB")
        self.assertEqual(again.stderr, "")
        self.assertIn("PER SENDER", again.stdout)



if __name__ == "__main__":
    unittest.main()
