# SPDX-License-Identifier: BSD-2-Clause
"""The daemon against the rest of the world: garbage, other users, its own death."""

import array
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

from cli_case import CliCase, wait_until

ATTACH, OBSERVE, MCAST_ATTACH, MCAST_DETACH, SYSFS_READ, SET_ROUTE, SHUTDOWN = 1, 2, 3, 4, 5, 6, 9
# Message of runtime/live/protocol.h, without the text.
HEAD = struct.Struct("=IIiIIHHII16sI")
VERSION = 2
SLOTS = 10240


def message(request, text=b"", index=0, qpn=0, lid=0, port=0, value=0, gid=bytes(16)):
    return HEAD.pack(VERSION, request, 0, index, qpn, lid, port, value, 0, gid, len(text)) + text


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
        """Returns (status, owner, text, descriptors)."""
        self.socket.send(message(*args, **kwargs))
        data, control, _, _ = self.socket.recvmsg(8192, socket.CMSG_SPACE(4))
        fds = array.array("i")
        for level, kind, content in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content)
        fields = HEAD.unpack(data[:HEAD.size])
        return fields[2], fields[8], data[HEAD.size:], list(fds)

    def closed(self):
        try:
            return self.socket.recv(8192) == b""
        except ConnectionResetError:
            return True


class Protocol(CliCase):
    def setUp(self):
        super().setUp()
        self.ok("up")
        self.fabric = f"{self.dir}/default"

    def programs(self):
        return self.json("status")["programs"]

    def test_attached_process_is_shown_until_it_leaves(self):
        with Client(self.fabric) as client:
            status, owner, _, fds = client.ask(ATTACH, b"h1")
            self.assertEqual((status, owner, len(fds)), (0, 1, 1))
            os.close(fds[0])
            program, = self.programs()
            self.assertEqual((program["pid"], program["host"]), (os.getpid(), "h1"))
            self.assertEqual(len(os.listdir(self.fabric + "/proc")), 1)
            self.assertEqual(client.ask(ATTACH, b"h1")[0], errno.EALREADY)
        self.assertTrue(wait_until(lambda: not self.programs()))
        self.assertTrue(wait_until(lambda: not os.listdir(self.fabric + "/proc")))

    def test_unknown_hosts_are_refused(self):
        with Client(self.fabric) as client:
            for hosts in (b"", b"hx", b"h0,hx", b"h0\0", b"\xff" * 4096):
                self.assertEqual(client.ask(ATTACH, hosts)[0], errno.ENOENT, hosts)
            self.assertEqual(client.ask(ATTACH, b"h0,h1")[0], 0)

    def test_observer_cannot_write(self):
        with Client(self.fabric) as client:
            status, _, _, (fd,) = client.ask(OBSERVE)
            self.assertEqual(status, 0)
            with self.assertRaises(OSError):
                os.write(fd, b"x")
            os.close(fd)

    def test_garbage_costs_only_its_sender(self):
        with Client(self.fabric) as bystander:
            self.assertEqual(bystander.ask(ATTACH, b"h0")[0], 0)
            good = message(OBSERVE)
            garbage = [b"x", b"\0" * 40, os.urandom(200), good[:-1], good + b"x", b"\xff" * 9000,
                       HEAD.pack(99, 1, 0, 0, 0, 0, 0, 0, 0, bytes(16), 0),
                       HEAD.pack(1, 1, 0, 0, 0, 0, 0, 0, 0, bytes(16), 1 << 31)]
            for data in garbage:
                with Client(self.fabric) as client:
                    client.socket.send(data)
                    self.assertTrue(client.closed(), data[:16])
            self.assertEqual(self.log().count("it sent something that is no message"),
                             len(garbage))
            self.assertEqual(bystander.ask(SYSFS_READ, b"h0\0/nothing")[0], errno.ENOENT)

    def test_bad_requests_are_answered(self):
        with Client(self.fabric) as client:
            self.assertEqual(client.ask(0)[0], errno.ENOSYS)
            self.assertEqual(client.ask(4711)[0], errno.ENOSYS)
            self.assertEqual(client.ask(SYSFS_READ, b"h0")[0], errno.EINVAL)
            for bad in ({"index": 9}, {"lid": 0}, {"lid": 60000}, {"port": 200}):
                self.assertEqual(client.ask(SET_ROUTE, **{"lid": 1, "port": 1, **bad})[0],
                                 errno.EINVAL, bad)
            self.assertEqual(client.ask(MCAST_ATTACH, qpn=5)[0], errno.ENOTCONN)

    def test_multicast_membership(self):
        group = b"\xff\x12" + bytes(13) + b"\x01"
        with Client(self.fabric) as client, Client(self.fabric) as other:
            client.ask(ATTACH, b"h0")
            other.ask(ATTACH, b"h1")
            self.assertEqual(client.ask(MCAST_ATTACH, qpn=64, gid=bytes(16), lid=0xC001)[0],
                             errno.EINVAL)
            for _ in range(2):
                self.assertEqual(client.ask(MCAST_ATTACH, qpn=64, gid=group, lid=0xC001)[0], 0)
            self.assertEqual(other.ask(MCAST_DETACH, qpn=64, gid=group, lid=0xC001)[0],
                             errno.EINVAL)
            self.assertEqual(client.ask(MCAST_DETACH, qpn=64, gid=group, lid=0xC001)[0], 0)
            self.assertEqual(client.ask(MCAST_DETACH, qpn=64, gid=group, lid=0xC001)[0],
                             errno.EINVAL)
            statuses = [client.ask(MCAST_ATTACH, qpn=q, gid=group, lid=0xC001)[0]
                        for q in range(1, 242)]
            self.assertEqual(statuses, [0] * 240 + [errno.ENOMEM])
        with Client(self.fabric) as client:  # The members of a process go with it.
            client.ask(ATTACH, b"h0")
            self.assertEqual(client.ask(MCAST_ATTACH, qpn=7, gid=group, lid=0xC001)[0], 0)

    def test_process_slots_are_limited_and_come_back(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # The daemon takes two descriptors for each.
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
                status, owner, _, fds = clients[-1].ask(ATTACH, b"h0")
                statuses.append(status)
                owners.add(owner)
                for fd in fds:
                    os.close(fd)
            self.assertEqual(statuses, [0] * count + [errno.EAGAIN] * all_of_them)
            self.assertEqual(len(owners), len(statuses))
        finally:
            for client in clients:
                client.socket.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertTrue(wait_until(lambda: not self.programs(), 60))
        with Client(self.fabric) as client:
            self.assertEqual(client.ask(ATTACH, b"h0")[0], 0)

    def test_idle_daemon_uses_no_cpu(self):
        def cpu():
            with open(f"/proc/{self.daemon_pid()}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        with Client(self.fabric) as client:
            client.ask(ATTACH, b"h0")
            before = cpu()
            time.sleep(0.5)
            self.assertEqual(cpu(), before)

    def test_process_that_forked_is_noticed_when_it_dies(self):
        script = ("import os, sys, time; sys.path.insert(0, sys.argv[2])\n"
                  "from test_daemon import Client, ATTACH\n"
                  "c = Client(sys.argv[1]); c.ask(ATTACH, b'h0')\n"
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
        # Even with the doors open, the daemon looks at who knocks.
        for path in (self.dir, fabric, f"{fabric}/softibd.sock"):
            os.chmod(path, 0o777)
        self.assertEqual(self.attach_as(65534, fabric), errno.EPERM)
        self.assertIn("it runs as uid 65534, this fabric belongs to uid 0", self.log())
        os.chmod(self.dir, 0o700)
        self.ok("status")

    @staticmethod
    def attach_as(uid, fabric):
        """The errno that an attach meets in a process of that user."""
        pid = os.fork()
        if pid == 0:
            status = 0
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                with Client(fabric) as client:
                    status = client.ask(ATTACH, b"h0")[0]
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
        self.assertRegex(self.refused("status"),
                         r"softibd of fabric 'default' \(pid \d+\) does not answer")
        down = self.softib("down")
        self.assertEqual(down.stdout, "fabric default is down\n")
        self.assertIn("does not answer; ending it by force", down.stderr)

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


if __name__ == "__main__":
    unittest.main()
