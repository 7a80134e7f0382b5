#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The symbols of our libibverbs.so.1: against the facts, the distribution and its programs.

Environment: SOFTIB_VERBS_LIBRARY (the built library), SOFTIB_VERBS_SOURCE (the folder with
symbols.txt). Arguments: the rules to check, or none for all. Exit code 77: not checkable here.
"""

import collections
import ctypes
import errno
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

LIBRARY = pathlib.Path(os.environ["SOFTIB_VERBS_LIBRARY"])
SOURCE = pathlib.Path(os.environ["SOFTIB_VERBS_SOURCE"])
EXIT_SKIPPED = 77

Symbol = collections.namedtuple("Symbol", "name version kind failure")


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C")).stdout


def lines_of(file_name):
    for line in (SOURCE / file_name).read_text().splitlines():
        text = line.split("#", 1)[0].strip()
        if text:
            yield text


def facts():
    return [Symbol(*line.split()) for line in lines_of("symbols.txt")]


def dynamic_symbols(path):
    """Yields (name, version, is_default, is_defined) for each versioned dynamic symbol."""
    for line in run("readelf", "-W", "--dyn-syms", str(path)).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        match = re.fullmatch(r"([^@]+)(@@?)(.+)", fields[7])
        if match and fields[6] != "ABS":
            yield match[1], match[3], match[2] == "@@", fields[6] != "UND"


def exports(path):
    return {(name, version): default
            for name, version, default, defined in dynamic_symbols(path) if defined}


def imports(path):
    return {(name, version) for name, version, _, defined in dynamic_symbols(path)
            if not defined and version.startswith("IBVERBS_")}


def version_order(version):
    return tuple(int(n) for n in re.findall(r"\d+", version))


def library_folders():
    folders = glob.glob("/usr/lib/*-linux-gnu") + ["/usr/lib64", "/usr/lib"]
    return [folder for folder in folders if os.path.isdir(folder)]


def distribution_library():
    for folder in library_folders():
        path = pathlib.Path(folder, "libibverbs.so.1")
        if path.exists():
            return path
    raise unittest.SkipTest("no libibverbs.so.1 from the distribution")


class Facts(unittest.TestCase):
    def CountsAreThoseOfAllReleases(self):
        public = [s for s in facts() if s.kind != "private"]
        private = [s for s in facts() if s.kind == "private"]
        self.assertEqual((len({s.name for s in public}), len(public)), (85, 118))
        self.assertEqual((len({s.name for s in private}), len(private)), (91, 515))
        self.assertEqual({s.version for s in private},
                         {f"IBVERBS_PRIVATE_{n}" for n in (22, 25, 33, 34, 57, 59, 64)})
        self.assertEqual({s.version for s in public},
                         {f"IBVERBS_1.{n}" for n in (0, 1, *range(5, 18))})

    def ImplementedNamesAreKnown(self):
        implemented = list(lines_of("implemented.txt"))
        self.assertEqual(len(implemented), len(set(implemented)))
        public = {s.name for s in facts() if s.kind == "public"}
        self.assertLessEqual(public, set(implemented), "a public function is only a stub")
        self.assertLessEqual(set(implemented), {s.name for s in facts() if s.kind != "compat"})


    def AVerbIsThreeNamedLines(self):
        entries = (SOURCE / "entry.h").read_text()
        declared = set(re.findall(r"^SOFTIB_ENTRY\((\w+)\)", entries, re.M))
        declared |= set(re.findall(r"^[^#\n]*\bsoftib_(\w+)\(", entries, re.M))
        self.assertEqual(declared, set(lines_of("implemented.txt")))
        defined = collections.Counter()
        for path in SOURCE.glob("*.cc"):
            text = path.read_text()
            here = re.findall(r"^\S.*?\bsoftib_(?!stub)(\w+)\([^;]*?\{", text, re.M)
            if here:
                self.assertIn('#include "abi/verbs/entry.h"', text, path.name)
            defined.update(here)
        self.assertEqual(defined, collections.Counter(declared))


class Library(unittest.TestCase):
    def ExportsExactlyTheFacts(self):
        self.assertEqual(set(exports(LIBRARY)), {(s.name, s.version) for s in facts()})

    def NewestPublicVersionIsDefault(self):
        expected = {}
        for kind in ("private", "public"):
            for symbol in facts():
                if symbol.kind == kind:
                    best = expected.get(symbol.name)
                    if best is None or best.kind != kind or (
                            version_order(symbol.version) > version_order(best.version)):
                        expected[symbol.name] = symbol
        defaults = {key for key, is_default in exports(LIBRARY).items() if is_default}
        self.assertEqual(defaults, {(s.name, s.version) for s in expected.values()})

    def PublicNodesInheritInAChain(self):
        parents = {}
        node = None
        for line in run("readelf", "-W", "-V", str(LIBRARY)).splitlines():
            if match := re.search(r"Index: \d+  Cnt: \d+  Name: (\S+)", line):
                node = match[1]
                parents[node] = None
            elif match := re.search(r"Parent \d+: (\S+)", line):
                parents[node] = match[1]
        public = sorted((n for n in parents if n.startswith("IBVERBS_1.")), key=version_order)
        private = [n for n in parents if n.startswith("IBVERBS_PRIVATE_")]
        self.assertEqual([parents[n] for n in public], [None, *public[:-1]])
        self.assertEqual([parents[n] for n in private], [None] * 7)

    def NameFlagsAndLinks(self):
        dynamic = run("readelf", "-W", "-d", str(LIBRARY))
        self.assertIn("soname: [libibverbs.so.1]", dynamic)
        self.assertIn("NODELETE", dynamic)
        self.assertIn("NOW", dynamic)
        # The library is loaded into programs of any kind and distribution, so it must need no other
        # library.
        needed = set(re.findall(r"Shared library: \[([^\]]+)\]", dynamic))
        self.assertLessEqual(
            needed, {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})
        # NCCL tries this name first, and would find the distribution's library under it.
        self.assertTrue(LIBRARY.with_name("libibverbs.so").samefile(LIBRARY))
        stack = re.search(r"GNU_STACK.*", run("readelf", "-W", "-l", str(LIBRARY)))
        self.assertNotIn("RWE", stack[0])


class Distribution(unittest.TestCase):
    # The library must be found relative to the folders of programs, libraries and Python modules.
    SURVEYED = (
        "bin/ib_*", "bin/ibv_*", "bin/raw_ethernet_*", "bin/r*", "bin/ucmatose", "bin/udaddy",
        "bin/udpong", "bin/mckey", "bin/cmtime", "bin/qperf", "bin/fio", "sbin/ib*",
        "sbin/opensm", "sbin/srp_daemon",
        "lib:libmlx*.so.*", "lib:libefa.so.*", "lib:libmana.so.*", "lib:libhns.so.*",
        "lib:librdmacm.so.*", "lib:libfabric.so.*", "lib:libpsm*.so.*", "lib:librpma.so.*",
        "lib:libdaplofa.so.*", "lib:libgloo*.so.*", "lib:libnccl.so.*", "lib:ucx/*.so.*",
        "lib:rsocket/*.so*", "lib:libibverbs/*.so", "lib:openmpi/lib/openmpi3/*.so",
        "lib:python3/dist-packages/pyverbs/**/*.so",
    )
    # Without these programs the survey says nothing.
    REQUIRED = ("ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ib_write_bw", "libmlx5.so",
                "libefa.so", "librdmacm.so", "libuct_ib.so", "device.cpython")

    def installed(self):
        files = set()
        for pattern in self.SURVEYED:
            if pattern.startswith("lib:"):
                patterns = [f"{folder}/{pattern[4:]}" for folder in library_folders()]
            else:
                patterns = [f"/usr/{pattern}"]
            for path in patterns:
                files.update(os.path.realpath(f) for f in glob.glob(path, recursive=True))
        for path in sorted(files):
            if os.path.isfile(path) and os.access(path, os.R_OK):
                content = pathlib.Path(path).read_bytes()
                if content.startswith(b"\x7fELF") and b"IBVERBS_" in content:
                    yield path

    def EverySymbolOfTheDistributionExists(self):
        missing = set(exports(distribution_library())) - set(exports(LIBRARY))
        self.assertEqual(missing, set())

    def EveryImportOfInstalledProgramsResolves(self):
        ours = set(exports(LIBRARY))
        imported_by = {path: imports(path) for path in self.installed()}
        imported_by = {path: names for path, names in imported_by.items() if names}
        for required in self.REQUIRED:
            self.assertTrue(any(required in path for path in imported_by),
                            f"{required}* is not installed (ibverbs-utils, perftest, libucx0, "
                            "ibverbs-providers, librdmacm1, python3-pyverbs)")
        for path, names in imported_by.items():
            self.assertEqual(names - ours, set(), path)
        union = set().union(*imported_by.values())
        print(f"{len(imported_by)} programs and libraries import {len(union)} symbols")

    def AbidiffFindsNothingRemoved(self):
        if shutil.which("abidiff") is None:
            raise unittest.SkipTest("abidiff (abigail-tools) is not installed")
        # Types are compared as far as both sides have debug information; a distribution's
        # stripped library leaves the symbols. entry.h compares the types at compile time.
        result = subprocess.run(
            ["abidiff", "--no-added-syms", str(distribution_library()), str(LIBRARY)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        usage_error, incompatible = 0b0011, 0b1000
        self.assertEqual(result.returncode & (usage_error | incompatible), 0, result.stdout)
        removed = [int(n) for n in re.findall(r"(\d+) Removed", result.stdout)]
        self.assertEqual(sum(removed), 0, result.stdout)


class Loaded(unittest.TestCase):
    NCCL = {
        "IBVERBS_1.1": (
            "ibv_get_device_list ibv_free_device_list ibv_get_device_name ibv_open_device "
            "ibv_close_device ibv_get_async_event ibv_ack_async_event ibv_query_device "
            "ibv_query_port ibv_query_gid ibv_query_qp ibv_alloc_pd ibv_dealloc_pd ibv_reg_mr "
            "ibv_dereg_mr ibv_create_cq ibv_destroy_cq ibv_create_qp ibv_modify_qp "
            "ibv_destroy_qp ibv_fork_init ibv_event_type_str"),
        "IBVERBS_1.8": "ibv_reg_mr_iova2",
        "IBVERBS_1.10": "ibv_query_ece ibv_set_ece",
        "IBVERBS_1.12": "ibv_reg_dmabuf_mr",
        "IBVERBS_1.16": "ibv_query_port_speed",
    }
    LOADER_COMPLAINTS = ("symbol lookup error", "no version information", "version `",
                         "cannot open shared object", "undefined symbol")

    def setUp(self):
        self.handle = ctypes.CDLL(str(LIBRARY))._handle
        self.dlvsym = ctypes.CDLL(None).dlvsym
        self.dlvsym.restype = ctypes.c_void_p
        self.dlvsym.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)

    def find(self, name, version):
        address = self.dlvsym(self.handle, name.encode(), version.encode())
        self.assertIsNotNone(address, f"{name}@{version}")
        return address

    def function(self, name, version, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments, use_errno=True)(self.find(name, version))

    def VersionedLookupFindsWhatNcclAsksFor(self):
        self.assertEqual(len(self.NCCL["IBVERBS_1.1"].split()), 22)
        for version, names in self.NCCL.items():
            for name in names.split():
                self.find(name, version)

    def StubsFail(self):
        for version in ("IBVERBS_PRIVATE_22", "IBVERBS_PRIVATE_34", "IBVERBS_PRIVATE_64"):
            number = version.rsplit("_", 1)[1]
            alloc_pd = self.function("ibv_cmd_alloc_pd", version, ctypes.c_int)
            self.assertEqual(alloc_pd(), errno.ENOSYS)
            self.function(f"verbs_register_driver_{number}", version, None, ctypes.c_void_p)(None)
            open_device = self.function("verbs_open_device", version, ctypes.c_void_p)
            self.assertIsNone(open_device())
            count = self.function("__ioctl_final_num_attrs", version, ctypes.c_uint, ctypes.c_uint)
            self.assertEqual(count(7), 7)
            flag = ctypes.c_bool.from_address(
                self.find("verbs_allow_disassociate_destroy", version))
            self.assertFalse(flag.value)
        ctypes.set_errno(0)
        self.assertIsNone(self.function("ibv_open_device", "IBVERBS_1.0", ctypes.c_void_p)())
        self.assertEqual(ctypes.get_errno(), errno.ENOSYS)
        self.assertEqual(self.function("ibv_query_gid", "IBVERBS_1.0", ctypes.c_int)(), -1)
        self.assertEqual(self.function("ibv_modify_qp", "IBVERBS_1.0", ctypes.c_int)(),
                         errno.ENOSYS)

    def UnmodifiedProgramsStart(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(LIBRARY.parent), LD_BIND_NOW="1")
        commands = (
            ("ibv_devices",),
            ("ibv_devinfo", "--help"),
            ("ib_write_bw", "--help"),
            ("rping", "-h"),
            ("ucx_info", "-v"),
            ("fi_info", "--version"),
            ("/usr/bin/python3", "-c", "import pyverbs.device, pyverbs.qp, pyverbs.cmid"),
        )
        started = 0
        for command in commands:
            if shutil.which(command[0]) is None:
                continue
            result = subprocess.run(command, env=environment, text=True, check=False, timeout=60,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertGreaterEqual(result.returncode, 0, f"{command} died of a signal")
            for complaint in self.LOADER_COMPLAINTS:
                self.assertNotIn(complaint, result.stdout, command)
            started += 1
        self.assertGreaterEqual(started, 4, "too few programs are installed to judge")


def main():
    cases = {case.__name__: case for case in (Facts, Library, Distribution, Loaded)}
    rules = sys.argv[1:] or [f"{name}.{rule}" for name, case in cases.items()
                             for rule in vars(case) if re.match(r"[A-Z][a-z]", rule)]
    suite = unittest.TestSuite()
    for name, rule in (r.split(".") for r in rules):
        suite.addTest(cases[name](rule))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        return 1
    return EXIT_SKIPPED if result.skipped and len(rules) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
