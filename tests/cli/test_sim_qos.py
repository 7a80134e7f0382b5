# SPDX-License-Identifier: BSD-2-Clause
"""softib sim with quality of service: service levels, lanes and VL arbitration."""

import pathlib
import tempfile
import unittest

from cli_case import CliCase

LANES = ("--qos", "--sl2vl", "0,1", "--vlarb-high", "0:0")


class SimQos(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.pair = pathlib.Path(cls.folder.name) / "pair.txt"
        cls.pair.write_text("h0 h1\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        super().tearDownClass()

    def flows(self):
        return [word for sl in (0, 1)
                for word in ("--traffic", f"pairs,pairs={self.pair},sl={sl},size=8MB")]

    def rates(self, *arguments):
        """Returns the rates of two flows between two hosts, on service levels 0 and 1, and all
        that was said."""
        said = self.json("sim", "--hosts", "4", *self.flows(), *arguments)
        return [traffic["message_gbps"]["mean"] for traffic in said["traffic"]], said

    def test_flows_share_a_cable_by_their_weights(self):
        (alike, other), _ = self.rates(*LANES, "--vlarb-low", "0:64,1:64")
        self.assertAlmostEqual(alike, other, delta=0.01 * alike)
        for weights, share in (("0:64,1:192", 0.75), ("0:192,1:64", 0.25), ("0:65,1:130", 2 / 3)):
            (first, second), said = self.rates(*LANES, "--vlarb-low", weights)
            self.assertTrue(said["fabric"]["qos"])
            wins = max(share, 1 - share)
            self.assertAlmostEqual(max(first, second), 2 * wins * alike, delta=0.01 * alike)
            self.assertEqual(second > first, share > 0.5)

    def test_high_priority_goes_first_up_to_its_limit(self):
        lanes = ("--qos", "--sl2vl", "0,1", "--vlarb-high", "1:64", "--vlarb-low", "0:64")
        (low, alone), _ = self.rates(*lanes, "--high-limit", "255")
        self.assertAlmostEqual(alone, 2 * low, delta=0.01 * alone)
        for limit in 0, 1, 3, 9:
            (_, high), _ = self.rates(*lanes, "--high-limit", str(limit))
            share = max(limit, 1) / (max(limit, 1) + 1)
            self.assertAlmostEqual(high, share * alone, delta=0.01 * alone)

    def test_a_lane_without_weight_starves_and_is_named(self):
        said = self.json("sim", "--hosts", "4", *self.flows(), *LANES, "--vlarb-low", "0:64,1:0")
        self.assertEqual([t["unfinished"] for t in said["traffic"]], [0, 1])
        self.assertEqual(said["notes"][0], "1 message will never be delivered")
        self.assertRegex(said["notes"][1], r"^h0/\S+ port 1 VL 1 has packets that never leave")

    def test_two_tables_can_be_compared(self):
        lanes = "ib+qos+sl2vl=0,1+vlarb-high=0:0+vlarb-low="
        both = self.json("sim", "--hosts", "4", *self.flows(), "--compare",
                         f"{lanes}0:65,1:195,{lanes}0:195,1:65")["variants"]
        (first, second), (third, fourth) = [
            [traffic["message_gbps"]["mean"] for traffic in each["report"]["traffic"]]
            for each in both]
        self.assertAlmostEqual(second, 1.5 * first, delta=0.01 * second)
        self.assertAlmostEqual(first, fourth, delta=0.01 * first)
        self.assertAlmostEqual(second, third, delta=0.01 * second)

    def test_messages_of_a_level_that_is_dropped_are_said_to_fail(self):
        said = self.json("sim", "--hosts", "4", *self.flows(), "--qos", "--sl2vl", "0,15")
        self.assertEqual([t["failed"] for t in said["traffic"]], [0, 1])
        self.assertRegex(said["notes"][0], "^1 message failed, as that from h0 to h1: its sender")

    def test_what_cannot_act_is_refused_by_name(self):
        for arguments, why in (
                (("--vlarb-low", "0:64,1:192"),
                 r"--vlarb-low: 'vlarb_low' does nothing without qos"),
                (("--high-limit", "4"), r"--high-limit: 'high_limit' does nothing without qos"),
                (("--sl2vl", "0,1"), r"--sl2vl: 'sl2vl' does nothing without qos"),
                (("--qos", "--model", "flow"), r"--qos: 'qos' needs packets"),
                (("--qos", "--max-op-vls", "1", "--vlarb-low", "1:3"),
                 r"vlarb_low gives weights only to lanes .* have 1 data VL"),
                (("--qos", "--link-layer", "ethernet"), r"--qos: 'qos' is for InfiniBand"),
                (("--qos", "--data-vls", "3"), r"1, 2, 4, 8 or 15 data VLs")):
            status = 1 if "data VL" in why else 2
            self.assertRegex(self.refused("sim", "--hosts", "4", "--size", "1kB", *arguments,
                                          status=status), why)


if __name__ == "__main__":
    unittest.main()
