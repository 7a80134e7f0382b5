#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cables and switches fail and return at random under traffic. Afterwards the routes are sound, no
LID has changed, and programs communicate over every pair of hosts that is still connected."""

import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, free_port, need_programs
from subnet import expect

FABRICS = {
    "fat tree": ("--hosts", "8", "--topology", "fat-tree", "--radix", "8", "--engine", "ftree"),
    "torus": ("--hosts", "9", "--topology", "torus", "--dimensions", "3x3", "--hosts-per-switch",
              "1", "--engine", "nue"),
}
EVENTS = 25
SEEDS = (1,)
SEEDS_ALL = (1, 2)  # With --all.


def lids(fabric):
    output = fabric.run("h0", ["ibnetdiscover"]).check().output
    return sorted(set(re.findall(r'"([^"]+)" lid (\d+)', output)))


def switches(fabric):
    """Returns the switches by name, except the one on which the subnet manager runs."""
    found = re.findall(r'^switchguid=0x([0-9a-f]+).*\nSwitch.*# "([^"]+)"',
                       fabric.run("h0", ["ibnetdiscover"]).check().output, re.MULTILINE)
    status = command(fabric, "sm", "status").output
    names = [name for guid, name in found if guid.lstrip("0") not in status]
    expect(len(names) == len(found) - 1, f"{found}\n{status}")
    return names


def traffic(fabric, server, client):
    fabric.pair(server, client, lambda port: [
        "ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port), "-n", "50", "-s", "65536", "-c"])


def command(fabric, *words):
    return fabric.command(*words, "-f", fabric.name).check()


def run(fabric, seed):
    dice = random.Random(seed)
    before = lids(fabric)
    names = switches(fabric)
    dead, pulled = set(), set()
    hosts = sorted({name.split()[0] for name, _ in before if re.match(r"h\d+ ", name)})
    # Meanwhile two hosts communicate, as far as they can, and a third one reads the fabric.
    talk = f"ib_write_bw -d mlx5_0 -p {free_port()} -n 200 -s 65536"
    noise = [fabric.start(host, ["sh", "-c", f"while :; do {line} >/dev/null 2>&1; done"])
             for host, line in zip(hosts, (talk, f"{talk} localhost", "ibnetdiscover"))]
    for _ in range(EVENTS):
        if dice.random() < 0.4:
            name = dice.choice(names)
            command(fabric, "switch", "revive" if name in dead else "kill", name)
            dead ^= {name}
        else:
            name = dice.choice(hosts[1:])
            command(fabric, "link", "up" if name in pulled else "down", f"{name}:1")
            pulled ^= {name}
        time.sleep(dice.choice((0, 0, 0.05, 0.2)))
    for name in dead:
        command(fabric, "switch", "revive", name)
    for name in pulled:
        command(fabric, "link", "up", f"{name}:1")
    for program in noise:
        program.wait(0)
        fabric.programs.remove(program)
    quiet = time.monotonic()
    while (checked := fabric.command("routes", "check", "-f", fabric.name)).status != 0:
        if time.monotonic() > quiet + 30:
            raise Failure(str(checked))
        time.sleep(0.2)
    healed = time.monotonic() - quiet
    after = lids(fabric)
    expect(before == after, f"LIDs were\n{before}\nand are\n{after}")
    for host in hosts[1:]:
        traffic(fabric, hosts[0], host)
    return f"whole {healed:.1f} s after the last event\n{checked}"


def main():
    need_programs("ibnetdiscover", "ib_write_bw", "ibv_rc_pingpong")
    report = Report("failures", all="with more seeds")
    for name, flags in FABRICS.items():
        with Fabric(*flags) as fabric:
            for seed in SEEDS_ALL if report.args.all else SEEDS:
                report.case(name, f"seed {seed}", lambda: run(fabric, seed))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
