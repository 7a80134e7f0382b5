#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SHARP on fabrics of several levels, what ports count, and jobs without end."""

import os
import sys
import unittest

from sharp_case import EXAMPLE, SharpCase

SOAK_S = float(os.environ.get("SOFTIB_SHARP_SOAK", "60"))


class SharpLong(SharpCase):
    def words_of(self, host):
        """Returns what the host's port has sent and received, in units of 4 bytes."""
        counters = "/sys/class/infiniband/mlx5_0/ports/1/counters/"
        return [int(self.ok("exec", host, "--", "cat", counters + name))
                for name in ("port_xmit_data", "port_rcv_data")]

    def test_all_operations_over_one_to_three_levels(self):
        self.try_levels("direct")

    def test_the_same_by_packets(self):
        self.try_levels("packet")

    def try_levels(self, path):
        for flags in (["--hosts", "3"], ["--topology", "fat-tree", "--hosts", "8", "--radix", "4"],
                      ["--topology", "fat-tree", "--hosts", "16", "--radix", "4", "--levels", "3"]):
            self.ok("up", *flags, "--data-path", path)
            hosts = [f"h{i}" for i in range(int(flags[flags.index("--hosts") + 1]))]
            self.works(hosts[:8], "1")
            if len(hosts) > 8:  # The two halves of the tree.
                self.works([hosts[0], hosts[5], hosts[10], hosts[15]], "1")
            self.ok("down")

    def test_two_ranks_on_one_host(self):
        for path in ("direct", "packet"):
            self.ok("up", "--hosts", "2", "--data-path", path)
            self.works(["h0", "h0", "h1", "h1"], "1")
            self.ok("down")

    def test_a_port_sends_and_receives_the_vector_once(self):
        bytes_, rounds = 65536, 20
        seen = []
        for ranks in (2, 4, 8):
            self.ok("up", "--topology", "fat-tree", "--hosts", "8", "--radix", "4")
            before = self.words_of("h0")
            self.works([f"h{i}" for i in range(ranks)], "time", str(bytes_), str(rounds))
            sent, received = (b - a for a, b in zip(before, self.words_of("h0")))
            done = rounds + rounds // 10 + 1
            self.assertEqual(sent, received)
            self.assertGreaterEqual(sent * 4, bytes_ * done)
            self.assertLess(sent * 4, bytes_ * done * 1.05, "headers and no more")
            seen.append(sent)
            self.ok("down")
        self.assertEqual(len(set(seen)), 1, "whatever the number of ranks")

    def test_a_hundred_members_killed_at_any_step(self):
        for path in ("direct", "packet"):
            self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4",
                    "--data-path", path)
            self.kills(50, seed=11)
            self.ok("down")

    def test_soak(self):
        self.soak(SOAK_S, seed=int(os.environ.get("SOFTIB_SHARP_SEED", "2")))


if __name__ == "__main__":
    if not os.path.exists(EXAMPLE):
        sys.exit(77)
    unittest.main()
