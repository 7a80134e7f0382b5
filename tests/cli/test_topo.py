#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Shapes of fabrics and the report on them: softib topo --report."""
import unittest

from cli_case import CliCase


class Topo(CliCase):
    def report(self, *flags):
        return self.json("topo", "--report", *flags)

    def test_superpod_of_four_units(self):
        """The counts of NVIDIA's reference architecture for 127 DGX H100."""
        report = self.report("--topology", "superpod", "--hosts", "127", "--hcas", "8")
        self.assertEqual([level["switches"] for level in report["levels"]], [32, 16])
        between = {}
        for cable in report["cables"]:
            between[cable["between"]] = between.get(cable["between"], 0) + cable["count"]
        self.assertEqual(between, {"hosts and level 0": 1016, "level 0 and level 1": 1024})
        self.assertEqual(report["bisection_gbps"], report["bisection_full_gbps"])
        self.assertEqual((report["diameter"], report["lids"]["used"]), (2, 1016 + 48))

    def test_lmc_counts_in_lids(self):
        report = self.report("--topology", "fat-tree", "--hosts", "1000", "--lmc", "3")
        switches = report["switches"]
        self.assertEqual(report["lids"],
                         {"used": 8000 + switches, "limit": 49151, "lmc": 3,
                          "lmc_max": 5, "fits": True})

    def test_oversubscription_tapers_the_bisection(self):
        report = self.report("--topology", "fat-tree", "--hosts", "192", "--radix", "64",
                             "--oversubscription", "3:1")
        self.assertEqual(report["bisection_gbps"] * 3, report["bisection_full_gbps"])
        self.assertEqual(self.refused("topo", "--topology", "fat-tree",
                                      "--oversubscription", "1:2", status=2),
                         'softib: --oversubscription must be cables down for cables up, '
                         'as "2:1" or "3:2", not "1:2"')

    def test_report_for_people_says_what_it_assumes(self):
        text = self.ok("topo", "--topology", "hyperx", "--hosts", "64", "--report",
                       "--rack-hosts", "8")
        for part in ("(hyperx): 64 hosts", "bisection", "diameter   2 cables", "assumed:",
                     "8 hosts in a rack"):
            self.assertIn(part, text)

    def test_every_shape_comes_up(self):
        for shape, flags in (("rail-optimized", ("--hcas", "2")),
                             ("superpod", ("--hcas", "2", "--radix", "8")),
                             ("dragonfly-plus", ()), ("hyperx", ())):
            self.assertIn(f"({shape}, NDR)",
                          self.ok("up", shape, "--topology", shape, "--hosts", "8", *flags))
            checked = self.ok("routes", "check", "-f", shape)
            self.assertRegex(checked, "paths +ok .*\\ncredit loops +ok")
            self.ok("down", shape)

    def test_rails_of_one_hca_are_refused(self):
        self.assertIn("take hcas 2 or more",
                      self.refused("topo", "--topology", "rail-only", "--hosts", "8"))


if __name__ == "__main__":
    unittest.main()
