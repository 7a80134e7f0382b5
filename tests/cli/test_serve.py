#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib serve under TLS, with clients that do not read, and with faults around it: processes that
are killed, a file that may not grow, a fabric that goes away; and simulations that are served.

    test_serve.py --many      500 clients on the event stream instead of 20
"""

import base64
import contextlib
import os
import pathlib
import re
import resource
import selectors
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error

from cli_case import BUILD, SANITIZED, SOFTIB, wait_until
from serve_case import ServeCase

CLIENTS = 500 if "--many" in sys.argv else 20


class Tls(ServeCase):
    def setUp(self):
        super().setUp()
        if shutil.which("openssl") is None:
            self.skipTest("no openssl")
        self.ok("up", "--hosts", "2")
        self.scratch = pathlib.Path(self.dir, "default")
        self.cert, self.key = self.certificate("server")
        self.tls = ssl.create_default_context(cafile=self.cert)

    def certificate(self, name):
        key, cert = self.scratch / f"{name}.key", self.scratch / f"{name}.pem"
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert
        ],
                       check=True,
                       capture_output=True)
        return str(cert), str(key)

    def tearDown(self):
        for file in self.scratch.glob("*.*"):
            if file.suffix in (".key", ".pem"):
                file.unlink()
        super().tearDown()

    def test_a_client_that_trusts_the_certificate_is_answered(self):
        self.serve("--cert", self.cert, "--key", self.key)
        self.assertTrue(self.url.startswith("https://localhost:"), self.url)
        self.assertEqual(self.get("/api/v1/fabric")["ports"], 4)
        port = int(self.url.rsplit(":", 1)[1])
        silent = socket.create_connection(("127.0.0.1", port))  # Never shakes hands.
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                self.assertNotIn(b"infiniband", plain.recv(65536))
            except ConnectionError:
                pass
        self.assertEqual(self.ask("/metrics")[0], 200)
        self.tls = ssl.create_default_context()
        with self.assertRaises(urllib.error.URLError):
            self.ask("/metrics")
        silent.close()

    def test_old_versions_of_tls_are_refused(self):
        self.serve("--cert", self.cert, "--key", self.key)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1
        self.tls.maximum_version = ssl.TLSVersion.TLSv1_1
        self.tls.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertRaises(urllib.error.URLError):
            self.ask("/metrics")

    def test_beyond_loopback_it_takes_tls_and_the_token(self):
        told = self.refused("serve", "--port", "0", "--address", "0.0.0.0")
        self.assertIn("--cert and --key", told)
        self.serve("--address", "0.0.0.0", "--cert", self.cert, "--key", self.key)
        self.url = self.url.replace("0.0.0.0", "localhost")
        self.assertEqual(self.ask("/metrics")[0], 401)
        self.assertEqual(self.ask("/metrics", Authorization="Bearer wrong")[0], 401)
        basic = base64.b64encode(f"admin:{self.token}".encode()).decode()
        for word in (f"Bearer {self.token}", f"Basic {self.token}", f"Basic {basic}"):
            self.assertEqual(self.ask("/metrics", Authorization=word)[0], 200, word)
        self.assertEqual(
            self.ask("/api/v1/links/h1/mlx5_0:1",
                     "POST", {"up": False},
                     Authorization=f"Bearer {self.token}")[0], 403, "it was not allowed to control")

    def test_a_certificate_that_does_not_fit_is_named(self):
        self.assertIn("belong together", self.refused("serve", "--cert", self.cert, status=2))
        _, other = self.certificate("other")
        told = self.refused("serve", "--port", "0", "--cert", self.cert, "--key", other)
        self.assertIn(other, told)
        self.assertIn(
            "nowhere.pem",
            self.refused("serve", "--port", "0", "--cert", "nowhere.pem", "--key", self.key))


class Clients(ServeCase):
    def memory_mb(self):
        text = pathlib.Path("/proc", str(self.server.pid), "status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024

    def open_streams(self, count):
        port = int(self.url.rsplit(":", 1)[1])
        streams = []
        for _ in range(count):
            stream = socket.socket()
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stream.connect(("127.0.0.1", port))
            stream.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            streams.append(stream)
        return streams

    def read_all(self, streams, texts, until):
        """Reads until a condition holds for all clients."""
        with selectors.DefaultSelector() as ready:
            for stream in streams:
                ready.register(stream, selectors.EVENT_READ)
            end = time.monotonic() + 60
            while not all(until(texts[stream]) for stream in streams):
                self.assertLess(time.monotonic(), end, "messages do not come")
                for key, _ in ready.select(0.5):
                    got = key.fileobj.recv(1 << 20)
                    self.assertTrue(got, "a stream has ended")
                    texts[key.fileobj] += got

    def test_a_client_that_never_reads_costs_the_others_nothing(self):
        self.ok("up", "--hosts", "128", "--topology", "fat-tree", "--radix", "16")
        self.serve("--allow-control")
        before = self.memory_mb()
        never, *streams = self.open_streams(CLIENTS)
        texts = {stream: b"" for stream in streams}
        self.read_all(streams, texts, lambda text: text.count(b"event: sample") >= 1)
        for _ in range(3 if CLIENTS < 100 else 8):  # Long messages: the states of many ports.
            self.ok("switch", "kill", "leaf0")
            seen = max(text.count(b"event: sample") for text in texts.values())
            self.read_all(streams, texts, lambda text: text.count(b"event: sample") > seen)
            self.ok("switch", "revive", "leaf0")
            self.read_all(streams, texts, lambda text: text.count(b"event: sample") > seen + 1)
        for stream in streams:
            # What was read last may end within a number.
            ids = [
                int(number) for number in re.findall(rb"^id: (\d+)\n", texts[stream], re.MULTILINE)
            ]
            self.assertGreaterEqual(len(ids), 7)
            self.assertEqual(ids, list(range(ids[0], ids[0] + len(ids))), "messages were lost")
            self.assertNotIn(b"event: resync", texts[stream])
        number = self.get("/api/v1/fabric")["number"]
        self.assertTrue(wait_until(lambda: self.get("/api/v1/fabric")["number"] > number + 1))
        if not SANITIZED:  # AddressSanitizer keeps freed memory, and a second stack per thread.
            self.assertLess(self.memory_mb() - before, 20 + CLIENTS * 0.3)
        for stream in [never, *streams]:
            stream.close()

    def test_more_streams_than_the_limit_are_refused_and_the_rest_goes_on(self):
        self.ok("up", "--hosts", "2")
        self.serve()
        if CLIENTS < 500:
            self.skipTest("with --many")
        streams = self.open_streams(520)
        texts = {stream: b"" for stream in streams}
        self.read_all(streams, texts, lambda text: b"HTTP/1.1" in text)
        refused = [text for text in texts.values() if text.startswith(b"HTTP/1.1 503")]
        self.assertEqual(len(refused), 8)
        self.assertEqual(self.ask("/metrics")[0], 200)
        for stream in streams:
            stream.close()


class Faults(ServeCase):
    def seen(self):
        return self.get("/api/v1/ports/h0/mlx5_0:1/history")["seen"]

    def kinds(self):
        return [alarm["kind"] for alarm in self.get("/api/v1/alarms")["alarms"]]

    def test_a_file_that_may_not_grow_is_an_alarm_and_all_else_goes_on(self):
        self.ok("up", "--hosts", "2")
        small = 96 << 10
        self.serve(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                         (small, resource.RLIM_INFINITY)))
        self.assertTrue(wait_until(lambda: "history_not_written" in self.kinds()))
        number = self.get("/api/v1/fabric")["number"]
        self.assertTrue(wait_until(lambda: self.get("/api/v1/fabric")["number"] > number))
        self.assertIn("softib_telemetry_up 1", self.ask("/metrics")[1])
        before = self.seen()
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.assertTrue(wait_until(lambda: "history_not_written" not in self.kinds()))
        self.assertTrue(wait_until(lambda: len(self.seen()) > len(before)))
        self.assertEqual(self.seen()[:len(before)], before, "what was written stays")

    def committed(self):
        """Returns the seconds for which the database has a sample, read by SQLite instead of by
        a server."""
        history = pathlib.Path(self.dir, "default", "telemetry", "history.db")
        if not history.exists():
            return []
        with contextlib.closing(sqlite3.connect(f"file:{history}?mode=ro", uri=True)) as database:
            try:  # A key below 2^36 is the first column of the ring of seconds.
                return [key for key, in database.execute(
                    "SELECT key FROM slots WHERE key < 1 << 36 ORDER BY key")]
            except sqlite3.OperationalError:  # The sampler has not made its tables yet.
                return []

    def sampler(self):
        """Returns the process that holds the lock; None while the file is being written."""
        lock = pathlib.Path(self.dir, "default", "telemetry", "lock")
        text = lock.read_text() if lock.exists() else ""
        return int(text) if text.endswith("\n") else None

    def test_a_sampler_that_is_killed_is_started_again_and_history_has_a_gap_alone(self):
        self.ok("up", "--hosts", "2", "--telemetry")
        self.assertTrue(wait_until(lambda: len(self.committed()) > 1, 60), "nothing is sampled")
        pid = self.sampler()
        # The process commits no more, so that the gap is more than a second.
        os.kill(pid, signal.SIGSTOP)
        before = self.committed()
        self.assertTrue(wait_until(lambda: time.time() > before[-1] + 3))
        os.kill(pid, signal.SIGKILL)
        killed_at = int(time.time())
        self.assertTrue(wait_until(lambda: self.sampler() not in (None, pid), 60),
                        "it was not started again")
        self.assertTrue(wait_until(lambda: len(self.committed()) > len(before), 60),
                        "the new one writes nothing")
        self.serve()
        seen = self.seen()
        self.assertEqual(seen[:len(before)], before, "what was committed stays, and no more came")
        self.assertGreater(seen[len(before)], killed_at, "the new one tells of its own time alone")

    def test_a_fabric_that_returns_is_sampled_by_the_same_process_and_no_other(self):
        self.ok("up", "--hosts", "2")
        self.serve()
        self.ok("down")
        self.ok("up", "--hosts", "2")
        self.assertTrue(
            wait_until(lambda: pathlib.Path(self.dir, "default", "telemetry", "lock").exists()))
        self.assertTrue(
            wait_until(lambda: not self.get("/api/v1/fabric")["trouble"] and len(self.seen()) > 1))
        self.assertIn(f"pid {self.server.pid} samples this fabric already",
                      self.refused("telemetry"))

    def test_a_clock_that_is_set_back_is_told_and_history_goes_on_from_there(self):
        self.ok("up", "--hosts", "2")
        with tempfile.NamedTemporaryFile("w+") as clock:
            clock.write("0")
            clock.flush()
            self.env |= {
                "LD_PRELOAD": str(BUILD / "tests" / "libshifted_clock.so"),
                "SHIFTED_CLOCK": clock.name
            }
            self.serve()
            del self.env["LD_PRELOAD"]

            def slots(end):
                return self.get("/api/v1/ports/h0/mlx5_0:1/history"
                                f"?from={end - 300}&to={end + 300}")["seen"]

            now = int(time.time())
            self.assertTrue(wait_until(lambda: len(slots(now)) >= 2))
            before = slots(now)
            os.pwrite(clock.fileno(), b"-3600", 0)
            self.assertTrue(wait_until(lambda: len(slots(now - 3600)) >= 3))
            told = [event["text"] for event in self.get("/api/v1/events")["events"]
                    if event["kind"] == "clock_set"]
            self.assertEqual(len(told), 1, told)
            self.assertIn("was set back by 3600", told[0])
            self.assertEqual(slots(now)[:len(before)], before, "what was written before stays")
            self.assertIn("softib_telemetry_up 1", self.ask("/metrics")[1])
            os.pwrite(clock.fileno(), b"    0", 0)
            self.assertTrue(wait_until(lambda: len(slots(now)) > len(before) + 1))
            self.assertEqual(self.kinds(), [])

    def test_partitions_and_isolated_ports_come_back_with_the_fabric(self):
        self.ok("up", "--hosts", "3")
        self.serve("--allow-control")
        key = {"Authorization": f"Bearer {self.token}"}
        self.assertEqual(
            200,
            self.ask("/ufmRest/resources/pkeys/hosts", "POST", {
                "pkey": "0x5",
                "hosts_names": "h1"
            }, **key)[0])
        port = next(p for p in self.get("/ufmRest/resources/ports")
                    if p["system_name"] == "h2")["name"]
        self.assertEqual(
            200,
            self.ask("/ufmRest/app/unhealthy_ports", "PUT", {
                "ports": [port],
                "ports_policy": "UNHEALTHY"
            }, **key)[0])
        self.ok("down")
        self.ok("up", "--hosts", "3")

        def restored():
            partitions = pathlib.Path(self.dir, "default", "partitions.conf")
            hosts = {
                host["name"]: host["hcas"][0]["state"]
                for host in self.json("status")["hosts"]
            }
            return partitions.exists() and "0x0005" in partitions.read_text(
            ) and hosts["h2"] != hosts["h1"]

        self.assertTrue(wait_until(restored))
        self.assertIn("0x5", self.get("/ufmRest/resources/pkeys"))
        self.end()
        self.serve("--allow-control")  # Another server does not forget it either.
        self.assertEqual([one["name"] for one in self.get("/ufmRest/app/unhealthy_ports")], [port])


class Simulations(ServeCase):
    def test_a_recorded_simulation_is_served_with_its_past(self):
        with tempfile.TemporaryDirectory() as scratch:
            record = f"{scratch}/run.rec"
            report = self.json("sim", "--hosts", "8", "--topology", "fat-tree", "--radix", "4",
                               "--traffic", "incast,target=h0,size=1MB", "--record", record,
                               "--record-every", "20us")
            over_ns = report["traffic"][0]["finished_ps"] / 1000
            self.serve("--recording", record, "--history", f"{scratch}/history.db")
            self.assertEqual(self.get("/api/v1/fabric")["virtual_step_ns"], 20_000)
            self.assertTrue(
                wait_until(lambda: self.get("/api/v1/fabric")["virtual_time_ns"] >= over_ns))
            self.assertGreater(self.get("/api/v1/fabric")["number"], 5)
            words = self.get("/api/v1/ports/h0/mlx5_0:1")["counters"]["rcv_words"]
            self.assertTrue(7e6 <= 4 * words < 7.2e6, "seven senders of a MB each, and headers")
            self.assertIn(f"}} {4 * words}\n", self.ask("/metrics")[1])

            def moved():
                until = int(time.time()) + 300
                past = self.get("/api/v1/ports/h0/mlx5_0:1/history?counter=rcv_words"
                                f"&from={until - 600}&to={until}")
                return sum(mean for _, mean, _, _ in past["points"]) * 20e-6

            self.assertTrue(wait_until(lambda: moved() > 0.9 * words))
            self.assertLess(moved(), 1.02 * words, "rates in history are of virtual time")
            self.end()

    def test_a_simulation_is_served_while_it_runs_and_until_ctrl_c(self):
        with tempfile.TemporaryDirectory() as scratch:
            endless = [
                "--hosts", "8", "--topology", "fat-tree", "--radix", "4", "--traffic",
                "permutation,size=1TB"
            ]
            self.env["TMPDIR"] = scratch
            self.start([SOFTIB, "sim", *endless, "--serve", "--port", "0"])
            self.assertTrue(wait_until(lambda: self.get("/api/v1/fabric")["number"] > 2))
            self.assertEqual([name[:15] for name in os.listdir(scratch)], ["softib-history-"])
            self.server.send_signal(signal.SIGINT)  # Ends the run with the results so far.
            said = []
            while not said or "simulation is over" not in said[-1]:
                said.append(self.server.stdout.readline())
                self.assertTrue(said[-1], said)
            self.assertIn("stopped", "".join(said))
            self.assertEqual(self.get("/api/v1/fabric")["trouble"], "")
            self.server.send_signal(signal.SIGINT)
            self.server.communicate(timeout=20)
            self.assertEqual(self.server.returncode, 0)
            self.server = None
            self.assertEqual(os.listdir(scratch), [])
            # A file with a name stays; a port that is taken ends it before the run.
            kept = f"{scratch}/kept"
            with socket.create_server(("127.0.0.1", 0)) as other:
                told = self.refused("sim", *endless, "--serve", "--record", kept, "--port",
                                    str(other.getsockname()[1]))
            self.assertIn("does not serve the page", told)
            self.assertEqual(os.listdir(scratch), ["kept"])

    def test_only_one_simulation_is_served(self):
        sweep = pathlib.Path(self.scratch, "sweep.toml")
        sweep.write_text("seeds = 2\n")
        for words in (["whatif"], ["--sweep", str(sweep)], ["--traffic", "sharp-allreduce,size=8"],
                      ["--compare", "ib,roce"]):
            for flag in (["--serve"], ["--record", "x"]):
                self.assertIn("one simulation",
                              self.refused("sim", *words, "--hosts", "4", *flag, status=2))
        self.assertIn("--record or --serve",
                      self.refused("sim", "--hosts", "4", "--record-every", "1us", status=2))
        sweep.unlink()

    def test_recordings_that_are_none_are_refused_with_a_sentence(self):
        other = pathlib.Path(self.dir, "other")
        other.write_text("not a recording")
        for command in ("serve", "telemetry"):
            self.assertIn("is no recording", self.refused(command, "--recording", str(other)))
        other.unlink()
        self.assertIn("nodevice", self.refused("telemetry", "--umad", "nodevice"))
        self.assertIn("'record' does not go with --threads",
                      self.refused("sim", "--hosts", "4", "--threads", "2", "--record", "x",
                                   status=2))
        self.assertIn("--record-every must be a time",
                      self.refused("sim", "--hosts", "4", "--record", "x", "--record-every", "0",
                                   status=2))


class Jobs(ServeCase):
    def test_programs_on_the_fabric_are_jobs(self):
        if shutil.which("ibv_rc_pingpong") is None:
            self.skipTest("no ibv_rc_pingpong")
        self.ok("up", "--hosts", "2")
        self.serve()
        self.assertEqual(self.get("/ufmRest/jobs"), [])
        program = subprocess.Popen([SOFTIB, "exec", "h1", "--", "ibv_rc_pingpong", "-p", "0"],
                                   env=self.env,
                                   stdout=subprocess.DEVNULL)
        try:
            self.assertTrue(wait_until(lambda: self.get("/ufmRest/jobs")))
            job = self.get("/ufmRest/jobs")[0]
            self.assertEqual((job["Operation"], job["RelatedObjects"], job["Status"]),
                             ("process", ["h1"], "Running"))
            self.assertEqual(self.get(f"/ufmRest/jobs/{job['ID']}")["ID"], job["ID"])
        finally:
            program.kill()
            program.wait()
        self.assertTrue(wait_until(lambda: not self.get("/ufmRest/jobs")))


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--many"])
