# SPDX-License-Identifier: BSD-2-Clause
"""softib plan train, search and models as a user types them: tables, JSON, timelines, remedies."""

import json
import pathlib
import unittest

from cli_case import CliCase

GPT = ("--model", "gpt3-175b", "--cluster", "superpod-h100", "--gpus", "1024", "--tp", "8",
       "--pp", "8", "--interleave", "6", "--batch", "1536")


class PlanTrain(CliCase):
    def test_a_step_has_time_parts_bytes_and_memory(self):
        text = self.ok("plan", "train", *GPT, "--tokens", "300B")
        for words in ("gpt3-175b (174.6 B parameters) on 1,024 H100", "MFU", "GPU-hours",
                      "exposed tp", "bubble", "NVLINK", "MEMORY OF A GPU"):
            self.assertIn(words, text)
        step = self.json("plan", "train", *GPT)
        parts = dict(step["parts_s"])
        exposed = parts.pop("exposed")
        self.assertAlmostEqual((sum(parts.values()) + sum(exposed.values())) / step["step_s"], 1, 5)
        self.assertEqual(step["mapping"]["dp"], 16)
        self.assertLess(step["memory_bytes"]["total"], step["memory_bytes"]["capacity"])

    def test_a_timeline_as_a_trace_and_as_a_page(self):
        trace, page = pathlib.Path(self.dir, "t.json"), pathlib.Path(self.dir, "t.html")
        self.ok("plan", "train", *GPT, "--trace", str(trace), "--html", str(page))
        events = json.loads(trace.read_text())["traceEvents"]
        passes = [event for event in events if event.get("cat") in ("forward", "backward")]
        self.assertEqual(len(passes), 2 * 8 * 6 * 96)
        self.assertIn("<svg", page.read_text())
        trace.unlink()
        page.unlink()

    def test_sixteen_thousand_gpus_are_one_step(self):
        step = self.json("plan", "train", "--model", "llama3.1-405b", "--cluster",
                         "superpod-h100:64", "--gpus", "16384", "--tp", "8", "--pp", "16",
                         "--uneven", "--batch", "2048", "--recompute", "full")
        self.assertEqual(step["mapping"]["dp"], 128)

    def test_a_search_ranks_mappings_and_keeps_what_was_said(self):
        words = ("plan", "search", "--model", "llama3.1-70b", "--cluster", "superpod-h100",
                 "--gpus", "256", "--batch", "512", "--tp", "8", "--top", "3")
        found = self.json(*words)
        self.assertEqual(len(found["best"]), 3)
        times = [each["step_s"] for each in found["best"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual({each["mapping"]["tp"] for each in found["best"]}, {8})
        self.assertEqual(self.json(*words, "--threads", "1"), found)
        self.assertIn("MFU", self.ok(*words))

    def test_models_are_listed_and_may_come_from_a_file(self):
        self.assertIn("deepseek-v3", self.ok("plan", "models"))
        self.assertIn("llama3.1-405b", [model["name"] for model in self.json("plan", "models")])
        model = pathlib.Path(self.dir, "mine.toml")
        model.write_text('base = "llama3.1-8b"\nname = "mine"\nlayers = 16\n')
        step = self.json("plan", "train", "--model", str(model), "--cluster", "superpod-h100:1",
                         "--gpus", "8")
        self.assertEqual(step["model"]["layers"], 16)
        model.unlink()

    def test_errors_name_the_field_and_a_remedy(self):
        cluster = ("--cluster", "superpod-h100")
        self.assertIn("did you mean 'gpt3-175b'?",
                      self.refused("plan", "train", "--model", "gpt3-175", *cluster))
        self.assertIn("did you mean 'superpod-h100'?",
                      self.refused("plan", "train", "--model", "gpt3-175b", "--cluster",
                                   "superpod-h10"))
        self.assertIn("use 6 or 8",
                      self.refused("plan", "train", "--model", "gpt3-175b", *cluster, "--tp", "7"))
        self.assertIn("does not fit on H100",
                      self.refused("plan", "train", "--model", "gpt3-175b", *cluster, "--gpus",
                                   "8"))
        self.assertIn("as 300B or 1.5T",
                      self.refused("plan", "train", *GPT, "--tokens", "many", status=2))


if __name__ == "__main__":
    unittest.main()
