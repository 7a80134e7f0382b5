# SPDX-License-Identifier: BSD-2-Clause
"""softib plan train, search and models as a user types them: tables, JSON, timelines, remedies."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import unittest

from cli_case import SOFTIB, CliCase

GPT = ("--model", "gpt3-175b", "--cluster", "superpod-h100", "--gpus", "1024", "--tp", "8",
       "--pp", "8", "--interleave", "6", "--batch", "1536")


class PlanTrain(CliCase):
    def setUp(self):
        super().setUp()
        self.made = []

    def tearDown(self):
        for path in self.made:
            path.unlink()
        super().tearDown()

    def test_a_step_has_time_parts_bytes_and_memory(self):
        text = self.ok("plan", "train", *GPT, "--tokens", "300B")
        for words in ("gpt3-175b (174.6 B parameters) on 1,024 H100", "MFU", "GPU-hours",
                      "exposed tp", "bubble", "NVLINK", "MEMORY OF A GPU"):
            self.assertIn(words, text)
        self.assertIn("\n15 T tokens: ", self.ok("plan", "train", *GPT, "--tokens", "15T"))
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
        end = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
        step = self.json("plan", "train", *GPT)["step_s"]
        self.assertAlmostEqual(end * 1e-6, step, 6)
        self.assertIn("<svg", page.read_text())
        trace.unlink()
        page.unlink()

    def test_sixteen_thousand_gpus_are_one_step(self):
        step = self.json("plan", "train", "--model", "llama3.1-405b", "--cluster",
                         "superpod-h100:64", "--gpus", "16384", "--tp", "8", "--pp", "16",
                         "--uneven", "--batch", "2048", "--recompute", "full")
        self.assertEqual(step["mapping"]["dp"], 128)
        self.assertEqual(step["network"], "flow")

    def test_the_network_and_the_placement_count(self):
        cluster = pathlib.Path(self.dir, "narrow.toml")
        cluster.write_text('base = "hgx-h200:32"\nname = "narrow"\n[fabric]\n'
                           'topology = "fat-tree"\nradix = 9\noversubscription = "8:1"\n')
        words = ("plan", "train", "--model", "llama3.1-70b", "--cluster", str(cluster), "--gpus",
                 "256", "--tp", "8", "--pp", "2", "--batch", "256", "--recompute", "full")
        rates = self.json(*words, "--network", "analytic")["step_s"]
        flows = self.json(*words)["step_s"]
        scattered = self.json(*words, "--placement", "random", "--rank-order", "tp-cp-pp-dp")
        self.assertLessEqual(rates, flows)
        self.assertLess(flows, scattered["step_s"])
        self.assertEqual(scattered["mapping"]["rank_order"], "tp-cp-pp-dp")
        cluster.unlink()

    def test_a_search_ranks_mappings_and_keeps_what_was_said(self):
        words = ("plan", "search", "--model", "llama3.1-70b", "--cluster", "superpod-h100",
                 "--gpus", "256", "--batch", "512", "--tp", "8", "--top", "3")
        found = self.json(*words)
        self.assertEqual(len(found["best"]), 3)
        times = [each["step_s"] for each in found["best"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual({each["mapping"]["tp"] for each in found["best"]}, {8})
        self.assertEqual(self.json(*words, "--threads", "1"), found)
        self.assertEqual((found["network"], found["refined"]), ("flow", 6))
        self.assertIn("MFU", self.ok(*words))

    def test_a_search_draws_a_bar_and_may_be_stopped(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [SOFTIB, "plan", "search", "--model", "llama3.1-70b", "--cluster", "superpod-h100",
             "--gpus", "512", "--batch", "512", "--network", "packet", "--json"],
            env=self.env, stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.close(theirs)
        drawn = b""
        while b"mappings" not in drawn:
            drawn += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        os.close(ours)
        self.assertRegex(drawn.decode(), r"\[[#.]{24}\] \d+ of \d+ mappings")
        self.assertTrue(json.loads(said)["stopped"])

    def test_a_mapping_is_chosen_where_none_is_said(self):
        job = ("--model", "llama3.1-70b", "--cluster", "superpod-h100:1", "--gpus", "64",
               "--batch", "128", "--network", "analytic", "--json")
        said = self.json("plan", "train", *job[:-1])
        best = self.json("plan", "search", *job[:-1], "--top", "3")["best"]
        self.assertEqual([each["mapping"] for each in said["chosen"]["best"]],
                         [each["mapping"] for each in best])
        self.assertEqual(said["mapping"], best[0]["mapping"])
        self.assertAlmostEqual(said["step_s"], best[0]["step_s"])
        self.assertRegex(said["notes"][0], r"^no mapping was said: .*; next: tp .*; then: tp ")
        self.assertNotIn("chosen", self.json("plan", "train", *job[:-1], "--tp", "8", "--pp", "2"))
        self.assertIn("fits in the 79 GiB of 2 H100", self.refused(
            "plan", "train", "--model", "llama3.1-405b", "--cluster", "superpod-h100:1", "--gpus",
            "2"))

    def test_a_report_says_whose_choice_each_default_is(self):
        job = ("--model", "llama3.1-8b", "--cluster", "superpod-h100:2", "--gpus", "64", "--batch",
               "128", "--micro-batch", "1", "--network", "analytic")
        said = self.json("plan", "train", *job, "--framework", "fsdp2", "--grad-bytes", "4")
        self.assertEqual(said["framework"], "fsdp2")
        choices = {each["name"]: (each["value"], each["by"]) for each in said["choices"]}
        self.assertEqual(choices["zero"], ("3", "framework"))
        self.assertEqual(choices["grad_bytes"], ("32 bits", "user"))
        self.assertEqual(choices["recompute"][1], "planner")
        self.assertEqual(said["mapping"]["zero"], 3)
        plain = self.json("plan", "train", *job)
        self.assertIsNone(plain["framework"])
        self.assertEqual({each["by"] for each in plain["choices"]}, {"planner"})
        text = self.ok("plan", "train", *job, "--framework", "megatron-lm", "--tp", "4")
        self.assertRegex(text, r"CHOICE +VALUE +BY\n")
        self.assertRegex(text, r"what replicas divide .* 0 +megatron-lm\n")
        self.assertIn("torch not in {megatron-lm,megatron-bridge,nemo,fsdp2}", self.refused(
            "plan", "train", *job, "--framework", "torch", status=2))
        self.assertIn("has no messages of --hsdp", self.refused(
            "plan", "train", *job, "--zero", "3", "--hsdp", "8", "--export", "goal=-"))

    def test_every_option_acts_or_is_refused_by_name(self):
        cluster = pathlib.Path(self.dir, "narrow.toml")
        cluster.write_text('base = "hgx-h200:32"\n[fabric]\ntopology = "fat-tree"\n'
                           'radix = 9\noversubscription = "8:1"\n')
        model = pathlib.Path(self.dir, "experts.toml")
        model.write_text('base = "deepseek-v3"\nlayers = 14\nexperts = 16\n')
        smaller = pathlib.Path(self.dir, "smaller.toml")
        smaller.write_text('base = "deepseek-v3"\nlayers = 12\nexperts = 16\n')
        rates = pathlib.Path(self.dir, "rates.toml")
        rates.write_text('base = "hopper"\nmemory = 0.5\n')
        for path in (cluster, model, smaller, rates):
            self.made.append(path)
        file = pathlib.Path(self.dir, "written")
        # Values of operands that are not listed by name, and what an option needs to act.
        values = {"model": str(smaller), "cluster": "hgx-b200:8", "gpus": "32", "batch": "128",
                  "sequence": "2048", "comm-sms": "20", "seed": "5", "zero": "0", "tokens": "1T",
                  "trace": str(file), "html": str(file), "export": f"csv={file}",
                  "export-layers": "2", "top": "3", "interleave": "7", "threads": "1",
                  "rates": str(rates), "etp": "2", "hsdp": "8", "recompute-layers": "2",
                  "offload-layers": "4", "lora": "16", "param-bytes": "1"}
        needed = {"cp-comm": ("--cp", "2"), "hsdp": ("--zero", "1"),
                  "recompute-layers": ("--recompute", "full"), "offload-layers": ("--pp", "1"),
                  "lora": ("--lora-targets", "attention"),
                  "lora-targets": ("--lora", "16"),
                  "sequence-parallel": ("--framework", "megatron-lm", "--ep", "1"),
                  "overlap-dp": ("--framework", "megatron-lm", "--ep", "1"),
                  "overlap-pp": ("--framework", "megatron-lm", "--ep", "1", "--pp", "2",
                                 "--interleave", "1"),
                  "uneven": ("--pp", "4"), "placement": ("--no-overlap-dp",),
                  "seed": ("--placement", "random", "--no-overlap-dp", "--gpus", "256",
                           "--tp", "8", "--ep", "16"),
                  "cuda-graphs": ("--precision", "fp8"),
                  "rails-crossed": ("--no-overlap-dp",), "network": ("--no-overlap-dp",),
                  "planes": ("--no-overlap-dp",),
                  "recompute": ("--attention", "unfused"),
                  "export-layers": ("--export", f"csv={file}", "--interleave", "1"),
                  "no-overlap-pp": ("--interleave", "7"),
                  "collnet": ("--zero", "0", "--no-overlap-dp")}
        # Exchanges that are hidden do not show where they go.
        own = {"train": ("--tp", "2", "--pp", "2", "--ep", "2", "--recompute", "full"),
               "search": ("--tp", "2", "--cp", "1", "--ep", "2", "--top", "2")}
        # A number of threads changes only the time that a search takes.
        same = {("search", "threads")}
        pairs, idle = 0, []
        for ask in ("train", "search"):
            for option in self.options("plan", ask):
                name = option["names"][-1].removeprefix("--")
                if name in ("help", "json"):
                    continue
                operand = option["operand"] or ""
                choices = operand.split("|") if "|" in operand else ["4" if operand else None]
                choices = [values[name]] if name in values else choices
                base = self.with_options(
                    ("plan", ask, "--json", "--model", str(model), "--cluster", str(cluster),
                     "--gpus", "64", "--batch", "256") + own[ask], needed.get(name, ()))
                outcomes = [self.outcome(base, file)]
                for value in choices:
                    words = (f"--{name}",) if value is None else (f"--{name}", value)
                    outcomes.append(self.outcome(self.with_options(base, words), file))
                refused = any(rc == 2 and f"--{name} " in said for rc, said, _ in outcomes[1:])
                acted = any(outcome != outcomes[0] for outcome in outcomes[1:])
                if not (refused or acted or (ask, name) in same):
                    idle.append(f"{ask} --{name}")
                pairs += 1
        self.assertEqual(idle, [])
        self.assertGreaterEqual(pairs, 50)
    def options(self, *names):
        """Returns the options of a command, as the parser tells them."""
        node = json.loads(self.ok("help", "--json"))
        for name in names:
            node = next(each for each in node["commands"] if each["name"] == name)
        return node["options"]

    @staticmethod
    def with_options(words, more):
        """Adds options to a command line; an option that is there is replaced."""
        words = list(words)
        for i, word in enumerate(more):
            if word.startswith("--") and word in words:
                at = words.index(word)
                takes = i + 1 < len(more) and not more[i + 1].startswith("--")
                del words[at:at + 1 + takes]
        return tuple(words) + tuple(more)

    def outcome(self, words, file):
        """Returns the status, all text and the file that a command leaves."""
        done = self.softib(*words)
        written = sorted(pathlib.Path(self.dir).glob(file.name + "*"))
        content = [each.read_bytes() for each in written]
        for each in written:
            each.unlink()
        return done.returncode, done.stdout + done.stderr, content

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
                      self.refused("plan", "train", "--model", "gpt3-175b", *cluster, "--tp", "8",
                                   "--gpus", "8"))
        self.assertIn("as 300B or 1.5T",
                      self.refused("plan", "train", *GPT, "--tokens", "many", status=2))
        self.assertIn("--recompute: ful (did you mean full?) not in {none,selective,full}",
                      self.refused("plan", "train", *GPT, "--recompute", "ful", status=2))

    def test_an_export_of_too_many_messages_says_what_makes_it_smaller(self):
        said = self.refused("plan", "train", *GPT, "--export", "goal=never.goal")
        self.assertIn("million messages", said)
        self.assertIn("--export-layers 2", said)


if __name__ == "__main__":
    unittest.main()
