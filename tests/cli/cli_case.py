# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the command line share: a runtime directory of their own for each test, the
softib command in it, and the check that a test leaves nothing behind."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import softib_test  # noqa: E402

BUILD = softib_test.find_build()
SOFTIB = str(BUILD / "bin" / "softib")
# Libraries that must be loaded before all others.
SANITIZED = any(BUILD.glob("lib/**/first_library"))
TIMEOUT_S = 60


def wait_until(condition, timeout_s=60.0):
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class CliCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = softib_test.runtime_dir("softib-cli-")
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("SOFTIB_") and name != "LD_PRELOAD"}
        self.env["SOFTIB_RUNTIME_DIR"] = self.dir
        # Jobs of Open MPI that begin and end at the same time remove each other's folder.
        self.scratch = tempfile.mkdtemp(prefix="softib-tmp-")
        self.env["TMPDIR"] = self.scratch
        self.env["NO_COLOR"] = "1"

    def tearDown(self):
        self.softib("down", "--all")
        gone = wait_until(lambda: not self.processes())
        left = [name for name in os.listdir(self.dir) if name != ".lock"]
        for pid in self.processes():
            os.kill(pid, 9)
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.assertTrue(gone, "processes left behind")
        self.assertEqual(left, [], "files left behind")

    def processes(self):
        """Returns the processes that have this test's directory in their arguments or
        environment."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
                words += pathlib.Path("/proc", pid, "environ").read_bytes()
            except OSError:
                continue
            if self.dir.encode() in words:
                found.append(int(pid))
        return found

    def softib(self, *words, **kwargs):
        kwargs.setdefault("env", self.env)
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([SOFTIB, *words], capture_output=True, text=True, timeout=TIMEOUT_S,
                              **kwargs)

    def ok(self, *words, **kwargs):
        result = self.softib(*words, **kwargs)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def json(self, *words):
        return json.loads(self.ok(*words, "--json"))

    def refused(self, *words, status=1, **kwargs):
        """Returns the message that the user sees."""
        result = self.softib(*words, **kwargs)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr.strip()

    def daemon_pid(self, fabric="default"):
        return int(pathlib.Path(self.dir, fabric, "softibd.pid").read_text())

    def log(self, fabric="default"):
        return pathlib.Path(self.dir, fabric, "softibd.log").read_text()
