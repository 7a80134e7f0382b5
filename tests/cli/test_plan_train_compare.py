# SPDX-License-Identifier: BSD-2-Clause
"""softib plan compare --train as a user types it: steps of one model on clusters that differ."""

import csv
import ctypes
import json
import pathlib
import unittest

from cli_case import BUILD, CliCase

COMPARE = ("plan", "compare")
SMALL = ("--train", "llama3.1-8b", "--cluster", "hgx-h100:4", "--network", "analytic")
TOKENS = "$/10^12 tokens from"


class TrainCompare(CliCase):
    def rows(self, *words):
        return {row["name"]: row for row in self.json(*COMPARE, *words)["rows"]}

    @staticmethod
    def words(options):
        return [word for name, value in options.items() for word in (name, value) if word]

    def test_rows_have_time_cost_and_power_and_are_sorted_by_what_tokens_cost(self):
        answer = self.json(*COMPARE, "generation", *SMALL)
        rows = answer["rows"]
        self.assertEqual({row["name"] for row in rows}, {"EDR", "HDR", "NDR", "XDR", "GDR"})
        costs = [row["values"][TOKENS] for row in rows]
        self.assertEqual(costs, sorted(costs))
        for row in rows:
            values = row["values"]
            self.assertLess(values["step s from"], values["step s"])
            self.assertLess(values["step s"], values["step s to"])
            self.assertLess(values["M$ from"], values["M$ to"])
            self.assertGreater(values["kW to"], 0)
            self.assertIn("32 GPUs", row["mapping"])
        by_step = self.json(*COMPARE, "generation", *SMALL, "--sort", "step")["rows"]
        steps = [row["values"]["step s"] for row in by_step]
        self.assertEqual(steps, sorted(steps))
        mfu = [row["values"]["MFU %"] for row in
               self.json(*COMPARE, "generation", *SMALL, "--sort", "mfu")["rows"]]
        self.assertEqual(mfu, sorted(mfu, reverse=True))

    def test_each_row_is_the_step_that_train_times(self):
        for words in ((), ("--tp", "2")):
            rows = self.rows("oversubscription", *SMALL, *words)
            step = self.json("plan", "train", "--model", "llama3.1-8b", "--cluster", "hgx-h100:4",
                             "--network", "analytic", *words)
            self.assertAlmostEqual(rows["1:1"]["values"]["step s"], step["step_s"])
            self.assertIn(f"tp {step['mapping']['tp']}", rows["1:1"]["mapping"])

    def test_costs_are_prices_by_time(self):
        prices = pathlib.Path(self.scratch, "prices.toml")
        prices.write_text("gpu_hour = [2, 3]\n")
        row = self.rows("--vary", "nodes=4", *SMALL, "--prices", str(prices))["4"]["values"]
        hours = 1e12 / row["tokens/s"] / 3600
        self.assertAlmostEqual(row[TOKENS] / (2 * 32 * hours), 1, 6)
        self.assertAlmostEqual(row["$/10^12 tokens to"] / (3 * 32 * hours), 1, 6)
        prices.write_text("depreciation_years = [1, 1]\nenergy_kwh = [0, 0]\n"
                          "hosting_kw_month = [0, 0]\n")
        row = self.rows("--vary", "nodes=4", *SMALL, "--prices", str(prices))["4"]["values"]
        self.assertAlmostEqual(row[TOKENS] / (row["M$ from"] * 1e6 * hours / 8766), 1, 6)

    def test_a_general_price_replaces_those_of_a_kind(self):
        prices = pathlib.Path(self.scratch, "prices.toml")
        words = ("--train", "llama3.1-8b", "--vary", "cluster=hgx-b200:4", "--tp", "2",
                 "--prices", str(prices))
        told = []
        for text in ("", "gpu = [1, 2]\n", "gpu = [1, 2]\ngpu_b200 = [3, 4]\n"):
            prices.write_text(text)
            told.append(self.rows(*words)["hgx-b200:4"]["values"]["M$ from"])
        self.assertEqual(len(set(told)), 3)
        self.assertLess(told[1], told[2])

    def test_any_key_can_be_varied_and_several_at_once(self):
        rows = self.rows("--vary", "generation=NDR,HDR", "--vary", "nvlink.domain_gpus=8,16",
                         "--vary", "precision=bf16,fp8", *SMALL)
        self.assertEqual(len(rows), 8)
        self.assertIn("HDR, 16, fp8", rows)
        self.assertLess(rows["NDR, 8, fp8"]["values"]["step s"],
                        rows["NDR, 8, bf16"]["values"]["step s"])
        for key in ("topology=fat-tree,rail-only", "link_layer=infiniband,roce", "radix=32,64",
                    "gpu=H100,H200", "pcie.gbs=20,60", "model=llama3.1-8b,llama3.1-70b",
                    "zero=1,3", "no-overlap-dp=true,false", "cluster=hgx-h100:2,hgx-b200:2"):
            rows = self.rows("--vary", key, *SMALL)
            self.assertEqual(len(rows), 2, key)
            self.assertTrue(all(row["values"] for row in rows.values()), (key, rows))

    def test_the_questions_that_architects_ask_have_names(self):
        rows = self.rows("oversubscription", *SMALL)
        self.assertGreater(rows["1:1"]["values"]["M$ from"], rows["2:1"]["values"]["M$ from"])
        rows = self.rows("topology", *SMALL)
        self.assertIn("rail-only", rows)
        rows = self.rows("link-layer", *SMALL)
        self.assertIn("RoCE", " ".join(rows))
        rows = self.rows("nvlink-domain", "--train", "llama3.1-8b", "--cluster", "nvl72-ndr:1",
                         "--tp", "4", "--network", "analytic")
        self.assertIn("as it is", rows["72 GPUs"]["note"])
        self.assertIn("8 GPUs", rows)
        for words, gains in (((), False), (("--tp", "4", "--zero", "0"), True)):
            rows = self.rows("sharp", *SMALL, *words, "--no-overlap-dp")
            steps = [rows[name]["values"]["step s"] for name in ("with SHARP", "without SHARP")]
            self.assertEqual(steps[0] < 0.998 * steps[1], gains, steps)
            self.assertEqual("reduce-scattered" in rows["with SHARP"]["note"], not gains)
        rows = self.rows("experts", "--train", "qwen3-30b-a3b", "--cluster", "hgx-h100:4",
                         "--network", "analytic")
        self.assertEqual(rows["ep 8"]["note"], "inside an NVLink domain")
        self.assertEqual(rows["ep 16"]["note"], "across 2 NVLink domains")
        self.assertIn("ep 16", rows["ep 16"]["mapping"])

    def test_what_cannot_be_is_named_and_not_left_out(self):
        rows = self.json(*COMPARE, "--vary", "cluster=no-such:2,hgx-h100:1,hgx-h100:16",
                         "--train", "llama3.1-70b", "--network", "analytic")["rows"]
        self.assertEqual([row["name"] for row in rows],
                         ["hgx-h100:16", "no-such:2", "hgx-h100:1"])
        self.assertIn("no-such", rows[1]["note"])
        self.assertIn("fits in the 79 GiB of 8 H100", rows[2]["note"])
        self.assertIn("fits in", self.refused(
            *COMPARE, "--vary", "cluster=hgx-h100:1", "--train", "llama3.1-70b"))

    def test_a_stuck_row_stands_behind_the_others_with_its_reason(self):
        rows = self.json(*COMPARE, "--vary", "tp=3,2", *SMALL)["rows"]
        self.assertEqual([row["name"] for row in rows], ["2", "3"])
        self.assertEqual(rows[1]["values"], {})
        self.assertIn("tp 3", rows[1]["note"])
        self.assertIn("tp 3", self.ok(*COMPARE, "--vary", "tp=3,2", *SMALL))

    def test_files_have_the_rows(self):
        table, page = pathlib.Path(self.scratch, "t.csv"), pathlib.Path(self.scratch, "t.html")
        answer = self.json(*COMPARE, "--vary", "tp=3,2,4", *SMALL, "--csv", str(table),
                           "--html", str(page))
        with open(table, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["tp"] for row in rows], [row["name"] for row in answer["rows"]])
        self.assertEqual(float(rows[0]["step s"]), answer["rows"][0]["values"]["step s"])
        self.assertEqual((rows[2]["step s"], rows[2]["note"]), ("", answer["rows"][2]["note"]))
        self.assertIn("<svg", page.read_text())
        self.assertEqual(self.ok(*COMPARE, "--vary", "tp=3,2,4", *SMALL, "--csv", "-"),
                         table.read_text())

    def test_what_would_change_nothing_is_refused_by_name(self):
        for words, said in (
                (("kv-cache", *SMALL), "kv-cache changes nothing with --train"),
                (("sharp", "--collnet", *SMALL), "--collnet changes nothing here"),
                (SMALL, "say what differs"),
                (("--vary", "generatoin=NDR", *SMALL), "did you mean"),
                (("--vary", "NDR", *SMALL), "--vary must be KEY=VALUE"),
                (("--vary", "tp=2,4", "--tp", "2", *SMALL), "tp is given too"),
                (("generation", "--size", "1GB", *SMALL), "--size changes nothing here"),
                (("generation", "--model", "packet", *SMALL), "--model changes nothing here"),
                (("experts", *SMALL), "experts: llama3.1-8b has none"),
                (("experts", "--cluster", "hgx-h100:4"), "it needs --train MODEL"),
                (("generation", "--tp", "2"), "--tp changes nothing here: it needs --train"),
                (("generation", "--vary", "tp=2"), "--vary changes nothing here"),
                (("--cluster", "hgx-h100:4"), "say what differs"),
                (("generation", *SMALL, "--json", "--csv", "-"), "--json changes nothing here")):
            self.assertIn(said, self.refused(*COMPARE, *words, status=2), words)

    def test_every_option_acts_or_is_refused_by_name(self):
        values = {"--cluster": "hgx-b200:4", "--nodes": "4", "--prices": "{prices}",
                  "--size": "1MB", "--model": "packet", "--csv": "{file}", "--html": "{file}",
                  "--train": "qwen3-235b-a22b", "--vary": "pcie.gbs=20,21", "--sort": "price",
                  "--gpus": "16", "--tp": "4", "--pp": "2", "--interleave": "2", "--cp": "2",
                  "--ep": "4", "--zero": "3", "--batch": "64", "--micro-batch": "2",
                  "--sequence": "2048", "--grad-bytes": "2", "--comm-sms": "20", "--seed": "5",
                  "--tokens": "1T", "--rates": "{rates}", "--recompute": "full",
                  "--attention": "unfused", "--precision": "fp8", "--tp-overlap": "all",
                  "--network": "flow", "--rank-order": "tp-cp-pp-dp", "--placement": "random"}
        prices = pathlib.Path(self.scratch, "prices.toml")
        prices.write_text("nic = [1, 2]\n")
        rates = pathlib.Path(self.scratch, "rates.toml")
        rates.write_text('base = "hopper"\nmemory = 0.5\n')
        file = pathlib.Path(self.scratch, "written")
        node = next(each for each in self.json("help", "plan")["commands"]
                    if each["name"] == "compare")
        train = next(each for each in self.json("help", "plan")["commands"]
                     if each["name"] == "train")
        of_train = {option["names"][-1] for option in train["options"]}
        tried = 0
        for option in node["options"]:
            name = option["names"][-1]
            if name in ("--help", "--json") or (name in of_train and name not in values):
                continue  # Those of the job are tried by test_plan_train.py too.
            words = [name]
            if option["operand"]:
                self.assertIn(name, values, "an option without a value in this test")
                words.append(values[name].format(prices=prices, rates=rates, file=file))
            base = {"--train": "qwen3-30b-a3b", "--cluster": "hgx-h200:8", "--network": "analytic",
                    "--vary": "recompute=selective,full", "--tp": "2", "--ep": "8",
                    "--no-overlap-dp": None, "--pp": "2"}
            if name == "--recompute":
                base["--vary"] = "nodes=4,8"
            before = self.ok(*COMPARE, *self.words(base))
            changed = {**base, name: words[1] if len(words) > 1 else None}
            if name == "--no-overlap-dp":
                del changed[name]
            after = self.softib(*COMPARE, *self.words(changed))
            tried += 1
            if after.returncode != 0:
                self.assertIn(name.removeprefix("--"), after.stderr)
            else:
                self.assertTrue(after.stdout != before or file.exists(), f"{name} changes nothing")
        self.assertGreaterEqual(tried, 25)

    def test_programs_get_the_same_answer(self):
        library = ctypes.CDLL(str(BUILD / "lib" / "libsoftib.so.0"))
        library.softib_ask.restype = ctypes.c_void_p
        error = ctypes.create_string_buffer(1000)

        def ask(keys):
            text = library.softib_ask(('ask = "compare"\n' + keys).encode(), b"", error,
                                      ctypes.c_size_t(len(error)))
            return ctypes.string_at(text).decode() if text else None

        job = 'train = "llama3.1-8b"\ncluster = "hgx-h100:4"\nnetwork = "analytic"\n'
        self.assertEqual(json.loads(ask(job + 'vary = ["tp=2,4", "generation=NDR,XDR"]\n')),
                         self.json(*COMPARE, *SMALL, "--vary", "tp=2,4", "--vary",
                                   "generation=NDR,XDR"))
        for keys, said in (('what = "generation"\ntp = 2\n', "'tp' changes nothing here: it needs"),
                           (job + 'what = "generation"\nmodel = "flow"\n', "'model' changes"),
                           (job + 'what = "generation"\ntpp = 2\n', "unknown key 'tpp'"),
                           (job + "vary = true\n", "'vary' must be"),
                           (job + 'csv = "x"\n', "for the command")):
            self.assertIsNone(ask(keys), keys)
            self.assertIn(said, error.value.decode())


if __name__ == "__main__":
    unittest.main()
