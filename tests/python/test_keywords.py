#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every keyword argument of the module reaches the one that knows it: each key of the tables and
each option of the commands, as they list them, is refused by name with a value that it cannot have,
and the arguments that Python itself has change the answer or are refused. An argument of a function
without a row here fails."""
import importlib.util
import inspect
import json
import os
import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "python"))
os.environ["SOFTIB_PREFIX"] = os.environ["SOFTIB_BUILD"]
NOBODY = "qqqqqqqqqqqq"
WRONG = "no such value"
SHIFT = {"pattern": "shift", "size": "4kB"}
# Arguments of Python's own, each with a value and what it is beside; True: it is one of the tables.
OWN = {
    "Simulation": {"fabric": True, "traffic": True, "model": "flow", "seed": 7, "until": "100ns",
                   "hosts": {"mtu": 1024}, "fail": {"switch": "sw0"}, "folder": True,
                   "network": True},
    "simulate": {"fabric": True, "traffic": True, "progress": True, "keys": True},
    "ask": {"fabric": True, "traffic": True, "model": "flow", "seed": 7, "until": "100ns",
            "compare": ["ib", "roce"], "whatif": True, "vary": {"hosts": [2, 3]}, "seeds": 2,
            "hosts": {"mtu": 1024}, "fail": {"switch": "sw0"}, "folder": True, "network": True},
    "Fabric": {"topology": True, "file": True, "keys": True},
    "live": {"fabric": True, "name": True, "options": True},
    "Simulation.step": {"us": True, "events": True},
    "Simulation.run": {"progress": True},
}


class Keywords(unittest.TestCase):
    def setUp(self):
        import softib
        self.softib = softib
        self.fabric = softib.Fabric("single-switch", hosts=4)
        self.pairs = 0

    def tearDown(self):
        print(f"covers {self.pairs} keyword arguments")

    def refused(self, name, call, value=None):
        """Checks that a call is refused, with the name of the argument or with its value."""
        self.pairs += 1
        with self.assertRaises(self.softib.Error, msg=name) as caught:
            call()
        said = str(caught.exception)
        self.assertTrue(name in said or name.replace("_", "-") in said or
                        (value is not None and value in said), (name, said))

    def keys(self, call):
        """Returns the keys of a table: an unknown one is told all."""
        with self.assertRaises(self.softib.Error) as caught:
            call({NOBODY: 1})
        return re.search("the keys are (.*)", str(caught.exception))[1].replace(
            " and ", ", ").split(", ")

    def test_no_argument_of_a_function_is_unknown_here(self):
        for name, known in OWN.items():
            function = self.softib
            for part in name.split("."):
                function = getattr(function, part)
            names = [each for each in inspect.signature(function).parameters if each != "self"]
            self.assertEqual(names, list(known), name)
            self.pairs += len(names)

    def test_every_key_of_a_scenario_is_one_of_python(self):
        simulate = self.softib.Simulation
        tables = {
            "network": lambda keys: simulate(self.fabric, SHIFT, **keys),
            "hosts": lambda keys: simulate(self.fabric, SHIFT, hosts=keys),
            "traffic": lambda keys: simulate(self.fabric, {**SHIFT, **keys}),
            "fail": lambda keys: simulate(self.fabric, SHIFT, fail=keys),
            "fabric": lambda keys: simulate(self.softib.Fabric(**keys), SHIFT)}
        for name, call in tables.items():
            with self.subTest(name):
                keys = self.keys(call)
                self.assertGreaterEqual(len(keys), 5)
                for key in keys:
                    # Any text is one of these two, which the rest of the scenario then refuses.
                    if key not in ("name", "topology"):
                        wrong = 5 if key == "at" else [[[WRONG]], {"a": 1}]
                        self.refused(key, lambda: call({key: wrong}), WRONG)

    def test_every_option_of_the_planner_is_one_of_python(self):
        plan = self.softib.plan
        calls = {"show": lambda **keys: plan.show("hgx-h200:2", **keys),
                 "collective": lambda **keys: plan.collective("hgx-h200:2", **keys),
                 "expect": lambda **keys: plan.expect("hgx-h200:2", **keys),
                 "compare": lambda **keys: plan.compare("topology", "hgx-h200:2", **keys),
                 "serve": lambda **keys: plan.serve("llama3.1-8b", "hgx-h200:2", **keys),
                 "train": lambda **keys: plan.train("llama3.1-8b", "hgx-h200:2", **keys),
                 "goodput": lambda **keys: plan.goodput("llama3.1-8b", "hgx-h200:2", **keys),
                 "search": lambda **keys: plan.search("llama3.1-8b", "hgx-h200:2", **keys)}
        at = json.loads(self.softib.command("help", "--json"))
        at = next(each for each in at["commands"] if each["name"] == "plan")["commands"]
        for name, call in calls.items():
            options = next(each for each in at if each["name"] == name)["options"]
            keys = {option["names"][-1].removeprefix("--").replace("-", "_"): option
                    for option in options}
            keywords = set(inspect.signature(getattr(plan, name)).parameters)
            own = {"mapping", "what", "cluster", "log", "text", "help", "json"}
            flags = {each.removeprefix("--").replace("-", "_") for option in options
                     for each in option["names"] if each.startswith("--")}
            self.assertEqual(keywords - own, flags - own, name)
            for key, option in keys.items():
                if key in ("help", "json", "cluster", "model", "html", "trace", "csv"):
                    continue  # What Python says itself, and files that may have any name.
                with self.subTest(name, key=key):
                    value = WRONG if option["operand"] else "a,b"
                    self.refused(key, lambda: call(**{key: value}), value)
            for value in (None, False, 1, "x"):
                self.refused(NOBODY, lambda: call(**{NOBODY: value}))

    def test_measured_kernels_become_rates(self):
        calibrate = self.softib.plan.calibrate
        measured = SOURCE / "src" / "plan" / "train" / "kernels" / "h200.json"
        found = calibrate(measured)
        self.assertIn("[matmul]\nbf16 = 0.7", found.rates)
        self.assertNotEqual(calibrate(measured, cluster="hgx-b200:1").rates, found.rates)
        self.pairs += 2
        for name, call in (("cluster", lambda: calibrate(measured, cluster=WRONG)),
                           ("measurements", lambda: calibrate(WRONG)),
                           (NOBODY, lambda: calibrate(measured, **{NOBODY: 1}))):
            self.refused(name, call, WRONG)

    def test_what_python_adds_changes_the_answer(self):
        def answer(**keys):
            return json.dumps(self.softib.ask(self.fabric, SHIFT, **keys).data)
        plain = re.sub('"cpu_seconds": [^,]*', "", answer())
        for name, value in OWN["ask"].items():
            if value is not True or name == "whatif":
                self.pairs += 1
                said = re.sub('"cpu_seconds": [^,]*', "", answer(**{name: value}))
                self.assertNotEqual(plain, said, name)
        for name, value in OWN["Simulation"].items():
            if value is not True:
                self.pairs += 1
                one = self.softib.Simulation(self.fabric, SHIFT)
                other = self.softib.Simulation(self.fabric, SHIFT, **{name: value})
                self.assertNotEqual(one.scenario, other.scenario)

    def test_what_python_cannot_use_is_refused_by_name(self):
        softib, fabric = self.softib, self.fabric
        import numpy
        one = softib.Simulation(fabric, SHIFT)
        for name, call in (
                ("traffic", lambda: softib.Simulation(fabric, "shift")),
                ("traffic", lambda: softib.Simulation(fabric, [])),
                ("hosts", lambda: softib.Simulation(fabric, SHIFT, hosts=5)),
                ("fail", lambda: softib.Simulation(fabric, SHIFT, fail="sw0")),
                ("fabric", lambda: softib.Simulation("fat-tree", SHIFT)),
                (NOBODY, lambda: softib.Simulation(fabric, SHIFT, **{NOBODY: None})),
                (NOBODY, lambda: softib.Fabric(**{NOBODY: None})),
                ("file", lambda: softib.Fabric("torus", file="x")),
                ("vary", lambda: softib.ask(fabric, SHIFT, vary={})),
                ("seeds", lambda: softib.ask(fabric, SHIFT, whatif=0)),
                ("progress", lambda: one.run(progress=5)),
                ("us", lambda: one.step(us=-1)), ("us", lambda: one.step(us=float("nan"))),
                ("events", lambda: one.step(events=-1)),
                ("zero bytes", lambda: one._open("seed = 1\n\0", ".")),
                (NOBODY, lambda: softib.live(fabric, **{NOBODY: 1}).__enter__()),
                ("more memory than is free", lambda: softib.Simulation(
                    softib.Fabric("fat-tree", hosts=40000, radix=64),
                    {"pattern": "all-to-all", "size": "1MB"}))):
            with self.subTest(name):
                self.refused(name, call)
        # Numbers of NumPy are numbers.
        softib.Simulation(fabric, SHIFT, adaptive=numpy.bool_(True),
                          hosts={"mtu": numpy.int64(1024), "window": numpy.uint8(3)})
        self.assertEqual(softib.Fabric("torus", dimensions=[3, 3]).report()["switches"], 9)


if __name__ == "__main__":
    if importlib.util.find_spec("numpy") is None:
        print("skipped: no Python module numpy")
        sys.exit(77)
    unittest.main()
