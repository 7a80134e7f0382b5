#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Members of SHARP jobs that send any request at any time, overwrite the memory that they share,
and vanish: the daemon goes on, and everything they had is freed."""

import os
import random
import struct
import unittest

from cli_case import CliCase, wait_until
from test_daemon import Client

SHARP = 32
CREATE_JOB, JOIN_JOB, START_JOB, CREATE_GROUP, JOIN_GROUP, START_GROUP, MAP_GROUP, LOCK_GROUP, \
    LEAVE_GROUP, LEAVE_JOB = range(1, 11)
COMMANDS = int(os.environ.get("SOFTIB_SHARP_COMMANDS", "6000"))
HOSTS = 8
LONG_S = 120  # Longer than anything takes on a machine that has other work.


class Job:
    """A job with its members' requests, in the order in which libsharp_coll sends them."""

    def __init__(self, fabric, size):
        self.clients = [Client(fabric) for _ in range(size)]
        self.job = self.group = self.error = 0
        everybody = range(size)
        self.script = [(0, CREATE_JOB), *((r, JOIN_JOB) for r in everybody), (0, START_JOB),
                       (0, CREATE_GROUP), *((r, JOIN_GROUP) for r in everybody), (0, START_GROUP),
                       *((r, MAP_GROUP) for r in everybody), (size - 1, LOCK_GROUP),
                       *((r, LEAVE_GROUP) for r in everybody), *((r, LEAVE_JOB) for r in everybody)]

    def say(self, by, operation, **fields):
        """Returns the descriptors that came with the answer."""
        values = {"job": self.job, "group": self.group, "rank": by, "size": len(self.clients),
                  "hca": by, "key": 7, "osts": 0, "payload": 0, "groups": 0} | fields
        status, body, files = self.clients[by].ask(
            SHARP, struct.pack("=6IQ4I", operation, *values.values(), 0))
        if status == 0:
            error, _, job, group = struct.unpack_from("=iIII", body)
            self.error = error
            if operation == CREATE_JOB and error == 0:
                self.job = job
            if operation == CREATE_GROUP and error == 0:
                self.group = group
        return files

    def close(self):
        for client in self.clients:
            client.socket.close()
        self.clients = []


class SharpRequests(CliCase):
    path = "direct"

    def setUp(self):
        super().setUp()
        self.ok("up", "--topology", "fat-tree", "--hosts", str(HOSTS), "--radix", "4",
                "--data-path", self.path)
        self.helpers = [helper["pid"] for helper in self.json("status")["health"]["helpers"]]
        self.fabric = f"{self.dir}/default"
        # Descriptors are counted below: the daemon watches each helper process once it has
        # attached.
        self.assertTrue(wait_until(lambda: self.watched() == len(self.helpers), LONG_S))

    def watched(self):
        """Returns the processes whose end the daemon waits for."""
        folder = f"/proc/{self.daemon_pid()}/fd"
        found = 0
        for name in os.listdir(folder):
            try:
                found += "pidfd" in os.readlink(f"{folder}/{name}")
            except FileNotFoundError:
                pass  # Closed meanwhile.
        return found

    def daemon(self):
        """Returns the daemon's pid, and how many descriptors it has open."""
        pid = self.daemon_pid()
        return pid, len(os.listdir(f"/proc/{pid}/fd"))

    def assert_all_is_free(self, before):
        def is_free():
            told = self.json("sharp", "status")
            return told["jobs"] == [] and not any(
                node["qps"] + node["trees"] + node["groups"] for node in told["nodes"])
        self.assertTrue(wait_until(is_free, LONG_S), self.softib("sharp", "status").stdout)
        self.assertEqual(self.daemon_pid(), before[0])
        self.assertEqual([helper["pid"] for helper in self.json("status")["health"]["helpers"]],
                         self.helpers)
        # The command that started the daemon may have been counted before.
        self.assertTrue(wait_until(lambda: self.daemon()[1] <= before[1], LONG_S),
                        "descriptors stay open")

    def scribble(self, file):
        with self.assertRaises(OSError):  # It would end the daemon by SIGBUS.
            os.ftruncate(file, 0)
        end = os.fstat(file).st_size  # On the packet path members post their turns there.
        at = random.choice((0, 64, 4096, end - 4096, end - 8192))
        os.pwrite(file, os.urandom(random.choice((64, 4096))), at)
        if self.path == "packet":
            posted = struct.pack("=QQI4B4I", 1, 0, random.choice((0, 8, 70000)), 0, 2, 2, 0,
                                 *(random.choice((0, 8, 1 << 31)) for _ in range(4)))
            os.pwrite(file, posted, end - 64 * 16 * random.randint(1, 4))

    def test_the_script_of_a_job_brings_memory_to_each_member(self):
        before = self.daemon()
        job = Job(self.fabric, HOSTS)
        files = [file for rank, operation in job.script for file in job.say(rank, operation)]
        self.assertEqual(len(files), HOSTS)
        for file in files:
            self.scribble(file)
            os.close(file)
        job.close()
        self.assert_all_is_free(before)

    def test_a_second_streaming_job_is_refused_until_the_first_ends(self):
        before = self.daemon()
        first, second = Job(self.fabric, 4), Job(self.fabric, 4)
        for job in (first, second):
            for rank, operation in job.script[:job.script.index((3, LOCK_GROUP))]:
                for file in job.say(rank, operation):
                    os.close(file)
                self.assertEqual(job.error, 0)
        for job, error in ((first, 0), (second, -18), (first, 0)):
            job.say(0, LOCK_GROUP)
            self.assertEqual(job.error, error)
        first.close()
        second.say(0, LOCK_GROUP)
        self.assertEqual(second.error, 0)
        second.say(0, CREATE_GROUP, size=1)
        for _ in range(6):
            second.say(0, CREATE_GROUP, size=1)
            self.assertEqual(second.error, 0)
        second.say(0, CREATE_GROUP, size=1)
        self.assertEqual(second.error, -7, "eight groups are its quota")
        second.close()
        self.assert_all_is_free(before)

    def test_anything_at_any_time(self):
        seed = int(os.environ.get("SOFTIB_SHARP_SEED", "1"))
        random.seed(seed)
        before = self.daemon()
        jobs = []
        for _ in range(COMMANDS):
            if len(jobs) < 4:
                jobs.append(Job(self.fabric, random.randint(1, HOSTS)))
            job = random.choice(jobs)
            what = random.random()
            files = []
            if what < 0.90 and job.script:
                files = job.say(*job.script.pop(0))
            elif what < 0.99:
                near = {name: random.choice((0, 1, 2, 3, HOSTS - 1, HOSTS, 0xFFFFFFFF))
                        for name in random.sample(("rank", "size", "hca", "osts", "groups"), 2)}
                other = random.choice(jobs)
                ids = random.choice(({}, {"job": other.job, "group": other.group},
                                     {"group": random.randint(0, 1 << 24)}))
                files = job.say(random.randrange(len(job.clients)), random.randint(0, 11),
                                **near, **ids)
            else:
                job.clients.pop(random.randrange(len(job.clients))).socket.close()
            for file in files:
                self.scribble(file)
                os.close(file)
            job.script = [step for step in job.script if step[0] < len(job.clients)]
            if not job.script or not job.clients:
                job.close()
                jobs.remove(job)
        for job in jobs:
            job.close()
        self.assert_all_is_free(before)


class SharpRequestsByPackets(SharpRequests):
    path = "packet"


if __name__ == "__main__":
    unittest.main()
