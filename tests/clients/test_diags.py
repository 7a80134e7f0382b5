#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The distribution's InfiniBand diagnostics and OpenSM, unmodified: what they find is what the
fabric is, what they change takes effect, and the counters they read are those of the packets that
passed. What each of them prints, to the letter, is in test_golden.py."""

import os
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, free_port, listening, need_programs
from subnet import expect, opensm, pingpong, wait_state

# Two leaves with two hosts each, two spines. LIDs: hosts 1 to 4, then leaf0, leaf1, spine0, spine1.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
LEAF0 = 5
NODES = 8
ENGINES = ["minhop", "updn", "dnup", "ftree", "lash", "dfsssp", "nue"]


def blocks(text):
    """Returns the output node by node, without dates and without the vendor's ids, which a
    description does not have."""
    text = "\n".join(line for line in text.splitlines() if not re.match("#|vendid=|devid=", line))
    return sorted(block.strip() for block in text.split("\n\n") if block.strip())


def discovered(fabric):
    """What a tool discovers by MADs is what the fabric was built from."""
    seen = fabric.run("h0", ["ibnetdiscover"]).check()
    built = fabric.command("topo", "-f", fabric.name, "--ibnetdiscover", "-").check()
    expect(blocks(seen.output) == blocks(built.output), f"not the same as\n{built.output}\n{seen}")
    return str(seen)


def counters_of(fabric, lid, port):
    output = fabric.run("h0", ["perfquery", "-x", str(lid), str(port)]).check().output
    return {name: int(value)
            for name, value in re.findall(r"^Port(\w+):\.+(\d+)$", output, re.MULTILINE)}


def path_ports(fabric, source, destination):
    """Returns the switch ports of the path as ibtracert walks it: (lid, in port, out port)."""
    output = fabric.run("h0", ["ibtracert", str(source), str(destination)]).check().output
    out = None
    hops = []
    for line in output.splitlines():
        if match := re.match(r"\[(\d+)\] -> switch port \{0x\w+\}\[(\d+)\] lid (\d+)-", line):
            if hops:
                hops[-1][2] = int(match[1])
            hops.append([int(match[3]), int(match[2]), None])
        elif match := re.match(r"\[(\d+)\] -> ca port", line):
            hops[-1][2] = int(match[1])
    return hops


def exact_counters(fabric, size, iterations):
    """h3 writes to h0: requests of ceil(size/4096) packets, one acknowledgement for each
    message."""
    packets = max(1, -(-size // 4096))
    # LRH 8, BTH 12, ICRC 4 in each packet; RETH 16 in the first; padded payload.
    request_words = packets * 6 + 4 + -(-size // 4)
    ack_words = (8 + 12 + 4 + 4) // 4
    sent = (request_words * iterations, packets * iterations)
    acked = (ack_words * iterations, iterations)
    return counted_on_the_way(fabric, sent, acked,
                              ["ib_write_bw", "-n", str(iterations), "-s", str(size)])


def datagram_counters(fabric, size, iterations):
    """h3 sends to h0: LRH 8, BTH 12, DETH 8, ICRC 4, padded payload; nothing comes back."""
    words = (8 + 12 + 8 + 4) // 4 + -(-size // 4)
    return counted_on_the_way(fabric, (words * iterations, iterations), (0, 0), [
        "ib_send_bw", "-c", "UD", "-n", str(iterations), "-s", str(size)])


def counted_on_the_way(fabric, sent, acked, command):
    """Checks words and packets at every port, for what a program of h3 sends to h0 and what comes
    back."""
    forward, backward = path_ports(fabric, 4, 1), path_ports(fabric, 1, 4)
    places = {(4, 1), (1, 1), *((lid, p) for lid, a, b in forward + backward for p in (a, b))}
    before = {place: counters_of(fabric, *place) for place in places}
    fabric.pair("h0", "h3", lambda port: [*command, "-d", "mlx5_0", "-p", str(port)])
    expected = {place: [0, 0, 0, 0] for place in places}  # Words and packets sent, received.

    def add(place, at, counts):
        expected[place][at] += counts[0]
        expected[place][at + 1] += counts[1]

    for hops, counts, first, last in ((forward, sent, (4, 1), (1, 1)),
                                      (backward, acked, (1, 1), (4, 1))):
        add(first, 0, counts)
        add(last, 2, counts)
        for lid, in_port, out_port in hops:
            add((lid, in_port), 2, counts)
            add((lid, out_port), 0, counts)
    lines = []
    for place in sorted(places):
        after = counters_of(fabric, *place)
        moved = [after[name] - before[place][name]
                 for name in ("XmitData", "XmitPkts", "RcvData", "RcvPkts")]
        lines.append(f"lid {place[0]} port {place[1]}: {moved}")
        expect(moved == expected[place], f"{lines[-1]}, expected {expected[place]}")
    return "\n".join(lines)


def all_ports(fabric):
    return {(lid, port): counters_of(fabric, lid, port)
            for lid in range(1, 9) for port in (range(1, 5) if lid >= LEAF0 else [1])}


def multicast_counters(fabric, size, iterations):
    """A multicast tree of three switches: every port of it counts each packet once, as a multicast
    packet."""
    words = (8 + 40 + 12 + 8 + 4) // 4 + -(-size // 4)
    before = all_ports(fabric)
    fabric.pair("h0", "h3", lambda port: ["ib_send_bw", "-c", "UD", "-g", "-d", "mlx5_0", "-p",
                                          str(port), "-n", str(iterations), "-s", str(size)])
    after = all_ports(fabric)
    lines = []
    places = {"Xmit": set(), "Rcv": set()}
    for place in sorted(before):
        for way in places:
            moved = [after[place][way + name] - before[place][way + name]
                     for name in ("Data", "Pkts")]
            multicast = after[place][f"Multicast{way}Pkts"] - before[place][f"Multicast{way}Pkts"]
            if [*moved, multicast] == [words * iterations, iterations, iterations]:
                places[way].add(place)
                lines.append(f"lid {place[0]} port {place[1]}: {way} {moved}")
            else:
                expect(moved == [0, 0] and multicast == 0,
                       f"{place}: {way} {moved}, {multicast} of a group")
    # h3 sends; leaf1, a spine and leaf0 receive and send on; h0 receives, and nobody else does.
    for way, host, other in (("Xmit", 4, 1), ("Rcv", 1, 4)):
        expect((host, 1) in places[way] and (other, 1) not in places[way] and len(places[way]) == 4,
               f"{way} at {places[way]}")
        expect(len({lid for lid, _ in places[way] if lid >= LEAF0}) == 3, f"{way} at {places[way]}")
    return "\n".join(lines)


def killed_sender(fabric):
    """A sender that dies at any instruction leaves every port of the path with the same numbers."""
    hops = path_ports(fabric, 4, 1)
    reads = [((4, 1), "Xmit")]
    for lid, in_port, out_port in hops:
        reads += [((lid, in_port), "Rcv"), ((lid, out_port), "Xmit")]
    reads.append(((1, 1), "Rcv"))

    def numbers():
        seen = {place: counters_of(fabric, *place) for place in {place for place, _ in reads}}
        return [[seen[place][way + "Data"], seen[place][way + "Pkts"]] for place, way in reads]

    lines = []
    for _ in range(3):
        before = numbers()
        port = free_port()
        command = ["ib_send_bw", "-c", "UD", "-d", "mlx5_0", "-p", str(port), "-n",
                   "100000000", "-s", "64"]
        server = fabric.start("h0", command)
        server.wait_until(lambda: listening(port), "listening")
        client = fabric.start("h3", [*command, "localhost"])
        client.wait_until(lambda: numbers()[-1] != before[-1], "traffic")
        for program in (client, server):
            program.signal(signal.SIGKILL)
            program.wait(0)
        moved = [[b - a for a, b in zip(*pair)] for pair in zip(before, numbers())]
        lines.append(str(moved))
        expect(moved[0][1] > 0 and all(m == moved[0] for m in moved),
               f"not the same on the way: {moved}")
    return "\n".join(lines)


def port_state(fabric):
    fabric.run("h0", ["ibportstate", str(LEAF0), "2", "disable"]).check()
    wait_state(fabric, "h1", "Down")
    fabric.run("h0", ["ibportstate", str(LEAF0), "2", "enable"]).check()
    wait_state(fabric, "h1", "Active")
    pingpong(fabric, "h0", "h1")


def broken_things(fabric):
    """A pulled cable and a dead switch are routed around, and LIDs stay."""
    def lids():
        return [re.search(r"Base lid: (\d+)", fabric.run(f"h{i}", ["ibstat"]).check().output)[1]
                for i in range(4)]
    at_first = lids()
    fabric.command("link", "down", "-f", fabric.name, "leaf0", "3").check()
    pingpong(fabric, "h0", "h3")
    fabric.command("link", "up", "-f", fabric.name, "leaf0", "3").check()
    fabric.command("switch", "kill", "-f", fabric.name, "spine1").check()
    pingpong(fabric, "h0", "h3")
    expect("spine1" not in fabric.run("h0", ["ibswitches"]).check().output, "a dead switch answers")
    fabric.command("switch", "revive", "-f", fabric.name, "spine1").check()
    expect("spine1" in fabric.run("h0", ["ibswitches"]).check().output,
           "a living switch is not found")
    pingpong(fabric, "h0", "h3")
    expect(lids() == at_first, f"LIDs moved: {at_first} to {lids()}")


def many_at_once(fabric):
    """A hundred programs ask at the same time, by agents of their own; each gets all answers."""
    programs = [fabric.start(f"h{i % 4}", ["saquery", "NR"]) for i in range(100)]
    for program in programs:
        result = program.wait().check()
        fabric.programs.remove(program)
        found = len(re.findall(r"Record dump:", result.output))
        expect(found == NODES, f"{found} records, not {NODES}\n{result}")


def main():
    need_programs("ibnetdiscover", "saquery", "perfquery", "opensm", "ib_send_bw", "ib_write_bw",
                  "ibv_rc_pingpong")
    # Tools in sbin; their scripts call one another.
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    report = Report("diags")
    # Of the engines only minhop has paths from spine to spine, and so all that can be.
    with Fabric(*TREE, "--engine", "minhop") as fabric:
        report.case("saquery", "100 at once", lambda: many_at_once(fabric))
        report.case("ibnetdiscover", "as built", lambda: discovered(fabric))
        for size, iterations in ((1, 100), (4096, 333), (65536, 1000), (100001, 50)):
            report.case("counters", f"ib_write_bw -s {size}",
                        lambda: exact_counters(fabric, size, iterations))
        for size, iterations in ((1, 100), (64, 1000), (4096, 333)):
            report.case("counters", f"ib_send_bw -c UD -s {size}",
                        lambda: datagram_counters(fabric, size, iterations))
        for size, iterations in ((2, 100), (1000, 1000)):
            report.case("counters", f"ib_send_bw -c UD -g -s {size}",
                        lambda: multicast_counters(fabric, size, iterations))
        report.case("counters", "ib_send_bw -c UD, killed", lambda: killed_sender(fabric))
        report.case("ibportstate", "disable, enable", lambda: port_state(fabric))
        report.case("softib", "link down, switch kill", lambda: broken_things(fabric))
        report.case("ibnetdiscover", "as built, after all that", lambda: discovered(fabric))
    for engine in ENGINES:
        with Fabric(*TREE, "--sm", "none") as fabric:
            report.case("opensm", engine, lambda: opensm(fabric, engine))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
