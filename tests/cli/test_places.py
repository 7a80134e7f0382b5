#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib where things are not as usual: a plain user's PATH, a path with a space, a full disk, a
chroot, an Ethernet."""

import os
import pathlib
import shlex
import shutil
import subprocess
import unittest

from cli_case import BUILD, SOFTIB, TIMEOUT_S, CliCase


class SearchPath(CliCase):
    def path_of(self, path, *words):
        env = dict(self.env, PATH=path)
        shown = self.ok(*words, "--", "/usr/bin/printenv", "PATH", env=env)
        return shown.strip().split(":")

    def test_programs_of_administrators_are_found_by_a_plain_user(self):
        self.ok("up")
        plain = "/usr/local/bin:/usr/bin:/bin:/usr/games"
        own = os.path.dirname(SOFTIB)
        for words in (("exec", "h0"), ("exec", "--ns", "h0"), ("run",)):
            if "--ns" in words and self.softib(*words, "--", "true").returncode != 0:
                continue  # A machine without user namespaces.
            self.assertEqual(self.path_of(plain, *words),
                             [own, *plain.split(":"), "/usr/sbin", "/sbin"])
        if shutil.which("ibnetdiscover", path="/usr/sbin"):
            # What it leaves unfreed is its own business, where a sanitizer looks.
            shown = self.ok("exec", "h0", "--", "ibnetdiscover",
                            env=dict(self.env, PATH=plain, ASAN_OPTIONS="detect_leaks=0"))
            self.assertEqual(shown.count("\nCa\t"), 2, shown)

    def test_a_path_that_has_them_stays_in_its_order(self):
        self.ok("up")
        path = "/sbin:/usr/bin:/usr/sbin:/a b"
        self.assertEqual(self.path_of(path, "exec", "h0"),
                         [os.path.dirname(SOFTIB), *path.split(":")])
        nested = self.path_of(path, "exec", "h0", "--", SOFTIB, "exec", "h1")
        self.assertEqual(nested, [os.path.dirname(SOFTIB), *path.split(":")])


class Spaces(CliCase):
    """The loader splits LD_PRELOAD at spaces."""

    def setUp(self):
        super().setUp()
        self.tree = pathlib.Path(self.dir, ".a tree; with: all")
        shutil.copytree(BUILD / "lib" / "softib", self.tree / "lib" / "softib", symlinks=True)
        os.mkdir(self.tree / "bin")
        for program in ("softib", "softibd"):
            shutil.copy(BUILD / "bin" / program, self.tree / "bin")

    def tearDown(self):
        shutil.rmtree(self.tree, ignore_errors=True)
        super().tearDown()

    def there(self, *words, **kwargs):
        kwargs.setdefault("env", self.env)
        return subprocess.run([str(self.tree / "bin" / "softib"), *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT_S, **kwargs)

    def test_programs_run_from_a_tree_with_spaces(self):
        probe = ('ibv_devinfo; cat /sys/class/infiniband/mlx5_0/ports/1/lid; printenv LD_PRELOAD; '
                 f'{shlex.quote(str(self.tree / "bin" / "softib"))} exec h1 -- '
                 'printenv LD_PRELOAD SOFTIB_HOST')
        said = self.there("run", "--", "sh", "-c", probe)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertEqual(said.stdout.count("PORT_ACTIVE"), 1, said.stdout)
        lid, outer, inner, host = said.stdout.splitlines()[-4:]
        self.assertEqual((lid, inner, host), ("0x1", outer, "h1"))  # And once, though nested.

    def test_programs_take_their_tcp_over_the_fabric_there_too(self):
        said = self.there(
            "run", "--", "sh", "-c",
            f'{shlex.quote(str(self.tree / "bin" / "softib"))} exec --rsockets h1 -- true')
        self.assertEqual((said.returncode, said.stderr), (0, ""))

    def test_no_place_without_a_space_is_an_error(self):
        env = dict(self.env, SOFTIB_RUNTIME_DIR=os.path.join(self.dir, ".run time"))
        said = self.there("run", "--", "true", env=env)
        shutil.rmtree(env["SOFTIB_RUNTIME_DIR"])
        self.assertEqual(said.returncode, 1)
        self.assertIn("set SOFTIB_RUNTIME_DIR to a directory without", said.stderr)


class FullDisk(CliCase):
    def test_output_that_is_lost_is_an_error(self):
        self.ok("up")
        commands = [
            ["status"], ["status", "--json"], ["list"], ["list", "--json"], ["addr"], ["topo"],
            ["topo", "--svg", "-"], ["route", "show"], ["route", "show", "sw0"], ["env", "h0"],
            ["routes", "check"], ["sm"], ["sm", "--json"], ["fault"], ["help"],
            ["help", "up", "--json"], ["up", "--help"], ["--help"], ["--version"], ["log"],
            ["log", "--json"], ["health"], ["health", "--json"], ["sharp"],
            ["sharp", "trees", "--json"], ["sim", "--schema"], ["sim", "--traffic", "shift"],
            ["sim", "--traffic", "shift", "--json"], ["sim", "--traffic", "shift", "--csv", "-"],
            ["plan", "presets"], ["plan", "models", "--json"], ["plan", "show", "hgx-h200"],
            ["up", "lab"], ["down", "lab"]]
        for words in commands:
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([SOFTIB, *words], env=self.env, stdout=full, text=True,
                                      stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("cannot write", done.stderr, words)

    def test_a_message_that_is_lost_changes_no_exit_status(self):
        for words, status in (("status -f nothing", 1), ("nothing", 2), ("exec", 2),
                              ("run --json -- sh -c 'exit 3'", 3)):
            for where in ("/dev/full", "&-"):
                done = subprocess.run(["sh", "-c", f"'{SOFTIB}' {words} 2>{where}"], env=self.env,
                                      timeout=TIMEOUT_S, check=False)
                self.assertEqual(done.returncode, status, (words, where))

    def test_a_closed_output_is_an_error(self):
        for words in ("list", "help", "list --json"):
            done = subprocess.run(["sh", "-c", f"'{SOFTIB}' {words} >&-"], env=self.env,
                                  timeout=TIMEOUT_S, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, "cannot write" in done.stderr), (1, True),
                             done.stderr)

    def test_a_capture_that_is_lost_is_an_error(self):
        self.ok("up", "--data-path", "packet")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([SOFTIB, "capture", "-w", "-"], env=self.env, stdout=full,
                                  text=True, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)


class Ethernet(CliCase):
    def test_nobody_manages_it_and_nothing_is_routed(self):
        if "cannot" in self.softib("up", "--link-layer", "ethernet", "--roce-address-base",
                                   "127.61.0.0").stderr:
            self.skipTest("no sockets for RoCE")
        for words in (("sm",), ("sm", "status", "--json"), ("sm", "resweep"), ("routes", "check"),
                      ("routes", "dump", self.dir), ("route", "show")):
            self.assertIn("is an Ethernet (--link-layer ethernet): it has no subnet manager",
                          self.refused(*words))


# A root that is no mount, below mounts that all namespaces see: what is mounted there must not
# show. softib is in that root itself, as in one that debootstrap made.
JAIL = """
set -e
mount --make-rshared /
mkdir -p {jail}/proc {jail}/sys {jail}/dev {jail}/tmp
for dir in bin sbin lib lib64; do
    if [ -L /$dir ]; then ln -s $(readlink /$dir) {jail}/$dir; else mkdir {jail}/$dir; fi
done
mkdir -p {jail}{build}/bin {jail}{build}/lib
cp {build}/bin/softib {build}/bin/softibd {jail}{build}/bin
cp -r {build}/lib/softib {jail}{build}/lib
for dir in /usr /etc /bin /sbin /lib /lib64; do
    [ -L $dir ] && continue
    mkdir -p {jail}$dir
    mount --rbind $dir {jail}$dir
done
mount -t proc proc {jail}/proc
mount --rbind /sys {jail}/sys
mount --rbind /dev {jail}/dev
before=$(wc -l < /proc/self/mountinfo)
chroot {jail} /usr/bin/env SOFTIB_RUNTIME_DIR=/tmp/softib {softib} run --ns -- sh -c '
    cat /sys/class/infiniband/mlx5_0/ports/1/lid
    test -c /dev/infiniband/uverbs0 && ls -d /sys/class/net /dev/shm && pwd
    command -v softib'
[ $before = $(wc -l < /proc/self/mountinfo) ]
"""


class Chroot(CliCase):
    @unittest.skipIf(os.geteuid() != 0, "only root enters a chroot")
    def test_namespace_in_a_root_that_is_no_mount(self):
        if subprocess.run(["unshare", "-m", "true"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("mount namespaces are not allowed here")
        script = JAIL.format(jail=f"{self.dir}/.jail", build=BUILD, softib=SOFTIB)
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], env=self.env, text=True,
                              capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.stdout, f"0x1\n/dev/shm\n/sys/class/net\n/\n{SOFTIB}\n", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.rmtree(f"{self.dir}/.jail")


if __name__ == "__main__":
    unittest.main()
