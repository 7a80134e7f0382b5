#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Members of SHARP jobs that say anything at any time, scribble over what they share and vanish:
the daemon serves on, and everything they had is free again."""

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


class Job:
    """Its members' commands, in the order in which libsharp_coll says them."""

    def __init__(self, fabric, size):
        self.clients = [Client(fabric) for _ in range(size)]
        self.job = self.group = 0
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
    def setUp(self):
        super().setUp()
        self.ok("up", "--topology", "fat-tree", "--hosts", str(HOSTS), "--radix", "4")
        self.fabric = f"{self.dir}/default"

    def daemon(self):
        """Which it is, and how many descriptors it has open."""
        pid = self.daemon_pid()
        return pid, len(os.listdir(f"/proc/{pid}/fd"))

    def assert_all_is_free(self, before):
        def is_free():
            told = self.json("sharp", "status")
            return told["jobs"] == [] and not any(
                node["qps"] + node["trees"] + node["groups"] for node in told["nodes"])
        self.assertTrue(wait_until(is_free), self.softib("sharp", "status").stdout)
        self.assertEqual(self.daemon_pid(), before[0])
        # The command that started it may have been counted before.
        self.assertTrue(wait_until(lambda: self.daemon()[1] <= before[1]), "descriptors stay open")

    def scribble(self, file):
        with self.assertRaises(OSError):  # It would end the daemon by SIGBUS.
            os.ftruncate(file, 0)
        os.pwrite(file, os.urandom(random.choice((64, 4096, 20000))), random.choice((0, 64, 4096)))

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


if __name__ == "__main__":
    unittest.main()
