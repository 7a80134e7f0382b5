#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""iSCSI by RDMA (iSER), in user space on both sides: tgtd serves files on one host, libiscsi's
programs and QEMU's tools write and read them from others. Every byte is compared: with what was
written, and with what is in the target's file."""

import contextlib
import glob
import pathlib
import random
import re
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, THREE_HOPS, free_port, need_programs, skip

PROGRAMS = ["tgtd", "tgtadm", "iscsi-inq", "iscsi-readcapacity16", "iscsi-perf", "iscsi-test-cu",
            "qemu-img", "qemu-io"]
SERVER, NEAR, FAR = "h0", "h1", "h3"  # One host is one switch away, the other three.
ADDRESS = "127.55.0.1"
TARGET = "iqn.2026-11.softib:disk"
QEMU = "iqn.2008-11.org.linux-kvm"  # The name that QEMU's tools give themselves.
DISK_BYTES = 16 << 20
LUNS = (1, 2)
COMMAND_BYTES_MAX = 256 << 10  # Limits of libiscsi over RDMA: beyond them it crashes.
# Those that log in once and have few requests at a time; see docs/guide/storage.md for the others.
SUITES = ["Read6", "Read12", "Read16", "Write12", "Write16", "WriteVerify16", "Verify16", "OrWrite",
          "WriteSame10", "ReadCapacity16"]


def initiator(host):
    return f"iqn.2026-11.softib:{host}"


class Target:
    """A tgtd with its disks, on a host of the fabric."""

    def __init__(self, fabric, folder):
        self.fabric = fabric
        self.env = {"TGT_IPC_SOCKET": str(folder / "control")}
        self.files = {lun: folder / f"disk{lun}" for lun in LUNS}
        # Its port on the fabric is the host's own; that of TCP must be free on the machine.
        self.server = fabric.start(SERVER, ["tgtd", "-f", "--iser", "pool_sz_mb=128", "--iscsi",
                                            f"portal=127.0.0.1:{free_port()}"], self.env)
        self.server.wait_until(lambda: self.ask("--mode", "sys", "--op", "show").status == 0,
                               "an answer to tgtadm")
        self.ask("--mode", "target", "--op", "new", "--tid", "1", "-T", TARGET).check()
        for lun, path in self.files.items():
            path.write_bytes(bytes(DISK_BYTES))
            self.ask("--mode", "logicalunit", "--op", "new", "--tid", "1", "--lun", str(lun), "-b",
                     str(path)).check()
        # It wants to know the address and the name of each initiator.
        self.ask("--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL").check()
        for name in (initiator(NEAR), initiator(FAR), QEMU):
            self.ask("--mode", "target", "--op", "bind", "--tid", "1", "-Q", name).check()

    def ask(self, *words):
        return self.fabric.run(SERVER, ["tgtadm", "--lld", "iser", *words], env=self.env)

    def sessions(self):
        return self.ask("--mode", "conn", "--op", "show", "--tid", "1").check().output

    def url(self, lun=1):
        return f"iser://{ADDRESS}/{TARGET}/{lun}"

    def libiscsi(self, host, program, *options):
        return [program, "-i", initiator(host), *options, self.url()]

    def io(self, host, *commands):
        words = [word for command in commands for word in ("-c", command)]
        return self.fabric.run(host, ["qemu-io", "-f", "raw", *words, self.url()])


def inquiry(target):
    shown = target.fabric.run(FAR, target.libiscsi(FAR, "iscsi-inq")).check().output
    if "Product:VIRTUAL-DISK" not in shown:
        raise Failure(f"expected tgtd's name of the disk\n{shown}")
    shown += target.fabric.run(FAR, target.libiscsi(FAR, "iscsi-readcapacity16")).check().output
    if f"Total size:{DISK_BYTES}\n" not in shown:
        raise Failure(f"expected a size of {DISK_BYTES}\n{shown}")
    return shown


def many_logins(target):
    """tgtd gives up a session whose first command comes before the completion of its own last
    answer."""
    for _ in range(50):
        target.fabric.run(NEAR, target.libiscsi(NEAR, "iscsi-inq")).check()


def patterns(target):
    """Patterns of all sizes, written from one host and read from the other; a pattern that is not
    there is not found."""
    at, writes, reads = 0, [], []
    for number, size in enumerate(
            (512, 4096, 3 * 512, 65536, 129 * 512, COMMAND_BYTES_MAX), start=1):
        writes.append(f"write -P {number} {at} {size}")
        reads.append(f"read -P {number} {at} {size}")
        at += size
    target.io(FAR, *writes).check()
    shown = target.io(NEAR, *reads).check()
    result = target.io(NEAR, "read -P 9 0 512")
    if result.status == 0 or "Pattern verification failed" not in result.output:
        raise Failure(f"expected that other data is noticed\n{result}")
    return shown


def copies(target):
    """Each host writes a file to a disk of its own, both at once; then each reads the other's."""
    data = {lun: random.Random(lun).randbytes(DISK_BYTES) for lun in LUNS}
    with tempfile.TemporaryDirectory() as folder:
        def copy(source, to):
            return ["qemu-img", "dd", "-f", "raw", "-O", "raw", f"bs={COMMAND_BYTES_MAX}",
                    f"if={source}", f"of={to}"]

        there, back = ({lun: pathlib.Path(folder, f"{name}{lun}") for lun in LUNS}
                       for name in ("there", "back"))
        for lun in LUNS:
            there[lun].write_bytes(data[lun])
        together(target.fabric, (FAR, copy(there[1], target.url(1))),
                 (NEAR, copy(there[2], target.url(2))))
        for lun in LUNS:
            if target.files[lun].read_bytes() != data[lun]:
                raise Failure(f"what came to disk {lun} differs")
        together(target.fabric, (NEAR, copy(target.url(1), back[1])),
                 (FAR, copy(target.url(2), back[2])))
        for lun in LUNS:
            if back[lun].read_bytes() != data[lun]:
                raise Failure(f"what came back from disk {lun} differs")


def together(fabric, *commands):
    running = [fabric.start(host, argv) for host, argv in commands]
    for program in running:
        program.wait().check()
        fabric.programs.remove(program)


def crosses_the_fabric(target):
    """The target fetches what is written and sends what is read: its port counts as many bytes, in
    words."""
    def counted():
        folder = "/sys/class/infiniband/mlx5_0/ports/1/counters/"
        return [4 * int(target.fabric.run(SERVER, ["cat", folder + name]).check().output)
                for name in ("port_rcv_data", "port_xmit_data")]

    before = counted()
    target.io(FAR, *(f"write -P 5 {at} {COMMAND_BYTES_MAX}"
                     for at in range(0, DISK_BYTES, COMMAND_BYTES_MAX))).check()
    written = counted()
    target.io(FAR, *(f"read -P 5 {at} {COMMAND_BYTES_MAX}"
                     for at in range(0, DISK_BYTES, COMMAND_BYTES_MAX))).check()
    read = counted()
    there, back = written[0] - before[0], read[1] - written[1]
    if not all(DISK_BYTES <= count < 1.2 * DISK_BYTES for count in (there, back)):
        raise Failure(f"of {DISK_BYTES} bytes {there} came and {back} went")
    return f"{there} came and {back} went"


def suite(target, name):
    """libiscsi's own tests of a command."""
    result = target.fabric.run(
        FAR, target.libiscsi(FAR, "iscsi-test-cu", "-d", "-f", "-t", f"SCSI.{name}.*"))
    ran = re.search(r"^ +tests +(\d+) +(\d+) +(\d+) +0 ", result.check().output, re.MULTILINE)
    if ran is None or int(ran[3]) == 0:
        raise Failure(f"expected that tests pass\n{result}")
    return result


def killed(target):
    """An initiator dies with requests on the way: others do not notice, and the target ends its
    session."""
    target.io(NEAR, "write -P 7 0 65536").check()
    busy = target.fabric.start(
        FAR, target.libiscsi(FAR, "iscsi-perf", "-t", "60", "-b", "64", "-m", "16"))
    busy.wait_until(lambda: "iops average" in busy.output(), "reading")
    if initiator(FAR) not in target.sessions():
        raise Failure("expected a session of the one that reads")
    busy.signal(signal.SIGKILL)
    busy.wait()
    target.fabric.programs.remove(busy)
    for number in range(5):
        target.io(NEAR, f"read -P {7 + number} 0 65536", f"write -P {8 + number} 0 65536").check()
    target.server.wait_until(lambda: initiator(FAR) not in target.sessions(), "forgetting the dead")
    target.io(FAR, "read -P 12 0 65536").check()


def no_target(target):
    target.server.signal(signal.SIGKILL)
    target.server.wait()
    target.fabric.programs.remove(target.server)
    result = target.fabric.run(FAR, target.libiscsi(FAR, "iscsi-inq"))
    if result.status == 0 or result.timed_out or "Login Failed" not in result.output:
        raise Failure(f"expected that nobody answers\n{result}")
    return result


@contextlib.contextmanager
def serving(fabric):
    with tempfile.TemporaryDirectory(prefix="softib-disks-") as folder:
        yield Target(fabric, pathlib.Path(folder))


CASES = [
    ("iscsi-inq, iscsi-readcapacity16", inquiry),
    ("50 logins", many_logins),
    ("qemu-io: patterns, written here and read there", patterns),
    ("two disks from two hosts at once, and back", copies),
    ("the bytes cross the fabric", crosses_the_fabric),
    *((f"iscsi-test-cu {name}", lambda target, name=name: suite(target, name)) for name in SUITES),
    ("an initiator is killed", killed),
    ("the target is killed", no_target),
]


def main():
    report = Report("storage")
    need_programs(*PROGRAMS)
    if not glob.glob("/usr/lib/*/qemu/block-iscsi.so"):
        skip("not installed: qemu-block-extra; run 'make deps'")
    with Fabric(*THREE_HOPS[1]) as fabric, serving(fabric) as target:
        for title, action in CASES:
            report.case("iSER", title, lambda: action(target))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
