# SPDX-License-Identifier: BSD-2-Clause
"""softib plan serve: what it prints, and what it refuses."""

import ctypes
import json
import pathlib
import unittest

from cli_case import BUILD, CliCase

SMALL = ("plan", "serve", "--model", "llama3.1-70b", "--cluster", "hgx-h200:8", "--requests", "200",
         "--seeds", "2")
# Prompts whose prefixes are known come in quick succession to one decode node.
CROWDED = (*SMALL, "--prefill", "6", "--rate", "18", "--reuse", "0.6", "--answer", "64")


class PlanServe(CliCase):
    def test_incast_costs_most_on_one_rail(self):
        rows = self.json(*CROWDED)["rows"]
        self.assertEqual([row["rails"] for row in rows], [1, 2, 4, 8])
        queued = [row["first_token_parts_s"]["queueing_at_decode_nics"] for row in rows]
        self.assertEqual(queued, sorted(queued, reverse=True))
        self.assertGreater(queued[0], 2 * queued[1])
        for row in rows:
            self.assertAlmostEqual(sum(row["requests_by_transfers_at_once"]), 1, 9)
            self.assertEqual(len(row["requests_by_transfers_at_once"]),
                             row["transfers_at_once_most"])
            median = row["first_token_s"]["p50"]
            self.assertLessEqual(median["low"], median["median"])
            self.assertLess(median["median"], row["first_token_s"]["p99"]["median"])
            parts = row["first_token_parts_s"]
            fabric = sum(time for name, time in parts.items() if "transfer" in name or
                         "queueing" in name)
            self.assertAlmostEqual(fabric / sum(parts.values()), row["fabric_share"]["median"],
                                   delta=0.1)

    def test_text_says_who_waits_for_what(self):
        text = self.ok(*CROWDED)
        for words in ("KV cache 328 kB a token", "RAILS", "queueing at NICs of decode nodes",
                      "SLOWEST 1 %", "no published measurement of serving validates"):
            self.assertIn(words, text)
        self.assertNotIn("\x1b", text)

    def test_kv_caches_have_the_bytes_of_their_model(self):
        one = self.json(*SMALL, "--rails", "8", "--prompt", "1000")
        self.assertEqual(one["kv_bytes_per_token"], 327680)
        self.assertAlmostEqual(one["kv_bytes_per_prompt"] / 327680, 1000, 6)
        half = self.json(*SMALL, "--rails", "8", "--kv-precision", "fp8")
        self.assertEqual(half["kv_bytes_per_token"], 163840)
        latent = self.json("plan", "serve", "--model", "deepseek-v3", "--cluster", "hgx-h200:4",
                           "--precision", "fp8-block", "--rails", "8", "--requests", "30")
        self.assertEqual(latent["kv_bytes_per_token"], 61 * 576 * 2)

    def test_a_transfer_alone_takes_what_a_comparison_says(self):
        quiet = self.json("plan", "serve", "--model", "llama3.1-70b", "--cluster", "hgx-h200:2",
                          "--rate", "0.01", "--requests", "20", "--seeds", "1")["rows"]
        alone = self.json("plan", "compare", "kv-cache", "--cluster", "hgx-h200:2",
                          "--size", str(4096 * 327680))["rows"]
        self.assertEqual([str(row["rails"]) for row in quiet], [row["name"] for row in alone])
        for row, pair in zip(quiet, alone):
            self.assertAlmostEqual(row["transfer_s"]["p50"]["median"] / pair["values"]["seconds"],
                                   1, delta=0.01)
            self.assertLess(row["first_token_parts_s"]["queueing_at_decode_nics"], 1e-6)

    def test_packets_and_rates_say_about_the_same(self):
        words = ("plan", "serve", "--model", "llama3.1-8b", "--cluster", "hgx-h200:4", "--prefill",
                 "3", "--rails", "1", "--prompt", "512", "--rate", "200", "--answer", "8",
                 "--requests", "100", "--seeds", "1")
        flow, packet = (self.json(*words, "--network", network)["rows"][0]
                        for network in ("flow", "packet"))
        self.assertGreater(flow["transfers_at_once_most"], 1)
        for percent in ("p50", "p99"):
            self.assertAlmostEqual(packet["transfer_s"][percent]["median"] /
                                   flow["transfer_s"][percent]["median"], 1, delta=0.15)

    def test_the_same_answer_from_the_library(self):
        library = ctypes.CDLL(str(BUILD / "lib" / "libsoftib.so.0"))
        library.softib_ask.restype = ctypes.c_void_p
        error = ctypes.create_string_buffer(1000)
        answer = library.softib_ask(
            b'ask = "serve"\nmodel = "llama3.1-70b"\ncluster = "hgx-h200:8"\nrequests = 200\n'
            b"seeds = 2\nrails = 4\n", b"", error, ctypes.c_size_t(len(error)))
        self.assertIsNotNone(answer, error.value)
        said = json.loads(ctypes.cast(answer, ctypes.c_char_p).value)
        self.assertEqual(said, self.json(*SMALL, "--rails", "4"))

    def test_what_cannot_be_is_refused_with_what_could(self):
        for words, message, status in (
                (("--rate", "1000"), "take a rate of at most", 1),
                (("--rate", "soon"), "--rate must be requests a second", 2),
                (("--answer", "gamma:2:3"), "--answer must be a number of tokens", 2),
                (("--reuse", "1"), "--reuse must be a part of the prompt below 1", 2),
                (("--precision", "int8"), "--precision must be bf16", 2),
                (("--decode-tp", "3"), "decode pool: an instance of 3 GPUs does not divide", 1),
                (("--prefill", "8"), "more than the 8 nodes", 1),
                (("--rails", "9"), "has 8 NICs, not 9", 1),
                (("--network", "packet"), "take --network flow, fewer --requests", 1),
                (("--model", "nobody"), "nobody", 1),
                (("--html", "-", "--json"), "--json changes nothing here", 2)):
            base = [word for i, word in enumerate(SMALL)
                    if words[0] not in SMALL[max(0, i - 1):i + 1]]
            with self.subTest(words):
                self.assertIn(message, self.refused(*base, *words, status=status))
        self.assertIn("NVLink domains", self.refused(
            "plan", "serve", "--model", "llama3.1-8b", "--cluster", "nvl72-ndr:2", status=1))

    def test_a_page_draws_it(self):
        page = pathlib.Path(self.scratch, "serve.html")
        self.ok(*CROWDED, "--html", str(page))
        text = page.read_text()
        for words in ("Incast", "class=\"stack\"", "class=\"plot\"", "class=\"bundles\""):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
