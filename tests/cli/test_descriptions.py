# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions, good and bad: an error names file, line, column and remedy; nothing is started."""

import os
import unittest

from cli_case import CliCase


class Descriptions(CliCase):
    def write(self, text):
        path = os.path.join(self.dir, "lab.toml")
        with open(path, "w") as out:
            out.write(text)
        return path

    def tearDown(self):
        path = os.path.join(self.dir, "lab.toml")
        if os.path.exists(path):
            os.unlink(path)
        super().tearDown()

    def message(self, text, *flags):
        path = self.write(text)
        said = self.refused("up", "--config", path, *flags)
        self.assertEqual(self.json("list"), [])
        self.assertEqual(sorted(set(os.listdir(self.dir)) - {".lock"}), ["lab.toml"])
        return said.replace(f"softib: {path}", "FILE", 1)

    def test_file_describes_the_fabric(self):
        path = self.write('name = "lab"\ntopology = "torus"\ndimensions = [2, 2]\nhosts = 4\n'
                          'generation = "EDR"\ndevice_pattern = "ib{}"\n')
        self.assertIn("fabric lab is up: 4 hosts, 4 HCAs, 4 switches (torus, EDR)",
                      self.ok("up", "-c", path))
        status = self.json("status", "-f", "lab")
        self.assertEqual(status["hosts"][0]["hcas"][0]["name"], "ib0")
        self.assertEqual(status["hosts"][0]["hcas"][0]["rate_gbps"], 100)

    def test_flags_win_over_the_file(self):
        path = self.write("hosts = 4\nhcas = 2\n")
        self.assertIn("3 hosts, 6 HCAs", self.ok("up", "-c", path, "--hosts", "3"))

    def test_unknown_key(self):
        self.assertEqual(self.message('topology = "torus"\n  host = 3\n'),
                         "FILE:2:3: unknown key 'host'; did you mean 'hosts'?")

    def test_wrong_type(self):
        self.assertEqual(self.message('hosts = "three"\n'),
                         'FILE:1:9: \'hosts\' must be a whole number from 1 to 393208, '
                         'not "three"')

    def test_bad_value(self):
        self.assertEqual(
            self.message('hosts = 2\ntopology = "ring"\n'),
            "FILE:2:12: 'topology' must be one of single-switch, fat-tree, "
            'rail-optimized, rail-only, superpod, torus, hyperx, dragonfly or dragonfly-plus, not '
            '"ring"')

    def test_broken_syntax(self):
        self.assertRegex(self.message("hosts = 2\nhcas = = 1\n"), r"^FILE:2:8: ")

    def test_values_that_do_not_fit_together(self):
        self.assertEqual(
            self.message("hosts = 2\nlevels = 2\n"),
            "FILE:2:10: levels belongs to fat-tree, rail-optimized, rail-only and superpod, not "
            "to single-switch: leave it out or change shape")

    def test_missing_file(self):
        self.assertEqual(self.refused("up", "--config", "/nonexistent/lab.toml"),
                         "softib: cannot read /nonexistent/lab.toml: No such file or directory")

    def test_bad_flags(self):
        self.assertEqual(self.refused("up", "--hosts", "-3", status=2),
                         "softib: --hosts must be a whole number from 1 to 393208, not -3")
        self.assertEqual(self.refused("up", "--arena", "much", status=2),
                         'softib: --arena must be a size from 2GiB to 16TiB, not "much"')
        self.assertEqual(self.refused("run", "--generation", "TDR", "--", "true", status=2),
                         'softib: --generation must be SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, '
                         'XDR or GDR, not "TDR"')
        self.assertIn("whose port numbers have 8 bits: take 254 or less",
                      self.refused("up", "--radix", "400", status=2))
        self.assertIn("is no fabric name", self.refused("up", "../x", status=2))
        self.assertIn("--levels: levels belongs to fat-tree",
                      self.refused("up", "--levels", "2", status=2))
        self.assertIn("--link-layer: there is no subnet manager on Ethernet",
                      self.refused("up", "--link-layer", "ethernet", "--sm", "opensm", status=2))
        self.assertEqual(self.json("list"), [])


if __name__ == "__main__":
    unittest.main()
