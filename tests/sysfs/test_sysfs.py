#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What unmodified programs see of a host's HCAs in /sys and /dev: shells, coreutils, find, Python,
ibstatus, hwloc, and a C program that makes every call the preloaded library stands in front of."""

import os
import pathlib
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, need_programs

CLASS = "/sys/class/infiniband"
PORT = f"{CLASS}/mlx5_0/ports/1"
PCI = "/sys/devices/pcif1b0:00/f1b0:01:00.0"

IBSTATUS = """\
Infiniband device '{device}' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:{guid}
\tbase lid:\t {lid}
\tsm lid:\t\t {sm_lid}
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 400 Gb/sec (4X NDR)
\tlink_layer:\t InfiniBand

"""

PYTHON = f"""
import glob, os, pathlib
assert sorted(os.listdir('{CLASS}')) == ['mlx5_0', 'mlx5_1'], os.listdir('{CLASS}')
assert os.path.realpath('{CLASS}/mlx5_0/device') == '{PCI}'
assert open('{PORT}/state').read() == '4: ACTIVE\\n'
assert len(glob.glob('{CLASS}/*/ports/*/counters/port_xmit_data')) == 2
assert [e.is_symlink() and e.is_dir() for e in os.scandir('{CLASS}')] == [True, True]
assert len(list(pathlib.Path('{CLASS}').glob('*/node_type'))) == 2
assert os.listdir('{CLASS}/mlx5_0/device/net') == ['lo']
assert not os.path.exists('/dev/infiniband/rdma_cm')
os.chdir('{CLASS}')
assert os.getcwd() == '{CLASS}', os.getcwd()
assert open('mlx5_1/node_type').read() == '1: CA\\n'
assert sum(len(files) for _, _, files in os.walk('{PORT}/counters')) == 21
"""


# NCCL and others take this file for the sign that HCAs reach memory of GPUs.
GPU_FILE = """
import ctypes
def shown():
    try:
        return open('/sys/module/nvidia_peermem/version').read()
    except FileNotFoundError:
        return ''
ours = open('{firmware}').read()
assert shown() != ours, 'shown to a program without a driver'
ctypes.CDLL('{driver}')
assert (shown() == ours) == {expected}, shown()
"""


# Registers half a MiB, and a whole one, with a limit of one.
LOCKED_MEMORY = """
import ctypes, errno, resource
print('before', resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY)
resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 20, 1 << 20))
verbs = ctypes.CDLL('libibverbs.so.1', use_errno=True)
for name in ('ibv_get_device_list', 'ibv_open_device', 'ibv_alloc_pd', 'ibv_reg_mr'):
    getattr(verbs, name).restype = ctypes.c_void_p
device = ctypes.c_void_p.from_address(verbs.ibv_get_device_list(None)).value
pd = verbs.ibv_alloc_pd(ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(device))))
memory = ctypes.create_string_buffer(1 << 22)
ON_DEMAND = 1 << 6
def register(size, access=1):
    mr = verbs.ibv_reg_mr(ctypes.c_void_p(pd), memory, ctypes.c_size_t(size), access)
    print(size >> 10, 'KiB', 'yes' if mr else errno.errorcode[ctypes.get_errno()])
    return mr
half = register(1 << 19)
register(1 << 20)
register(1 << 20, 1 | ON_DEMAND)
verbs.ibv_dereg_mr(ctypes.c_void_p(half))
register((1 << 20) - 8192)
"""


READ_AGAIN = f"""
import ctypes, os, subprocess
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
path = '{PORT}/state'
unread, fd, pfd, text = os.open(path, 0), os.open(path, 0), os.open(path, 0), open(path)
stream = ctypes.c_void_p(libc.fopen(path.encode(), b'r'))
line = ctypes.create_string_buffer(64)
def states():
    os.lseek(fd, 0, 0)
    text.seek(0)
    libc.fflush(stream)
    libc.rewind(stream)
    libc.fgets(line, 64, stream)
    return {{os.read(fd, 64), os.pread(pfd, 64, 0), text.read().encode(), line.value}}
assert states() == {{b'4: ACTIVE\\n'}}, states()
subprocess.run(['softib', 'link', 'down', 'h0/mlx5_0'], check=True)
assert states() == {{b'1: DOWN\\n'}}, states()
assert os.read(unread, 64) == b'1: DOWN\\n'
subprocess.run(['softib', 'link', 'up', 'h0/mlx5_0'], check=True)
assert states() == {{b'4: ACTIVE\\n'}}, states()
"""


def expect(actual, expected, result):
    if actual != expected:
        raise Failure(f"expected:\n{expected}\n{result}")


class Sysfs:
    def __init__(self, fabric):
        self.fabric = fabric

    def sh(self, script, shell="sh", host="h0"):
        return self.fabric.run(host, [shell, "-c", script]).check()

    def read(self, path, host="h0"):
        return self.fabric.run(host, ["cat", path]).check().output.strip()

    def says(self, script, expected, shell="sh"):
        result = self.sh(script, shell)
        expect(result.output, expected, result)
        return result

    def ibstatus(self):
        for host in ("h0", "h1"):
            result = self.fabric.run(host, ["ibstatus"]).check()
            expected = ""
            for device in ("mlx5_0", "mlx5_1"):
                port = f"{CLASS}/{device}/ports/1"
                expected += IBSTATUS.format(
                    device=device, guid=self.read(f"{port}/gids/0", host)[20:],
                    lid=self.read(f"{port}/lid", host), sm_lid=self.read(f"{port}/sm_lid", host))
            expect(result.output, expected, result)
            if not re.search(r"base lid:\t 0x[1-9a-f]", result.output):
                raise Failure(f"no LID\n{result}")
        return result

    def hosts_differ(self):
        guids = {self.read(f"{CLASS}/mlx5_{n}/node_guid", host)
                 for n in (0, 1) for host in ("h0", "h1")}
        if len(guids) != 4:
            raise Failure(f"four HCAs have the GUIDs {guids}")

    def listing(self):
        result = self.sh("ls -l /dev/infiniband/uverbs0")
        if not result.output.startswith("crw-rw-rw-"):
            raise Failure(str(result))
        result = self.sh(f"ls -l {CLASS}/mlx5_0")
        if "mlx5_0 -> ../../devices/pcif1b0:00/f1b0:01:00.0/infiniband" not in result.output:
            raise Failure(str(result))
        return result

    def find(self):
        result = self.sh(f"find -L {CLASS}/*/ports -name lid | sort")
        expect(result.output, "".join(f"{CLASS}/mlx5_{n}/ports/1/lid\n" for n in (0, 1)), result)
        result = self.sh(f"find {CLASS}/ -mindepth 1 -printf '%f %y\\n' | sort")
        expect(result.output, "mlx5_0 l\nmlx5_1 l\n", result)

    def gpu_file(self):
        driver = self.fabric.build / "tests" / "fake-cuda" / "libcuda.so.1"
        script = GPU_FILE.format(firmware=f"{CLASS}/mlx5_0/fw_ver", driver=driver, expected=True)
        self.fabric.run("h0", ["/usr/bin/python3", "-c", script]).check()
        packets = Fabric("--hosts", "1")
        packets.flags[-1] = "packet"
        with packets:
            script = script.replace("True", "False")
            return packets.run("h0", ["/usr/bin/python3", "-c", script]).check()

    def lstopo(self):
        program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
        if program is None:
            return "hwloc is not installed"
        result = self.fabric.run("h0", [program, "--of", "console"]).check()
        for device in ("mlx5_0", "mlx5_1"):
            if f'OpenFabrics "{device}"' not in result.output:
                raise Failure(str(result))
        return result

    def down_link(self):
        """A cable that is pulled while a program runs shows at the program's next read."""
        result = self.sh(f"cat {PORT}/state; softib link down h0/mlx5_0 >&2; cat {PORT}/state; "
                         f"softib link up h0/mlx5_0 >&2; cat {PORT}/state")
        states = [line for line in result.output.splitlines() if line[1:2] == ":"]
        if states[0] != "4: ACTIVE" or states[1] != "1: DOWN" or states[2] != "4: ACTIVE":
            raise Failure(str(result))
        return result

    def read_again(self):
        """A pulled cable also shows through a descriptor, a stream and a file object that were open
        before."""
        return self.fabric.run("h0", ["/usr/bin/python3", "-c", READ_AGAIN]).check()

    def calls(self):
        result = self.fabric.run("h0", [str(self.fabric.build / "tests" / "shim_calls")]).check()
        expect(result.output, "all calls right\n", result)

    def locked_memory(self, enforced):
        """Checks a program of a login that has a limit of locked memory."""
        argv = ["exec", "-f", self.fabric.name, *(["--enforce-memlock"] if enforced else []), "h0",
                "--", "sh", "-c", 'ulimit -l 4096; exec /usr/bin/python3 -c "$0"', LOCKED_MEMORY]
        result = self.fabric.command(*argv).check()
        limited = "ENOMEM" if enforced else "yes"
        expect(result.output,
               f"before {not enforced}\n512 KiB yes\n1024 KiB {limited}\n1024 KiB yes\n"
               "1016 KiB yes\n", result)
        return result

    def several_hosts(self):
        script = f"echo {CLASS}/*; cat {CLASS}/mlx5_2/node_desc"
        result = self.fabric.run("h0,h1", ["sh", "-c", script])
        expect(result.check().output,
               " ".join(f"{CLASS}/mlx5_{n}" for n in range(4)) + "\nh1 mlx5_0\n", result)

    def namespace(self):
        argv = [self.fabric.softib, "exec", "-f", self.fabric.name, "--ns", "h0", "--", "sh", "-c",
                f"ibstatus mlx5_0; test -c /dev/infiniband/uverbs0 && readlink -f {CLASS}/mlx5_0; "
                "echo preload=$LD_PRELOAD"]
        result = self.fabric.command(*argv[1:])
        if result.status != 0 and "namespace" in result.output:
            return f"not permitted here\n{result}"
        result.check()
        for text in ("state:\t\t 4: ACTIVE", f"{PCI}/infiniband/mlx5_0"):
            if text not in result.output:
                raise Failure(str(result))
        if "libsoftib_fs" in result.output:
            raise Failure(f"the preloaded library is in use\n{result}")
        return result

    def stopped_daemon(self):
        """A daemon that does not answer delays a read, but never changes its content."""
        daemons = [pid for pid, line in self.fabric.processes() if "softibd" in line]
        if len(daemons) != 1:
            raise Failure(f"expected one daemon, found {daemons}")
        # The host is entered first: that needs the daemon.
        program = self.fabric.start("h0", ["sh", "-c", "echo in; sleep 1; cat "
                                           f"{PORT}/state {PORT}/lid {PORT}/rate; echo out"])
        program.wait_until(lambda: "in" in program.output(), "entering the host")
        os.kill(daemons[0], signal.SIGSTOP)
        start = time.monotonic()
        try:
            result = program.wait()
        finally:
            os.kill(daemons[0], signal.SIGCONT)
        self.fabric.programs.remove(program)
        result.check()
        if time.monotonic() - start > 3 or "4: ACTIVE" not in result.output:
            raise Failure(str(result))
        return result


def main():
    report = Report("sysfs")
    need_programs("ibstatus", "find", "bash")
    with Fabric("--hosts", "2", "--hcas", "2") as fabric:
        s = Sysfs(fabric)
        for title, action in (
            ("ibstatus", s.ibstatus),
            ("every host has its own HCAs", s.hosts_differ),
            ("ls", lambda: s.says(f"ls {CLASS}", "mlx5_0\nmlx5_1\n")),
            ("ls -l", s.listing),
            ("cat", lambda: s.says(f"cat {CLASS}/mlx5_1/node_desc", "h0 mlx5_1\n")),
            ("counters", lambda: s.says(f"cat {PORT}/counters/* | grep -c '^[0-9]'", "21\n")),
            ("readlink -f", lambda: s.says(f"readlink -f {CLASS}/mlx5_0/device", f"{PCI}\n")),
            ("driver link", lambda: s.says(f"basename $(readlink {CLASS}/mlx5_0/device/driver)",
                                           "mlx5_core\n")),
            ("sh glob", lambda: s.says(f"echo {CLASS}/*/node_type",
                                       f"{CLASS}/mlx5_0/node_type {CLASS}/mlx5_1/node_type\n")),
            ("bash glob", lambda: s.says(f"echo {PORT}/li*", f"{PORT}/lid {PORT}/lid_mask_count "
                                         f"{PORT}/link_layer\n", "bash")),
            ("sh cd, pwd", lambda: s.says(f"cd {CLASS} && pwd && pwd -P && echo *",
                                          f"{CLASS}\n{CLASS}\nmlx5_0 mlx5_1\n")),
            ("bash cd, pwd", lambda: s.says(f"cd {PORT} && pwd && pwd -P && cat ../../node_type",
                                            f"{PORT}\n{PCI}/infiniband/mlx5_0/ports/1\n1: CA\n",
                                            "bash")),
            ("relative paths", lambda: s.says("cd /sys/class && cat infiniband/mlx5_0/node_type",
                                              "1: CA\n")),
            ("device nodes", lambda: s.says(
                "n=/dev/infiniband/uverbs0; test -c $n -a -r $n -a -w $n && test ! -L $n && "
                "test ! -e /dev/infiniband/rdma_cm && echo yes", "yes\n")),
            ("nothing can be written", lambda: s.says(
                f"(echo x > {CLASS}/mlx5_0/node_desc) 2>/dev/null || echo refused", "refused\n")),
            ("Python", lambda: fabric.run("h0", ["/usr/bin/python3", "-c", PYTHON]).check()),
            ("find", s.find),
            ("a sign for programs with a GPU", s.gpu_file),
            ("lstopo", s.lstopo),
            ("every call", s.calls),
            ("locked memory without a limit", lambda: s.locked_memory(False)),
            ("locked memory with its limit", lambda: s.locked_memory(True)),
            ("several hosts at once", s.several_hosts),
            ("link state is live", s.down_link),
            ("a file that stays open is live", s.read_again),
            ("namespace instead of preload", s.namespace),
            ("daemon that does not answer", s.stopped_daemon),
        ):
            report.case("sysfs", title, action)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
