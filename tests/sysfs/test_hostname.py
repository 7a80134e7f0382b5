#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The name of a virtual host, as unmodified programs ask for it and look it up."""

import json
import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, free_port, need_programs

ASK = "hostname; uname -n; cat /proc/sys/kernel/hostname; bash -c 'echo $HOSTNAME'"

LOOK_UP = """
import ctypes, os, platform, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
assert socket.gethostname() == os.uname().nodename == platform.node() == 'h0'
room = ctypes.create_string_buffer(b'xxxx')
assert libc.gethostname(room, 2) == -1 and ctypes.get_errno() == 36  # ENAMETOOLONG
assert libc.gethostname(room, 3) == 0 and room.value == b'h0'
addresses = [socket.gethostbyname(f'h{i}') for i in range(3)]
assert len(set(addresses)) == 3 and all(one.startswith('127.') for one in addresses), addresses
assert socket.gethostbyname_ex('h1') == ('h1', [], [addresses[1]]), socket.gethostbyname_ex('h1')
assert socket.getfqdn('h2') in ('h2', 'localhost'), socket.getfqdn('h2')
found = socket.getaddrinfo('h1', 80, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
assert [(one[0], one[3], one[4]) for one in found] == \
[(socket.AF_INET, 'h1', (addresses[1], 80))], found
assert socket.gethostbyname('localhost') == '127.0.0.1'
assert socket.gethostbyname('127.0.0.9') == '127.0.0.9'
for name, flags in (('h1', socket.AI_NUMERICHOST), ('h3', 0)):
    try:
        socket.getaddrinfo(name, 80, flags=flags)
        raise SystemExit(f'{name} was found')
    except socket.gaierror:
        pass
# What listens by one name is reached by it.
server = socket.create_server(('h0', 0))
assert server.getsockname()[0] == addresses[0]
socket.create_connection(('h0', server.getsockname()[1])).close()
"""


def expect(good, what):
    if not good:
        raise Failure(str(what))


class Names:
    def __init__(self, fabric):
        self.fabric = fabric
        self.fabric.env["HOSTNAME"] = "machine"

    def run(self, host, script, options=()):
        program = self.fabric.start(host, ["sh", "-c", script], options=options)
        result = program.wait()
        self.fabric.programs.remove(program)
        return result

    def asked(self):
        for host in ("h0", "h2"):
            result = self.run(host, ASK).check()
            expect(result.output.split() == [host] * 4, result)

    def first_of_several(self):
        result = self.run("h1,h0", ASK).check()
        expect(result.output.split() == ["h1"] * 4, result)

    def looked_up(self):
        return self.fabric.run("h0", ["/usr/bin/python3", "-c", LOOK_UP]).check()

    def getent(self):
        result = self.run("h0", "getent hosts h1; getent ahostsv4 h2 | head -1").check()
        expect("127.55.1.1" in result.output and "127.55.2.1" in result.output, result)

    def real(self):
        result = self.run("h1", ASK, ["--real-hostname"]).check()
        expect(result.output.split() == [platform.node()] * 3 + ["machine"], result)

    def by_environment(self):
        result = self.fabric.command("env", "-f", self.fabric.name, "h1").check()
        expect("export SOFTIB_HOSTNAME='h1'\n" in result.output, result)
        result = self.fabric.command("env", "-f", self.fabric.name, "--real-hostname", "h1").check()
        expect("export SOFTIB_HOSTNAME=''\n" in result.output, result)

    def cannot_be_written(self):
        result = self.run(
            "h0", "(echo x > /proc/sys/kernel/hostname) 2>/dev/null || echo refused; hostname")
        expect(result.output.split() == ["refused", "h0"], result)

    def namespace(self):
        result = self.run("h1", ASK + "; getent hosts h0 h2; echo $LD_PRELOAD", ["--ns"])
        if result.status != 0 and "namespace" in result.output:
            return f"not permitted here\n{result}"
        result.check()
        lines = result.output.splitlines()
        expect(lines[:4] == ["h1"] * 4, result)
        expect(lines[4].split() == ["127.55.0.1", "h0"], result)
        expect(lines[5].split() == ["127.55.2.1", "h2"], result)
        expect("libsoftib_fs" not in result.output, result)
        result = self.run("h1", ASK, ["--ns", "--real-hostname"]).check()
        expect(result.output.split()[:3] == [platform.node()] * 3, result)
        left = [path.name for path in pathlib.Path(self.fabric.dir).rglob(".hosts*")]
        expect(not left, left)

    def programs_connect_by_name(self):
        """Names resolve for TCP and for rdma_cm alike."""
        argv = ["ib_write_bw", "-R", "-n", "100", "-p", str(free_port())]
        server = self.fabric.start("h1", argv)
        server.wait_until(lambda: self.listeners(), "listening")
        client = self.fabric.run("h0", [*argv, "h1"])
        server.wait()
        self.fabric.programs.remove(server)
        return client.check()

    def listeners(self):
        shown = self.fabric.command("addr", "-f", self.fabric.name, "--json").check().output
        return json.loads(shown)["listeners"]


def main():
    report = Report("hostname")
    need_programs("hostname", "bash", "getent", "ib_write_bw")
    with Fabric("--hosts", "3") as fabric:
        names = Names(fabric)
        for title, action in (
            ("hostname, uname, /proc, bash", names.asked),
            ("several hosts at once: the first", names.first_of_several),
            ("every call", names.looked_up),
            ("getent", names.getent),
            ("ib_write_bw -R by name", names.programs_connect_by_name),
            ("--real-hostname", names.real),
            ("softib env", names.by_environment),
            ("nothing can be written", names.cannot_be_written),
            ("namespace instead of preload", names.namespace),
        ):
            report.case("hostname", title, action)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
