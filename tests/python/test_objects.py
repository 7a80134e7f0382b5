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
NO_MAPPING = {"model", "cluster", "mapping", "rates", "network", "placement", "seed",
              "rails_crossed", "collnet", "tokens", "trace", "export", "export_layers", "html",
              "top",
              "threads"}


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
        if importlib.util.find_spec("mypy"):
            with tempfile.TemporaryDirectory() as cache:
                done = subprocess.run(
                    [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
                     "--cache-dir", cache, "softib"], cwd=SOURCE / "python",
                    capture_output=True, text=True, timeout=240)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_objects_are_values(self):
        Cluster, cluster = self.softib.Cluster, self.cluster
        self.assertEqual(cluster, Cluster(base="hgx-h100", nodes=4, oversubscription="2:1"))
        self.assertNotEqual(cluster, cluster.replace(nodes=5))
        self.assertEqual(cluster.replace(oversubscription=None),
                         Cluster.preset("hgx-h100", nodes=4))
        self.assertEqual(eval(repr(cluster), vars(self.softib)), cluster)
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
                self.assertGreater(len(keys), 12)
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
                (lambda: Cluster(nodes=0).gpus, "'nodes' must be a whole number"),
                (lambda: self.softib.Model(layers=3).heads, "hidden is missing"),
                (lambda: self.plan.train(self.model, self.cluster, tpp=8), "did you mean 'tp'?"),
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
        for word in ("llama3.1-8b", "mfu", "matmul", "- exchanges timed"):
            self.assertIn(word, repr(step))
        self.assertIn("<pre>", step._repr_html_())
        self.assertEqual(json.loads(step.to_json()), step.to_dict())
        rows = step.to_rows()
        self.assertEqual((len(rows), rows[0]["step_s"]), (1, step.step_s))
        self.assertEqual(rows[0]["parts_s.exposed.tp"], step.parts_s.exposed.tp)
        times = plan.collective(self.cluster, sizes=["1M", "2M"], algorithms="ring")
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
                           cluster=[cluster, cluster.replace(nodes=2)], errors="keep")
        self.assertEqual([(each["tp"], each["cluster"].nodes) for each in found.varied],
                         [(1, 4), (1, 2), (2, 4), (2, 2), (64, 4), (64, 2)])
        rows = found.to_rows()
        self.assertEqual(rows[2]["step_s"], plan.train("llama3.1-8b", cluster, batch=64,
                                                       tp=2).step_s)
        self.assertEqual(rows[3]["cluster"], "hgx-h100, nodes 2, oversubscription 2:1")
        self.assertIn("64", rows[4]["error"])
        self.assertIn("error", repr(found))
        self.assertEqual(len(json.loads(found.to_json())), 6)
        self.assertEqual(len(found[:2].to_rows()), 2)
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
