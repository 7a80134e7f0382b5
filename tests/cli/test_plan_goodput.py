# SPDX-License-Identifier: BSD-2-Clause
"""softib plan goodput as a user types it: the time that failures take, what loses it, and what
helps."""

import ctypes
import json
import pathlib
import re
import unittest

from cli_case import BUILD, CliCase

JOB = ("--model", "llama3.1-8b", "--cluster", "hgx-h200:16", "--gpus", "64", "--tp", "2",
       "--network", "analytic", "--runs", "8")
LLAMA = ("--model", "llama3.1-405b", "--cluster", "meta-ib-24k", "--gpus", "16384", "--tp", "8",
         "--pp", "16", "--uneven", "--batch", "2048", "--storage", "2TB/s", "--network", "analytic")
# A value of each option of its own, with what it stands beside.
OWN = {
    "--failures": ("{failures}",), "--detect": ("30s",), "--timeout": ("1min",),
    "--restart": ("2min",), "--checkpoint": ("async",), "--checkpoint-every": ("1h",),
    "--checkpoint-size": ("1TB",), "--storage": ("1GB/s",),
    "--stall": ("9s", "--checkpoint", "async"), "--failover": ("rail",),
    "--planes": ("4", "--failover", "plane"), "--spares": ("0",), "--weeks": ("4",),
    "--runs": ("9",), "--failure-seed": ("5",), "--prices": ("{prices}",), "--sort": ("cost",),
    "--html": ("{file}",), "--json": (), "--tokens": ("1T",),
}
# A number of threads changes only the time that an answer takes.
SAME = {"--threads"}


class Goodput(CliCase):
    def setUp(self):
        super().setUp()
        self.failures = pathlib.Path(self.scratch, "failures.toml")
        self.failures.write_text("[software]\nper_million_hours = 900\n")

    def test_the_parts_of_time_sum_to_all_of_it(self):
        answer = self.json("plan", "goodput", *JOB)
        lost = sum(answer["lost"].values())
        self.assertAlmostEqual(answer["ettr"]["mean"] + lost, 1, 6)
        by_cause = sum(cause["lost"] for cause in answer["causes"])
        self.assertAlmostEqual(by_cause + answer["lost"]["checkpoints"], lost, 6)
        self.assertEqual(answer["spares"], 8)
        for cause in answer["causes"]:
            self.assertTrue(cause["source"])
        gains = [each["gain"] for each in answer["remedies"]]
        self.assertEqual(gains, sorted(gains, reverse=True))
        by_cost = self.json("plan", "goodput", *JOB, "--sort", "cost")["remedies"]
        self.assertIsNotNone(by_cost[0]["cost_usd"])
        self.assertEqual({each["name"] for each in by_cost},
                         {each["name"] for each in answer["remedies"]})

    def test_a_run_is_a_value_of_its_seed_on_any_threads(self):
        words = ("plan", "goodput", *JOB)
        once = self.ok(*words, "--threads", "1")
        self.assertEqual(once, self.ok(*words, "--threads", "3"))
        self.assertNotEqual(once, self.ok(*words, "--failure-seed", "2"))

    def test_llama_3_trains_more_than_90_percent_of_its_time(self):
        # Its 54 days are 7.7 weeks. Its counts are those of the rates by construction; its
        # effective time is not.
        answer = self.json("plan", "goodput", *LLAMA, "--runs", "40", "--tokens", "15.6T")
        self.assertGreater(answer["ettr"]["p10"], 0.90)
        self.assertLess(answer["ettr"]["p90"], 0.95)
        stops = {name: count * 54 / 56 for name, count in answer["interruptions"].items()}
        self.assertLess(stops["p10"], 419)
        self.assertGreater(stops["p90"], 419)
        self.assertAlmostEqual(
            answer["training"]["days_without_failures"] / answer["training"]["days"],
            answer["ettr"]["mean"], 6)

    def test_text_and_page_name_causes_and_remedies(self):
        page = pathlib.Path(self.scratch, "page.html")
        text = self.ok("plan", "goodput", *JOB, "--spares", "0", "--html", str(page))
        for words in ("effective training time", "in 4 of 5 of 8 runs", "waiting for a node",
                      "faulty_gpu", "1 more spare node", "closed forms"):
            self.assertIn(words, text)
        html = page.read_text()
        self.assertLess(html.index('class="bars"'), html.index("<table"))
        self.assertIn("What would help", html)

    def test_a_file_changes_rates_or_adds_a_failure(self):
        keys = {"of": '"node"', "per_million_hours": "500", "loses": '"node"', "hangs": "true",
                "planned": "true", "replaced": "1", "source": '"ours"'}
        head = '[pump]\nof = "gpu"\nper_million_hours = 90\nloses = "link"\n'
        self.failures.write_text(head)
        words = ("plan", "goodput", *JOB, "--spares", "0", "--failures", str(self.failures))
        plain = self.json(*words)
        self.assertEqual(plain["causes"][-1]["name"], "pump")
        self.failures.write_text("[nic]\nno_such_key = 1\n")
        said = self.refused(*words)
        self.assertEqual(re.search("the keys are (.*)", said)[1].split(", "), list(keys))
        for key, value in keys.items():
            lines = [line for line in head.splitlines() if not line.startswith(f"{key} =")]
            self.failures.write_text("\n".join([*lines, f"{key} = {value}", ""]))
            self.assertNotEqual(self.json(*words), plain, key)
        for key in ("reset_hours", "replace_hours"):
            self.failures.write_text(f"{key} = 300\n{head}")
            self.assertNotEqual(self.json(*words), plain, key)
        self.failures.write_text("[niic]\nreplaced = 1\n")
        self.assertIn("did you mean 'nic'?", self.refused(*words))

    def test_every_option_of_its_own_acts_or_is_refused_by_name(self):
        node = next(each for each in self.json("help", "plan")["commands"]
                    if each["name"] == "goodput")
        train = next(each for each in self.json("help", "plan")["commands"]
                     if each["name"] == "train")
        of_train = {option["names"][-1] for option in train["options"]}
        prices = pathlib.Path(self.scratch, "prices.toml")
        prices.write_text("gpu = [1, 2]\n")
        file = pathlib.Path(self.scratch, "page.html")
        for option in node["options"]:
            name = option["names"][-1]
            if (name in of_train and name not in OWN) or name in SAME:
                continue  # Those of the job are tried by test_plan_train.py.
            self.assertIn(name, OWN, "an option without a value in this test")
            value, *beside = OWN[name] or (None,)
            base = ("plan", "goodput", *JOB, *beside)
            if name == "--runs":
                base = base[:-2]
            words = [name] if value is None else [
                name, value.format(failures=self.failures, prices=prices, file=file)]
            # A fail-over to planes needs some, and a fabric that has them.
            if name == "--planes":
                base = tuple("flow" if word == "analytic" else word for word in base)
            before = self.ok(*base, *(("--planes", "2") if name == "--planes" else ()))
            after = self.ok(*base, *words)
            self.assertTrue(before != after or file.exists(), f"{name} changes nothing")

    def test_what_would_change_nothing_is_refused_by_name(self):
        quiet = "".join(f"[{name}]\nper_million_hours = 0\n" for name in (
            "silent_corruption", "nccl_timeout", "nic", "switch_or_cable"))
        self.failures.write_text(quiet)
        own = ("--failures", str(self.failures))
        for words, said in (
                (("--stall", "1s"), "--stall changes nothing here: it needs --checkpoint async"),
                ((*own, "--timeout", "1s"), "--timeout changes nothing here"),
                ((*own, "--failover", "rail"), "--failover changes nothing here"),
                (("--failover", "plane"), "say how many each NIC has by --planes"),
                (("--detect", "5"), "--detect must be a time as 90s, 10min, 2h or 3d, not '5'"),
                (("--checkpoint-every", "1ms"), "--checkpoint-every 1ms: the least here is"),
                (("--storage", "0GB/s"), "--storage must be a rate as 2TB/s"),
                (("--spares", "x"), "--spares must be a whole number"),
                (("--seed", "3"), "--seed changes nothing here"),
                (("--json", "--html", "-"), "--json changes nothing here")):
            self.assertIn(said, self.refused("plan", "goodput", *JOB, *words, status=2))

    def test_programs_get_the_same_answer(self):
        library = ctypes.CDLL(str(BUILD / "lib" / "libsoftib.so.0"))
        library.softib_ask.restype = ctypes.c_void_p
        error = ctypes.create_string_buffer(1000)

        def ask(keys):
            question = ('ask = "goodput"\n' + keys).encode()
            text = library.softib_ask(question, b"", error, ctypes.c_size_t(len(error)))
            return ctypes.string_at(text).decode() if text else None

        job = ('model = "llama3.1-8b"\ncluster = "hgx-h200:16"\ngpus = 64\ntp = 2\n'
               'network = "analytic"\nruns = 8\nspares = 0\n')
        self.assertEqual(json.loads(ask(job)), self.json("plan", "goodput", *JOB, "--spares", "0"))
        self.assertIsNone(ask(job + 'detekt = "1s"\n'))
        self.assertIn("did you mean 'detect'?", error.value.decode())
        for name in (*OWN, "--threads"):
            key = name.removeprefix("--").replace("-", "_")
            if key not in ("json", "runs", "spares"):
                self.assertIsNone(ask(f"{job}{key} = {{}}\n"), key)
                said = error.value.decode()
                self.assertRegex(said, "must be|for the command|cannot read")


if __name__ == "__main__":
    unittest.main()
