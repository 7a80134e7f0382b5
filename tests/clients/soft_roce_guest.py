# SPDX-License-Identifier: BSD-2-Clause
"""A machine with Linux's Soft-RoCE (rdma_rxe), emulated: Debian's kernel, and an initial file
system made of what is installed here. Its serial line is a shell."""

import gzip
import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile
import time

from softib_test import Failure, die_with_parent

MODULES = ("virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs")
PROGRAMS = ("ip", "rdma", "ibv_devinfo", "ibv_rc_pingpong", "ibv_uc_pingpong",
            "ibv_ud_pingpong", "ib_send_bw", "ib_write_bw", "ib_read_bw")
PROVIDER = "/usr/lib/x86_64-linux-gnu/libibverbs"
BOOT_S = 300
DONE = "softib-guest-done"

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in $(cat /modules.txt); do insmod $module; done
/usr/bin/ip link set lo up
/usr/bin/ip link set eth0 up
/usr/bin/ip address add {address}/24 dev eth0
/usr/bin/ip address add {address6}/64 dev eth0 nodad
/usr/bin/rdma link add rxe0 type rxe netdev eth0
stty -echo
echo {done} $?
while read -r line; do eval "$line"; echo {done} $?; done
"""


def root_with_kernel():
    """Returns the folder with boot/ and lib/modules/ of a kernel that has rdma_rxe, and its
    version."""
    for root in filter(None, (os.environ.get("SOFTIB_GUEST_ROOT"), "/")):
        for kernel in sorted(pathlib.Path(root, "boot").glob("vmlinuz-*"), reverse=True):
            version = kernel.name.removeprefix("vmlinuz-")
            modules = pathlib.Path(root, "lib/modules", version)
            if list(modules.glob("kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*")):
                return root, version
    return None


def libraries_of(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True)
    return re.findall(r"(/\S+) \(0x", listed.stdout)


class Guest:
    """Starts with `with`; then run(command) gives status and output of a shell command in it."""

    def __init__(self, tap, address, address6):
        self.tap, self.address, self.address6 = tap, address, address6
        self.root, self.version = root_with_kernel()

    def __enter__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="softib-guest-"))
        try:
            self.make_files()
            kernel = pathlib.Path(self.root, "boot", f"vmlinuz-{self.version}")
            self.process = subprocess.Popen(
                ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
                 "-m", "1024", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
                 "-kernel", str(kernel), "-initrd", str(self.dir / "initrd"), "-append",
                 "console=ttyS0 quiet panic=-1 mitigations=off",
                 "-netdev", f"tap,id=n0,ifname={self.tap},script=no,downscript=no",
                 "-device", "virtio-net-pci,netdev=n0"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent)
            self.text = ""
            status, output = self.answer(BOOT_S)
            if status != 0:
                raise Failure(f"the guest has no RoCE device\n{output}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        process = getattr(self, "process", None)
        if process is not None:
            process.kill()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def make_files(self):
        tree = self.dir / "tree"
        for folder in ("bin", "dev", "proc", "sys", "usr/bin", "etc/libibverbs.d", "tmp"):
            (tree / folder).mkdir(parents=True)
        programs = [shutil.which(program) for program in PROGRAMS]
        for program in programs:
            self.copy(tree, program, f"/usr/bin/{os.path.basename(program)}")
        self.copy(tree, shutil.which("busybox"), "/bin/busybox")
        providers = [str(path) for path in pathlib.Path(PROVIDER).glob("librxe-*.so")]
        libraries = [file for program in programs + providers for file in libraries_of(program)]
        for file in dict.fromkeys([*providers, "/etc/libibverbs.d/rxe.driver", *libraries]):
            self.copy(tree, file)
        modules = self.module_files()
        for module in modules:
            self.copy(tree, str(module), "/" + str(module.relative_to(self.root)))
        (tree / "modules.txt").write_text(
            "".join(f"/{module.relative_to(self.root)}\n" for module in modules))
        (tree / "init").write_text(
            INIT.format(address=self.address, address6=self.address6, done=DONE))
        (tree / "init").chmod(0o755)
        names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names,
                                 capture_output=True, check=True).stdout
        (self.dir / "initrd").write_bytes(gzip.compress(archive, 1))

    @staticmethod
    def copy(tree, file, place=None):
        target = tree / (place or file).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)

    def module_files(self):
        """Returns the modules in the order in which they load."""
        if not pathlib.Path(self.root, "lib/modules", self.version, "modules.dep").exists():
            subprocess.run(["/sbin/depmod", "-b", self.root, self.version], check=True)
        listed = subprocess.run(["/sbin/modprobe", "-d", self.root, "-S", self.version,
                                 "--show-depends", "-a", *MODULES],
                                capture_output=True, text=True, check=True).stdout
        return [pathlib.Path(path)
                for path in dict.fromkeys(re.findall(r"^insmod (\S+)", listed, re.M))]

    def start(self, command):
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()

    def wait_for(self, pattern, timeout_s=120):
        """Waits until the guest has printed this since the last answer."""
        end = time.monotonic() + timeout_s
        while not (match := re.search(pattern, self.text)):
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failure(f"the guest does not answer\n{self.text[-4000:]}")
            if select.select([self.process.stdout], [], [], 1)[0]:
                self.text += os.read(self.process.stdout.fileno(), 65536).decode(errors="replace")
        return match

    def answer(self, timeout_s=120):
        """Returns status and output of the command that was started last."""
        match = self.wait_for(rf"{DONE} (\d+)\r?\n", timeout_s)
        output, self.text = self.text[:match.start()], self.text[match.end():]
        return int(match[1]), output

    def run(self, command, timeout_s=120):
        self.start(command)
        return self.answer(timeout_s)
