#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that connect by librdmacm, unmodified: rdma_cm's own examples, perftest and qperf with
its connections, and fio; and what they see when the other side refuses, is not there or
dies. What qperf and perftest's options ask for is the same across one switch and across three: only
with --all in both places."""

import ipaddress
import json
import pathlib
import random
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import (Fabric, Failure, ONE_HOP, Report, THREE_HOPS, TIMEOUT_S, free_port,
                         listening, need_programs)

PROGRAMS = [
    "rping", "ucmatose", "udaddy", "mckey", "rdma_server", "rdma_xserver", "cmtime", "rstream",
    "rcopy", "riostream", "udpong", "ib_write_bw", "ib_send_bw", "ib_read_lat", "qperf", "fio"]
GROUPS = ["239.1.2.3", "239.1.2.4"]
UNBUFFERED = ["stdbuf", "-oL"]
UDADDY_PORT = 7174

PERFTEST = ["ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw", "ib_write_lat",
            "ib_read_lat", "ib_send_lat", "ib_atomic_lat"]
PERFTEST_OPTIONS = {"ib_send_bw": ["-c UD", "--use-srq"], "ib_send_lat": ["-c UD", "-e"],
                    "ib_write_bw": ["-q 4", "-b"]}
QPERF = ["rc_bw", "rc_lat", "rc_bi_bw", "rc_rdma_read_bw", "rc_rdma_read_lat", "rc_rdma_write_bw",
         "rc_rdma_write_lat", "rc_rdma_write_poll_lat", "rc_fetch_add_mr", "uc_bw", "uc_lat",
         "ud_bw", "ud_lat"]
# Of those that take a second each, across three switches.
QPERF_FAR = ["rc_bw", "rc_rdma_read_lat", "ud_lat"]
FIO = ["fio", "--ioengine=rdma", "--bs=64k", "--size=4m"]
# Blocking, by rpoll, and by trying again; each message is sent back and compared.
RSTREAM = ["-T b -T v -S 1024 -I 200 -C 10", "-T b -T v -S 1000000 -I 5 -C 10",
           "-T a -T v -S 100000 -I 10 -C 10", "-T n -T v -S 100000 -I 2 -C 5"]
# Memory of the other side, written and compared; by rpoll, waiting, trying; all sizes.
RIOSTREAM = ["-T b -T v -S 1024 -I 20 -C 10", "-T a -T v -S 100000 -I 5 -C 4",
             "-T n -T v -S 1000000 -I 2 -C 2", "-f gid -T b -T v -S 5000 -I 5 -C 4"]
# One way or there and back. An answer that takes over a millisecond is a trap for it: it asks
# again, takes the late answer's number for that of its next question, and waits for ever for the
# other.
UDPONG = ["-T b -S 1000 -C 300", "-T b -T e -S 64 -C 20", "-T a -T e -S 1500 -C 20",
          "-T n -T e -S 2048 -C 20"]
UDPONG_TRIES = 5
UDPONG_PATIENCE_S = 10
# fio does not retry if the receiver is not ready, so all receives are posted first.
FIO_MESSAGES = 64


def address(fabric, host, kind="address"):
    ports = json.loads(fabric.command("addr", "-f", fabric.name, "--json").check().output)["ports"]
    return next(port[kind] for port in ports if port["host"] == host)


def listens(fabric, host, port):
    found = json.loads(fabric.command("addr", "-f", fabric.name, "--json").check().output)
    return any(each["host"] == host and each["port"] == port for each in found["listeners"])


def start_server(fabric, host, argv, port):
    server = fabric.start(host, argv)
    server.wait_until(lambda: listens(fabric, host, port), f"listening on port {port}")
    return server


class Stuck(Failure):
    """The client did not end."""


def finish(fabric, server, client, server_stays=False, patience_s=TIMEOUT_S):
    """Both must succeed; a server that never ends by itself is ended."""
    client_result = client.wait(patience_s)
    if server_stays:
        server.signal(signal.SIGKILL)
    server_result = server.wait(60 if client_result.status == 0 else 3)
    for program in (server, client):
        fabric.programs.remove(program)
    good = not client_result.timed_out and client_result.status == 0 and (
        server_stays or (not server_result.timed_out and server_result.status == 0))
    if not good:
        raise (Stuck if client_result.timed_out else Failure)(f"{client_result}\n{server_result}")
    return f"{client_result}\n{server_result}"


def pair(fabric, server, client, server_argv, client_argv, server_stays=False,
         patience_s=TIMEOUT_S):
    """Commands of a port, and of the server's address and a port."""
    port = free_port()
    running = start_server(fabric, server, server_argv(port), port)
    return finish(fabric, running,
                  fabric.start(client, client_argv(address(fabric, server), port)), server_stays,
                  patience_s)


def rping(fabric, server, client, options=()):
    shown = pair(fabric, server, client,
                 lambda port: ["rping", "-s", "-a", "0.0.0.0", "-p", str(port), "-C", "20", "-V",
                               "-v", *options],
                 lambda to, port: ["rping", "-c", "-a", to, "-p", str(port), "-C", "20", "-V", "-v",
                                   *options])
    if "rdma-ping-19:" not in shown:
        raise Failure(f"expected the twentieth ping\n{shown}")
    return shown


def rping_persistent(fabric, server, client):
    """One server for several clients, one after the other."""
    port = free_port()
    running = start_server(fabric, server, ["rping", "-s", "-P", "-p", str(port), "-v"], port)
    for _ in range(3):
        fabric.run(client, ["rping", "-c", "-a", address(fabric, server), "-p", str(port), "-C",
                            "5", "-V"]).check()
    running.signal(signal.SIGKILL)
    running.wait()
    fabric.programs.remove(running)


def example(server_program, client_program, *options):
    """Runs programs that take -p, -s and -b."""
    return lambda fabric, server, client: pair(
        fabric, server, client,
        lambda port: [server_program, "-p", str(port), *options],
        lambda to, port: [client_program, "-s", to, "-p", str(port), *options])


def udaddy(fabric, server, client):
    """Runs a program whose port cannot be chosen."""
    running = start_server(fabric, server, ["udaddy", "-c", "3"], UDADDY_PORT)
    return finish(fabric, running,
                  fabric.start(client, ["udaddy", "-s", address(fabric, server), "-c", "3"]))


def mckey(fabric, server, client):
    """Two groups at once, because it sleeps for seconds; the second one's sender does not
    listen."""
    def command(host, group):
        return [*UNBUFFERED, "mckey", "-m", group, "-b", address(fabric, host), "-C", "20"]

    receivers = [fabric.start(server, command(server, group)) for group in GROUPS]
    for receiver in receivers:
        receiver.wait_until(lambda: "receiving data transfers" in receiver.output(), "joining")
    senders = [fabric.start(client, [*command(client, group), "-s", *options])
               for group, options in zip(GROUPS, ([], ["-o"]))]
    return "\n".join(finish(fabric, *each) for each in zip(receivers, senders))


def cmtime(fabric, server, client):
    shown = pair(fabric, server, client,
                 lambda port: ["cmtime", "-b", address(fabric, server), "-p", str(port)],
                 lambda to, port: ["cmtime", "-s", to, "-p", str(port), "-c", "200"],
                 server_stays=True)
    if not re.search(r"^connect +: +[\d.]+", shown, re.MULTILINE):
        raise Failure(f"expected a line for connect\n{shown}")
    return shown


def perftest(fabric, server, client, program, options):
    command = [program, "-R", "-F", "-n", "200", *options.split()]
    shown = pair(fabric, server, client, lambda port: [*command, "-p", str(port)],
                 lambda to, port: [*command, "-p", str(port), to])
    if not re.search(r"^ *\d+ +\d+ +[\d.]+", shown, re.MULTILINE):
        raise Failure(f"expected a row of results\n{shown}")
    return shown


def qperf(fabric, server, client, tests):
    port = free_port()
    running = fabric.start(server, ["qperf", "-lp", str(port)])
    running.wait_until(lambda: listening(port), f"listening on port {port}")
    shown = finish(fabric, running,
                   fabric.start(client, ["qperf", "-lp", str(port), "-t", "1", "-cm1",
                                         address(fabric, server), *tests]), server_stays=True)
    missing = [test for test in tests if not re.search(rf"^{test}:\n +\S+ +=", shown, re.MULTILINE)]
    if missing:
        raise Failure(f"no result of {', '.join(missing)}\n{shown}")
    return shown


def fio(fabric, server, client, verb):
    return pair(fabric, server, client,
                lambda port: [*FIO, "--name=target", f"--port={port}", "--rw=read",
                              f"--iodepth={FIO_MESSAGES}"],
                lambda to, port: [*FIO, "--name=source", f"--port={port}", f"--hostname={to}",
                                  "--rw=write", f"--verb={verb}", "--iodepth=1"])


def fio_verify(fabric, server, client, method):
    """The receiver finds in each message what the sender wrote into it; and something else is
    seen."""
    def exchange(sent, expected):
        port = free_port()
        running = start_server(fabric, server,
                               [*FIO, "--name=target", f"--port={port}", "--rw=read",
                                f"--iodepth={FIO_MESSAGES}", *expected], port)
        sender = fabric.start(
            client, [*FIO, "--name=source", f"--port={port}",
                     f"--hostname={address(fabric, server)}", "--rw=write", "--verb=send",
                     "--iodepth=1", "--do_verify=0", "--verify_state_save=0", *sent])
        results = [running.wait(), sender.wait()]
        for program in (running, sender):
            fabric.programs.remove(program)
        return results

    for result in exchange(method, method):
        result.check()
    received, _ = exchange(["--verify=pattern", "--verify_pattern=0xfeedface"], method)
    if received.status == 0 or not re.search(r"verify failed|bad magic header", received.output):
        raise Failure(f"expected that other data is noticed\n{received}")
    return received


def rstream(fabric, server, client, options):
    command = ["rstream", *options.split()]
    shown = pair(fabric, server, client,
                 lambda port: [*command, "-b", address(fabric, server), "-p", str(port)],
                 lambda to, port: [*command, "-s", to, "-p", str(port)])
    if not re.search(r"^custom +\S+ +\d+ +\d+ +\S+", shown, re.MULTILINE):
        raise Failure(f"expected a row of results\n{shown}")
    return shown


def riostream(fabric, server, client, options):
    command = ["riostream", *options.split()]
    at = address(fabric, server, "gid" if "-f gid" in options else "address")
    shown = pair(fabric, server, client,
                 lambda port: [*command, "-b", at, "-p", str(port)],
                 lambda _, port: [*command, "-s", at, "-p", str(port)])
    if "data verification failed" in shown or not re.search(
            r"^custom +\S+ +\d+", shown, re.MULTILINE):
        raise Failure(f"expected a row of results\n{shown}")
    return shown


def udpong(fabric, server, client, options, kind="address"):
    """The client's address is what the server sees; with -T e every datagram comes back."""
    command = [*UNBUFFERED, "udpong", *options.split()]
    at, sender = address(fabric, server, kind), ipaddress.ip_address(address(fabric, client, kind))
    for left in reversed(range(UDPONG_TRIES)):
        try:
            shown = pair(fabric, server, client,
                         lambda port: [*command, "-b", at, "-p", str(port)],
                         lambda _, port: [*command, "-s", at, "-p", str(port)], server_stays=True,
                         patience_s=UDPONG_PATIENCE_S)
            break
        except Stuck:
            if left == 0:
                raise
    if f"client login from {sender}" not in shown:
        raise Failure(f"expected that the server names the client\n{shown}")
    count = re.search(r"^custom +\S+ +(\d+)", shown, re.MULTILINE)
    if count is None or ("-T e" in options and count[1] != "40"):
        raise Failure(f"expected a row of results, 40 datagrams where they come back\n{shown}")
    return shown


def datagrams(fabric, server, client):
    """Datagrams from several senders to one and back, by their addresses, each whole and from the
    sender that it names; datagrams that are too long or go to no socket are refused. No example
    does this."""
    program = pathlib.Path(__file__).with_name("rsocket_datagrams.py")
    port = free_port()
    running = start_server(fabric, server, [sys.executable, str(program), "serve", str(port), "40"],
                           port)
    askers = [fabric.start(host, [sys.executable, str(program), "ask", address(fabric, server),
                                  str(port), "20"]) for host in (client, server)]
    for asker in askers:
        asker.wait().check()
        fabric.programs.remove(asker)
    result = running.wait().check()
    fabric.programs.remove(running)
    return result


def own_program(name):
    """Runs a program of ours on both sides, which makes calls that no example makes."""
    command = [sys.executable, str(pathlib.Path(__file__).with_name(name))]
    return lambda fabric, server, client: pair(
        fabric, server, client, lambda port: [*command, "serve", str(port)],
        lambda to, port: [*command, "ask", to, str(port)])


def rcopy(fabric, server, client):
    """A file that fits no buffer, byte for byte."""
    port = free_port()
    source, target = (pathlib.Path(fabric.dir, name) for name in ("source", "target"))
    source.write_bytes(random.Random(1).randbytes(3_000_001))
    running = start_server(fabric, server, ["rcopy", "-p", str(port)], port)
    try:
        shown = finish(fabric, running,
                       fabric.start(client, ["rcopy", str(source),
                                             f"{address(fabric, server)}:{target}", "-p",
                                             str(port)]),
                       server_stays=True)
        if target.read_bytes() != source.read_bytes():
            raise Failure(f"the copy differs\n{shown}")
    finally:
        source.unlink()
        target.unlink(missing_ok=True)
    return shown


def given_address(_fabric, _server, _client):
    """Of a fabric of its own, whose hosts have addresses that no interface of the machine has."""
    with Fabric("--hosts", "2", "--addresses", "192.0.2.201=h0, 192.0.2.202=h1/mlx5_0") as fabric:
        port = free_port()
        server = start_server(fabric, "h0", ["rping", "-s", "-a", "192.0.2.201", "-p", str(port),
                                             "-C", "3", "-d"], port)
        shown = finish(fabric, server, fabric.start("h1", ["rping", "-c", "-a", "192.0.2.201", "-p",
                                                           str(port), "-C", "3"]))
    return shown


def nobody_listens(fabric, server, client):
    """The client gets a REJ: no such service."""
    result = fabric.run(client, ["ucmatose", "-s", address(fabric, server), "-p", str(free_port())])
    if result.status == 0 or "RDMA_CM_EVENT_REJECTED, error: 8" not in result.output:
        raise Failure(f"expected to be rejected with reason 8\n{result}")
    return result


def port_is_taken(fabric, server, client):
    """A port belongs to one endpoint of its host, and is free on every other host."""
    port = free_port()
    command = ["rdma_server", "-p", str(port)]
    first = start_server(fabric, server, command, port)
    second = fabric.run(server, command)
    if second.status == 0 or "Address already in use" not in second.output:
        raise Failure(f"expected that the port is in use\n{second}")
    other = start_server(fabric, client, command, port)
    for running in (first, other):
        running.signal(signal.SIGKILL)
        running.wait()
        fabric.programs.remove(running)
    # Endpoints of dead processes no longer hold the port.
    again = start_server(fabric, server, command, port)
    return finish(fabric, again, fabric.start(client, ["rdma_client", "-s", address(fabric, server),
                                                       "-p", str(port)]))


def killed(fabric, server, client, victim_is_server):
    """A program whose peer dies gets a disconnect event."""
    port = free_port()
    to = address(fabric, server)
    running = start_server(
        fabric, server,
        [*UNBUFFERED, "rping", "-s", "-a", to, "-p", str(port), "-v", "-d"], port)
    asking = fabric.start(client,
                          [*UNBUFFERED, "rping", "-c", "-a", to, "-p", str(port), "-v", "-d"])
    victim, survivor = (running, asking) if victim_is_server else (asking, running)
    survivor.wait_until(lambda: "ping data" in survivor.output(), "the first ping")
    victim.signal(signal.SIGKILL)
    survivor.wait_until(lambda: "RDMA_CM_EVENT_DISCONNECTED" in survivor.output(),
                        "hearing of the other side's end")
    for program in (victim, survivor):
        program.signal(signal.SIGKILL)
        program.wait()
        fabric.programs.remove(program)


def link_is_down(fabric, server, client):
    """Without a path, the SA says so, or the program times out."""
    to = address(fabric, server)
    fabric.command("link", "down", "-f", fabric.name, f"{server}/mlx5_0", "1").check()
    try:
        result = fabric.run(client, ["ucmatose", "-s", to])
    finally:
        fabric.command("link", "up", "-f", fabric.name, f"{server}/mlx5_0", "1").check()
    if result.status == 0 or result.timed_out or "RDMA_CM_EVENT_ROUTE_ERROR" not in result.output:
        raise Failure(f"expected that there is no route\n{result}")
    return result


CASES = [
    ("rping", rping),
    ("rping -S 4000", lambda *where: rping(*where, ["-S", "4000"])),
    ("rping, a persistent server", rping_persistent),
    ("ucmatose", example("ucmatose", "ucmatose", "-c", "5", "-C", "20")),
    ("ucmatose -m, moved to another channel", example("ucmatose", "ucmatose", "-m", "-c", "3")),
    ("udaddy", udaddy),
    ("mckey, and mckey -o, whose sender does not listen", mckey),
    ("rdma_client", example("rdma_server", "rdma_client")),
    ("rdma_xclient -c r", example("rdma_xserver", "rdma_xclient", "-c", "r")),
    ("rdma_xclient -c x", example("rdma_xserver", "rdma_xclient", "-c", "x")),
    ("cmtime", cmtime),
    *((f"fio --verb={verb}", lambda *where, verb=verb: fio(*where, verb))
      for verb in ("write", "read", "send")),
    ("fio --verify=crc32c", lambda *where: fio_verify(*where, ["--verify=crc32c"])),
    ("fio --verify=pattern",
     lambda *where: fio_verify(*where, ["--verify=pattern", "--verify_pattern=0xdeadbeef"])),
    *((f"rstream {options}", lambda *where, options=options: rstream(*where, options))
      for options in RSTREAM),
    ("rcopy", rcopy),
    *((f"riostream {options}", lambda *where, options=options: riostream(*where, options))
      for options in RIOSTREAM),
    *((f"udpong {options}", lambda *where, options=options: udpong(*where, options))
      for options in UDPONG),
    ("udpong between GIDs as IPv6 addresses", lambda *where: udpong(*where, UDPONG[1], "gid")),
    ("datagrams among three sockets", datagrams),
    ("streams with two threads, and their ends", own_program("rsocket_streams.py")),
    ("options of vendors", own_program("rdmacm_ece.py")),
    ("an address that the user gave", given_address),
    ("nobody listens", nobody_listens),
    ("a port is taken", port_is_taken),
    ("the server dies", lambda *where: killed(*where, True)),
    ("the client dies", lambda *where: killed(*where, False)),
    ("the link is down", link_is_down),
]


def main():
    report = Report("rdmacm", all="everything across three switches too")
    need_programs(*PROGRAMS)
    for hops, flags, server, client in (ONE_HOP, THREE_HOPS):
        with Fabric(*flags) as fabric:
            every = report.args.all or hops == ONE_HOP[0]
            for title, action in CASES if every else []:
                report.case(hops, title, lambda: action(fabric, server, client))
            report.case(hops, "qperf -cm1",
                        lambda: qperf(fabric, server, client, QPERF if every else QPERF_FAR))
            for program in PERFTEST:
                for options in ["", *(PERFTEST_OPTIONS.get(program, []) if every else [])]:
                    report.case(hops, f"{program} -R {options}".strip(),
                                lambda: perftest(fabric, server, client, program, options))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
