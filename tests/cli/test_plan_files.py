# SPDX-License-Identifier: BSD-2-Clause
"""Every key of a file that describes a cluster, a model or prices, as the reader lists them: it
changes an answer of the planner, or it is refused by name. A key without a value here fails."""

import pathlib
import re
import unittest

from cli_case import CliCase

NOBODY = "qqqqqqqqqqqq"
SECTIONS = ("", "gpu_rates", "nvlink", "pcie", "fabric")
TREE = '[fabric]\ntopology = "fat-tree"\nradix = 16\n'
MANY = 'nodes = 32\n' + TREE + 'oversubscription = "3:1"\n'
THREE = 'nodes = 32\n[fabric]\ntopology = "fat-tree"\nradix = 16\nlevels = 3\n'
# A value of each key, and what stands in the file beside it.
CLUSTER = {
    "nodes": "8", "gpus_per_node": "4", "nics_per_node": "4", "node_power_w": "5000",
    "name": '"other"', "title": '"other"', "source": '"other"', "base": '"hgx-b200:4"',
    "gpu": '"B200"',
    "gpu_rates.fp32": "1", "gpu_rates.tf32": "1", "gpu_rates.fp16": "500", "gpu_rates.bf16": "500",
    "gpu_rates.fp8": "500", "gpu_rates.fp4": "1", "gpu_rates.memory_gib": "100",
    "gpu_rates.memory_gbs": "1000", "gpu_rates.power_w": "500",
    "gpu_rates.sms": "100",
    "nvlink.domain_gpus": "4", "nvlink.gbs": "100", "nvlink.latency_us": "9",
    "nvlink.nvls": "false", "pcie.gbs": "20",
    "pcie.latency_us": ("9", "nics_per_node = 2\n[nvlink]\ndomain_gpus = 1\n"),
    "fabric.adaptive": ("false", MANY), "fabric.cable_m": "100",
    "fabric.engine": ('"minhop"', MANY),
    "fabric.link_layer": '"roce"', "fabric.mtu": "1024", "fabric.sharp": "false",
    "fabric.topology": '"fat-tree"', "fabric.radix": ("32", 'nodes = 32\n'),
    "fabric.levels": ("3", TREE), "fabric.oversubscription": ('"7:1"', TREE),
    "fabric.spine_oversubscription": ('"3:1"', THREE),
    "fabric.dimensions": ("[4, 2]", '[fabric]\ntopology = "torus"\n'),
    "fabric.hosts_per_switch": ("2", '[fabric]\ntopology = "torus"\ndimensions = [8, 8]\n'),
    "fabric.groups": ("5", '[fabric]\ntopology = "dragonfly"\n'),
    "fabric.switches_per_group": ("8", '[fabric]\ntopology = "dragonfly"\n'),
    "fabric.subnets": ("4", TREE + "subnets = 2\nrouters = 1\n"),
    "fabric.routers": ("2", TREE + "subnets = 2\nrouters = 1\n"), "fabric.generation": '"HDR"',
    "fabric.planes": "4", "fabric.failed_planes": ("1", "[fabric]\nplanes = 4\n"),
}
EXPERTS = 'base = "deepseek-v3"\nlayers = 14\nexperts = 16\n'
MODEL = {
    "base": '"llama3.1-70b"', "layers": "16", "hidden": "2048", "heads": "16", "kv_heads": "4",
    "head_dim": "64", "ffn": "4096", "vocabulary": "1000", "sequence": "4096",
    "q_rank": ("512", EXPERTS), "kv_rank": ("256", EXPERTS), "rope_dim": ("32", EXPERTS),
    "value_dim": ("64", EXPERTS), "experts": ("32", EXPERTS), "top_k": ("4", EXPERTS),
    "expert_ffn": ("1024", EXPERTS), "shared_experts": ("2", EXPERTS),
    "dense_layers": ("1", EXPERTS), "nodes_per_token": ("1", EXPERTS), "gated": "false",
    "biases": "true", "learned_positions": "true", "tied_embeddings": "true", "dropout": "true",
    "name": '"other"', "title": '"other"', "source": '"other"',
}


class PlanFiles(CliCase):
    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(self.scratch, "file.toml")

    def keys(self, head, *words):
        """Returns the keys that a reader knows: it lists them when it refuses another."""
        self.file.write_text(f"{head}{NOBODY} = 1\n")
        said = self.refused(*words)
        return re.search("the (?:keys|prices) are (.*)", said)[1].split(", ")

    @staticmethod
    def with_key(text, key, value):
        """Returns a file's text with one more key in a section; a key that is there is replaced."""
        section, _, name = key.rpartition(".")
        lines = text.splitlines()
        begin = 0 if not section else (
            lines.index(f"[{section}]") + 1 if f"[{section}]" in lines else None)
        if begin is None:
            return text + f"[{section}]\n{name} = {value}\n"
        end = next((at for at in range(begin, len(lines)) if lines[at].startswith("[")),
                   len(lines))
        lines[begin:end] = [line for line in lines[begin:end]
                            if not line.startswith(f"{name} =")] + [f"{name} = {value}"]
        return "\n".join(lines) + "\n"

    def answers(self, text, questions):
        self.file.write_text(text)
        answers = [(done.returncode, done.stdout, done.stderr)
                   for done in (self.softib(*words) for words in questions)]
        for words, answer in zip(questions, answers):
            self.assertIn(answer[0], (0, 1, 2), (text, words, answer[2]))
        return answers

    def check(self, keys, values, base, questions):
        idle = []
        for key in keys:
            self.assertIn(key, values, "a key without a value in this test")
            value, beside = values[key] if isinstance(values[key], tuple) else (values[key], "")
            text = beside if beside.startswith("base") else base + beside
            before = self.answers(text, questions)
            after = self.answers(self.with_key(text, key, value), questions)
            self.assertTrue(any(status == 0 for status, _, _ in before), (key, before))
            name = key.rpartition(".")[2]
            refused = all(status != 0 and f"'{name}'" in said for status, _, said in after)
            acts = any(was[0] == now[0] == 0 and was[1] != now[1]
                       for was, now in zip(before, after))
            if not (acts or refused):
                idle.append((key, after))
        self.assertEqual(idle, [])
        print(f"covers {len(keys)} keys with {len(questions)} questions each")

    def test_every_key_of_a_cluster_acts_or_is_refused(self):
        on = ("--cluster", str(self.file))
        # From a GPU to the next, to one of another NVLink domain, and to another node.
        trace = pathlib.Path(self.scratch, "near.goal")
        receive = "a: recv 100b from 0 tag 1"
        trace.write_text("num_ranks 9\n" + "".join(
            f"rank {rank} {{\n{line}\n}}\n" for rank, line in enumerate(
                ["a: send 100b to 1 tag 1\nb: send 100b to 5 tag 1\nc: send 100b to 8 tag 1",
                 receive, *["a: calc 5"] * 3, receive, *["a: calc 5"] * 2, receive])))
        train = ("plan", "train", "--model", "llama3.1-8b", *on, "--network", "analytic", "--json",
                 "--no-overlap-dp", "--tp", "1")
        questions = [("plan", "show", str(self.file), "--json"),
                     ("plan", "collective", *on, "--sizes", "64K,64M", "--json"),
                     ("plan", "collective", *on, "--sizes", "64M", "--model", "packet",
                      "--algorithms", "sharp,ring", "--json"),
                     ("trace", "run", str(trace), *on, "--json"), train,
                     (*train, "--precision", "fp16"), (*train, "--precision", "fp8")]
        keys = []
        for section in SECTIONS:
            head = f"[{section}]\n" if section else ""
            keys += [f"{section}.{key}" if section else key
                     for key in self.keys(head, "plan", "show", str(self.file))
                     if key not in SECTIONS]
        self.check(keys, CLUSTER, 'base = "hgx-h200:4"\n', questions)

    def test_every_key_of_a_model_acts_or_is_refused(self):
        on = ("--cluster", "hgx-h200:4", "--network", "analytic", "--json")
        keys = self.keys("", "plan", "train", "--model", str(self.file), *on)
        train = ("plan", "train", "--model", str(self.file), *on, "--recompute", "full")
        self.check(keys, MODEL, 'base = "llama3.1-8b"\n',
                   [(*train, "--tp", "8"), (*train, "--ep", "16")])

    def test_every_price_acts(self):
        clusters = ("hgx-h200:4", "superpod-h100:4", "superpod-a100", "meta-ib-24k")
        questions = [("plan", "show", name, "--prices", str(self.file), "--json")
                     for name in clusters]
        # What costs money over time, and GPUs and links of each kind.
        questions.append(("plan", "compare", "--train", "llama3.1-8b", "--cluster", "hgx-h200:2",
                          "--vary", "gpu=A100,H100,H800,H200,B200,B300,GB200,GB300",
                          "--vary", "generation=NDR,XDR", "--tp", "2", "--network", "analytic",
                          "--sort", "none", "--prices", str(self.file), "--json"))
        names = self.keys("", *questions[0])
        self.check(names, dict.fromkeys(names, "[100000, 200000]"), "", questions)

    def test_what_is_there_twice_or_contradicts_itself_is_refused(self):
        for text, says in (
                ('[fabric]\ntopology = "torus"\nhosts-per-switch = 2\nhosts_per_switch = 3\n',
                 "'hosts_per_switch' is there twice"),
                ("[fabric]\nmtu = 1000\n", "'mtu' must be 256, 512, 1024, 2048 or 4096"),
                ("[nvlink]\nnvls = 1\n", "'nvls' must be true or false"),
                ("title = [1, 2]\n", "'title' must be a text")):
            self.file.write_text(text)
            self.assertIn(says, self.refused("plan", "show", str(self.file)))
        self.file.write_text("nic = [nan, nan]\n")
        self.assertIn("'nic' must be a range", self.refused("plan", "show", "hgx-h200:2",
                                                            "--prices", str(self.file)))
        for words in (("plan", "show", "hgx-h200:2"), ("trace", "run", "x", "--cluster",
                                                       "hgx-h200:2")):
            self.assertIn("--nodes: there are only 2 nodes in hgx-h200:2, not 4",
                          self.refused(*words, "--nodes", "4", status=2))


if __name__ == "__main__":
    unittest.main()
