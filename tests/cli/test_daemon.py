# SPDX-License-Identifier: BSD-2-Clause
"""The daemon and its environment: garbage, other users, its own death."""

import array
import errno
import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from cli_case import SOFTIB, CliCase, wait_until

ATTACH, OBSERVE, MCAST_ATTACH, MCAST_DETACH, SYSFS_READ, SET_ROUTE, SHUTDOWN, REFUSED = (
    1, 2, 3, 4, 5, 6, 9, 18)
# Message of runtime/shm/protocol.h, without the body: version, request, status, length of the body.
HEAD = struct.Struct("=IIiI")
VERSION = 4
SLOTS = 10240


def message(request, body=b"", version=VERSION):
    return HEAD.pack(version, request, 0, len(body)) + body


# Bodies of runtime/shm/requests.h, as codec.h writes them.
def text(value):
    return struct.pack("=I", len(value)) + value


def sysfs_file(host, path):
    return text(host) + text(path)


def route(switch=0, lid=1, port=1):
    return struct.pack("=IHB", switch, lid, port)


def member(qpn, group=bytes(16), lid=0):
    return struct.pack("=IH16s", qpn, lid, group)


class Client:
    def __init__(self, directory):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        try:
            self.socket.connect(directory + "/softibd.sock")
        except OSError:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, *args, **kwargs):
        """Returns (status, body, descriptors)."""
        self.socket.send(message(*args, **kwargs))
        data, control, _, _ = self.socket.recvmsg(8192, socket.CMSG_SPACE(4))
        fds = array.array("i")
        for level, kind, content in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content)
        return HEAD.unpack(data[:HEAD.size])[2], data[HEAD.size:], list(fds)

    def attach(self, hosts):
        """Returns (status, slot or None, descriptors)."""
        status, body, fds = self.ask(ATTACH, text(hosts))
        return status, struct.unpack("=I", body)[0] if status == 0 else None, fds

    def closed(self):
        """Returns whether the daemon closes the connection, whatever it answers before."""
        try:
            while self.socket.recv(8192) != b"":
                pass
        except ConnectionResetError:
            pass
        return True

    def status_of(self, data):
        """Returns the status of the answer to these bytes."""
        self.socket.send(data)
        return HEAD.unpack(self.socket.recv(8192)[:HEAD.size])[2]


class Protocol(CliCase):
    def setUp(self):
        super().setUp()
        self.ok("up")
        self.fabric = f"{self.dir}/default"

    def programs(self):
        return self.json("status")["programs"]

    def test_attached_process_is_shown_until_it_leaves(self):
        with Client(self.fabric) as client:
            status, owner, fds = client.attach(b"h1")
            self.assertEqual((status, owner, len(fds)), (0, 1, 1))
            os.close(fds[0])
            program, = self.programs()
            self.assertEqual((program["pid"], program["host"]), (os.getpid(), "h1"))
            self.assertEqual(len(os.listdir(self.fabric + "/proc")), 1)
            self.assertEqual(client.attach(b"h1")[0], errno.EALREADY)
        self.assertTrue(wait_until(lambda: not self.programs()))
        self.assertTrue(wait_until(lambda: not os.listdir(self.fabric + "/proc")))

    def test_unknown_hosts_are_refused(self):
        with Client(self.fabric) as client:
            for hosts in (b"", b"hx", b"h0,hx", b"h0\0", b"\xff" * 4096):
                self.assertEqual(client.attach(hosts)[0], errno.ENOENT, hosts)
            self.assertEqual(client.attach(b"h0,h1")[0], 0)

    def test_observer_cannot_write(self):
        with Client(self.fabric) as client:
            status, _, (fd,) = client.ask(OBSERVE)
            self.assertEqual(status, 0)
            with self.assertRaises(OSError):
                os.write(fd, b"x")
            os.close(fd)

    def test_garbage_costs_only_its_sender(self):
        with Client(self.fabric) as bystander:
            self.assertEqual(bystander.attach(b"h0")[0], 0)
            good = message(OBSERVE)
            garbage = [b"x", b"\0" * 40, b"\x80" + os.urandom(200), good[:-1], good + b"x",
                       b"\xff" * 9000, HEAD.pack(VERSION, 1, 0, 1 << 31)]
            for data in garbage:
                with Client(self.fabric) as client:
                    client.socket.send(data)
                    self.assertTrue(client.closed(), data[:16])
            # The last word on a line that comes again and again is written with the next one.
            self.ok("link", "down", "h0", "1")
            text = self.log()
            self.assertEqual(text.count("it sent something that is no message"), 2)
            self.assertIn(f"repeated {len(garbage) - 1} times: closed the connection", text)
            self.assertEqual(bystander.ask(SYSFS_READ, sysfs_file(b"h0", b"/nothing"))[0],
                             errno.ENOENT)

    def test_bad_requests_are_answered(self):
        with Client(self.fabric) as client:
            self.assertEqual(client.ask(0)[0], errno.ENOSYS)
            self.assertEqual(client.ask(4711)[0], errno.ENOSYS)
            for body in (b"", text(b"h0"), sysfs_file(b"h0", b"/sys") + b"x", b"\xff" * 8,
                         text(b"h0") + struct.pack("=I", 5) + b"/sys"):
                self.assertEqual(client.ask(SYSFS_READ, body)[:2], (errno.EINVAL, b""), body)
            for bad in ({"switch": 9}, {"lid": 0}, {"lid": 60000}, {"port": 200}):
                self.assertEqual(client.ask(SET_ROUTE, route(**bad))[0], errno.EINVAL, bad)
            self.assertEqual(client.ask(SET_ROUTE, route()[:-1])[0], errno.EINVAL)
            self.assertEqual(client.ask(MCAST_ATTACH, member(5))[0], errno.ENOTCONN)
            # What has no answer has none when it is wrong either: the next one is of the next.
            client.socket.send(message(REFUSED, b"short"))
            self.assertEqual(client.ask(OBSERVE)[0], 0)
            self.assertIn("refused request 4711 of pid", self.log())
            self.assertIn("this version of softibd has no such request", self.log())
            self.assertIn("its fields are missing or have the wrong size", self.log())

    def test_multicast_membership(self):
        group = b"\xff\x12" + bytes(13) + b"\x01"
        with Client(self.fabric) as client, Client(self.fabric) as other:
            client.attach(b"h0")
            other.attach(b"h1")
            self.assertEqual(client.ask(MCAST_ATTACH, member(64, lid=0xC001))[0], errno.EINVAL)
            one = member(64, group, 0xC001)
            for _ in range(2):
                self.assertEqual(client.ask(MCAST_ATTACH, one)[0], 0)
            self.assertEqual(other.ask(MCAST_DETACH, one)[0], errno.EINVAL)
            self.assertEqual(client.ask(MCAST_DETACH, one)[0], 0)
            self.assertEqual(client.ask(MCAST_DETACH, one)[0], errno.EINVAL)
            statuses = [client.ask(MCAST_ATTACH, member(q, group, 0xC001))[0]
                        for q in range(1, 242)]
            self.assertEqual(statuses, [0] * 240 + [errno.ENOMEM])
        with Client(self.fabric) as client:  # The memberships of a process end with it.
            client.attach(b"h0")
            self.assertEqual(client.ask(MCAST_ATTACH, member(7, group, 0xC001))[0], 0)

    def test_process_slots_are_limited_and_come_back(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # The daemon needs two descriptors for each process.
        if hard != resource.RLIM_INFINITY and hard < 10000:
            self.skipTest("too few descriptors")
        all_of_them = hard == resource.RLIM_INFINITY or hard > 2 * SLOTS + 1000
        count = SLOTS if all_of_them else 4000
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1000, hard))
        clients = []
        try:
            statuses, owners = [], set()
            for _ in range(count + 1 if all_of_them else count):
                clients.append(Client(self.fabric))
                status, owner, fds = clients[-1].attach(b"h0")
                statuses.append(status)
                owners.add(owner)
                for fd in fds:
                    os.close(fd)
            self.assertEqual(statuses, [0] * count + [errno.EUSERS] * all_of_them)
            self.assertEqual(len(owners), len(statuses))
            if all_of_them:
                self.assertEqual(len(self.programs()), SLOTS)
                self.assertIn(f"{SLOTS} processes are on this fabric, and it takes no more",
                              self.log())
                if shutil.which("ibv_devices"):
                    self.assertIn(
                        "as host h0: all process slots of the fabric are in use; end some programs",
                        self.softib("exec", "h0", "--", "ibv_devices").stderr)
        finally:
            for client in clients:
                client.socket.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertTrue(wait_until(lambda: not self.programs(), 200))
        with Client(self.fabric) as client:
            self.assertEqual(client.attach(b"h0")[0], 0)

    def test_idle_daemon_uses_no_cpu(self):
        def cpu():
            with open(f"/proc/{self.daemon_pid()}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        with Client(self.fabric) as client:
            client.attach(b"h0")
            before = cpu()
            time.sleep(0.5)
            self.assertEqual(cpu(), before)

    def test_process_that_forked_is_noticed_when_it_dies(self):
        script = ("import os, sys, time; sys.path.insert(0, sys.argv[2])\n"
                  "from test_daemon import Client\n"
                  "c = Client(sys.argv[1]); c.attach(b'h0')\n"
                  "if os.fork() == 0: time.sleep(60)\n"
                  "os.write(1, b'x'); time.sleep(60)\n")
        env = {**self.env, "SOFTIB_BUILD": os.environ.get("SOFTIB_BUILD", "")}
        child = subprocess.Popen([sys.executable, "-c", script, self.fabric,
                                  os.path.dirname(os.path.abspath(__file__))],
                                 stdout=subprocess.PIPE, env=env, start_new_session=True)
        self.assertEqual(child.stdout.read(1), b"x")
        self.assertEqual(len(self.programs()), 1)
        child.kill()
        child.wait()
        child.stdout.close()
        self.assertTrue(wait_until(lambda: not self.programs()))
        os.killpg(child.pid, signal.SIGKILL)


class OtherUsers(CliCase):
    def test_another_uid_cannot_attach(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        self.ok("up")
        fabric = f"{self.dir}/default"
        self.assertEqual(self.attach_as(65534, fabric), errno.EACCES)
        # Even with an accessible socket, the daemon checks the user of each connection.
        for path in (self.dir, fabric, f"{fabric}/softibd.sock"):
            os.chmod(path, 0o777)
        self.assertEqual(self.attach_as(65534, fabric), errno.EPERM)
        self.assertIn("it runs as uid 65534, this fabric belongs to uid 0", self.log())
        os.chmod(self.dir, 0o700)
        self.ok("status")

    @staticmethod
    def attach_as(uid, fabric):
        """Returns the errno value of an attach in a process of that user."""
        pid = os.fork()
        if pid == 0:
            status = 0
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                with Client(fabric) as client:
                    status = client.attach(b"h0")[0]
            except OSError as error:
                status = error.errno
            os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class DeathAndRestart(CliCase):
    def kill_daemon(self, number):
        pid = self.daemon_pid()
        os.kill(pid, number)
        # Nobody may be there to reap it: wait for its lock instead.
        self.assertTrue(wait_until(self.lock_is_free))

    def lock_is_free(self):
        try:
            with open(os.path.join(self.dir, "default", "softibd.pid"), encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except FileNotFoundError:
            pass  # It ended in order.
        return True

    def test_killed_daemon_is_noticed_and_restarted_as_it_was(self):
        self.ok("up", "--hosts", "3")
        self.kill_daemon(signal.SIGKILL)
        self.assertEqual(self.refused("status"), "softib: softibd of fabric 'default' is gone; "
                                                 "restart it with: softib up default")
        again = self.softib("up")
        self.assertIn("restarting fabric 'default' as it was", again.stderr)
        self.assertIn("3 hosts", again.stdout)
        self.ok("exec", "h2", "--", "true")

    def test_daemon_that_fails_says_so_in_its_log(self):
        self.ok("up")
        log = f"{self.dir}/default/softibd.log"
        self.assertEqual(os.readlink(f"/proc/{self.daemon_pid()}/fd/2"), os.path.realpath(log),
                         "where a failed check and an exception are told")
        self.kill_daemon(signal.SIGABRT)
        if not os.environ.get("SOFTIB_BUILD", "").endswith("-asan"):  # Which has its own words.
            self.assertIn("softibd is ended by signal 06\n", self.log())

    def test_killed_daemon_may_be_described_anew(self):
        self.ok("up", "--hosts", "3")
        self.kill_daemon(signal.SIGKILL)
        self.assertIn("4 hosts", self.ok("up", "--hosts", "4"))

    def test_leftover_is_removed_by_down(self):
        self.ok("up")
        self.kill_daemon(signal.SIGKILL)
        self.assertIn("removed what it left", self.ok("down"))
        self.assertEqual(self.json("list"), [])

    def test_stopped_daemon_hangs_nobody(self):
        self.ok("up")
        os.kill(self.daemon_pid(), signal.SIGSTOP)
        told = self.refused("status")
        self.assertRegex(told, r"softibd of fabric 'default' \(pid \d+\) does not answer "
                               r"\(it is stopped\); let it go on with: kill -CONT \d+")
        for words in (("exec", "h0", "--", "true"), ("up",)):
            self.assertEqual(self.refused(*words), told)
        fabric, = self.json("list")
        self.assertEqual((fabric["up"], fabric["state"]), (False, "does not answer"))
        self.assertEqual("softib: " + fabric["problem"], told)
        down = self.softib("down")
        self.assertEqual(down.stdout, "fabric default is down\n")
        self.assertIn("does not answer (it is stopped); ending it by force", down.stderr)

    def test_sigterm_ends_the_daemon_in_order(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.ok("up")
            self.kill_daemon(number)
            self.assertTrue(wait_until(lambda: not os.path.exists(f"{self.dir}/default")))

    def test_files_of_others_stay(self):
        self.ok("up")
        keep = f"{self.dir}/default/mine.txt"
        open(keep, "w").close()
        self.ok("down")
        self.assertEqual(os.listdir(f"{self.dir}/default"), ["mine.txt"])
        os.unlink(keep)
        os.rmdir(f"{self.dir}/default")


class Versions(CliCase):
    """Programs and daemons of different versions."""

    def rename_version(self, version):
        """What the daemon says of its version; None: nothing, as those of old."""
        path = pathlib.Path(self.dir, "default", "softibd.version")
        if version is None:
            path.unlink()
        else:
            path.write_text(version + "\n")
        return self.daemon_pid()

    def told_by_all(self):
        """Returns the sentence that every command prints about the fabric."""
        told = self.refused("status")
        for words in (("exec", "h0", "--", "true"), ("up",), ("topo",)):
            self.assertEqual(self.refused(*words), told)
        fabric, = self.json("list")
        self.assertEqual((fabric["up"], fabric["state"], "softib: " + fabric["problem"]),
                         (False, "other version", told))
        self.assertIn(told, self.softib("list").stderr)
        return told

    def end_by_signal(self, told):
        down = self.softib("down")
        self.assertEqual((down.returncode, down.stdout), (0, "fabric default is down\n"))
        self.assertEqual(down.stderr.strip(),
                         told.replace("end it with: softib down default", "ending it by a signal"))

    def test_daemon_of_another_arena_is_told_the_same_by_all_and_ends(self):
        self.ok("up")
        pid = self.rename_version("softib 9.1, protocol 2, arena 999")
        told = self.told_by_all()
        self.assertRegex(told, rf"^softib: softibd of fabric 'default' \(pid {pid}\) is of another "
                               r"version \(softib 9.1, protocol 2, arena 999; this is softib .*\); "
                               "end it with: softib down default$")
        self.end_by_signal(told)

    def test_daemon_from_before_versions_were_written(self):
        self.ok("up")
        self.rename_version(None)
        told = self.told_by_all()
        self.assertIn("is of another version (an older softib; this is softib ", told)
        self.end_by_signal(told)

    def test_program_of_another_version_is_answered(self):
        self.ok("up")
        for version in (1, VERSION + 1):
            with Client(f"{self.dir}/default") as client:
                self.assertEqual(client.status_of(message(OBSERVE, version=version)),
                                 errno.EPROTONOSUPPORT)
                self.assertTrue(client.closed())
            self.assertIn(f"it is of another version (protocol {version})", self.log())
        self.ok("status")

    def test_daemon_that_answers_in_another_version(self):
        """A daemon of another version in all but its files: it reads, and closes or answers in its
        own format."""
        for answer in (None, message(OBSERVE, version=1)):
            self.ok("up")
            os.unlink(f"{self.dir}/default/softibd.sock")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fake:
                fake.bind(f"{self.dir}/default/softibd.sock")
                fake.listen()
                status = subprocess.Popen([SOFTIB, "status", "-f", "default"], env=self.env,
                                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                connection, _ = fake.accept()
                with connection:
                    connection.recv(8192)
                    if answer is not None:
                        connection.send(answer)
                told = status.communicate()[1]
                self.assertEqual(status.returncode, 1)
                self.assertIn("is of another version" if answer else "Connection reset", told)
                os.unlink(f"{self.dir}/default/softibd.sock")
            self.assertIn("is down", self.ok("down"))

    @unittest.skipIf(shutil.which("ibv_devices") is None, "no ibv_devices")
    def test_program_says_that_its_daemon_is_of_another_version(self):
        """One in a shell that was on a host of a fabric, which another softib has started anew."""
        self.ok("up")
        env = dict(self.env, **self.json("env", "h0"))
        os.unlink(f"{self.dir}/default/softibd.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fake:
            fake.bind(f"{self.dir}/default/softibd.sock")
            fake.listen()
            fake.settimeout(0.05)
            with subprocess.Popen(["ibv_devices"], env=env, text=True, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE) as program:
                while program.poll() is None:
                    try:
                        connection, _ = fake.accept()
                    except TimeoutError:
                        continue
                    with connection:
                        connection.recv(8192)
                        connection.send(message(ATTACH, version=1))
                told = program.stderr.read()
            os.unlink(f"{self.dir}/default/softibd.sock")
        self.assertRegex(
            told,
            r"cannot join the fabric at .*/default as host h0: "
            r"the fabric's softibd has another version "
            rf"\(this library has protocol {VERSION}, arena \d+\)")


class Descriptors(CliCase):
    def test_command_without_descriptors_says_so(self):
        self.ok("up")
        # One is enough to load libraries and to connect, but the arena is another.
        told = self.refused("status", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (4, 4)))
        # A sanitizer without descriptors prints more.
        self.assertIn("softib: cannot ask for fabric 'default': Too many open files; "
                      "this process may open no more (ulimit -n)", told)

    def test_daemon_without_descriptors_says_so_and_recovers(self):
        self.ok("up", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)))
        clients = []
        try:
            for _ in range(48):
                clients.append(Client(f"{self.dir}/default"))
            self.assertTrue(wait_until(lambda: "refused a connection" in self.log()))
            self.assertRegex(self.refused("status"),
                             r"softibd of fabric 'default' \(pid \d+\) has no descriptor left; "
                             "end some of its programs")
            fabric, = self.json("list")
            self.assertEqual(fabric["state"], "out of descriptors")
        finally:
            for client in clients:
                client.socket.close()
        self.assertTrue(wait_until(lambda: self.softib("status").returncode == 0))


class Log(CliCase):
    def test_log_is_shown(self):
        self.ok("up")
        text = self.ok("log")
        self.assertIn("fabric default is up", text)
        self.assertEqual(text, self.log())
        self.ok("link", "down", "h0", "1")
        self.assertRegex(self.ok("log", "default", "-n", "1"),
                         r"^[^\n]*link at h0 port 1 is down\n$")
        self.assertEqual(self.ok("log", "-n", "0"), "")

    def test_log_of_the_only_fabric_needs_no_name(self):
        self.ok("up", "lab")
        self.assertIn("fabric lab is up", self.ok("log"))

    def test_older_lines_come_first(self):
        self.ok("up")
        with open(f"{self.dir}/default/softibd.1.log", "w", encoding="ascii") as file:
            file.write("first\nsecond\n")
        lines = self.ok("log").splitlines()
        self.assertEqual(lines[:2], ["first", "second"])
        self.assertEqual(self.ok("log", "-n", str(len(lines) - 1)).splitlines()[0], "second")

    def test_log_is_followed_until_the_fabric_ends(self):
        self.ok("up")
        path = f"{self.dir}/default/softibd.log"
        with tempfile.TemporaryFile("w+") as out:
            follower = subprocess.Popen([SOFTIB, "log", "-F"], env=self.env, stdout=out)
            shown = lambda text: wait_until(
                lambda: text in os.pread(out.fileno(), 1 << 20, 0).decode())
            self.assertTrue(shown("fabric default is up"))
            self.ok("link", "down", "h0", "1")
            self.assertTrue(shown("link at h0 port 1 is down"))
            # As when it has grown too large.
            with open(path, "a", encoding="ascii") as file:
                file.write("last of the old\n")
            os.rename(path, f"{self.dir}/default/softibd.1.log")
            with open(path, "w", encoding="ascii") as file:
                file.write("first of the new\n")
            self.assertTrue(shown("last of the old\nfirst of the new\n"))
            self.ok("down")
            self.assertEqual(follower.wait(10), 0)

    def test_log_is_told_as_json_line_by_line(self):
        self.ok("up")
        with open(f"{self.dir}/default/softibd.log", "a", encoding="ascii") as file:
            file.write("of somebody else\n")
        lines = [json.loads(line) for line in self.ok("log", "--json").splitlines()]
        up = next(line for line in lines if "fabric default is up" in line["text"])
        self.assertRegex(up["time"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$")
        self.assertEqual(up["level"], "info")
        self.assertEqual(lines[-1], {"text": "of somebody else"})
        self.assertEqual(json.loads(self.ok("log", "-n", "1", "--json")), lines[-1])

    def test_log_of_nothing_tells_how_to_start_it(self):
        self.assertEqual(self.refused("log", "nix"),
                         "softib: no fabric 'nix' is up; start it with: softib up nix")


if __name__ == "__main__":
    unittest.main()
