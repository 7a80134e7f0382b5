# SPDX-License-Identifier: BSD-2-Clause
"""softib plan as a user types it: clusters, collectives, comparisons, errors with a remedy."""

import pathlib
import tempfile
import unittest

from cli_case import CliCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "plan"
SMALL = ("--cluster", "hgx-h200:2")


class Plan(CliCase):
    def test_presets_have_sources(self):
        said = self.json("plan", "presets")
        self.assertIn("superpod-h100", [each["name"] for each in said["clusters"]])
        self.assertTrue(all(each["source"] for each in said["clusters"]))
        self.assertIn("H800", [each["name"] for each in said["gpus"]])

    def test_show_counts_components_and_gives_ranges(self):
        said = self.json("plan", "show", "superpod-h100:4")
        self.assertEqual([level["switches"] for level in said["fabric"]["levels"]], [32, 16])
        low, high = said["cost"]["network_usd"]
        self.assertLess(low, high)
        prices = str(EXAMPLES / "prices.toml")
        dear = self.json("plan", "show", "superpod-h100:4", "--prices", prices)
        self.assertNotEqual(dear["cost"]["network_usd"], [low, high])

    def test_a_cluster_file_changes_a_preset(self):
        said = self.json("plan", "show", str(EXAMPLES / "lab.toml"))
        self.assertEqual((said["name"], said["gpus"]), ("lab", 128))

    def test_collective_prints_what_nccl_tests_print(self):
        text = self.ok("plan", "collective", *SMALL, "--sizes", "8,1M")
        self.assertRegex(text, r"SIZE +ALGORITHM +PROTOCOL +TIME us +ALGBW GB/s +BUSBW GB/s")
        rows = self.json("plan", "collective", *SMALL, "--sizes", "64M:128M",
                         "--algorithms", "ring,sharp")["rows"]
        self.assertEqual([(row["bytes"] >> 20, row["algorithm"]) for row in rows],
                         [(64, "ring"), (64, "sharp"), (128, "ring"), (128, "sharp")])
        self.assertTrue(all(row["busbw_gbs"] > 50 for row in rows))

    def test_every_step_of_an_mpi_has_its_software(self):
        ring = ("plan", "collective", *SMALL, "--stack", "mpi", "--op", "all-gather",
                "--algorithms", "ring", "--sizes", "64")
        plain = self.json(*ring)["rows"][0]["us"]
        slower = self.json(*ring, "--step-time", "130ns")["rows"][0]["us"]
        self.assertAlmostEqual(slower - plain, 0.13, 6)
        self.assertIn("--step-time: ", self.refused(*ring, "--step-time", "soon", status=2))

    def test_a_page_needs_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "ring.html"
            self.ok("plan", "collective", *SMALL, "--sizes", "1M:4M", "--html", str(page))
            text = page.read_text()
        self.assertIn("<svg", text)
        self.assertNotIn("src=", text)

    def test_a_link_that_pcie_slows_down_is_named_with_its_key(self):
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder) / "own.toml"
            own.write_text('base = "hgx-b200:2"\n[fabric]\ngeneration = "XDR"\n')
            key = "say how fast PCIe is by the key gbs in [pcie]"
            self.assertIn(key, self.ok("plan", "show", str(own)))
            for words in (("show", str(own)),
                          ("collective", "--cluster", str(own), "--sizes", "8"),
                          ("compare", "kv-cache", "--cluster", str(own), "--size", "1MB"),
                          ("train", "--model", "llama3.1-8b", "--cluster", str(own)),
                          ("search", "--model", "llama3.1-8b", "--cluster", str(own), "--tp", "8",
                           "--cp", "1")):
                self.assertIn(key, " ".join(self.json("plan", *words)["notes"]), words)

    def test_a_kv_cache_has_the_size_that_was_said(self):
        seconds = [self.json("plan", "compare", "kv-cache", *SMALL, "--size", size)["rows"][0]
                   ["values"]["seconds"] for size in ("1GB", "4GB")]
        self.assertAlmostEqual(seconds[1] / seconds[0], 4, 2)

    def test_more_rails_move_a_kv_cache_faster(self):
        rows = self.json("plan", "compare", "kv-cache", *SMALL)["rows"]
        seconds = [row["values"]["seconds"] for row in rows]
        self.assertEqual(len(seconds), 4)
        self.assertEqual(seconds, sorted(seconds, reverse=True))

    def test_every_comparison_prints_a_table_and_writes_a_page(self):
        small = ("--cluster", "hgx-h200", "--size", "16MB")
        # A spine matters only where nodes are at several leaf switches.
        refused = self.refused("plan", "compare", "failed-spine", *small, "--nodes", "4", status=2)
        self.assertIn("take at least --nodes 34", refused)
        for what, rows in (("oversubscription", 4), ("topology", 7), ("generation", 5),
                           ("link-layer", 8), ("sharp", 6), ("failed-spine", 3), ("kv-cache", 4),
                           ("planes", 5)):
            nodes = ("--nodes", "34") if what == "failed-spine" else ("--nodes", "4")
            words = (*small, *nodes)
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                page = pathlib.Path(folder) / "page.html"
                said = self.json("plan", "compare", what, *words, "--html", str(page))
                self.assertEqual(len(said["rows"]), rows)
                self.assertTrue(said["rows"][0]["values"], said["rows"][0]["note"])
                self.assertIn("<table>", page.read_text())
                self.assertIn("<svg", page.read_text())
                text = self.ok("plan", "compare", what, *words)
                self.assertIn(said["title"], text)
                self.assertIn(said["rows"][-1]["name"], text)

    def test_sharp_and_nvls_join_as_algorithms(self):
        rows = self.json("plan", "collective", "--cluster", "hgx-h200:4", "--sizes", "1G",
                         "--algorithm", "ring,sharp,nvls")["rows"]
        ring, sharp, both = (row["us"] for row in rows)
        self.assertLess(sharp, ring)
        self.assertLess(both, sharp)

    def test_nccl_chooses_sharp_only_with_collnet(self):
        large = ("plan", "collective", "--cluster", "hgx-h200:8", "--sizes", "8,1G")
        without = [row["algorithm"] for row in self.json(*large)["rows"]]
        self.assertEqual(without, ["tree", "nvls-tree"])
        self.assertEqual(self.json(*large, "--collnet")["rows"][1]["algorithm"], "nvls")
        said = self.json("plan", "collective", "--cluster", "nvl72-xdr:20", "--sizes", "1G",
                         "--collnet")
        self.assertEqual(said["rows"][0]["algorithm"], "nvls-tree")
        self.assertIn("CollNet cannot start, and NCCL goes on without it", said["notes"][0])

    def test_numbers_that_cannot_act_are_refused(self):
        of = ("plan", "collective", "--cluster", "hgx-h200:2")
        for words in (("--channels", "0"), ("--channels", "100000000"), ("--nodes", "0"),
                      ("--sizes", "0"), ("--sizes", "0:8")):
            with self.subTest(words):
                self.assertIn(words[0], self.refused(*of, *words, status=2))
        self.assertIn("an operation needs two ranks",
                      self.refused("plan", "collective", "--cluster", "hgx-h200:1", "--stack",
                                   "mpi", "--algorithms", "ring", status=1))
        self.assertIn("take 18 or 36 nodes",
                      self.refused("plan", "collective", "--cluster", "nvl72-xdr", "--nodes", "20",
                                   status=1))
        self.assertIn("at most 4194304 passes are timed; use batch 8388608 or less",
                      self.refused("plan", "train", "--model", "llama3.1-8b", "--cluster",
                                   "hgx-h200:2", "--tp", "8", "--batch", "100000000", status=1))

    def test_errors_name_the_remedy(self):
        for arguments, status, message in (
                (("plan", "show", "superpod-h10"), 1,
                 "unknown preset 'superpod-h10'; did you mean 'superpod-h100'?"),
                (("plan", "collective"), 2, "say which cluster: --cluster NAME"),
                (("plan", "collective", *SMALL, "--algorithms", "rings"), 2,
                 "did you mean 'ring'?"),
                (("plan", "collective", *SMALL, "--sizes", "9:3"), 2, "write FROM:TO"),
                (("plan", "show", "/nonexistent.toml"), 1, "cannot read /nonexistent.toml")):
            with self.subTest(arguments):
                done = self.softib(*arguments)
                self.assertEqual(done.returncode, status)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
