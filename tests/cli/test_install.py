#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is installed works where it is put: below a prefix, and out of the Debian package."""

import pathlib
import subprocess
import tempfile
import unittest

from cli_case import BUILD, CliCase


class Install(CliCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="softib-install-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def call(self, *words):
        result = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def expect_a_fabric_from(self, prefix):
        """Its own daemon and libraries, with a manager; nothing of the build tree."""
        shown = self.call(
            str(prefix / "bin" / "softib"), "run", "--hosts", "2", "--", "sh", "-c",
            "ibv_devinfo; echo $LD_LIBRARY_PATH:$LD_PRELOAD; softib exec h1 -- ibv_devinfo")
        self.assertEqual(shown.count("PORT_ACTIVE"), 2, shown)
        self.assertIn(str(prefix), shown)
        self.assertNotIn(str(BUILD), shown)
        for library in ("libibverbs.so.1", "libibumad.so.3", "librdmacm.so.1", "libsoftib_fs.so",
                        "libsharp_coll.so.5", "libnccl-net-softib.so", "rsocket/librspreload.so"):
            self.assertTrue(list(prefix.glob("lib*/**/softib/" + library)), library)
        for page in (
                "man1/softib.1", "man1/softib-sim.1", "man1/softib-plan.1", "man1/softib-serve.1",
                "man8/softibd.8", "man8/softib-am.8", "man8/softib-sm.8"):
            self.assertTrue(list((prefix / "share" / "man").glob(page + "*")), page)
        for file in ("bash-completion/completions/softib", "fish/vendor_completions.d/softib.fish",
                     "zsh/site-functions/_softib", "zsh/vendor-completions/_softib",
                     "softib/clusters/hgx-h200.toml", "softib/models/llama3.1-8b.toml",
                     "softib/prices/prices.toml",
                     "softib/validation/training_numbers.toml"):
            self.assertTrue((prefix / "share" / file).is_file(), file)

    def test_below_a_prefix(self):
        self.call("cmake", "--install", str(BUILD), "--prefix", str(self.root / "usr"))
        self.expect_a_fabric_from(self.root / "usr")

    def test_below_a_prefix_with_a_space(self):
        prefix = self.root / "my programs"
        self.call("cmake", "--install", str(BUILD), "--prefix", str(prefix))
        shown = self.call(str(prefix / "bin" / "softib"), "run", "--", "sh", "-c",
                          "ibv_devinfo; softib exec h1 -- ibv_devinfo")
        self.assertEqual(shown.count("PORT_ACTIVE"), 2, shown)

    def test_debian_package(self):
        self.call("cpack", "-G", "DEB", "--config", str(BUILD / "CPackConfig.cmake"), "-B",
                  str(self.root))
        packages = list(self.root.glob("softib_*.deb"))
        self.assertEqual(len(packages), 1)
        self.call("dpkg-deb", "-x", str(packages[0]), str(self.root / "unpacked"))
        self.expect_a_fabric_from(self.root / "unpacked" / "usr")


if __name__ == "__main__":
    unittest.main()
