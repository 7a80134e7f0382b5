#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Several subnet managers on one fabric: ours in the daemon, ours as programs, and the
distribution's OpenSM. Which one is master, which takes over when the master dies, and that traffic
goes on."""

import pathlib
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, need_programs
from subnet import raw_mad

TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
GUIDS = {host: f"0x250f71b1000{index:02x}00" for index, host in enumerate(("h0", "h1", "h2", "h3"))}
OURS = "0x250f71b20000000"  # The daemon's manager, on leaf0.
DIRECTORY = tempfile.TemporaryDirectory(prefix="softib-test-")
PATIENCE = 20  # Seconds, on a loaded machine; the report has the measured time.


def expect(condition, text):
    if not condition:
        raise Failure(text)


def master(fabric):
    """Returns the GUID of the manager that the fabric's ports name and that answers as master."""
    result = fabric.run("h0", ["sminfo"])
    found = re.search(r"sm guid (0x[0-9a-f]+),.*SMINFO_MASTER", result.output)
    return found.group(1) if found else None


def wait_for_master(fabric, guid):
    start = time.monotonic()
    while time.monotonic() < start + PATIENCE:
        if master(fabric) == guid:
            return f"{guid} is master after {time.monotonic() - start:.2f} s"
        time.sleep(0.05)
    raise Failure(f"master is {master(fabric)}, not {guid}, after {PATIENCE} s")


def wait_for_line(program, pattern):
    program.wait_until(lambda: re.search(pattern, program.output(), re.MULTILINE),
                       pattern, PATIENCE)


def traffic(fabric):
    fabric.pair("h2", "h3", lambda port: [
        "ib_write_bw", "-d", "mlx5_0", "-p", str(port), "-n", "100", "-s", "65536"])


def opensm(fabric, host, *arguments):
    directory = tempfile.mkdtemp(prefix="opensm-", dir=DIRECTORY.name)
    conf = pathlib.Path(directory, "conf")
    # By default OpenSM waits most of a minute for a master that does not answer.
    conf.write_text("sminfo_polling_timeout 250\npolling_retry_number 3\n")
    return fabric.start(host, [
        "env", f"OSM_CACHE_DIR={directory}/", f"OSM_TMP_DIR={directory}/", "opensm",
        "-F", str(conf), "-f", f"{directory}/log", *arguments])


def two_of_ours(fabric):
    """kill -9 of the master: another manager takes over, and LIDs and what programs registered
    stay."""
    first = fabric.start("h1", ["softib-sm", "--priority", "3"])
    wait_for_line(first, "^SUBNET UP")
    second = fabric.start("h2", ["softib-sm", "--priority", "1"])
    wait_for_line(second, "^STANDBY")
    expect(master(fabric) == GUIDS["h1"], f"{master(fabric)} is master")
    groups = join_and_stay(fabric)
    registered = register(fabric)
    before = fabric.run("h0", ["ibnetdiscover"]).check().output
    start = time.monotonic()
    first.signal(signal.SIGKILL)
    wait_for_line(second, "^SUBNET UP")
    took = f"the other had the subnet up after {time.monotonic() - start:.2f} s"
    wait_for_master(fabric, GUIDS["h2"])
    after = fabric.run("h0", ["ibnetdiscover"]).check().output
    strip = lambda text: re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    expect(strip(before) == strip(after), f"the fabric is another\n{before}\n{after}")
    now = members(fabric)
    expect(groups == now, f"groups were\n{groups}\nand are\n{now}")
    now = services(fabric)
    expect(registered == now, f"services were\n{registered}\nand are\n{now}")
    traffic(fabric)
    second.signal(signal.SIGKILL)
    return took


def members(fabric):
    """Returns the records of all members of groups, with their MLIDs and port GIDs."""
    output = fabric.run("h0", ["saquery", "--smkey", "1", "MCMR"]).check().output
    return sorted(re.findall(r"(?:MGID|PortGid|Mlid|MLID)[. ]*(\S+)", output))


def join_and_stay(fabric):
    """Makes a multicast group with one member, whose program has ended without leaving it."""
    raw_mad(fabric, "h3", "join")
    found = members(fabric)
    expect(any(word.startswith("fe80::") for word in found), f"no member has joined: {found}")
    return found


def services(fabric):
    """Returns the records of all services, without the rest of their leases, which changes every
    second."""
    output = fabric.run("h0", ["saquery", "SR"]).check().output
    leases = [int(lease, 16) for lease in re.findall(r"ServiceLease\W*0x(\w+)", output)]
    expect(all(0 < lease <= 3600 for lease in leases), output)
    return re.sub(r"ServiceLease.*\n", "", output)


def register(fabric):
    """Registers a service whose program has ended without removing it."""
    raw_mad(fabric, "h3", "service", "the bakery", "3600")
    found = services(fabric)
    expect(found.count("ServiceRecord") == 1 and "the bakery" in found, found)
    return found


def opensm_takes_over(fabric):
    """A manager of a higher priority is started: the daemon's manager hands over. When it is
    killed, the daemon's manager is master again."""
    expect(master(fabric) == OURS, f"{master(fabric)} is master")
    other = opensm(fabric, "h1", "-p", "5")
    took = wait_for_master(fabric, GUIDS["h1"])
    state = fabric.command("sm", "status", "-f", fabric.name).check().output
    expect(re.search("state +standby", state), state)
    traffic(fabric)
    other.signal(signal.SIGKILL)
    took += "; " + wait_for_master(fabric, OURS)
    traffic(fabric)
    return took


def ours_takes_over(fabric):
    """OpenSM is master, and one of our managers with a higher priority is started."""
    other = opensm(fabric, "h1", "-p", "2")
    wait_for_line(other, "Entering MASTER state")
    own = fabric.start("h2", ["softib-sm", "--priority", "9"])
    took = wait_for_master(fabric, GUIDS["h2"])
    traffic(fabric)
    own.signal(signal.SIGKILL)
    took += "; " + wait_for_master(fabric, GUIDS["h1"])
    traffic(fabric)
    other.signal(signal.SIGKILL)
    return took


def by_hand(fabric):
    """softib sm handover, to a manager that keeps the subnet."""
    refused = fabric.command("sm", "handover", "-f", fabric.name)
    expect(refused.status != 0 and "softib-sm" in refused.output, str(refused))
    other = fabric.start("h2", ["softib-sm", "--priority", "0", "--sm-key", "1"])
    wait_for_line(other, "^(STANDBY|MASTER)")
    took = wait_for_master(fabric, GUIDS["h2"])  # Lower GUID, same priority.
    other.signal(signal.SIGUSR1)
    time.sleep(1)
    expect(master(fabric) == GUIDS["h2"], "it handed over to one that would hand back")
    other.signal(signal.SIGKILL)
    return took + "; " + wait_for_master(fabric, OURS)


def rogue(fabric):
    """Managers ignore a manager with another SM_Key."""
    other = fabric.start("h1", ["softib-sm", "--priority", "15", "--sm-key", "77"])
    time.sleep(2)
    state = fabric.command("sm", "status", "-f", fabric.name).check().output
    expect(re.search("state +master", state), state)
    expect(re.search("others +0", state), state)
    other.signal(signal.SIGKILL)
    fabric.command("sm", "resweep", "-f", fabric.name).check()
    wait_for_master(fabric, OURS)
    traffic(fabric)
    return state


def main():
    need_programs("sminfo", "saquery", "ibnetdiscover", "opensm", "ib_write_bw")
    report = Report("managers")
    with Fabric(*TREE, "--sm", "none") as fabric:
        report.case("softib-sm", "kill -9 of the master", lambda: two_of_ours(fabric))
        report.case("softib-sm", "beside OpenSM", lambda: ours_takes_over(fabric))
    with Fabric(*TREE) as fabric:
        report.case("OpenSM", "beside the daemon's manager", lambda: opensm_takes_over(fabric))
        report.case("softib sm", "handover", lambda: by_hand(fabric))
        report.case("softib-sm", "with another SM_Key", lambda: rogue(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
