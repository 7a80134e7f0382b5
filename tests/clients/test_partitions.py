#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Partitions, lanes and LIDs of our subnet manager, seen by unmodified programs: tenants cannot
communicate with each other, the tables are those that OpenSM writes, and LIDs survive the
fabric."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, free_port, listening, need_programs
from subnet import raw_mad

# Two leaves with two hosts each, two spines. LIDs: hosts 1 to 4, then leaf0, leaf1, spine0, spine1.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
LEAF0 = 5
GUID = ["0x0250f71b10000000", "0x0250f71b10000100", "0x0250f71b10000200", "0x0250f71b10000300"]

# h0 and h2 are one tenant, h1 and h3 another; every port reaches the subnet manager, and otherwise
# only its tenant.
TENANTS = f"""
blue = 0x10, ipoib, mtu=5, defmember=full :   # across leaves
    {GUID[0]},
    {GUID[2]} ;
red = 0x20 : {GUID[1]}=full, {GUID[3]}=full, {GUID[2]}=limited ;
"""

# Lines that are the same in OpenSM's file and ours; `both` needs an option there, mgid lines are
# below.
MIXED = f"""
Default=0x7fff, ipoib : ALL, ALL_SWITCHES=full, SELF=full ;
one=0x10 : ALL=full, {GUID[1]}=limited ;      # Here the last rule counts,
two=0x8011 : {GUID[1]}=limited, ALL=full ;    # and here.
first=0x12, indx0 : {GUID[2]}=full ;
unnumbered : ALL_CAS ;
three = 0x13, defmember=full : {GUID[2]}, {GUID[3]}=limi ;
three = 0x13 : {GUID[0]} ;
"""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def pkeys(fabric, lid, *port):
    output = fabric.run("h0", ["smpquery", "pkeys", str(lid), *port]).check().output
    keys = [int(key, 16) for key in re.findall(r"0x[0-9a-f]{4}\b", output)]
    while keys and keys[-1] == 0:
        keys.pop()
    return keys


def tables(fabric):
    """Checks P_Keys in the nodes, and those that sysfs shows to programs."""
    expected = {1: [0x7FFF, 0x8010], 2: [0x7FFF, 0x8020], 3: [0x7FFF, 0x8010, 0x0020],
                4: [0x7FFF, 0x8020]}
    for lid, keys in expected.items():
        expect(pkeys(fabric, lid) == keys, f"LID {lid} has {pkeys(fabric, lid)}, not {keys}")
    expect(pkeys(fabric, LEAF0, "0") == [0xFFFF],
           "the manager is a full member of the default partition")
    expect(pkeys(fabric, LEAF0, "2") == expected[2], "the switch has what it is to enforce for h1")
    info = fabric.run("h0", ["smpquery", "portinfo", str(LEAF0), "2"]).check().output
    expect(re.search(r"PartEnforceInb:\.+1$", info, re.MULTILINE), info)
    shown = fabric.run("h2", ["cat", "/sys/class/infiniband/mlx5_0/ports/1/pkeys/2"]).check()
    expect(shown.output.strip() == "0x0020", str(shown))


MESSAGES = 5  # Few enough that counters of eight bits have room for all tries.
# perftest's seven retries, and the packet itself; on the packet path each of its messages is one.
REFUSED_MAX = 8 * (MESSAGES if os.environ.get("SOFTIB_TEST_DATA_PATH") == "packet" else 1)


def write_bw(fabric, server, client, index):
    """ib_write_bw with the P_Key at this index of both hosts' tables: succeeds, or says why not."""
    fabric.pair(server, client, lambda port: ["ib_write_bw", "-d", "mlx5_0", "-p", str(port), "-n",
                                              "100", "-s", "4096", "--pkey_index", str(index)])


def refused(fabric, server, client, index):
    """The programs exchange LIDs and keys over TCP, so only the fabric keeps them apart."""
    port = free_port()
    command = ["ib_write_bw", "-d", "mlx5_0", "-p", str(port), "-n", str(MESSAGES), "-s", "4096",
               "--pkey_index", str(index), "--qp-timeout", "1"]
    waiting = fabric.start(server, command)
    waiting.wait_until(lambda: listening(port), f"listening on port {port}")
    result = fabric.run(client, [*command, "localhost"])
    waiting.signal(15)
    waiting.wait()
    expect(result.status != 0 and not result.timed_out, f"not refused\n{result}")
    # Retries exceeded: the peer did not answer.
    expect("Failed status 12" in result.output, str(result))
    return str(result)


def key_violations(fabric, lid):
    output = fabric.run("h3", ["smpquery", "portinfo", str(lid)]).check().output
    return tuple(int(re.search(rf"{key}Violations:\.+(\d+)", output)[1])
                 for key in ("Pkey", "Qkey"))


def limited_members(fabric):
    """Two limited members of one partition: no switch refuses their packets, but the HCA at the end
    does."""
    before = key_violations(fabric, 1)
    said = refused(fabric, "h0", "h2", 0)
    after = key_violations(fabric, 1)
    expect(1 <= after[0] - before[0] <= REFUSED_MAX and after[1] == before[1], f"{before}, {after}")
    return said


def constraint_errors(fabric, lid, port):
    output = fabric.run("h3", ["perfquery", str(lid), str(port)]).check().output
    return tuple(int(re.search(rf"Port{way}ConstraintErrors:\.+(\d+)", output)[1])
                 for way in ("Rcv", "Xmit"))


def switch_keeps_out(fabric, leaf, own, other, index):
    """h0 has taken the P_Key of h1 into its own table, as a tenant with root could: both HCAs would
    accept it, and the switch still does not. `own` is the P_Key that the subnet manager gave to
    h0."""
    before = constraint_errors(fabric, leaf, 1)
    raw_mad(fabric, "h0", "pkeys", "1", *own[:index], other)
    shown = fabric.run(
        "h0", ["cat", f"/sys/class/infiniband/mlx5_0/ports/1/pkeys/{index}"]).check().output
    expect(shown.strip() == other, shown)
    refused(fabric, "h1", "h0", index)
    after = constraint_errors(fabric, leaf, 1)
    expect(1 <= after[0] - before[0] <= REFUSED_MAX and after[1] == before[1], f"{before}, {after}")
    # Packets to h0 do not reach it either: here h1 is allowed to send.
    refused(fabric, "h0", "h1", index)
    now = constraint_errors(fabric, leaf, 1)
    expect(now[1] > after[1] and now[0] == after[0], f"{after}, {now}")
    # Datagrams vanish, and are counted one by one.
    port = free_port()
    command = ["ib_send_bw", "-c", "UD", "-d", "mlx5_0", "-p", str(port), "-n", "100", "-s", "1024",
               "--pkey_index", str(index)]
    waiting = fabric.start("h1", command)
    waiting.wait_until(lambda: listening(port), f"listening on port {port}")
    sender = fabric.start("h0", [*command, "localhost"])
    sender.wait_until(lambda: constraint_errors(fabric, leaf, 1)[0] >= now[0] + 100,
                      "100 datagrams are refused")
    expect(waiting.running(), "the server has what it waits for")
    for program in (sender, waiting):
        program.signal(9)
        program.wait()
    raw_mad(fabric, "h0", "pkeys", "1", *own)


def opensm_hears(report_dir):
    """The same where OpenSM is the subnet manager: it makes the switches enforce P_Keys, and they
    report violations to it."""
    conf, log = pathlib.Path(report_dir, "tenants.conf"), pathlib.Path(report_dir, "trap.log")
    options = pathlib.Path(report_dir, "options.conf")
    options.write_text(f"force_log_flush TRUE\npartition_config_file {conf}\n")
    with Fabric(*TREE, "--sm", "none") as fabric:
        manager = fabric.start(
            "h3", ["env", f"OSM_CACHE_DIR={report_dir}", f"OSM_TMP_DIR={report_dir}", "opensm",
                   "-F", str(options), "-f", str(log), "-e", "-D", "0x03"])
        manager.wait_until(lambda: log.exists() and "SUBNET UP" in log.read_text(),
                           "the subnet is up")
        lids = dict(re.findall(r"^(0x\w+) (0x\w+) 0x\w+$",
                               pathlib.Path(report_dir, "guid2lid").read_text(), re.MULTILINE))
        own, leaf = int(lids[GUID[0]], 16), int(lids["0x0250f71b20000000"], 16)
        raw_mad(fabric, "h0", "pkeys", str(own), "0x7fff", "0x8020")
        before = constraint_errors(fabric, leaf, 1)
        refused(fabric, "h1", "h0", 1)
        expect(constraint_errors(fabric, leaf, 1)[0] > before[0], "the switch counts")
        manager.wait_until(lambda: "num:259" in log.read_text(), "trap 259 arrives")
        refused(fabric, "h1", "h0", 0)  # Both are limited members of the default partition.
        manager.wait_until(lambda: "num:257" in log.read_text(), "trap 257 arrives")
        manager.signal(15)
        manager.wait()
    return "\n".join(line for line in log.read_text().splitlines() if re.search("num:25[79]", line))


def path(fabric, host, source, destination):
    """Returns the number of paths in the SA's answer."""
    result = fabric.run(host, ["saquery", "PR", "--src-to-dst", f"{source}:{destination}"])
    return len(re.findall(r"^PathRecord dump:", result.output, re.MULTILINE))


def paths(fabric):
    """The SA does not return a path between ports that may not communicate."""
    for host, destination, count in ((1, 3, 1), (1, 2, 0), (1, 4, 0), (2, 4, 1), (3, 4, 1),
                                     (3, 1, 1), (2, 1, 0)):
        found = path(fabric, f"h{host - 1}", host, destination)
        expect(found == count, f"{found} paths from LID {host} to {destination}, not {count}")
    nodes = fabric.run("h0", ["saquery", "NR"]).check().output
    expect("h2 mlx5_0" in nodes and "h1 mlx5_0" not in nodes, nodes)


def groups(fabric):
    """The IPoIB broadcast group of the tenant that has IPoIB; the other has none."""
    output = fabric.run("h0", ["saquery", "-g"]).check().output
    expect(re.search(r"MGID\.+ff12:401b:8010::ffff:ffff", output), output)
    expect(re.search(r"Mtu\.+0x85", output), output)
    expect("ff12:401b:ffff" not in output, output)


def same_as_opensm(report_dir):
    """With the same file, OpenSM and our manager put every end port into the same partitions."""
    conf = pathlib.Path(report_dir, "mixed.conf")
    conf.write_text(MIXED)

    def keys_by_guid(fabric, reader):
        found = {}
        for guid, lid in reader(fabric).items():
            keys = pkeys(fabric, lid, *(["0"] if guid.startswith("0x0250f71b2") else []))
            found[guid] = (keys[0], sorted(key for key in keys if key))
        return found

    def swept(fabric):
        fabric.run("h0", ["env", f"OSM_CACHE_DIR={report_dir}", f"OSM_TMP_DIR={report_dir}",
                          "opensm", "-o", "-P", str(conf), "-f", f"{report_dir}/opensm.log", "-e"],
                   timeout_s=60).check()
        text = pathlib.Path(report_dir, "guid2lid").read_text()
        return {guid: int(lid, 16)
                for guid, lid in re.findall(r"^(0x\w+) (0x\w+) 0x\w+$", text, re.MULTILINE)}

    def ours(fabric):
        return {**{guid: i + 1 for i, guid in enumerate(GUID)},
                **{f"0x0250f71b20000{i}00": LEAF0 + i for i in range(4)}}

    with Fabric(*TREE, "--sm", "none") as fabric:
        theirs = keys_by_guid(fabric, swept)
    # With OpenSM the manager is on h0, with ours on leaf0.
    with Fabric(*TREE, "--partitions", str(conf)) as fabric:
        mine = keys_by_guid(fabric, ours)
    expect(len(theirs) == 8 and set(theirs) == set(mine), f"{theirs}\n{mine}")
    for guid, keys in theirs.items():
        wanted = ((0x7FFF, sorted([0x7FFF, *(key for key in keys[1] if key != 0xFFFF)]))
                  if guid == GUID[0] else keys)
        expect(mine[guid] == wanted, f"{guid}: {mine[guid]}, OpenSM {wanted}")


def bad_file(report_dir):
    """A bad file is refused before anything starts, with its line."""
    conf = pathlib.Path(report_dir, "bad.conf")
    conf.write_text("good=1 : ALL ;\nbad=2 : h1=full ;\n")
    try:
        with Fabric("--partitions", str(conf)):
            raise Failure("it came up")
    except Failure as failure:
        expect(f"{conf}:2: 'h1' is no port" in str(failure), str(failure))


def lanes(fabric):
    """smpquery reads the nodes, saquery the SA."""
    for words in (["1"], [str(LEAF0), "3"]):
        table = fabric.run("h0", ["smpquery", "sl2vl", *words]).check().output
        expect(re.search(r"\| 0\| 1\| 2\| 3\| 0\| 1\| 2\| 3\|", table), table)
        arbitration = fabric.run("h0", ["smpquery", "vlarb", *words]).check().output
        low, high = arbitration.split("High priority", 1)
        expect(re.search(r"VL    : \|0x3 \|0x0 ", low), arbitration)
        expect(re.search(r"WEIGHT: \|0x40\|0x8 ", low), arbitration)
        expect(re.search(r"WEIGHT: \|0x0 \|0x4 ", high), arbitration)
    info = fabric.run("h0", ["smpquery", "portinfo", str(LEAF0), "3"]).check().output
    expect(re.search(r"OperVLs:\.+VL0-3$", info, re.MULTILINE), info)
    expect(re.search(r"VLHighLimit:\.+7$", info, re.MULTILINE), info)
    records = fabric.run("h0", ["saquery", "VLAR"]).check().output
    for lid, port in ((1, 1), (LEAF0, 3)):
        for block, vl, weight in ((1, " 3| 0|", "64| 8|"), (3, " 2| 1|", " 0| 4|")):
            lines = (rf"LID\.+{lid}\s+Port\.+{port}\s+Block\.+{block}\s+"
                     rf"VL +:{re.escape(vl)}.*\s+Weight:{re.escape(weight)}")
            expect(re.search(lines, records), f"expected {lines}\n{records[:3000]}")


def lanes_of_engine():
    """A torus is free of deadlocks only where hosts and switches agree on the lanes."""
    with Fabric("--topology", "torus", "--dimensions", "5", "--hosts", "5", "--hosts-per-switch",
                "1", "--engine", "dor") as fabric:
        fabric.pair("h0", "h2", lambda port: ["ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port),
                                              "-n", "50", "-c"])
        node = fabric.run("h0", ["smpquery", "sl2vl", "1"]).check().output
        record = fabric.run("h0", ["saquery", "SL2VL", "1"]).check().output
        # Service levels 0 and 1 are the two sides of the ring's dateline, and begin on the same
        # lane.
        expect(re.search(r"out  0: \| 0\| 0\| 2\|", node), node)
        expect(re.search(r"VL: 0\| 0\| 2\|", record), record)


def lids_of(fabric):
    """Returns GUIDs and LIDs as a tool that walks the fabric finds them."""
    output = fabric.run("h0", ["ibnetdiscover"]).check().output
    hosts = re.findall(r"^\[1\]\(([0-9a-f]+)\).*# lid (\d+) lmc", output, re.MULTILINE)
    switches = re.findall(r'^Switch\s+\d+ "S-([0-9a-f]+)".* lid (\d+) lmc', output, re.MULTILINE)
    return {int(guid, 16): int(lid) for guid, lid in hosts + switches}


def kept_lids(report_dir):
    """With fewer hosts, more hosts or another topology, a port that is there has the LID that it
    had."""
    file = pathlib.Path(report_dir, "lids")
    config = pathlib.Path(report_dir, "lab.toml")
    with Fabric(*TREE, "--lid-file", str(file)) as fabric:
        first = lids_of(fabric)
    expect(len(first) == 8, f"{first}")
    expect(f"{GUID[3]} 0x0004 0x0004\n" in file.read_text(), file.read_text())
    with file.open("a") as out:
        out.write("rubbish\n")
    config.write_text('[sm]\nlid_file = "lids"\n')  # The file is beside the description.
    for flags in (("--hosts", "3"), ("--hosts", "6", "--topology", "fat-tree", "--radix", "4"),
                  ("--hosts", "4", "--topology", "torus", "--dimensions", "4",
                   "--hosts-per-switch", "1")):
        with Fabric("--config", str(config), *flags) as fabric:
            now = lids_of(fabric)
        moved = {hex(guid): (first[guid], now[guid])
                 for guid in set(first) & set(now) if first[guid] != now[guid]}
        expect(not moved, f"{flags}: {moved}")
        expect(len(set(now.values())) == len(now), f"a LID is there twice: {now}")
    text = file.read_text()
    expect("rubbish" not in text and f"{GUID[3]} 0x0004 0x0004\n" in text, text)
    return text


def main():
    need_programs("smpquery", "saquery", "ibnetdiscover", "opensm", "ib_write_bw",
                  "ibv_rc_pingpong")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    report = Report("partitions")
    with tempfile.TemporaryDirectory() as scratch:
        conf = pathlib.Path(scratch, "tenants.conf")
        conf.write_text(TENANTS)
        with Fabric(*TREE, "--partitions", str(conf)) as fabric:
            report.case("smpquery", "pkeys", lambda: tables(fabric))
            report.case("ib_write_bw", "within blue", lambda: write_bw(fabric, "h0", "h2", 1))
            report.case("ib_write_bw", "within red", lambda: write_bw(fabric, "h1", "h3", 1))
            report.case("ib_write_bw", "blue to red", lambda: refused(fabric, "h0", "h1", 1))
            report.case("ib_write_bw", "limited to limited", lambda: limited_members(fabric))
            report.case("perfquery", "a switch keeps a tenant out",
                        lambda: switch_keeps_out(fabric, LEAF0, ("0x7fff", "0x8010"), "0x8020", 1))
            report.case("ib_write_bw", "within blue again", lambda: write_bw(fabric, "h0", "h2", 1))
            report.case("saquery", "PathRecord", lambda: paths(fabric))
            report.case("saquery", "MCMemberRecord", lambda: groups(fabric))
        report.case("opensm", "same tables", lambda: same_as_opensm(scratch))
        report.case("opensm", "hears of a tenant that tries", lambda: opensm_hears(scratch))
        report.case("softib", "bad partitions", lambda: bad_file(scratch))
        with Fabric(*TREE, "--qos", "--max-op-vls", "3", "--high-limit", "7", "--vlarb-low",
                    "3:64,0:8", "--vlarb-high", "2:0,1:4") as fabric:
            report.case("smpquery", "sl2vl, vlarb", lambda: lanes(fabric))
        report.case("smpquery", "sl2vl of dor", lanes_of_engine)
        report.case("ibnetdiscover", "LIDs stay", lambda: kept_lids(scratch))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
