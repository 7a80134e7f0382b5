#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib sim --traffic sharp-allreduce: what it says of time, rate and bytes."""

import os
import unittest

from cli_case import CliCase


class SharpSim(CliCase):
    def sim(self, hosts, radix, size):
        return self.json("sim", "--topology", "fat-tree", "--hosts", str(hosts), "--radix",
                         str(radix), "--traffic", f"sharp-allreduce,size={size}")["sharp"]

    def test_time_grows_with_the_levels_and_not_with_the_hosts(self):
        small, large, deep = self.sim(32, 16, 8), self.sim(128, 16, 8), self.sim(128, 8, 8)
        self.assertEqual([small["levels"], large["levels"], deep["levels"]], [2, 2, 3])
        self.assertAlmostEqual(small["time_us"], large["time_us"], delta=0.001)
        self.assertGreater(deep["time_us"], large["time_us"] + 1)
        self.assertEqual(deep["wrong_elements"], 0)

    def test_a_large_vector_is_faster_than_any_ring(self):
        told = self.sim(16, 16, "2MiB")
        self.assertEqual(told["wrong_elements"], 0)
        self.assertTrue(told["streaming"])
        self.assertLess(told["host_sent_bytes"], 1.05 * 2**21)
        self.assertGreater(told["ring_sent_bytes"], 1.8 * 2**21)
        self.assertGreater(told["gbps"], 0.85 * told["link_gbps"])
        self.assertLess(told["time_us"], 0.65 * told["ring_us_min"])

    def test_the_same_twice(self):
        self.assertEqual(self.sim(16, 8, 4096), self.sim(16, 8, 4096))

    def test_its_json_has_the_frame_of_every_simulation(self):
        flags = ("sim", "--hosts", "4", "--traffic")
        sharp = self.json(*flags, "sharp-allreduce,size=8")
        single = self.json(*flags, "shift,size=8")
        self.assertEqual(set(sharp) - set(single), {"sharp"})
        self.assertEqual(sharp["traffic"][0]["pattern"], "sharp-allreduce")
        self.assertEqual(set(sharp["traffic"][0]), set(single["traffic"][0]))
        self.assertAlmostEqual(sharp["duration_ps"] / 1e6, sharp["sharp"]["time_us"], delta=1e-6)

    def test_a_scenario_has_it_too(self):
        path = os.path.join(self.scratch, "sharp.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[fabric]\nhosts = 4\n[[traffic]]\npattern = \"sharp-allreduce\"\n"
                       "size = 8\n")
        by_file = self.json("sim", path)
        by_flags = self.json("sim", "--hosts", "4", "--traffic", "sharp-allreduce,size=8")
        self.assertEqual(by_file["log_hash"], by_flags["log_hash"])

    def test_a_faster_adapter_is_never_slower(self):
        def took(*latency):
            return self.json("sim", "--hosts", "4", "--traffic", "sharp-allreduce,size=8",
                             *latency)["sharp"]["time_us"]
        times = [took("--hca-latency", latency) for latency in ("0ns", "100ns", "300ns")]
        self.assertEqual(times, sorted(set(times)))
        self.assertEqual(took(), times[-1])

    def test_text_and_what_it_refuses(self):
        self.assertIn("the buffer of a lane must hold one packet", self.refused(
            "sim", "--hosts", "4", "--traffic", "sharp-allreduce", "--buffer", "4KiB"))
        base = ("sim", "--hosts", "4", "--traffic")
        self.assertIn("datagrams (LLT)", self.ok(*base, "sharp-allreduce,size=8"))
        self.assertIn("whole elements of 4", self.refused(*base, "sharp-allreduce,size=7"))
        self.assertIn("stands alone", self.refused(*base, "sharp-allreduce", "--traffic", "incast",
                                                   status=2))
        self.assertIn("'model' is not for sharp-allreduce",
                      self.refused(*base, "sharp-allreduce,size=8", "--model", "flow", status=2))


if __name__ == "__main__":
    unittest.main()
