# SPDX-License-Identifier: BSD-2-Clause
"""Runs the fault programs on fabrics of their own and checks what they leave behind: no process in
the daemon's tables, no memory in the arena that grows with every death, no file.

    SOFTIB_BUILD=build python3 tests/faults/test_faults.py CASE [--kills N] [--seed N]
"""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Program, find_build, loopback_net  # noqa: E402

PATIENCE_S = 20  # Nothing here takes this long unless it hangs.
IDLE_S = 2.0
TICKS_IDLE = 2
PTRACE_ATTACH, PTRACE_DETACH, WALL = 16, 17, 0x40000000


def wait_until(condition, what, timeout_s=PATIENCE_S):
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"{what} did not happen")
        time.sleep(0.005)



def program(fabric, name):
    return str(fabric.build / "tests" / name)


def with_hooks(fabric, argv):
    """Returns an environment in which the verbs library with park points comes before the one that
    softib exec puts first."""
    path = str(fabric.build / "lib" / "softib-hooks")
    return ["env", f"LD_LIBRARY_PATH={path}", *argv]


def status(fabric):
    return json.loads(fabric.command("status", "-f", fabric.name, "--json").check().output)


def daemon_pid(fabric):
    return int(pathlib.Path(fabric.dir, fabric.name, "softibd.pid").read_text())


def arena_blocks(fabric):
    """Returns the 512-byte blocks that the arena occupies: it is the daemon's memfd of that
    name."""
    folder = pathlib.Path("/proc", str(daemon_pid(fabric)), "fd")
    for entry in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # The daemon closes descriptors meanwhile.
            if "softib-arena" in os.readlink(entry):
                return os.stat(entry).st_blocks
    raise Failure("the daemon has no arena")


def cpu_ticks(pid):
    """Returns user and system time of the whole process."""
    fields = pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def nobody_left(fabric):
    wait_until(lambda: not status(fabric)["programs"], "the last program's departure")


def kill(args):
    """Peers die by the hundred; survivors, buddies and the fabric go on."""
    with Fabric("--hosts", "3") as fabric:
        shares = [args.kills // 2, args.kills // 4, args.kills - args.kills // 2 - args.kills // 4]
        for number, (tier, kills) in enumerate(zip((1, 2, 3), shares)):
            scratch = pathlib.Path(fabric.dir, "scratch")
            scratch.mkdir(exist_ok=True)
            before = arena_blocks(fabric)
            argv = [program(fabric, "kill_loop"), "--kills", str(kills),
                    "--seed", str(args.seed + number), "--scratch", str(scratch)]
            result = fabric.run("h0", with_hooks(fabric, argv), timeout_s=60 + kills,
                                env={"SOFTIB_MEMORY_TIER": str(tier)}).check()
            print(f"survivor's tier {tier}: {result.output.strip()}", flush=True)
            scratch.rmdir()
            nobody_left(fabric)
            after = arena_blocks(fabric)
            print(f"arena: {before * 512 >> 10} KiB before, {after * 512 >> 10} KiB after")
            # The tables of the slots that were used stay; what grows with every death does not.
            if number > 0 and after > before + 4096:
                raise Failure(f"the arena grew by {(after - before) * 512 >> 10} KiB")


def plain(name, *flags, hosts="2", timeout_s=120):
    """Runs a program that checks everything by itself."""
    def case(_args):
        with Fabric("--hosts", hosts) as fabric:
            argv = [program(fabric, name), *flags]
            print(fabric.run("h0", argv, timeout_s=timeout_s).check().output.strip())
            nobody_left(fabric)
    return case


def start_traffic(fabric, *flags):
    """Starts a pair that sends to each other until told to stop. Returns its driver."""
    driver = fabric.start("h0", [program(fabric, "traffic"), *flags])
    driver.wait_until(lambda: "flowing" in driver.output(), "traffic", PATIENCE_S)
    return driver


def restart(_args):
    """The daemon dies under traffic and comes back."""
    for mode in ("poll", "events", "late-events"):
        with Fabric("--hosts", "2") as fabric:
            driver = start_traffic(fabric, mode)
            os.kill(daemon_pid(fabric), signal.SIGKILL)
            wait_until(lambda: not any(f["up"] for f in json.loads(
                fabric.command("list", "--json").check().output)), "the daemon's end")
            driver.signal(signal.SIGUSR1)  # Report whether it still flows.
            driver.wait_until(lambda: "still" in driver.output(), "traffic without a daemon",
                              PATIENCE_S)
            fabric.command("up", fabric.name).check()
            fabric.run("h1", [program(fabric, "traffic"), "brief"], PATIENCE_S).check()
            driver.signal(signal.SIGUSR1)  # A "late-events" program sleeps from now on.
            driver.wait_until(lambda: driver.output().count("still flowing") == 2,
                              "traffic with a new daemon", PATIENCE_S)
            # A program that was there before goes on or fails, but it answers, and so it does when
            # its peer dies.
            driver.signal(signal.SIGUSR2)
            result = driver.wait(PATIENCE_S)
            fabric.programs.remove(driver)
            if result.timed_out or result.status != 0:
                raise Failure(f"{mode}: the old pair hangs or failed\n{result}")
            print(f"{mode}: {' | '.join(result.output.split(chr(10))).strip(' |')}")
            nobody_left(fabric)


def idle(_args):
    """After the traffic, programs that sleep on a channel, their helper threads and the daemon use
    no CPU."""
    with Fabric("--hosts", "2") as fabric:
        driver = start_traffic(fabric, "then-sleep")
        driver.wait_until(lambda: "asleep" in driver.output(), "the end of the traffic", PATIENCE_S)
        pids = [daemon_pid(fabric), *(p["pid"] for p in status(fabric)["programs"])]
        if len(pids) != 3:
            raise Failure(f"expected a daemon and two programs: {pids}")
        time.sleep(0.2)  # Helpers stay half awake for a few milliseconds after traffic.
        before = {pid: cpu_ticks(pid) for pid in pids}
        time.sleep(IDLE_S)
        used = {pid: cpu_ticks(pid) - before[pid] for pid in pids}
        print(f"ticks in {IDLE_S} s: {used}")
        if max(used.values()) > TICKS_IDLE:
            raise Failure(f"somebody is not idle: {used}")
        driver.signal(signal.SIGUSR2)
        driver.wait(PATIENCE_S).check()
        fabric.programs.remove(driver)
        nobody_left(fabric)


def helper(fabric, name):
    """Returns the entry of a daemon's helper process in softib status."""
    return next(h for h in status(fabric)["health"]["helpers"] if h["name"] == name)


def start_waiting(fabric, *flags):
    driver = fabric.start("h0", [program(fabric, "carrier_test"), *flags])
    driver.wait_until(lambda: "waiting" in driver.output(), "the program's requests", PATIENCE_S)
    return driver


def end_restored(fabric, driver):
    result = driver.wait(2 * PATIENCE_S)
    fabric.programs.remove(driver)
    if "restored" not in result.check().output:
        raise Failure(str(result))


def carrier(_args, flags=()):
    """The carrier dies, twice: its programs get errors, and everything made afterwards works."""
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    with Fabric("--hosts", "2", *flags) as fabric:
        if status(fabric)["health"]["text"] != "ok":
            raise Failure("a fresh fabric is not well")
        for deaths in (1, 2):
            driver = start_waiting(fabric)
            os.kill(helper(fabric, "carrier")["pid"], signal.SIGKILL)
            end_restored(fabric, driver)
            wait_until(lambda: helper(fabric, "carrier")["restarts"] == deaths, "the restart")
            fabric.run("h1", [program(fabric, "traffic"), "brief"], PATIENCE_S).check()
        health = status(fabric)["health"]
        if not health["ok"] or "carrier restarted 2 times" not in health["text"] or \
                "(signal 9)" not in health["text"]:
            raise Failure(f"health: {health}")
        log = pathlib.Path(fabric.dir, fabric.name, "softibd.log").read_text()
        if log.count("has ended: signal 9") != 2 or log.count("was restarted") != 2:
            raise Failure(f"the log does not say so:\n{log}")


def carrier_roce(args):
    """The same on Ethernet, where the carrier has the sockets of all HCAs."""
    net = loopback_net()
    carrier(args, ("--link-layer", "ethernet", "--roce-address-base", f"127.{net}.0.0"))


def ptrace(request, pid, libc=ctypes.CDLL(None, use_errno=True)):
    """Makes a ptrace request. Returns False where the kernel does not allow it."""
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    if libc.ptrace(request, pid, None, None) != 0:
        return False
    if request == PTRACE_ATTACH:
        os.waitpid(pid, WALL)
    return True


def expect_health(fabric, state, ok, *words):
    wait_until(lambda: helper(fabric, "carrier")["state"] == state, f"the state {state}")
    health = status(fabric)["health"]
    if health["ok"] != ok or not all(word in health["text"] for word in words):
        raise Failure(f"health: {health}")


def carrier_hangs(_args):
    """A carrier that hangs is distinguished from one that works and from one that is dead. When it
    goes on, so do the programs that waited; when it is killed instead, programs see its death."""
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    with Fabric("--hosts", "2") as fabric:
        pid = helper(fabric, "carrier")["pid"]
        expect_health(fabric, "runs", True, "ok")
        os.kill(pid, signal.SIGSTOP)
        expect_health(fabric, "stopped", False, f"carrier (pid {pid}) does not answer",
                      f"kill -CONT {pid}")
        waits = fabric.start("h1", [program(fabric, "traffic"), "brief"])  # For its queue pairs.
        os.kill(pid, signal.SIGCONT)
        waits.wait(PATIENCE_S).check()
        fabric.programs.remove(waits)
        expect_health(fabric, "runs", True, "ok")
        if ptrace(PTRACE_ATTACH, pid):  # The carrier does nothing, and no signal reports it.
            expect_health(fabric, "silent", False, f"carrier (pid {pid}) does not answer",
                          f"kill -KILL {pid}")
            ptrace(PTRACE_DETACH, pid)
            expect_health(fabric, "runs", True, "ok")
            log = fabric.command("log", fabric.name).check().output
            for line in (f"(pid {pid}) does not answer; programs that need it wait",
                         f"(pid {pid}) answers again"):
                if log.count(line) != 1:
                    raise Failure(f"the log has not one line '{line}':\n{log}")
        else:
            print("the kernel does not let us trace: not tried")
        driver = start_waiting(fabric)
        os.kill(pid, signal.SIGSTOP)
        expect_health(fabric, "stopped", False, f"kill -KILL {pid}")
        os.kill(pid, signal.SIGKILL)
        end_restored(fabric, driver)
        expect_health(fabric, "runs", True, "carrier restarted 1 time")


def carrier_and_daemon(_args):
    """The daemon dies and takes the carrier with it: no process is left to tell the programs."""
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    with Fabric("--hosts", "2") as fabric:
        driver = start_waiting(fabric, "daemon")
        os.kill(daemon_pid(fabric), signal.SIGKILL)
        end_restored(fabric, driver)
        fabric.command("up", fabric.name).check()
        fabric.run("h1", [program(fabric, "traffic"), "brief"], PATIENCE_S).check()


def carrier_memory(_args):
    """The carrier frees the memory for a burst of many queue pairs once it has nothing to do."""
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    with Fabric("--hosts", "2") as fabric:
        pid = helper(fabric, "carrier")["pid"]

        def anonymous_kib(field="RssAnon"):
            lines = pathlib.Path("/proc", str(pid), "status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith(field))

        fabric.run("h0", [program(fabric, "many_qps"), "2000"], timeout_s=240).check()
        most = anonymous_kib("VmHWM")
        wait_until(lambda: anonymous_kib() < 16 << 10, "the return of memory")
        print(f"{most} KiB at most, {anonymous_kib()} KiB after")


CASES = {
    "carrier_memory": carrier_memory,
    "carrier": carrier,
    "carrier_and_daemon": carrier_and_daemon,
    "carrier_hangs": carrier_hangs,
    "carrier_roce": carrier_roce,
    "kill": kill,
    "fork": plain("fork_test"),
    "dlclose": plain("dlclose_test"),
    "many_processes": plain("many_processes", "64"),
    "many_qps": plain("many_qps", "5000", timeout_s=240),
    "restart": restart,
    "idle": idle,
    "stop": plain("stop_test"),
    "strangers": plain("strangers"),
    "swap": plain("swap_test"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    try:
        CASES[args.case](args)
    except Failure as failure:
        print(f"FAIL {args.case}: {failure}")
        return 1
    print(f"pass {args.case}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
