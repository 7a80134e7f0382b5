#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The archive of `make portable`: it needs the C library and nothing else, of 2.36 or older, and a
fabric comes up wherever it is unpacked."""

import pathlib
import platform
import re
import subprocess
import tarfile
import tempfile
import unittest

from cli_case import BUILD, CliCase

GLIBC = (2, 36)
# Part of glibc; the loader is named by what uses it directly.
GLIBC_LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# softib-sm takes the libibumad of the host it is on: ours, where softib exec starts it.
TELEMETRY = {
    "libibumad.so.3", "libsqlite3.so.0", "libssl.so.3", "libcrypto.so.3", "libcpp-httplib.so.0.11",
    "libcpp-httplib.so.0.14", "libz.so.1", "libstdc++.so.6", "libgcc_s.so.1"}
OURS = {"bin/softib-am": {"libibumad.so.3"}, "bin/softib-sm": {"libibumad.so.3"},
        "bin/softib-telemetry": TELEMETRY,
        "lib/softib/librdmacm.so.1": {"libibverbs.so.1"},
        "lib/softib/libnccl-net-softib.so": {"libibverbs.so.1", "libsharp_coll.so.5"},
        "lib/softib/rsocket/librspreload.so": {"librdmacm.so.1"},
        # Opened only in a job of that MPI.
        "lib/softib/libsoftib_mpi.so": {"libmpi.so.40"}}
BYTES_MAX = 16 << 20
PROGRAMS = ("bin/softib", "bin/softibd", "bin/softib-am", "bin/softib-sm")
LIBRARIES = ("libibverbs.so", "libibverbs.so.1", "libibumad.so.3", "librdmacm.so.1",
             "libsharp_coll.so.5", "libnccl-net-softib.so", "libsoftib_fs.so",
             "rsocket/librspreload.so")


class Portable(CliCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="softib-portable-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        packed = subprocess.run(
            ["cpack", "-G", "TGZ", "--config", str(BUILD / "CPackConfig.cmake"), "-B",
             str(cls.folder)], capture_output=True, text=True, timeout=120)
        if packed.returncode != 0:
            raise AssertionError(packed.stdout + packed.stderr)
        cls.archive, = cls.folder.glob("softib-*.tar.gz")
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.folder / "elsewhere")
        cls.root, = (cls.folder / "elsewhere").iterdir()

    def binaries(self):
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                yield str(path.relative_to(self.root)), path

    def objdump(self, option, path):
        return subprocess.run(["objdump", option, str(path)], check=True, capture_output=True,
                              text=True).stdout

    def test_is_small_and_complete(self):
        self.assertLess(self.archive.stat().st_size, BYTES_MAX)
        names = {name for name, _ in self.binaries()}
        self.assertLessEqual(set(PROGRAMS), names)
        for library in LIBRARIES:
            self.assertTrue(list(self.root.glob(f"lib*/**/softib/{library}")), library)
        for name in ("share/man/man1/softib.1", "bench/nccl.sh", "bench/nccl_launch.py",
                     "bench/nccl_rank.py"):
            self.assertTrue((self.root / name).exists(), name)

    def test_needs_the_c_library_alone(self):
        for name, path in self.binaries():
            needed = set(re.findall(r"NEEDED\s+(\S+)", self.objdump("-p", path)))
            self.assertTrue(needed, name)
            self.assertEqual(needed - GLIBC_LIBRARIES - OURS.get(name, set()), set(), name)

    @unittest.skipIf(platform.libc_ver()[1] > "2.36",
                     "what is built here needs the C library that is here")
    def test_needs_no_newer_c_library(self):
        for name, path in self.binaries():
            versions = {tuple(map(int, found.split("."))) for found in
                        re.findall(r"\(?GLIBC_([\d.]+)\)?", self.objdump("-T", path))}
            self.assertTrue(versions, name)
            self.assertLessEqual(max(versions), GLIBC, name)

    def test_a_fabric_comes_up(self):
        result = subprocess.run(
            [str(self.root / "bin" / "softib"), "run", "--hosts", "2", "--", "sh", "-c",
             "ibv_devinfo; softib exec h1 -- ibv_devinfo; echo $LD_LIBRARY_PATH"],
            env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("PORT_ACTIVE"), 2, result.stdout)
        self.assertIn(str(self.root), result.stdout)
        self.assertNotIn(str(BUILD), result.stdout)


if __name__ == "__main__":
    unittest.main()
