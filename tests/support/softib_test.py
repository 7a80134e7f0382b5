# SPDX-License-Identifier: BSD-2-Clause
"""What the tests that run real programs share: a private fabric, programs on its hosts,
server/client pairs, and a report of the cases.

    with Fabric("--hosts", "2") as fabric:
        result = fabric.run("h0", ["ibv_devices"])
        server, client = fabric.pair("h0", "h1", lambda port: ["ib_write_bw", "-p", str(port)])

Every program runs in a session of its own with a time limit; what is left of it is killed at the
limit and at the end of the fabric. A fabric lives in a runtime directory of its own, so that tests
may run side by side, and its end checks that nothing stays behind.
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SKIP = 77  # The exit status that ctest takes for "skipped".
POLL_S = 0.005
GOODBYE_S = 3
FAILURES_MAX = 10  # A broken library fails everywhere, so not every case waits for its time limit.
# Results of a test that is run on the other path as well have a name of their own.
RESULTS_PREFIX = "packet_" if os.environ.get("SOFTIB_TEST_DATA_PATH") == "packet" else ""
TIMEOUT_S = float(os.environ.get("SOFTIB_TEST_TIMEOUT", "60"))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
MEMORY = "/dev/shm"
PORTS = range(10000, 30000)  # Below the range from which the kernel takes ports of its own.


class Failure(Exception):
    """A case that failed; the text is for the person who reads the log."""


def die_with_parent(libc=ctypes.CDLL(None)):
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def end_cleanly(number, _frame):
    sys.exit(f"ended by signal {number}")


signal.signal(signal.SIGTERM, end_cleanly)


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIP)


def find_build():
    build = pathlib.Path(os.environ.get("SOFTIB_BUILD", SOURCE / "build")).resolve()
    if not (build / "bin" / "softib").exists():
        skip(f"no bin/softib below {build}; run 'make build' or set SOFTIB_BUILD")
    return build


def need_programs(*names):
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        skip(f"not installed: {', '.join(missing)}; run 'make deps'")


class Result:
    """How a program ended: its status (negative: the signal), its output, stderr included."""

    def __init__(self, argv, status, output, timed_out):
        self.argv, self.status, self.output, self.timed_out = argv, status, output, timed_out

    def __str__(self):
        how = "did not end in time" if self.timed_out else f"status {self.status}"
        return f"$ {shlex.join(self.argv)}    [{how}]\n{self.output}"

    def check(self):
        if self.timed_out or self.status != 0:
            raise Failure(str(self))
        return self


class Program:
    """A running program, in a session of its own; its output goes to a file."""

    def __init__(self, argv, shown, env):
        self.shown, self.ended = shown, False
        self.file = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.file,
                                        stderr=subprocess.STDOUT, env=env, start_new_session=True,
                                        preexec_fn=die_with_parent)

    def output(self):
        # The program writes where this file's offset is: it must not move.
        number = self.file.fileno()
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")

    def running(self):
        return self.process.poll() is None

    def signal(self, number):
        """Sends a signal to the whole session, also to processes that outlived its leader."""
        if self.ended:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def wait(self, timeout_s=TIMEOUT_S):
        timed_out = False
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.ended = True
        return Result(self.shown, self.process.returncode, self.output(), timed_out)

    def wait_until(self, condition, what, timeout_s=TIMEOUT_S):
        """Waits until condition() is true; fails if the program ends before."""
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end or (not self.running() and not condition()):
                raise Failure(f"{what} did not happen\n{self.wait(0)}")
            time.sleep(POLL_S)


def listening(port):
    """Returns whether a program listens at the port. Asks the kernel, because the server would take
    a test connection for its client's."""
    try:
        return any(listens_by_diag(family, port) for family in (socket.AF_INET, socket.AF_INET6))
    except OSError:  # Not every kernel has sock_diag.
        return listens_by_table("/proc/net/tcp", port) or listens_by_table("/proc/net/tcp6", port)


def listens_by_table(table, port):
    """As listening(), by a table for which the kernel walks through all connections: this takes
    milliseconds."""
    with open(table) as lines:
        return any(fields[3] == "0A" and fields[1].endswith(f":{port:04X}")
                   for fields in map(str.split, lines))


def listens_by_diag(family, port):
    """As listening(), by sock_diag(7)."""
    netlink_sock_diag, by_family, dump, error, done = 4, 20, 0x301, 2, 3
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, netlink_sock_diag) as kernel:
        kernel.send(struct.pack("=IHHIIBBBxI", 72, by_family, dump, 0, 0, family,
                                socket.IPPROTO_TCP, 0, 1 << 10)  # TCP_LISTEN
                    + struct.pack("!H", port) + bytes(46))
        kinds = set()
        while not kinds & {error, done}:
            kinds |= set(message_kinds(kernel.recv(1 << 16)))
    if error in kinds:
        raise OSError("sock_diag was refused")
    return by_family in kinds


def message_kinds(messages):
    """Yields the types of netlink messages."""
    while messages:
        size, kind = struct.unpack_from("=IH", messages)
        yield kind
        messages = messages[(size + 3) & ~3:]


def runtime_dir(prefix):
    """Makes a runtime directory for fabrics, in memory where there is room (containers often have
    64 MiB): on a disk's file system a fabric takes many times as long to make its files."""
    room = os.statvfs(MEMORY)
    in_memory = os.access(MEMORY, os.W_OK) and room.f_bavail * room.f_frsize > 1 << 30
    return tempfile.mkdtemp(prefix=prefix, dir=MEMORY if in_memory else None)


_claims = []  # Sockets, open as long as this process.


def free_port():
    """Returns a free TCP port. It is random, so that tests side by side hardly ever choose the same
    one."""
    while True:
        port = random.choice(PORTS)
        with socket.socket(socket.AF_INET6) as probe:
            try:
                probe.bind(("::", port))
                return port
            except OSError:
                continue


def loopback_net():
    """Returns n so that 127.n.0.0/16 is this test's alone, until its process ends."""
    for net in random.sample(range(62, 250), 188):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0softib-test-net-{net}")
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return net
    raise Failure("other tests have all nets of the loopback device")


def despite_loss(run):
    """Runs a case again if all data came but not the last acknowledgement, because the process that
    would resend it is gone."""
    for left in reversed(range(4)):
        try:
            return run()
        except Failure as failure:
            if left == 0 or "retry counter exceeded" not in str(failure):
                raise


class Fabric:
    def __init__(self, *flags):
        self.flags = [*flags]
        if "ethernet" not in flags:  # All of its bytes travel in packets.
            self.flags += ["--data-path", os.environ.get("SOFTIB_TEST_DATA_PATH", "direct")]
        self.build = find_build()
        self.softib = str(self.build / "bin" / "softib")
        self.name = f"t{os.getpid()}"
        self.programs = []

    def __enter__(self):
        self.dir = runtime_dir("softib-test-")
        self.shm_before = set(os.listdir(MEMORY))
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("SOFTIB_")}
        self.env["SOFTIB_RUNTIME_DIR"] = self.dir
        try:
            self.command("up", self.name, *self.flags).check()
        except BaseException:
            self.clean()
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            for program in self.programs:
                program.signal(signal.SIGKILL)
                program.process.wait()
            down = self.command("down", self.name)
            left = self.leftovers()
        finally:
            self.clean()
        if kind is None:
            down.check()
            if left:
                raise Failure("left behind after 'softib down':\n  " + "\n  ".join(left))

    def command(self, *words):
        """Runs a softib command outside of any host."""
        argv = [self.softib, *words]
        return Program(argv, argv, self.env).wait()

    def start(self, host, argv, env=None, options=()):
        """Runs a program on a host. `options` are those of softib exec."""
        program = Program([self.softib, "exec", "-f", self.name, *options, host, "--", *argv],
                          [f"{host}:", *argv], {**self.env, **(env or {})})
        self.programs.append(program)
        return program

    def run(self, host, argv, timeout_s=TIMEOUT_S, env=None):
        program = self.start(host, argv, env)
        result = program.wait(timeout_s)
        self.programs.remove(program)
        return result

    def pair(self, server_host, client_host, command, server_args=(), timeout_s=TIMEOUT_S):
        """Runs command(port) on one host and, once it listens, the same with "localhost" on
        another. Both must succeed. Returns both results."""
        port = free_port()
        server = self.start(server_host, [*command(port), *server_args])
        server.wait_until(lambda: listening(port), f"listening on port {port}", timeout_s)
        client = self.start(client_host, [*command(port), "localhost"])
        client_result = client.wait(timeout_s)
        # The server has nothing to wait for when its client is gone.
        server_result = server.wait(timeout_s if client_result.status == 0 else 3)
        self.programs.remove(server)
        self.programs.remove(client)
        for result in (client_result, server_result):
            if result.timed_out or result.status != 0:
                raise Failure(f"{client_result}\n{server_result}")
        return server_result, client_result

    def leftovers(self):
        # The lock of the runtime directory belongs to all fabrics there.
        left = [f"{self.dir}/{name}" for name in os.listdir(self.dir) if name != ".lock"]
        left += [f"{MEMORY}/{name}" for name in set(os.listdir(MEMORY)) - self.shm_before
                 if "softib" in name and os.path.isfile(f"{MEMORY}/{name}")]
        # The daemon closes its connections a moment before its process ends.
        end = time.monotonic() + GOODBYE_S
        while (alive := list(self.processes())) and time.monotonic() < end:
            time.sleep(POLL_S)
        return left + [f"process {pid}: {line}" for pid, line in alive]

    def processes(self):
        """Returns the processes that have this fabric's directory in their arguments or
        environment."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
                environment = pathlib.Path("/proc", pid, "environ").read_bytes()
            except OSError:
                continue
            if self.dir.encode() in words + environment:
                yield int(pid), words.replace(b"\0", b" ").decode(errors="replace")

    def clean(self):
        for pid, _ in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)


# The fabrics on which the programs run: name, flags, the hosts of server and client.
ONE_HOP = ("1 hop", ("--hosts", "2"), "h0", "h1")
THREE_HOPS = ("3 hops", ("--topology", "fat-tree", "--hosts", "4", "--radix", "4"), "h0", "h3")


class Report:
    """Runs cases, prints a line for each, and keeps the results for docs/compat.md."""

    def __init__(self, name, **switches):
        """Adds options of this test: their names, and what they do."""
        parser = argparse.ArgumentParser()
        parser.add_argument("-k", metavar="TEXT", default="",
                            help="only cases with TEXT in the name")
        parser.add_argument("-v", action="store_true", help="show the output of passing cases too")
        for switch, what in switches.items():
            parser.add_argument(f"--{switch}", action="store_true", help=what)
        self.args = parser.parse_args()
        self.name, self.cases = name, []

    def wants(self, title):
        return self.args.k in title

    def case(self, group, title, action):
        """Runs one case. action() raises Failure, or returns a text to show with -v."""
        full = f"{group}: {title}"
        if not self.wants(full):
            return
        start = time.monotonic()
        try:
            shown, result = action(), "pass"
        except Failure as failure:
            shown, result = failure, "FAIL"
        print(f"{result}  {full}  ({time.monotonic() - start:.1f} s)", flush=True)
        if shown and (result == "FAIL" or self.args.v):
            print("    " + str(shown).strip().replace("\n", "\n    "), flush=True)
        self.cases.append({"group": group, "title": title, "result": result})
        if sum(case["result"] == "FAIL" for case in self.cases) == FAILURES_MAX:
            sys.exit(f"gave up after {FAILURES_MAX} failures")

    def finish(self):
        failed = [case for case in self.cases if case["result"] != "pass"]
        print(f"{len(self.cases)} cases, {len(failed)} failed")
        if not self.args.k:
            write_results(self.name, self.cases)
        return 1 if failed or not self.cases else 0


def write_results(name, data):
    directory = find_build() / "tests" / "results"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{RESULTS_PREFIX}{name}.json").write_text(json.dumps(data, indent=1))


def read_results(name):
    path = find_build() / "tests" / "results" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None
