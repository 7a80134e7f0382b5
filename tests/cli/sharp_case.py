# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of SHARP share: ranks of the example, one process each, on hosts of a fabric."""

import os
import random
import signal
import subprocess
import tempfile
import time

from cli_case import BUILD, SOFTIB, CliCase, wait_until

EXAMPLE = str(BUILD / "examples" / "sharp_allreduce")


class SharpCase(CliCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="softib-sharp-")
        self.addCleanup(self.folder.cleanup)
        self.jobs = 0

    def start(self, hosts, *words, env=None):
        """One rank on each host, in this order."""
        self.jobs += 1
        self.meeting = os.path.join(self.folder.name, str(self.jobs))
        os.mkdir(self.meeting)
        return [subprocess.Popen(
            [SOFTIB, "exec", host, "--", EXAMPLE, self.meeting, str(rank), str(len(hosts)), *words],
            env=self.env | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, host in enumerate(hosts)]

    def finish(self, ranks):
        return [(*rank.communicate(timeout=60), rank.returncode) for rank in ranks]

    def works(self, hosts, *words, env=None):
        for out, err, status in self.finish(self.start(hosts, *words, env=env)):
            self.assertEqual(status, 0, out + err)

    def soak(self, seconds, seed):
        """Jobs one after the other, of any size and length, half of which lose a rank at any time.
        The daemon that was there before must be there after, with nothing left of them."""
        random.seed(seed)
        self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
        daemon = self.daemon_pid()
        open_before = len(os.listdir(f"/proc/{daemon}/fd"))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            hosts = random.sample([f"h{i}" for i in range(8)], random.randint(1, 8))
            bytes_ = 4 * random.choice((2, 256, 4096, 16384, 65536, 262144))
            ranks = self.start(hosts, "time", str(bytes_), str(random.randint(1, 100)))
            kills = random.random() < 0.5
            if kills:
                time.sleep(random.random() * 0.2)
                random.choice(ranks).send_signal(signal.SIGKILL)
                time.sleep(0.05)
                for rank in ranks:  # Those that wait for a file of the dead wait for ever.
                    rank.kill()
            for out, err, status in self.finish(ranks):
                self.assertTrue(status == 0 or kills, f"seed {seed}: {out}{err}\n{self.log()}")
        self.assertEqual(self.daemon_pid(), daemon)
        self.works(hosts, "time", "1024", "10")
        free = self.json("sharp", "status")
        self.assertEqual(free["jobs"], [])
        self.assertEqual({node["qps"] + node["trees"] + node["groups"] for node in free["nodes"]},
                         {0}, "resources are back")
        # The command that started it may have been counted before.
        self.assertTrue(wait_until(
            lambda: len(os.listdir(f"/proc/{daemon}/fd")) <= open_before), "descriptors stay open")
