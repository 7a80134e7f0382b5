#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One subnet of two fabrics: each has a daemon and a switch of its own, and a trunk over UDP is
between them. They run in two network namespaces with a cable between, where we may make such, or
else on two loopback addresses."""

import json
import os
import pathlib
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Program, Report, despite_loss, free_port, need_programs

PORT = random.randrange(20000, 30000)
DEVICE = ["-d", "mlx5_0"]
PATIENCE_S = 60


def expect(condition, text):
    if not condition:
        raise Failure(text)


def eventually(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        expect(time.monotonic() < end, f"did not happen: {what}")
        time.sleep(0.1)
    return found


class Wire:
    """Two addresses that reach each other, and at each of which a fabric may run."""

    def __enter__(self):
        self.names = [f"softib-{os.getpid()}-{i}" for i in range(2)]
        self.spaces = self.make()
        if self.spaces:
            self.addresses = ["10.55.0.1", "10.55.0.2"]
        else:
            net = random.randrange(1, 250)
            self.addresses = [f"127.56.{net}.1", f"127.56.{net}.2"]
        return self

    def make(self):
        a, b = self.names
        ends = [f"sib{os.getpid()}{end}" for end in "ab"]
        steps = [["ip", "netns", "add", a], ["ip", "netns", "add", b],
                 ["ip", "link", "add", ends[0], "netns", a, "type", "veth", "peer", "name",
                  ends[1], "netns", b]]
        for name, end, address in zip(self.names, ends, ("10.55.0.1/24", "10.55.0.2/24")):
            steps += [["ip", "-n", name, "addr", "add", address, "dev", end],
                      ["ip", "-n", name, "link", "set", end, "up"],
                      ["ip", "-n", name, "link", "set", "lo", "up"]]
        try:
            for step in steps:
                subprocess.run(step, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"no network namespaces ({error}): on loopback addresses", flush=True)
            self.remove()
            return False
        return True

    def remove(self):
        for name in self.names:
            try:
                subprocess.run(["ip", "netns", "del", name], capture_output=True)
            except OSError:
                pass

    def __exit__(self, *_):
        self.remove()

    def inside(self, side):
        return ["ip", "netns", "exec", self.names[side]] if self.spaces else []


class Site(Fabric):
    """A fabric at one end of the wire. Its hosts are a0, a1 or b0, b1."""

    def __init__(self, wire, side, key):
        own, other = wire.addresses[side], wire.addresses[1 - side]
        super().__init__(
            "--hosts", "2", "--host-pattern", "ab"[side] + "{}", "--site", str(side + 1),
            "--trunk", f"sw0={own}:{PORT},{other}:{PORT}", "--trunk-key", str(key))
        self.flags[-1] = "packet"
        self.prefix, self.address, self.name = wire.inside(side), own, f"t{os.getpid()}{'ab'[side]}"

    def command(self, *words):
        return Program([*self.prefix, self.softib, *words], [self.softib, *words], self.env).wait()

    def start(self, host, argv, env=None):
        program = Program([*self.prefix, self.softib, "exec", "-f", self.name, host, "--", *argv],
                          [f"{host}:", *argv], {**self.env, **(env or {})})
        self.programs.append(program)
        return program

    def log(self):
        return (pathlib.Path(self.dir) / self.name / "softibd.log").read_text()

    def hosts_seen(self):
        """Returns what ibnetdiscover finds from the first host."""
        result = self.run(self.host(0), ["ibnetdiscover"])
        return set(re.findall(r'^Ca\s.*# "(\w+) mlx5_0"', result.output, re.MULTILINE))

    def host(self, number):
        return ("a" if self.name.endswith("a") else "b") + str(number)


def listens(program, port):
    """As the kernel says in the program's own namespace."""
    for table in ("tcp", "tcp6"):
        for fields in map(str.split, open(f"/proc/{program.process.pid}/net/{table}")):
            if fields[3] == "0A" and fields[1].endswith(f":{port:04X}"):
                return True
    return False


def make_key(scratch, name):
    file = scratch / name
    file.write_text(secrets.token_hex(16) + "\n")
    file.chmod(0o600)
    return file


def across(server, client, command, timeout_s=120):
    """Runs a program on a host of one site and its client on a host of the other."""
    port = free_port()
    first = server.start(server.host(1), [*command(port)])
    first.wait_until(lambda: listens(first, port), f"listening on port {port}")
    second = client.start(client.host(0), [*command(port), server.address])
    result = second.wait(timeout_s)
    other = first.wait(timeout_s if result.status == 0 else 3)
    expect(result.status == 0 and other.status == 0 and
           "invalid data" not in result.output + other.output, f"{result}\n{other}")
    return result.output


def pingpong(server, client, *words, program="ibv_rc_pingpong"):
    return across(server, client, lambda port: [program, *DEVICE, "-c", "-p", str(port), *words])


def perftest(server, client, line):
    program, *words = line.split()
    return across(server, client, lambda port: [program, *DEVICE, "-F", "-p", str(port), *words])


def one_subnet(a, b):
    everybody = {"a0", "a1", "b0", "b1"}
    for site in (a, b):
        eventually(lambda: site.hosts_seen() == everybody, f"{site.name} sees all hosts")
    eventually(lambda: active(a) and active(b), "all ports are active")
    switches = a.run("a0", ["ibswitches"]).check().output
    expect(len(re.findall("^Switch", switches, re.MULTILINE)) == 2, switches)
    masters = {re.search(r"sm lid (\d+)", site.run(site.host(0), ["sminfo"]).check().output)[1]
               for site in (a, b)}
    expect(len(masters) == 1, f"managers at LIDs {masters}")


def active(site):
    texts = [site.run(site.host(i), ["ibv_devinfo"]).output for i in range(2)]
    lids = {re.search(r"port_lid:\s+(\d+)", text)[1] for text in texts}
    return len(lids) == 2 and all("PORT_ACTIVE" in text for text in texts)


def lossy(a, b):
    """Packets of the trunk are lost on both ways, and the transport repeats them."""
    port = re.search(r'^\[(\d+)\]\s+"S-', a.run("a0", ["ibnetdiscover"]).check().output,
                     re.MULTILINE)[1]

    def sends():
        before = packets_sent(b)
        pingpong(a, b, "-n", "200", "-s", "65536", "-m", "4096")
        return packets_sent(b) - before

    needed = sends()
    link = ["fault", "-f", a.name, f"sw0:{port}"]
    a.command(*link, "--drop", "1%").check()
    try:
        sent = despite_loss(sends)
    finally:
        a.command(*link, "--clear").check()
    expect(sent > 1.005 * needed,
           f"{sent} packets where {needed} are needed: nothing was sent again")
    return f"{sent} packets where {needed} are needed"


def start_traffic(a, b):
    """Traffic without end from a to b. Returns the two programs."""
    port = free_port()
    command = ["ib_write_bw", *DEVICE, "-F", "-p", str(port), "-n", "10000000"]
    server = b.start("b1", command)
    server.wait_until(lambda: listens(server, port), f"listening on port {port}")
    before = packets_sent(a)
    client = a.start("a0", [*command, b.address])
    client.wait_until(lambda: packets_sent(a) > before + 1000, "traffic")
    return server, client


def carrier_dies(a, b):
    """The carrier of one side dies: the program of the other side gets an error, and the new
    carrier uses the trunk again."""
    server, client = start_traffic(a, b)
    health = json.loads(b.command("status", "-f", b.name, "--json").check().output)["health"]
    os.kill(next(h["pid"] for h in health["helpers"] if h["name"] == "carrier"), signal.SIGKILL)
    result = client.wait(PATIENCE_S)
    expect(not result.timed_out and "Failed status 12" in result.output, str(result))
    server.wait(0)
    eventually(lambda: "carrier was restarted" in b.log(), "the restart")
    one_subnet(a, b)
    pingpong(a, b)
    pingpong(b, a)


def peer_dies(a, b):
    """The daemon of one side and all its processes end at once; a program of the other side gets an
    error."""
    _, client = start_traffic(a, b)
    for pid, _ in b.processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    result = client.wait(PATIENCE_S)
    expect(not result.timed_out and "Failed status 12" in result.output, str(result))
    eventually(lambda: "is gone" in a.log(), "the daemon hears of it")
    eventually(lambda: a.hosts_seen() == {"a0", "a1"}, "the other half is forgotten")
    pingpong(a, a)


def packets_sent(site):
    text = site.run(site.host(0), ["perfquery", "-x"]).output
    return int((re.search(r"PortXmitPkts:\.*(\d+)", text) or [0, "0"])[1])


def wrong_key(wire, scratch):
    with (Site(wire, 0, make_key(scratch, "one")) as a,
          Site(wire, 1, make_key(scratch, "other")) as b):
        for site in (a, b):
            eventually(lambda: re.search(r"refused \d+ of the datagrams", site.log()),
                       "refused and logged")
            expect("is there" not in site.log(), site.log())
            expect(len(site.hosts_seen()) == 2, "something crossed")


def bad_words(wire, scratch):
    key = make_key(scratch, "words")
    open_key = make_key(scratch, "open")
    open_key.chmod(0o644)
    empty = make_key(scratch, "empty")
    empty.write_text("")
    site = Site(wire, 0, key)
    with tempfile.TemporaryDirectory(prefix="softib-test-") as folder:
        site.env = {**os.environ, "SOFTIB_RUNTIME_DIR": folder}
        trunk = f"sw0={wire.addresses[0]}:{PORT},{wire.addresses[1]}:{PORT}"
        packet = ["--data-path", "packet"]
        for words, answer in [
                (["--trunk", trunk, "--trunk-key", str(key)], "add --data-path packet"),
                ([*packet, "--trunk", trunk], "add --trunk-key"),
                ([*packet, "--trunk", "sw0=1.2.3.4", "--trunk-key", str(key)], "write it as"),
                ([*packet, "--trunk", trunk.replace("sw0", "sw7"), "--trunk-key", str(key)],
                 "no switch 'sw7'"),
                ([*packet, "--trunk", trunk, "--trunk-key", str(open_key)], "chmod 600"),
                ([*packet, "--trunk", trunk, "--trunk-key", str(empty)], "32 hexadecimal digits")]:
            result = site.command("up", "words", *words)
            expect(result.status != 0 and answer in result.output, f"expected '{answer}'\n{result}")


def main():
    need_programs("ibnetdiscover", "ibv_rc_pingpong", "ib_write_bw", "sminfo")
    report = Report("trunk")
    with tempfile.TemporaryDirectory() as folder, Wire() as wire:
        scratch = pathlib.Path(folder)
        how = "namespaces" if wire.spaces else "loopback"
        report.case(how, "what cannot be is refused", lambda: bad_words(wire, scratch))
        report.case(how, "another key", lambda: wrong_key(wire, scratch))
        key = make_key(scratch, "key")
        with Site(wire, 0, key) as a:
            b = Site(wire, 1, key)
            b.__enter__()
            try:
                report.case(how, "one subnet", lambda: one_subnet(a, b))
                report.case(how, "ibv_rc_pingpong", lambda: pingpong(a, b))
                report.case(how, "ibv_rc_pingpong back",
                            lambda: pingpong(b, a, "-s", "1048576", "-n", "50"))
                report.case(how, "ibv_ud_pingpong",
                            lambda: pingpong(a, b, program="ibv_ud_pingpong"))
                for line in (
                        "ib_write_bw -s 65536 -n 1000", "ib_send_bw -n 1000", "ib_read_bw -n 500",
                        "ib_write_bw -b -q 4 -n 200 -u 18", "ib_write_bw -q 32 -n 200 -u 18"):
                    report.case(how, line, lambda line=line: perftest(a, b, line))
                report.case(how, "a cable that loses packets", lambda: lossy(a, b))
                report.case(how, "the other side's carrier dies", lambda: carrier_dies(a, b))
                report.case(how, "the other side dies", lambda: peer_dies(a, b))
            finally:
                b.clean()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
