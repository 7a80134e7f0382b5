# SPDX-License-Identifier: BSD-2-Clause
"""The studies of examples/plan: their commands run, and answer what their pages say."""

import pathlib
import re
import shlex
import unittest

from cli_case import CliCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDIES = ROOT / "examples" / "plan"


class Studies(CliCase):
    def commands(self, study):
        """Returns the commands of a page, as words behind "softib"."""
        text = (STUDIES / study / "README.md").read_text(encoding="utf-8")
        self.assertLessEqual(len(text.splitlines()), 50, "a page is one screen")
        lines = "".join(re.findall("```sh\n(.*?)```", text, re.S)).splitlines()
        self.assertTrue(all(line.startswith("softib ") for line in lines), lines)
        return [[str(ROOT / word) if word.startswith("examples/") else
                 str(pathlib.Path(self.scratch, word)) if word.endswith(".csv") else word
                 for word in shlex.split(line)[1:]] for line in lines]

    def answers(self, study):
        return [self.json(*words) for words in self.commands(study)]

    def test_which_failure_hurts(self):
        built_in, crusoe, planes, few = self.answers("which-failure-hurts")
        for answer, ettr, stops in ((built_in, 0.980, 53), (crusoe, 0.967, 125),
                                    (planes, 0.972, 100), (few, 0.846, 110)):
            self.assertAlmostEqual(answer["ettr"]["mean"], ettr, delta=0.005)
            self.assertAlmostEqual(answer["interruptions"]["mean"], stops, delta=5)
        planned = next(each for each in built_in["causes"] if each["name"] == "planned")
        self.assertEqual(planned["lost"], max(each["lost"] for each in built_in["causes"]))
        self.assertEqual(built_in["remedies"][0]["name"], "restarts in half the time")

        def infiniband(answer):
            return sum(each["lost"] for each in answer["causes"]
                       if each["name"].startswith("infiniband"))
        self.assertAlmostEqual(infiniband(crusoe), 0.007, delta=0.0015)
        self.assertLess(infiniband(planes), 0.5 * infiniband(crusoe))
        self.assertGreater(few["lost"]["waiting"], 0.10)
        self.assertEqual(max(few["causes"], key=lambda each: each["lost"])["name"],
                         "gpu_host_replaced")
        best = few["remedies"][0]
        self.assertEqual(best["name"], "3 more spare nodes")
        self.assertLess(best["cost_usd"][1], best["worth_usd"][0] / 5)

    def test_choose_a_cluster(self):
        clusters, networks, failures = self.answers("choose-a-cluster")
        days = {row["name"]: row["values"]["days"] for row in clusters["rows"]}
        for name, told in (("nvl72-ndr:28", 30), ("hgx-b200:256", 37), ("hgx-h200:256", 71),
                           ("hgx-h100:256", 79)):
            self.assertAlmostEqual(days[name], told, delta=0.1 * told)
        self.assertEqual(clusters["rows"][0]["name"], "nvl72-ndr:28")
        self.assertTrue((pathlib.Path(self.scratch) / "clusters.csv").exists())
        rows = {row["name"]: row["values"] for row in networks["rows"]}
        self.assertAlmostEqual(rows["2:1, topology"]["step s"], rows["1:1, topology"]["step s"], 3)
        self.assertAlmostEqual(rows["2:1, random"]["step s"] / rows["1:1, random"]["step s"], 1.27,
                               delta=0.05)
        saved = rows["1:1, topology"]["M$ from"] - rows["2:1, topology"]["M$ from"]
        self.assertAlmostEqual(saved, 1.1, delta=0.3)
        self.assertLess(failures["lost"]["waiting"], 0.001)


if __name__ == "__main__":
    unittest.main()
