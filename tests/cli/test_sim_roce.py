# SPDX-License-Identifier: BSD-2-Clause
"""softib sim on Ethernet and side by side with InfiniBand, as a user types it."""

import csv
import html.parser
import io
import pathlib
import unittest

from cli_case import CliCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "sim"
TREE = ("--topology", "fat-tree", "--hosts", "128", "--radix", "16", "--levels", "2",
        "--engine", "ftree")
ROCE = ("--link-layer", "ethernet")


class SimRoce(CliCase):
    def compared(self, *arguments):
        said = self.json("sim", *arguments)
        return {variant["name"]: variant for variant in said["variants"]}

    def victim(self, *arguments):
        """Returns the rate of h16 past the incast to h0, in Gb/s."""
        said = self.json("sim", str(EXAMPLES / "roce.toml"), *arguments)
        traffic = said["traffic"][1]
        return traffic["message_gbps"]["mean"] if traffic["delivered"] else 0, said

    def test_hashed_flows_collide_where_adaptive_routing_does_not(self):
        ran = self.compared(*TREE, "--size", "500kB", "--compare",
                            "ib+adaptive,roce,roce+ecmp=load+loss_recovery=selective")
        for variant in ran.values():
            self.assertEqual(variant["delivered"], 128)
        self.assertGreater(ran["roce"]["finished_us"], 1.5 * ran["ib+adaptive"]["finished_us"])
        self.assertLess(ran["roce"]["message_gbps_p1"],
                        0.6 * ran["ib+adaptive"]["message_gbps_p1"])
        self.assertLess(ran["roce+ecmp=load+loss_recovery=selective"]["finished_us"],
                        0.8 * ran["roce"]["finished_us"])

    def test_an_incast_without_pfc_loses_and_recovers(self):
        incast = ("--hosts", "17", "--traffic", "incast", "--size", "1MB", "--switch-buffer",
                  "1MiB", "--compare", "roce+pfc=off,roce+pfc=off+loss-recovery=selective,"
                  "roce+pfc-xoff=32KiB,ib")
        ran = self.compared(*incast)
        for variant in ran.values():
            self.assertEqual(variant["delivered"], 16)
        for lossy in "roce+pfc=off", "roce+pfc=off+loss-recovery=selective":
            self.assertGreater(ran[lossy]["dropped"], 0)
            self.assertGreater(ran[lossy]["resent"], 0)
            self.assertEqual(ran[lossy]["pauses"], 0)
        self.assertLess(ran["roce+pfc=off+loss-recovery=selective"]["resent"],
                        ran["roce+pfc=off"]["resent"])
        self.assertEqual(ran["roce+pfc-xoff=32KiB"]["dropped"], 0)
        self.assertEqual(ran["roce+pfc-xoff=32KiB"]["resent"], 0)
        self.assertGreater(ran["roce+pfc-xoff=32KiB"]["pauses"], 0)
        self.assertEqual(ran["ib"]["dropped"] + ran["ib"]["pauses"], 0)

    def test_pauses_make_a_victim_and_dcqcn_helps_it(self):
        without, said = self.victim("--cc", "off")
        self.assertEqual(said["packets"]["discarded"], 0)
        self.assertGreater(said["packets"]["pauses"], 0)
        self.assertGreater(said["congestion"][0]["victims"], 0)
        self.assertIn("other flow waits behind it", said["congestion"][0]["text"])
        helped, said = self.victim()
        self.assertGreater(said["packets"]["notifications"], 0)
        self.assertGreater(helped, 2 * without)

    def test_swift_fills_the_link_and_nobody_pauses(self):
        ran = self.compared("--hosts", "17", "--traffic", "incast,repetitions=9,outstanding=2",
                            "--size", "256KiB", "--compare", "roce+cc=off,roce+cc=swift,"
                            "roce+cc=swift+swift-target=100us,roce")
        off, swift, late, dcqcn = ran.values()
        self.assertGreater(off["pauses"], 100)
        self.assertEqual(swift["pauses"], 0)
        self.assertLess(swift["finished_us"], 1.02 * off["finished_us"])
        self.assertLess(swift["finished_us"], dcqcn["finished_us"])
        self.assertGreater(late["pauses"], 0)
        said = self.json("sim", *ROCE, "--hosts", "4", "--size", "1MB", "--cc", "swift")
        self.assertEqual(said["packets"]["notifications"], 0)

    def test_side_by_side_for_people_and_as_a_page(self):
        text = self.ok("sim", "--hosts", "8", "--size", "100kB", "--compare", "ib,roce",
                       "--congestion-control", "--ecn", "32KiB,64KiB,50%")
        self.assertRegex(text, r"\n +ib +roce\n")
        self.assertRegex(text, r"\ndelivered +8/8 +8/8\n")
        self.assertIn("ib: routes by", text)
        self.assertIn("congestion control", text.split("roce:")[0])
        page = self.ok("sim", "--hosts", "8", "--size", "100kB", "--compare", "ib,roce",
                       "--html", "-")
        html.parser.HTMLParser().feed(page)
        self.assertIn("<th>roce</th>", page)
        self.assertIn("prefers-color-scheme:dark", page)
        self.assertNotIn("http", page)
        rows = list(csv.DictReader(io.StringIO(self.ok(
            "sim", "--hosts", "8", "--size", "100kB", "--compare", "ib,roce",
            "--csv", "-"))))
        self.assertEqual([row["name"] for row in rows], ["ib", "roce"])
        self.assertEqual({row["delivered"] for row in rows}, {"8"})
        self.assertGreater(float(rows[1]["finished_us"]), float(rows[0]["finished_us"]))
        self.assertIn("'csv_links' is not for a comparison", self.refused(
            "sim", "--hosts", "8", "--compare", "ib,roce", "--csv-links", "-", status=2))

    def test_the_same_seed_gives_the_same_run(self):
        def run(seed):
            said = self.json("sim", *TREE, *ROCE, "--size", "100kB", "--seed", seed)
            return said["log_hash"]
        self.assertEqual(run("5"), run("5"))
        self.assertNotEqual(run("5"), run("6"))

    def test_a_scenario_says_what_it_ran_on(self):
        said = self.json("sim", *ROCE, "--hosts", "4", "--size", "100kB")
        self.assertEqual(said["fabric"]["link_layer"], "ethernet")
        text = self.ok("sim", *ROCE, "--hosts", "4", "--size", "100kB", "--pfc", "off",
                       "--loss-recovery", "selective", "--ecn", "off")
        self.assertIn("RoCE, 1 lane, ECMP by 5-tuple, no PFC, no ECN, DCQCN, selective repeat",
                      text)

    def test_ecmp_without_a_choice_is_said(self):
        said = self.json("sim", *ROCE, "--topology", "torus", "--dimensions", "3x3", "--hosts", "9",
                         "--engine", "dor", "--size", "10kB")
        self.assertIn("leave switches no choice", said["notes"][0])
        self.assertEqual(self.json("sim", *ROCE, "--hosts", "2", "--size", "10kB")["notes"], [])

    def test_errors_tell_what_to_do(self):
        refused = self.refused
        self.assertIn("--ecn: 'ecn' is for Ethernet: add --link-layer ethernet",
                      refused("sim", "--ecn", "1KiB,2KiB,5%", status=2))
        self.assertIn("--adaptive: 'adaptive' is for InfiniBand: leave it out, take ecmp=load",
                      refused("sim", *ROCE, "--adaptive", status=2))
        self.assertIn("--pfc must be on or off, not \"maybe\"",
                      refused("sim", *ROCE, "--pfc", "maybe", status=2))
        self.assertIn('--cc must be one of dcqcn, swift or off, not "cubic"',
                      refused("sim", *ROCE, "--cc", "cubic", status=2))
        self.assertIn("--dcqcn-g: 'dcqcn_g' does nothing without cc = dcqcn and ecn that",
                      refused("sim", *ROCE, "--cc", "swift", "--dcqcn-g", "1%", status=2))
        self.assertIn("--cc: 'cc' is for Ethernet", refused("sim", "--cc", "swift", status=2))
        self.assertIn("must have KMIN below KMAX",
                      refused("sim", *ROCE, "--ecn", "2KiB,1KiB,5%", status=2))
        self.assertIn("PMAX must be",
                      refused("sim", *ROCE, "--ecn", "1KiB,2KiB,often", status=2))
        self.assertIn("take a larger --switch-buffer", refused(
            "sim", *ROCE, "--hosts", "8", "--switch-buffer", "256KiB"))
        self.assertIn("pfc_xon must not be above pfc_xoff", refused(
            "sim", *ROCE, "--pfc-xon", "1MiB"))
        self.assertIn("must be a list of ib and roce", refused(
            "sim", "--compare", "ib,token-ring", status=2))
        self.assertIn("--compare ib+ecn=off: ", refused(
            "sim", "--compare", "ib+ecn=off", status=2))
        self.assertIn("Ethernet has 8 priorities", refused("sim", *ROCE, "--data-vls", "9"))
        self.assertIn("'compare' is not for whatif",
                      refused("sim", "whatif", "--compare", "ib,roce", status=2))

    def test_examples_say_what_they_promise(self):
        ran = self.compared(str(EXAMPLES / "compare.toml"))
        self.assertEqual(len(ran), 4)
        self.assertLess(ran["ib+adaptive"]["finished_us"], ran["ib"]["finished_us"])


if __name__ == "__main__":
    unittest.main()
