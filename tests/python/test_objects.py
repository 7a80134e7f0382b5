#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters, models and mappings are objects with a keyword for every key of their files, and every
question takes them. Answers print themselves and become frames. Threads may ask at the same
time."""
import concurrent.futures
import dataclasses
import importlib.util
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import typing
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "python"))
os.environ["SOFTIB_PREFIX"] = os.environ["SOFTIB_BUILD"]
NOBODY = "qqqqqqqqqqqq"
# What train and search have beside a mapping.
NO_MAPPING = {"model", "cluster", "mapping", "planes", "rates", "network", "placement", "seed",
              "rails_crossed", "collnet", "tokens", "trace", "export", "export_layers", "html",
              "top", "threads"}


class ObjectsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import softib
        cls.softib = softib
        cls.plan = softib.plan
        cls.cluster = softib.Cluster.preset("hgx-h100", nodes=4, oversubscription="2:1")
        cls.model = softib.Model.preset("llama3.1-8b", layers=16)

    def refusal(self, call):
        with self.assertRaises(self.softib.Error) as caught:
            call()
        return str(caught.exception)

    def keys_of_file(self, kind, section):
        """Returns the keys of a section of a file, which the library tells who writes another."""
        text = (f"[{section}]\n" if section else "") + f"{NOBODY} = 1\n"
        ask = self.softib._toml.document({"ask": "describe", kind: text}, {}, {})
        said = self.refusal(lambda: self.softib._native.answer(ask))
        return set(re.search("the keys are (.*)", said)[1].split(", "))

    def test_every_key_of_a_file_is_a_keyword_and_documented(self):
        for cls, sections in ((self.softib.Cluster, ("gpu_rates", "nvlink", "pcie", "fabric")),
                              (self.softib.Model, ())):
            kind = cls.__name__.lower()
            found = self.softib.objects.places(cls)
            for section in ("", *sections):
                keywords = {key for at, key in found.values() if at == section}
                self.assertEqual(keywords, self.keys_of_file(kind, section) - set(sections),
                                 (kind, section))
            told = re.findall(r"^ *([a-z][\w, ]*):", cls.__doc__, re.MULTILINE)
            self.assertEqual({name for line in told for name in line.split(", ")}, set(found))

    def test_every_option_about_a_mapping_is_a_keyword_and_documented(self):
        mapping = self.softib.Mapping
        found = {each.name for each in dataclasses.fields(mapping)}
        for question in (self.plan.train, self.plan.search):
            parameters = set(inspect.signature(question).parameters)
            self.assertEqual(parameters - NO_MAPPING - {"uneven"}, found - {"uneven"})
        told = re.findall(r"^ *(\w+):", mapping.__doc__, re.MULTILINE)
        self.assertEqual(set(told), found)

    def test_every_keyword_is_typed(self):
        for name in self.plan.__all__:
            function = getattr(self.plan, name)
            if inspect.isfunction(function):
                hints = typing.get_type_hints(function, None, {"pandas": None})
                self.assertEqual(set(hints), {*inspect.signature(function).parameters, "return"})

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_types_are_right_and_find_mistakes(self):
        mistakes = ('from softib import Cluster, Mapping, plan\n'
                    'Cluster(nodes="4")\nCluster(nodse=4)\nMapping(8)\n'
                    'plan.train("llama3.1-8b", Cluster(), Mapping(tp=2), tp="8")\n'
                    'plan.train("llama3.1-8b", "hgx-h100", tpp=8)\n')
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "user.py").write_text(mistakes)
            mypy = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
                    "--cache-dir", f"{folder}/cache"]
            keys = {"cwd": SOURCE / "python", "capture_output": True, "text": True, "timeout": 240}
            done = subprocess.run([*mypy, "softib"], **keys)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            said = subprocess.run([*mypy, f"{folder}/user.py"], **keys).stdout
        self.assertEqual(re.findall(r"user.py:(\d+): error", said), ["2", "3", "4", "5", "6"], said)

    def test_objects_are_values(self):
        Cluster, cluster = self.softib.Cluster, self.cluster
        self.assertEqual(cluster, Cluster(base="hgx-h100", nodes=4, oversubscription="2:1"))
        self.assertNotEqual(cluster, cluster.replace(nodes=5))
        self.assertEqual(cluster.replace(oversubscription=None),
                         Cluster.preset("hgx-h100", nodes=4))
        self.assertEqual(eval(repr(cluster), vars(self.softib)), cluster)
        self.assertEqual(pickle.loads(pickle.dumps(cluster)), cluster)
        self.assertEqual(len({cluster, cluster.replace(), cluster.replace(nodes=3)}), 2)
        self.assertEqual(str(cluster), "hgx-h100, nodes 4, oversubscription 2:1")
        self.assertIn("oversubscription", cluster._repr_html_())
        with self.assertRaises(dataclasses.FrozenInstanceError):
            cluster.nodes = 5
        for each in (cluster, self.model, self.softib.Mapping(tp=8, precision="fp8", uneven=True)):
            self.assertEqual(type(each).from_toml(each.to_toml()), each)
            with tempfile.TemporaryDirectory() as folder:
                each.save(Path(folder) / "one.toml")
                self.assertEqual(type(each).load(Path(folder) / "one.toml"), each)

    def test_fabrics_are_values_too(self):
        fabric = self.softib.Fabric("torus", dimensions=[3, 3])
        larger = fabric.replace(dimensions=[4, 4])
        self.assertEqual((fabric.report()["switches"], larger.report()["switches"]), (9, 16))
        self.assertNotEqual(fabric, larger)
        self.assertEqual(larger.replace(dimensions=[3, 3]), fabric)
        self.assertEqual(self.softib.Fabric(file="x").replace(engine="updn").keys,
                         {"from": "x", "engine": "updn"})
        self.assertIn("dimension", self.refusal(lambda: fabric.replace(dimension=[4]).report()))

    def test_what_was_not_said_is_that_of_the_base(self):
        self.assertEqual((self.cluster.nodes, self.cluster.gpus, self.cluster.mtu),
                         (4, 32, 4096))
        self.assertEqual(self.cluster.gpu, "H100")
        self.assertEqual((self.model.layers, self.model.hidden), (16, 4096))
        whole = self.softib.Model.preset("llama3.1-8b")
        self.assertLess(self.model.parameters, whole.parameters)
        self.assertIsNone(self.softib.Mapping(tp=2).pp)

    def test_all_keys_of_a_preset_describe_it(self):
        for cls, presets in ((self.softib.Cluster, self.plan.presets().clusters),
                             (self.softib.Model, self.plan.models())):
            for preset in presets:
                told = cls.preset(preset["name"]).described()
                keys = {name: told[name] for name in self.softib.objects.places(cls)
                        if told[name] not in (None, "")}
                self.assertLessEqual({name for name, value in told.items() if value is None},
                                     {"base", "dimensions"}, "answer/description.cc has the rest")
                self.assertEqual(cls(**keys).described(), told, preset["name"])

    def test_a_wrong_keyword_or_key_names_the_nearest(self):
        Cluster = self.softib.Cluster
        for call, said in (
                (lambda: Cluster(nodse=3), "did you mean 'nodes'?"),
                (lambda: self.softib.Mapping(tpp=3), "did you mean 'tp'?"),
                (lambda: self.cluster.replace(radox=3), "did you mean 'radix'?"),
                (lambda: Cluster.from_toml("[fabric]\nradox = 3\n"), "did you mean 'radix'?"),
                (lambda: Cluster.from_toml("nodes = \n"), "Invalid value (at line 1"),
                (lambda: Cluster.load("no-such.toml"), "cannot read no-such.toml"),
                (lambda: Cluster(nodes=0), "Cluster: 'nodes' must be a whole number"),
                (lambda: self.cluster.replace(base="hgx-h101"), "'hgx-h101'"),
                (lambda: self.softib.Model(layers=3), "Model: hidden is missing"),
                (lambda: self.plan.train(self.model, self.cluster, tpp=8), "did you mean 'tp'?"),
                (lambda: self.plan.train(self.model, self.cluster, "tp 8"), "must be a Mapping"),
                (lambda: self.plan.train(self.cluster, self.model), "model must be a Model"),
                (lambda: self.plan.show(None), "say which cluster"),
                (lambda: self.plan.sweep(self.plan.show, cluster=["hgx-h100:1"], errors="no"),
                 "'raise' or 'keep'")):
            self.assertIn(said, self.refusal(call))

    def test_every_question_takes_objects(self):
        plan, cluster = self.plan, self.cluster
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "mine.toml"
            cluster.replace(name="mine").save(file)
            by_object = [question(cluster.replace(name="mine")).to_json() for question in (
                plan.show, lambda of: plan.collective(of, sizes=["1M"]),
                lambda of: plan.compare("sharp", of, size="8MB"),
                lambda of: plan.train("llama3.1-8b", of, tp=2))]
            by_file = [question(file).to_json() for question in (
                plan.show, lambda of: plan.collective(of, sizes=["1M"]),
                lambda of: plan.compare("sharp", of, size="8MB"),
                lambda of: plan.train("llama3.1-8b", of, tp=2))]
        for one, other in zip(by_object, by_file):
            unnamed = re.compile(r'"(source|title|cluster)": "[^"]*"')
            self.assertEqual(unnamed.sub("", one), unnamed.sub("", other))
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "step.html"  # The command answers, since it writes a file.
            step = plan.train(self.model, cluster, tp=2, html=page)
            self.assertEqual(step, plan.train(self.model, cluster, tp=2))
            self.assertIn(str(cluster), page.read_text())
        self.assertEqual(plan.collective(cluster, sizes="1M").cluster, str(cluster))
        self.assertEqual(plan.collective(cluster, nodes=2, sizes="1M").ranks, 16)
        self.assertIn("only 4 nodes", self.refusal(lambda: plan.show(cluster, nodes=5)))
        slow = plan.train(self.model, cluster.replace(generation="EDR"), tp=1, zero=3).step_s
        self.assertGreater(slow, plan.train(self.model, cluster, tp=1, zero=3).step_s)

    def test_a_mapping_is_its_keywords_and_what_a_search_found(self):
        plan, mapping = self.plan, self.softib.Mapping(tp=2, pp=2, batch=64)
        one = plan.train(self.model, self.cluster, mapping)
        self.assertEqual(one, plan.train(self.model, self.cluster, tp=2, pp=2, batch=64))
        self.assertEqual(plan.train(self.model, self.cluster, mapping, tp=4).mapping.tp, 4)
        for model in ("llama3.1-8b", "qwen3-30b-a3b"):
            best = plan.search(model, self.cluster, top=3).best
            self.assertEqual(len(best), 3)
            for each in best:
                self.assertEqual(plan.train(model, self.cluster, each).step_s, each.step_s)

    def test_answers_print_themselves_and_are_rows(self):
        plan = self.plan
        step = plan.train("llama3.1-8b", self.cluster, tp=2)
        told = self.softib.command("plan", "train", "--model", "llama3.1-8b", "--cluster",
                                   "hgx-h100:4", "--tp", "2")
        told = {" ".join(line.split()) for line in told.splitlines()}
        same = repr(plan.train("llama3.1-8b", "hgx-h100:4", tp=2))
        same = {" ".join(line.split()) for line in same.splitlines()}
        for begin in ("llama3.1-8b (8.03 B", "step ", "PART OF", "matrix products", "attention",
                      "exposed tp", "- exchanges timed", "- assumed: "):
            line = [each for each in told if each.startswith(begin)]
            self.assertEqual(len(line), 1, begin)
            self.assertIn(line[0], same)
        self.assertIn("<pre>", step._repr_html_())
        self.assertRegex(repr(step.parts_s), r"matmul [\d.]+ s, .*\nexposed: tp [\d.]+ ms")
        self.assertEqual((list(step), len(step)), (list(step.keys()), len(step.data)))
        with self.assertRaisesRegex(KeyError, "there are model, cluster"):
            step["modle"]
        self.assertEqual(json.loads(step.to_json()), step.to_dict())
        rows = step.to_rows()
        self.assertEqual((len(rows), rows[0]["step_s"]), (1, step.step_s))
        self.assertEqual(rows[0]["parts_s.exposed.tp"], step.parts_s.exposed.tp)
        times = plan.collective(self.cluster, sizes=range(1 << 20, 3 << 20, 1 << 20),
                                algorithms="ring")
        self.assertEqual([row["busbw_gbs"] for row in times.to_rows()],
                         [row.busbw_gbs for row in times.rows])
        self.assertIn("ring", repr(times))
        shown = plan.show(self.cluster)
        self.assertEqual(shown.to_rows("cost.lines")[0]["what"], shown.cost["lines"][0].what)
        self.assertIn("cost.lines", self.refusal(lambda: shown.to_rows("best")))
        self.assertIn("sharp us", plan.compare("sharp", self.cluster, size="8MB").to_rows()[0])
        run = self.softib.simulate(self.softib.Fabric(hosts=4), {"pattern": "shift",
                                                                 "size": "4kB"})
        self.assertIn("4 of 4 messages", repr(run))
        self.assertIn("completion_us", repr(run.messages))

    def test_a_sweep_is_one_table(self):
        plan, cluster = self.plan, self.cluster
        found = plan.sweep(plan.train, model="llama3.1-8b", batch=64, tp=[1, 2, 64],
                           cluster=[cluster, cluster.replace(nodes=2)], errors="keep",
                           progress=(done := []).append)
        self.assertEqual(done, [(i + 1) / 6 for i in range(6)])
        self.assertEqual([(each["tp"], each["cluster"].nodes) for each in found.varied],
                         [(1, 4), (1, 2), (2, 4), (2, 2), (64, 4), (64, 2)])
        rows = found.to_rows()
        self.assertEqual(rows[2]["step_s"], plan.train("llama3.1-8b", cluster, batch=64,
                                                       tp=2).step_s)
        self.assertEqual(rows[3]["cluster"], "nodes 2")
        self.assertTrue(rows[4]["error"].startswith("gpus 64 is more than the 32 of"))
        self.assertIn("error", repr(found))
        self.assertEqual(found._repr_html_().count("<tr>"), 7)
        self.assertEqual(["error" in each for each in found], [False] * 4 + [True] * 2)
        self.assertEqual(len(json.loads(found.to_json())), 6)
        self.assertEqual(len(found[:2].to_rows()), 2)
        self.assertEqual(pickle.loads(pickle.dumps(found)).to_rows(), rows)
        said = self.refusal(lambda: plan.sweep(plan.train, model="llama3.1-8b", cluster=cluster,
                                               tp=[1, 64]))
        self.assertIn("tp=64", said)

    def test_frames_come_in_one_call_or_name_what_is_missing(self):
        times = self.plan.collective(self.cluster, sizes=["1M", "2M"])
        links = self.softib.simulate(self.softib.Fabric(hosts=4),
                                     {"pattern": "shift", "size": "4kB"}).links
        if importlib.util.find_spec("pandas") is None:
            self.assertIn("python3-pandas", self.refusal(times.to_frame))
            self.assertIn("python3-pandas", self.refusal(links.to_frame))
            return
        frame = times.to_frame()
        self.assertEqual(list(frame["busbw_gbs"]), [row.busbw_gbs for row in times.rows])
        self.assertEqual(list(links.to_frame()["name"]), links.names)
        found = self.plan.sweep(self.plan.train, model="llama3.1-8b", cluster=self.cluster,
                                tp=[1, 2]).to_frame()
        self.assertEqual((list(found["tp"]), len(found)), ([1, 2], 2))

    def test_what_the_guide_shows_runs(self):
        text = (SOURCE / "docs" / "guide" / "python.md").read_text()
        blocks = re.findall(r"<!-- not run: Python.objects .*?-->\n```python\n(.*?)```", text,
                            re.DOTALL)
        self.assertEqual(len(blocks), 2)
        names = {}
        for block in blocks:
            lines = [line for line in block.splitlines()
                     if importlib.util.find_spec("pandas") or "to_frame" not in line]
            exec("\n".join(lines), names)
        self.assertEqual(len(names["grid"]), 18)
        self.assertEqual({row["cluster"] for row in names["grid"].to_rows()},
                         {"nics_per_node 2", "nics_per_node 4", "nics_per_node 8"})

    def test_the_study_runs(self):
        found = subprocess.run(
            [sys.executable, SOURCE / "examples" / "python" / "which_cluster.py"], timeout=240,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(
                [str(SOURCE / "python"), os.environ.get("PYTHONPATH", "")])},
            capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, found.stderr)
        days = {line[:13].strip(): float(line.split("days")[0].split()[-1])
                for line in found.stdout.splitlines() if " days  network" in line}
        self.assertEqual(len(days), 5)
        self.assertLess(days["B200"], days["H200"])
        self.assertLess(days["H100"], days["H100, 2 NICs"])

    def test_threads_get_the_answers_of_one(self):
        def step(tp_and_batch):
            tp, batch = tp_and_batch
            return self.plan.train(self.model, self.cluster, tp=tp, batch=batch).data
        asked = [(tp, batch) for tp in (1, 2, 4, 8) for batch in (32, 64, 128)] * 2
        alone = [step(each) for each in asked]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(step, asked)), alone)


if __name__ == "__main__":
    if importlib.util.find_spec("numpy") is None:
        print("skipped: no Python module numpy")
        sys.exit(77)
    unittest.main()
