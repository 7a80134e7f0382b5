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
# Longer than anything takes on a machine that has other work.
LONG_S = 180


class SharpCase(CliCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="softib-sharp-")
        self.addCleanup(self.folder.cleanup)
        self.jobs = 0

    def start(self, hosts, *words, env=None):
        """Starts one rank on each host, in this order."""
        self.jobs += 1
        self.meeting = os.path.join(self.folder.name, str(self.jobs))
        os.mkdir(self.meeting)
        return [subprocess.Popen(
            [SOFTIB, "exec", host, "--", EXAMPLE, self.meeting, str(rank), str(len(hosts)), *words],
            env=self.env | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, host in enumerate(hosts)]

    def finish(self, ranks):
        """Waits for all ranks; a rank that has not ended then is killed, and the test fails."""
        try:
            return [(*rank.communicate(timeout=LONG_S), rank.returncode) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()

    def works(self, hosts, *words, env=None):
        for out, err, status in self.finish(self.start(hosts, *words, env=env)):
            self.assertEqual(status, 0, out + err)

    def bytes_of(self, node):
        """Returns what the port of a host has sent and received."""
        for host in self.json("status")["hosts"]:
            if host["name"] == node:
                counters = host["hcas"][0]["counters"]
                return 4 * counters["xmit_words"], 4 * counters["rcv_words"]
        return None

    def moves_the_vector_once(self, hosts, bytes_=65536, rounds=10):
        """Checks that a vector crosses a host's port once each way, where a ring of n hosts
        moves it 2(n-1)/n times."""
        done = rounds + rounds // 10 + 1
        before = self.bytes_of(hosts[0])
        self.works(hosts, "time", str(bytes_), str(rounds))
        for a, b in zip(before, self.bytes_of(hosts[0])):
            self.assertGreaterEqual(b - a, bytes_ * done)
            self.assertLess(b - a, bytes_ * done * 1.1, "headers and acknowledgements, no more")
            if len(hosts) >= 4:
                self.assertGreater(2 * (len(hosts) - 1) / len(hosts) * bytes_ * done, 1.3 * (b - a))

    def starts(self, hosts, env=None):
        """Returns ranks that all-reduce until one fails; each has done so at least once."""
        ranks = self.start(hosts, "wait", env=env)

        def run():
            return all(os.path.exists(f"{self.meeting}/runs-{rank}") for rank in range(len(hosts)))
        wait_until(lambda: run() or any(rank.poll() is not None for rank in ranks), LONG_S)
        if not run():
            for rank in ranks:
                rank.kill()
            self.fail(self.finish(ranks))
        return ranks

    def ends_with(self, ranks, error):
        for out, err, status in self.finish(ranks):
            self.assertEqual(status, 3, out + err)
            self.assertIn(f"error {error}:", out)

    def loses_a_cable(self, hosts):
        """Pulls a cable between two switches of a tree at work."""
        ranks = self.starts(hosts)
        job, = self.json("sharp", "trees")
        child = next(sw for sw in job["switches"] if sw["parent"])
        cable = [child["name"], str(child["port_to_parent"])]
        self.ok("link", "down", *cable)
        self.ends_with(ranks, -5)
        self.repairs(hosts, lambda sw: [sw["name"], str(sw["port_to_parent"])] == cable)
        self.ok("link", "up", *cable)

    def loses_a_switch(self, hosts):
        """Turns off the root of a tree at work."""
        ranks = self.starts(hosts)
        job, = self.json("sharp", "trees")
        root = next(sw["name"] for sw in job["switches"] if not sw["parent"])
        self.ok("switch", "kill", root)
        self.ends_with(ranks, -5)
        self.repairs(hosts, lambda sw: sw["name"] == root, without=root)
        self.ok("switch", "revive", root)
        self.all_is_free()
        self.works(hosts, "time", "1024", "5")

    def repairs(self, hosts, is_lost, without=None):
        """Checks that the next job has a tree without the lost cable or switch, and that all
        resources are free after it, except at a switch that cannot be asked."""
        self.assertTrue(wait_until(lambda: self.json("sharp", "jobs") == [], LONG_S))
        ranks = self.starts(hosts)
        job, = self.json("sharp", "trees")
        self.assertFalse(any(is_lost(sw) for sw in job["switches"]), job)
        for rank in ranks:
            rank.kill()
        self.finish(ranks)
        self.all_is_free(without)
        self.works(hosts, "time", "1024", "5")

    def soak(self, seconds, seed):
        """Runs jobs one after the other, of any size and length, half of which lose a rank at
        any time. The same daemon must still run afterwards, with nothing left of them."""
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
                for rank in ranks:  # Ranks that wait for a file of the dead rank wait for ever.
                    rank.kill()
            for out, err, status in self.finish(ranks):
                self.assertTrue(status == 0 or kills, f"seed {seed}: {out}{err}\n{self.log()}")
        self.assertEqual(self.daemon_pid(), daemon)
        self.works(hosts, "time", "1024", "10")
        self.all_is_free()
        # The command that started the daemon may have been counted before.
        self.assertTrue(wait_until(
            lambda: len(os.listdir(f"/proc/{daemon}/fd")) <= open_before, LONG_S),
            "descriptors stay open")

    def kills(self, count, seed):
        """Kills a member at any step of init, join, operations and leaving. The others end by
        themselves, by a documented error, or wait for a file that the dead member would have
        written; then the switches are free again, and the next job works."""
        random.seed(seed)
        hosts = [f"h{i}" for i in range(4)]
        for number in range(count):
            ranks = self.start(hosts, "time", str(4 * random.choice((2, 4096, 65536))),
                               str(random.randint(1, 200)))
            time.sleep(random.random() * 0.4)
            random.choice(ranks).send_signal(signal.SIGKILL)
            wait_until(lambda: any(rank.poll() is not None for rank in ranks), 10)
            # A rank inside a call returns from it; a rank that waits for a file of the dead rank
            # does not.
            wait_until(lambda: all(rank.poll() is not None for rank in ranks), 0.5)
            for rank in ranks:
                rank.kill()
            for out, err, status in self.finish(ranks):
                self.assertIn(status, (0, 1, -signal.SIGKILL), f"{number}: {out}{err}")
            self.assertTrue(wait_until(self.is_free, LONG_S), f"seed {seed}, {number}")
        self.works(hosts, "time", "1024", "5")

    def all_is_free(self, without=None):
        """Waits until resources are free: a daemon hears of the end of a process a while after
        it."""
        self.assertTrue(wait_until(lambda: self.is_free(without), LONG_S),
                        self.softib("sharp", "status").stdout)

    def is_free(self, without=None):
        now = self.json("sharp", "status")
        return not now["jobs"] and not any(
            node["qps"] + node["trees"] + node["groups"] for node in now["nodes"]
            if node["name"] != without)
