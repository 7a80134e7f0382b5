#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The wheel installs without a network, brings the command, and its module gives the command's
answers."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ["SOFTIB_BUILD"])
SCENARIO = SOURCE / "examples" / "sim" / "permutation.toml"

# Questions to the module in a process of its own, which prints the answers as JSON.
QUESTIONS = """
import json, sys
import numpy, softib
found = {"file": softib.__file__, "version": softib.__version__}
run = softib.Simulation.load(sys.argv[1]).run()
found["hash"] = run.log_hash
found["messages"] = len(run.messages)
found["duration_us"] = run.duration_us
found["gbps"] = run.gbps
found["types"] = sorted({str(column.dtype) for column in run.messages.columns.values()})
found["links"] = [len(run.links), len(run.links.names)]
fabric = softib.Fabric("single-switch", hosts=4)
traffic = {"pattern": "random", "size": "4KiB"}
twice = [softib.simulate(fabric, traffic, seed=5).log_hash for _ in range(2)]
found["same"] = twice[0] == twice[1]
found["errors"] = []
for wrong in (lambda: softib.Fabric("fat-treee", hosts=4).report(),
              lambda: softib.simulate(softib.Fabric("fat-treee", hosts=4), {"pattern": "shift"}),
              lambda: softib.plan.train("gpt3-175b", "superpod-h200")):
    try:
        wrong()
        found["errors"].append("")
    except softib.Error as error:
        found["errors"].append(str(error))
answer = softib.ask(fabric, traffic, compare=["ib", "roce"], seed=5)
found["compared"] = [each["name"] for each in answer.variants]
found["same_as_asked"] = answer.variants[0]["report"]["log_hash"] == twice[0]
found["points"] = len(softib.ask(fabric, traffic, vary={"hosts": [2, 3]}, seeds=2).points)
found["cases"] = len(softib.ask(fabric, traffic, whatif=True).cases)
for wrong in (lambda: softib.Simulation(fabric, dict(traffic, shift=3)),
              lambda: softib.ask(fabric, traffic, compare=["ib"], link_layer="ethernet")):
    try:
        wrong()
        found["errors"].append("")
    except softib.Error as error:
        found["errors"].append(str(error))
try:
    softib.Fabric("torus", file="cluster.ibnetdiscover")
except softib.Error as error:
    found["twice"] = str(error)
with softib.live(softib.Fabric("single-switch", hosts=2)) as live:
    found["ports"] = live.exec("h1", "ibv_devinfo").count("PORT_ACTIVE")
    found["hosts"] = len(live.status()["hosts"])
softib._native.subprocess = None  # Questions take no process.
found["known"] = len(softib.plan.presets().clusters), len(softib.plan.models())
cluster = softib.Cluster.preset("hgx-h200", nodes=2)
swept = softib.plan.sweep(softib.plan.train, model="llama3.1-8b", cluster=cluster, tp=[1, 2])
found["swept"] = [row["tp"] for row in swept.to_rows()]
found["shown"] = softib.plan.show("hgx-h200:16", nodes=2).gpus
found["busbw"] = [each.busbw_gbs for each in softib.plan.collective(
    "hgx-b200:4", sizes=["1G", "2G"], algorithms="ring", collnet=False).rows]
found["networks"] = softib.plan.compare("sharp", "hgx-h200:4", size="8MB").data
found["step_s"] = softib.plan.train("gpt3-175b", "superpod-h100", tp=8, pp=8,
                                    no_overlap_dp=False, zero=None).step_s
best = softib.plan.search("llama3.1-8b", "hgx-h200:2", tp=2, top=1).best
found["searched"] = [each.data for each in best]
for wrong in (dict(seed=3), dict(tpp=8), dict(precision="int8")):
    try:
        softib.plan.train("gpt3-175b", "superpod-h100", **wrong)
    except softib.Error as error:
        found["errors"].append(str(error))
print(json.dumps(found))
"""


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="softib-python-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        packer = SOURCE / "tools" / "make_wheel.py"
        wheel = cls.call(sys.executable, packer, BUILD, cls.root).strip()
        cls.call(sys.executable, "-m", "venv", "--system-site-packages", cls.root / "env")
        cls.python = cls.root / "env" / "bin" / "python"
        cls.call(cls.python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)

    @staticmethod
    def call(*words):
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("SOFTIB", "PYTHON"))}
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=240, cwd="/", env=clean)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_the_command_comes_along(self):
        said = self.call(self.root / "env" / "bin" / "softib", "--version")
        self.assertTrue(said.startswith("softib "), said)

    def test_the_module_answers_as_the_command_does(self):
        found = json.loads(self.call(self.python, "-c", QUESTIONS, SCENARIO))
        self.assertTrue(found["file"].startswith(str(self.root)), found["file"])
        command = self.root / "env" / "bin" / "softib"
        told = json.loads(self.call(command, "sim", SCENARIO, "--json"))
        self.assertEqual(found["hash"], told["log_hash"])
        self.assertEqual(found["messages"], sum(each["messages"] for each in told["traffic"]))
        self.assertAlmostEqual(found["duration_us"], told["duration_ps"] / 1e6, places=3)
        self.assertAlmostEqual(found["gbps"] / told["traffic"][0]["gbps"], 1, places=6)
        self.assertEqual(found["types"], ["float64", "uint64"])
        self.assertEqual(found["links"][0], found["links"][1])
        self.assertTrue(found["same"])
        self.assertIn("fat-tree", found["errors"][0])
        self.assertIn("fat-tree", found["errors"][1])
        self.assertIn("superpod-h100", found["errors"][2])
        self.assertEqual(found["compared"], ["ib", "roce"])
        self.assertTrue(found["same_as_asked"])
        self.assertEqual((found["points"], found["cases"]), (4, 1))
        self.assertIn("'shift' is for the patterns", found["errors"][3])
        self.assertIn("'link_layer'", found["errors"][4])
        for said, about in zip(found["errors"][5:], ("'seed' changes nothing here",
                                                     "did you mean 'tp'?", "mxfp8 or nvfp4, not")):
            self.assertIn(about, said)
        self.assertEqual(len(found["errors"]), 8)
        self.assertIn("'torus' and file 'cluster.ibnetdiscover' both say", found["twice"])
        self.assertEqual(found["ports"], 1)
        self.assertEqual(found["hosts"], 2)
        step = json.loads(self.call(command, "plan", "train", "--model", "gpt3-175b", "--cluster",
                                    "superpod-h100", "--tp", "8", "--pp", "8", "--json"))
        self.assertEqual(found["step_s"], step["step_s"])
        searched = json.loads(self.call(command, "plan", "search", "--model", "llama3.1-8b",
                                        "--cluster", "hgx-h200:2", "--tp", "2", "--top", "1",
                                        "--json"))
        self.assertEqual(found["searched"], searched["best"])
        self.assertEqual(found["shown"], 16)
        self.assertEqual(found["swept"], [1, 2])
        self.assertTrue((Path(found["file"]).parent / "py.typed").is_file())
        self.assertGreater(min(found["known"]), 8)
        times = json.loads(self.call(command, "plan", "collective", "--cluster", "hgx-b200:4",
                                     "--sizes", "1G,2G", "--algorithms", "ring", "--json"))
        self.assertEqual(found["busbw"], [each["busbw_gbs"] for each in times["rows"]])
        compared = json.loads(self.call(command, "plan", "compare", "sharp", "--cluster",
                                        "hgx-h200:4", "--size", "8MB", "--json"))
        self.assertEqual(found["networks"], compared)

    def test_the_example_runs(self):
        said = self.call(self.python, SOURCE / "examples" / "python" / "first_plan.py")
        lines = said.splitlines()
        self.assertIn("12 switches", lines[0])
        fixed, adaptive = [float(word) for word in lines[1].split() if word.isdigit()]
        self.assertGreater(adaptive, fixed)
        self.assertIn("MFU", lines[-1])


if __name__ == "__main__":
    for module in ("numpy", "venv", "pip"):
        if importlib.util.find_spec(module) is None:
            print(f"skipped: no Python module {module}")
            sys.exit(77)
    unittest.main()
