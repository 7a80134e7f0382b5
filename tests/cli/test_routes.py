#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""routes check, routes dump, and what sm status says of routes."""

import json
import os
import pathlib
import tempfile
import unittest

from cli_case import CliCase, wait_until

TREE = ("--topology", "fat-tree", "--hosts", "4", "--radix", "4")
TORUS = ("--topology", "torus", "--dimensions", "5x5", "--hosts", "25")
FILES = {"opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs", "opensm-sl2vl.dump"}


class Check(CliCase):
    def check(self, *words, status):
        result = self.softib("routes", "check", *words)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_routes_of_our_manager_hold(self):
        self.ok("up", *TREE)
        text = self.check(status=0)
        self.assertIn("44 pairs of end ports reach each other, at most 2 hops", text)
        self.assertIn("none among 4 channel dependencies on 1 lane", text)
        self.assertNotIn("\033", text)
        seen = self.json("routes", "check")
        self.assertEqual(
            (seen["ok"], seen["engine"], seen["pairs"], seen["lost"], seen["credit_loop"],
             seen["balance"], seen["service_levels_known"]),
            (True, "ftree", 44, 0, [], 1.0, True))

    def test_lost_pair_is_named(self):
        self.ok("up", *TREE)
        self.ok("route", "clear", "leaf1", "1")
        text = self.check(status=1)
        self.assertIn("3 of 44 pairs of end ports lost", text)
        self.assertIn("from leaf1 (h2/mlx5_0, h3/mlx5_0) to h0/mlx5_0 (LID 1): no path", text)
        self.ok("route", "set", "leaf1", "1", "4")
        self.check(status=0)

    def test_circle_is_named(self):
        self.ok("up", *TREE)
        self.ok("route", "set", "leaf1", "1", "3")
        self.ok("route", "set", "spine0", "1", "2")
        text = self.check(status=1)
        self.assertIn("runs in a circle", text)

    def test_credit_loop_is_named_and_lanes_break_it(self):
        self.ok("up", *TORUS, "--engine", "minhop")
        text = self.check(status=1)
        self.assertRegex(text, r"credit loops +FAULT")
        self.assertRegex(text, r"(?m)^  sw\d_\d port \d VL 0$")
        self.ok("down")
        self.ok("up", *TORUS)  # Which is dor.
        self.assertIn("on 2 lanes", self.check(status=0))

    def test_manager_tells_of_routes_that_do_not_hold(self):
        self.ok("up", *TORUS, "--engine", "minhop")
        self.assertTrue(wait_until(lambda: self.json("sm")["routes"] != "not checked yet"))
        told = self.json("sm")["routes"]
        self.assertRegex(told, r"^minhop: \d+ pairs arrive, credit loop of \d+ channels, balance ")
        self.assertIn(f"subnet manager: routes by {told}", self.log())

    def test_switches_among_themselves_only_if_asked(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "32", "--radix", "8",
                "--engine", "minhop")
        self.check(status=0)
        self.assertRegex(self.check("--all", status=1), r"credit loops +FAULT")

    def test_permutations_in_the_order_of_ranks(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "16", "--radix", "8",
                "--engine", "ftree")
        said = json.loads(self.check("--permutations", "--json", status=0))
        self.assertEqual(said["shifts"], {"tried": 15, "flows_mean": 1.0, "flows_worst": 1})
        self.assertIsNone(json.loads(self.check("--json", status=0))["shifts"])
        folder = tempfile.TemporaryDirectory(prefix="softib-ranks-")
        self.addCleanup(folder.cleanup)
        ranks = pathlib.Path(folder.name, "ranks")
        shuffled = (9, 4, 15, 2, 0, 13, 6, 11, 7, 1, 14, 3, 8, 5, 12, 10)
        ranks.write_text("# rank order\n" + "".join(f"h{i} slots=1\n" for i in shuffled))
        mixed = json.loads(self.check("-p", "--ranks", str(ranks), "--json", status=0))["shifts"]
        self.assertEqual(mixed["tried"], 15)
        self.assertGreater(mixed["flows_worst"], 1)
        ranks.write_text("h0\n0x6\nh9/mlx5_0\n")
        few = self.check("-p", "--ranks", str(ranks), status=0)
        self.assertRegex(few, r"shifts +note +2 permutations: 1\.00 flows")
        ranks.write_text("h0\n\nh99\n")
        self.assertIn(f"{ranks}:3: 'h99' is no host that the routes reach",
                      self.refused("routes", "check", "-p", "--ranks", str(ranks)))
        ranks.write_text("h0\n")
        self.assertIn("two hosts at least",
                      self.refused("routes", "check", "-p", "--ranks", str(ranks)))

    def test_fabric_that_nobody_manages(self):
        self.ok("up", *TREE, "--sm", "none")
        self.assertIn("16 with a cable not active, 8 without a LID", self.check(status=1))

    def test_pulled_cables_are_islands_and_no_fault(self):
        self.ok("up", *TREE)
        for port in "34":
            self.ok("link", "down", "leaf1", port)
        self.assertRegex(self.check(status=0), r"islands +note +\d+ pairs are not joined by cables")

    def test_status_of_the_manager_says_it_too(self):
        self.ok("up", *TREE)
        self.assertRegex(self.ok("sm"), r"master +softib on leaf0, LID 5\n(?s:.*)verified +yes\n")
        self.ok("route", "clear", "leaf1", "1")
        self.assertEqual(self.json("sm")["verified"],
                         "no: 3 of 44 pairs lost (see softib routes check)")

    def test_no_fabric(self):
        self.assertIn("no fabric 'default' is up", self.refused("routes", "check"))
        self.refused("routes", status=2)


class Dump(CliCase):
    def test_files_of_opensm(self):
        self.ok("up", *TORUS)  # Which is dor.
        target = f"{self.dir}/default/dump"
        self.ok("routes", "dump", target)
        self.assertEqual(set(os.listdir(target)), FILES | {"opensm-path-sl.dump"})
        text = {name: pathlib.Path(target, name).read_text() for name in os.listdir(target)}
        self.assertEqual(text["opensm-subnet.lst"].count("\n"), 2 * (25 + 50))
        self.assertEqual(text["opensm.fdbs"].count("dump_ucast_routes: Switch 0x"), 25)
        self.assertEqual(text["opensm.fdbs"].count(" : yes"), 25 * 50)
        self.assertEqual(text["opensm-path-sl.dump"].count(" : "), 25 + 25 * 25)
        for name in os.listdir(target):
            os.unlink(f"{target}/{name}")
        os.rmdir(target)

    def test_place_that_does_not_exist(self):
        self.ok("up")
        self.assertIn("cannot make /nowhere/at/all: No such file or directory",
                      self.refused("routes", "dump", "/nowhere/at/all"))


if __name__ == "__main__":
    unittest.main()
